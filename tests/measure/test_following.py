from dataclasses import replace

import pytest

from streamgauge.measure import Capacity, LoadSigns, judge_following
from streamgauge.verdict import Verdict

PASS, FAIL, UNKNOWN = Verdict.PASS, Verdict.FAIL, Verdict.UNKNOWN
TIMES_S = [float(k) for k in range(31)]
ENOUGH, SHORT = Capacity(1500.0, 1300.0, 1700.0), Capacity(800.0, 700.0, 900.0)
HEALTHY = LoadSigns(TIMES_S, [0.5] * 31, 1000.0, ENOUGH, is_persistent=False, longest_s=3.0)
# Old all the time, and older in the end.
RISEN_S = [0.5 + 0.3 * k for k in range(31)]


def judge(signs, left=None):
    left = [0] * 30 if left is None else left
    starts_s = [30.0 * k / len(left) for k in range(len(left))]
    return judge_following(starts_s, left, until_s=30.0, signs=signs)


def test_a_load_that_nothing_speaks_against_is_followed():
    found = judge(HEALTHY)
    assert found.verdict is PASS
    assert found.slope_per_s is None
    assert found.reason == (
        "every micro-batch took all there was: the load is followed; by their length micro-batches can process "
        "1.5k/s (1.3k/s to 1.7k/s), and the last third of the time offers 1k/s"
    )


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"is_persistent": True}, "back-pressure is persistent"),
        ({"ages_s": RISEN_S}, "the oldest event waits 7.25 s in the last third of the time, 5.8 times as long"),
        ({"capacity": SHORT}, "can process 800/s (700/s to 900/s), and the last third of the time offers 1k/s"),
        ({"capacity": Capacity(1100.0, 950.0, 1250.0)}, "can process 1.1k/s (950/s to 1.25k/s)"),
    ],
)
def test_c1_each_sign_against_a_varying_load_takes_the_pass_away(change, said):
    found = judge(replace(HEALTHY, **change))
    assert found.verdict is UNKNOWN
    assert said in found.reason


def test_c1_three_signs_against_a_varying_load_fail():
    found = judge(replace(HEALTHY, is_persistent=True, ages_s=RISEN_S, capacity=SHORT))
    assert found.verdict is FAIL
    assert found.reason.startswith("the load is not followed: back-pressure is persistent; the oldest event waits ")


@pytest.mark.parametrize(("capacity", "verdict"), [(SHORT, FAIL), (Capacity(950.0, 850.0, 1050.0), UNKNOWN)])
def test_where_back_pressure_is_unknown_the_capacity_must_be_clearly_below(capacity, verdict):
    assert judge(replace(HEALTHY, is_persistent=None, ages_s=RISEN_S, capacity=capacity)).verdict is verdict


def test_ages_that_rise_with_the_rate_are_excused_as_long_as_micro_batches_may_take():
    risen_s = [age_s / 4 for age_s in RISEN_S]
    assert judge(replace(HEALTHY, ages_s=risen_s)).verdict is PASS
    assert judge(replace(HEALTHY, ages_s=risen_s, longest_s=1.0)).verdict is UNKNOWN
    assert judge(replace(HEALTHY, ages_s=risen_s, capacity=None)).verdict is UNKNOWN


@pytest.mark.parametrize(("longest_s", "verdict"), [(3.0, PASS), (2.99, UNKNOWN)])
def test_an_age_of_just_the_longest_micro_batch_is_excused(longest_s, verdict):
    ages_s = [0.5] * 15 + [3.0] * 16
    assert judge(replace(HEALTHY, ages_s=ages_s, longest_s=longest_s)).verdict is verdict


def test_an_age_that_falls_back_between_the_peaks_of_a_load_has_not_risen():
    ages_s = [6.0 if k > 20 and k % 10 < 6 else 0.5 for k in range(31)]
    assert judge(replace(HEALTHY, ages_s=ages_s)).verdict is PASS


@pytest.mark.parametrize(("many", "verdict"), [(9, UNKNOWN), (10, PASS)])
def test_without_a_capacity_ten_micro_batches_are_needed(many, verdict):
    assert judge(replace(HEALTHY, capacity=None), [0] * many).verdict is verdict


@pytest.mark.parametrize(
    ("left", "verdict"),
    [
        ([0, 0, 0], UNKNOWN),
        ([0, 0, 0, 0], PASS),
        ([0, 5, 0, 5, 0], PASS),
        ([0, 0, 0, 0, 5], UNKNOWN),
        ([0, 5, 5, 5, 5], FAIL),
        ([5, 5, 5, 5, 5], FAIL),
    ],
)
def test_what_micro_batches_leave_behind_decides_whether_a_load_is_followed(left, verdict):
    assert judge(HEALTHY, left).verdict is verdict


def test_a_capacity_of_just_what_is_offered_is_no_sign_against_the_query():
    just = Capacity(1000.0, 900.0, 1100.0)
    assert judge(replace(HEALTHY, is_persistent=True, ages_s=RISEN_S, capacity=just)).verdict is UNKNOWN


def test_how_often_a_query_fell_behind_is_said():
    assert judge(HEALTHY, [1, 0, 0, 0, 0]).reason.startswith("the query fell behind once and caught up again: ")
    found = judge(HEALTHY, [0, 5, 5, 0, 5, 0])
    assert found.reason.startswith("the query fell behind 2 times and caught up again: the load is followed; by ")


@pytest.mark.parametrize("left", [[0] * 30, [0, 5, 5, 5, 5], [0, 0, 0, 0, 5]], ids=["taken", "behind", "just behind"])
@pytest.mark.parametrize("ages_s", [[0.5] * 31, RISEN_S], ids=["level", "risen"])
def test_when_the_clock_was_started_does_not_matter(left, ages_s):
    signs = replace(HEALTHY, ages_s=ages_s)
    later = replace(signs, times_s=[t + 1000.0 for t in TIMES_S])
    starts_s = [30.0 * k / len(left) for k in range(len(left))]
    moved = judge_following([t + 1000.0 for t in starts_s], left, until_s=1030.0, signs=later)
    assert moved == judge_following(starts_s, left, until_s=30.0, signs=signs)


def test_ages_that_began_at_nothing_have_risen():
    found = judge(replace(HEALTHY, ages_s=[0.0] * 15 + [9.0] * 16))
    assert found.verdict is UNKNOWN
    assert "waits 9 s in the last third of the time, inf times as long" in found.reason


@pytest.mark.parametrize(("last_s", "verdict"), [(0.75, PASS), (0.76, UNKNOWN)])
def test_an_age_may_rise_by_half(last_s, verdict):
    ages_s = [0.5] * 15 + [last_s] * 16
    assert judge(replace(HEALTHY, ages_s=ages_s, longest_s=0.1)).verdict is verdict


@pytest.mark.parametrize(
    ("starts_s", "left", "said", "verdict"),
    [
        ([0, 20, 25, 29], [5, 5, 5, 7], "behind for the last 30 s of the load, 7 events", FAIL),
        ([0, 10, 15, 29], [5, 0, 5, 7], "behind for the last 15 s", FAIL),
        ([0, 10, 15.1, 29], [5, 0, 5, 7], "behind for the last 14.9 s", UNKNOWN),
        ([10, 15, 20, 29], [0, 0, 5, 5], "behind for the last 10 s", FAIL),
    ],
)
def test_a_query_is_behind_since_the_micro_batch_after_the_last_that_took_all(starts_s, left, said, verdict):
    found = judge_following(starts_s, left, until_s=30.0, signs=HEALTHY)
    assert found.verdict is verdict
    assert said in found.reason
