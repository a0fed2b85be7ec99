import numpy as np
import pytest

from streamgauge.measure import Capacity, judge_backlog
from streamgauge.measure.backlog import BacklogTrend, _decide, _growth, _judge_emptied, _judge_left
from streamgauge.measure.trend import Slope
from streamgauge.verdict import Verdict

from .test_trend import autoregression

RATE_PER_S = 10_000.0
TIMES_S = np.arange(120) * 0.5


def verdicts(slope_share, *, series, phi, noise_share, seed):
    """Judge many series whose noise is `noise_share` of a second's events."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(series):
        noise = noise_share * RATE_PER_S * autoregression(rng, len(TIMES_S), phi)
        backlog = 5_000 + slope_share * RATE_PER_S * TIMES_S + noise
        found.append(judge_backlog(TIMES_S, backlog, rate_per_s=RATE_PER_S, rng=rng).verdict)
    return {verdict: found.count(verdict) / series for verdict in Verdict}


def test_c1_flat_noise_passes_and_almost_never_fails():
    shares = verdicts(0.0, series=1000, phi=0.3, noise_share=0.1, seed=1)
    assert shares[Verdict.PASS] >= 0.99
    assert shares[Verdict.FAIL] == 0


def test_c1_growth_of_one_percent_fails_and_almost_never_passes():
    shares = verdicts(0.01, series=1000, phi=0.3, noise_share=0.1, seed=2)
    assert shares[Verdict.FAIL] >= 0.9
    assert shares[Verdict.PASS] <= 0.04


def test_c1_noise_too_strong_to_decide_is_unknown_rather_than_wrong():
    flat = verdicts(0.0, series=250, phi=0.8, noise_share=0.5, seed=3)
    growing = verdicts(0.01, series=250, phi=0.8, noise_share=0.5, seed=4)
    assert flat[Verdict.FAIL] <= 0.04
    assert growing[Verdict.PASS] <= 0.04
    assert flat[Verdict.UNKNOWN] > 0.1


@pytest.mark.parametrize("every_s", [0.1, 0.37, 1.0])
@pytest.mark.parametrize("period_s", [1.0, 2.0, 3.3])
def test_c1_a_sawtooth_of_batch_size_passes(every_s, period_s):
    times_s = np.arange(0, 60, every_s)
    sawtooth = RATE_PER_S * (times_s % period_s)
    assert judge_backlog(times_s, sawtooth, rate_per_s=RATE_PER_S).verdict is not Verdict.FAIL
    assert judge_backlog(times_s, 0.1 * sawtooth, rate_per_s=RATE_PER_S).verdict is Verdict.PASS
    emptied = np.zeros(len(times_s))
    assert judge_backlog(times_s, sawtooth, rate_per_s=RATE_PER_S, left=emptied).verdict is Verdict.PASS


def noisy_level(seed=5):
    """A backlog of few, long micro-batches, too noisy for its slope."""
    return 2 * RATE_PER_S * np.random.default_rng(seed).uniform(0.7, 1.3, 16), np.arange(16) * 2.0


@pytest.mark.parametrize(
    "left_at",
    [
        [],
        [4],
        [3, 4, 9],
        [3, 4, 5, 6, 7, 8, 9, 10, 12],
        [3, 4, 8, 15],
        # At the very borders of the first and the last third, which are six of sixteen.
        [0, 1, 2, 3, 4, 11],
        [2, 3, 4, 5, 6, 11, 12, 13, 14, 15],
    ],
)
def test_a_noisy_backlog_that_is_emptied_again_and_again_passes(left_at):
    backlog, times_s = noisy_level()
    left = np.zeros(16)
    left[left_at] = 0.1 * RATE_PER_S
    assert judge_backlog(times_s, backlog, rate_per_s=RATE_PER_S).verdict is Verdict.UNKNOWN
    assert judge_backlog(times_s, backlog, rate_per_s=RATE_PER_S, left=left).verdict is Verdict.PASS


@pytest.mark.parametrize("left_at", [[15], [3, 14, 15], [0, 1, 2, 3, 4, 5, 8, 11]])
def test_a_noisy_backlog_that_is_not_emptied_in_the_end_or_not_often_enough_stays_unknown(left_at):
    backlog, times_s = noisy_level()
    left = np.zeros(16)
    left[left_at] = 0.1 * RATE_PER_S
    assert judge_backlog(times_s, backlog, rate_per_s=RATE_PER_S, left=left).verdict is Verdict.UNKNOWN


def test_a_query_that_catches_up_under_load_and_stays_level_passes():
    """As measured: the query fell behind for 17 s, was through with everything 13 s later, and kept up."""
    times_s = [25.6, 28.1, 30.8, 33.9, 36.9, 39.7, 42.2, 44.4, 46.3, 48.5, 50.4, 52.1, 54.0]
    backlog = [23.1, 24.4, 25.8, 27.6, 28.1, 23.9, 18.0, 15.4, 17.3, 15.1, 14.1, 15.1, 8.2]
    left = [3.2, 2.1, 1.4, 3.4, 5.3, 4.1, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0]
    trend = judge_backlog(times_s, backlog, rate_per_s=8.19, left=left)
    assert trend.verdict is Verdict.PASS
    assert "all but 6 of 13 micro-batches" in trend.reason
    assert judge_backlog(times_s, backlog, rate_per_s=8.19, left=left[::-1]).verdict is Verdict.UNKNOWN


def test_a_query_that_falls_behind_for_good_fails():
    """As measured: after 30 s of the load no micro-batch took all there was any more."""
    times_s = [25.0, 27.1, 29.9, 32.7, 36.1, 38.7, 41.6, 44.5, 47.6, 50.6, 53.6]
    backlog = [18.1, 24.3, 26.0, 30.9, 32.6, 33.2, 33.0, 33.7, 34.3, 34.7, 21.5]
    left = [0.0, 0.0, 1.5, 1.5, 9.3, 7.9, 7.7, 6.4, 8.2, 8.8, 9.2]
    trend = judge_backlog(times_s, backlog, rate_per_s=8.84, left=left)
    assert trend.verdict is Verdict.FAIL
    assert trend.reason.startswith("none of the last 9 of 11 micro-batches took all there was")
    recent = [0.0] * 7 + left[7:]
    assert judge_backlog(times_s, backlog, rate_per_s=8.84, left=recent).verdict is Verdict.UNKNOWN


def test_a_query_that_is_behind_all_the_time_fails_unless_it_is_on_the_way_back():
    """As measured: in 30 s no micro-batch took all there was."""
    times_s = [26.7, 29.5, 32.9, 35.7, 38.2, 40.8, 43.7, 46.7, 50.5, 53.6]
    backlog = [35.6, 45.5, 52.2, 54.3, 52.9, 50.7, 47.8, 53.0, 58.5, 47.7]
    left = [7.0, 11.7, 24.3, 29.5, 26.3, 20.8, 18.2, 14.7, 26.7, 33.6]
    trend = judge_backlog(times_s, backlog, rate_per_s=10.19, left=left)
    assert trend.verdict is Verdict.FAIL
    assert "the last third of the time is 1.16 times that of the first" in trend.reason
    shrinking = judge_backlog(times_s, backlog[::-1], rate_per_s=10.19, left=left[::-1])
    assert shrinking.verdict is not Verdict.FAIL


def test_the_reason_counts_the_micro_batches_that_left_something():
    backlog, times_s = noisy_level()
    left = np.eye(16)[4]
    reason = judge_backlog(times_s, backlog, rate_per_s=RATE_PER_S, left=left).reason
    assert reason.startswith("all but 1 of 16 micro-batches took all there was")


def test_a_stall_of_a_second_that_is_made_up_for_passes():
    backlog = np.full(120, 1_000.0)
    backlog[60:64] += RATE_PER_S * np.array([0.5, 1.0, 0.7, 0.3])
    assert judge_backlog(TIMES_S, backlog, rate_per_s=RATE_PER_S).verdict is Verdict.PASS


@pytest.mark.parametrize("start", [10, 60, 110])
def test_a_stall_of_five_seconds_does_not_fail_and_does_not_move_the_slope(start):
    backlog = np.full(120, 1_000.0)
    backlog[start : start + 6] += 5 * RATE_PER_S
    trend = judge_backlog(TIMES_S, backlog, rate_per_s=RATE_PER_S)
    assert trend.verdict is not Verdict.FAIL
    assert trend.slope_per_s == 0


def test_a_shrinking_backlog_passes():
    assert judge_backlog(TIMES_S, 1e6 - 500 * TIMES_S, rate_per_s=RATE_PER_S).verdict is Verdict.PASS


def test_the_reason_of_a_failure_names_growth_and_share():
    trend = judge_backlog(TIMES_S, 610 * TIMES_S, rate_per_s=RATE_PER_S)
    assert trend.verdict is Verdict.FAIL
    assert trend.reason == "backlog grows by 610 events/s (6.1 % of the offered rate)"
    assert trend.slope_per_s == pytest.approx(610)


def test_the_reason_of_a_pass_names_interval_and_limit():
    trend = judge_backlog(TIMES_S, 20 * TIMES_S, rate_per_s=RATE_PER_S)
    expected = "backlog changes by between 20 and 20 events/s, below the limit of 100 events/s"
    assert (trend.verdict, trend.reason) == (Verdict.PASS, expected)


def test_an_undecided_slope_says_that_it_is_too_uncertain():
    noise = np.random.default_rng(5).standard_normal(12) * RATE_PER_S
    trend = judge_backlog(np.arange(12), noise, rate_per_s=RATE_PER_S)
    assert trend.verdict is Verdict.UNKNOWN
    assert trend.reason.endswith("too uncertain for the limit of 100 events/s")


@pytest.mark.parametrize(
    ("times_s", "backlog", "reason"),
    [
        ([], [], "backlog was seen 0 times, and a trend needs 10"),
        (range(9), [0] * 9, "backlog was seen 9 times, and a trend needs 10"),
        (range(10), [0] * 9 + [float("nan")], "backlog holds values that are not finite"),
        ([*range(9), float("inf")], [0] * 10, "backlog holds values that are not finite"),
        ([0] * 10, [0] * 10, "times of the backlog do not increase"),
        ([*range(9), 7.5], [0] * 10, "times of the backlog do not increase"),
        ([*range(9), 12], [0] * 10, "backlog was not seen for 4 s of 12 s"),
    ],
)
def test_c1_missing_evidence_is_unknown_and_shows_no_slope(times_s, backlog, reason):
    trend = judge_backlog(list(times_s), backlog, rate_per_s=RATE_PER_S)
    assert (trend.verdict, trend.reason) == (Verdict.UNKNOWN, reason)
    assert (trend.slope_per_s, trend.low_per_s, trend.high_per_s) == (None, None, None)


@pytest.mark.parametrize("rate_per_s", [0.0, -5.0, float("nan")])
def test_a_rate_that_is_not_positive_is_refused(rate_per_s):
    with pytest.raises(ValueError, match="offered rate"):
        judge_backlog([0.0], [0.0], rate_per_s=rate_per_s)


def test_times_and_backlogs_must_pair_up():
    with pytest.raises(ValueError, match="one backlog"):
        judge_backlog([0.0, 1.0], [0.0], rate_per_s=1.0)


def test_a_noisy_backlog_that_every_batch_empties_passes_while_its_level_stays() -> None:
    times_s = np.arange(60) * 0.6
    backlog = 100_000 + 60_000 * np.sin(times_s / 3)
    assert judge_backlog(times_s, backlog, rate_per_s=200_000).verdict is Verdict.UNKNOWN
    assert judge_backlog(times_s, backlog, rate_per_s=200_000, left=np.zeros(60)).verdict is Verdict.PASS


def test_a_backlog_that_rises_while_batches_find_their_length_fails_only_if_one_left_something_behind() -> None:
    times_s = np.arange(20) * 1.5
    backlog = 200_000 * (1.5 + 0.02 * times_s)
    left = np.zeros(20)
    assert judge_backlog(times_s, backlog, rate_per_s=200_000).verdict is Verdict.FAIL
    assert judge_backlog(times_s, backlog, rate_per_s=200_000, left=left).verdict is Verdict.PASS
    left[7] = 1
    assert judge_backlog(times_s, backlog, rate_per_s=200_000, left=left).verdict is Verdict.FAIL


def test_batches_at_capacity_do_not_pass_even_when_each_empties_the_queue() -> None:
    fixed_s, rate_per_s = 0.3, 200_000
    durations_s = np.cumsum(np.full(14, fixed_s))
    trend = judge_backlog(np.cumsum(durations_s), durations_s * rate_per_s, rate_per_s=rate_per_s, left=np.zeros(14))
    assert trend.verdict is not Verdict.PASS


def test_few_long_batches_that_each_leave_more_behind_fail() -> None:
    times_s, left = np.arange(6) * 3.0, np.arange(1, 7) * 60_000
    assert judge_backlog(times_s, left + 300_000, rate_per_s=100_000).verdict is Verdict.UNKNOWN
    trend = judge_backlog(times_s, left + 300_000, rate_per_s=100_000, left=left)
    assert (trend.verdict, trend.slope_per_s) == (Verdict.FAIL, 20_000)


def test_a_limited_query_that_catches_up_does_not_fail() -> None:
    times_s, left = np.arange(6) * 3.0, np.array([90, 70, 60, 40, 20, 10]) * 1000
    assert judge_backlog(times_s, left, rate_per_s=100_000, left=left).verdict is not Verdict.FAIL


def risen_level():
    """A backlog as it was measured just above capacity, in seconds of the load, and when."""
    emitted_s = [15.6, 17.2, 18.8, 20.5, 22.4, 24.5, 26.9, 29.5, 32.3, 35.5, 38.1, 41.1, 44.5]
    backlog_s = [1.28, 1.50, 1.63, 1.70, 1.86, 2.08, 2.56, 2.66, 2.86, 3.11, 2.97, 3.04, 3.33]
    return np.array(emitted_s), RATE_PER_S * np.array(backlog_s)


def about(per_s, reach=0.01):
    return Capacity(per_s, per_s * (1 - reach), per_s * (1 + reach))


@pytest.mark.parametrize(
    ("left", "capacity_share", "verdict"),
    [
        ((), None, Verdict.UNKNOWN),
        ((), 1.05, Verdict.PASS),
        ((), 0.95, Verdict.FAIL),
        ((4, 9), 1.05, Verdict.PASS),
        # Behind in the end, for longer than before: nothing shows that it was worked off.
        ((9, 10, 11, 12), 1.05, Verdict.UNKNOWN),
        ((9, 10, 11, 12), 0.95, Verdict.FAIL),
    ],
)
def test_c1_where_a_level_has_risen_the_length_of_micro_batches_decides(left, capacity_share, verdict):
    times_s, backlog = risen_level()
    rest = np.zeros(len(times_s))
    rest[list(left)] = RATE_PER_S / 10
    capacity = None if capacity_share is None else about(capacity_share * RATE_PER_S)
    found = judge_backlog(times_s, backlog, rate_per_s=RATE_PER_S, left=rest, capacity=capacity)
    assert found.verdict is verdict
    assert ("micro-batches can process" in found.reason) is (verdict is not Verdict.UNKNOWN)


def test_c1_a_capacity_does_not_overrule_a_clear_slope_nor_make_a_verdict_of_too_little():
    times_s, flat = np.arange(30) * 1.0, np.full(30, 100.0)
    clear = {"rate_per_s": RATE_PER_S, "left": np.zeros(30)}
    assert judge_backlog(times_s, flat, **clear, capacity=about(1.0)).verdict is Verdict.PASS
    few = {"rate_per_s": RATE_PER_S, "left": np.zeros(5)}
    assert judge_backlog(times_s[:5], flat[:5], **few, capacity=about(1e9)).verdict is Verdict.UNKNOWN
    gap_s, risen = np.append(np.arange(12), 40 + np.arange(2)) * 1.0, np.linspace(100, 300, 14)
    torn = judge_backlog(gap_s, risen, rate_per_s=RATE_PER_S, left=np.zeros(14), capacity=about(1e9))
    assert torn.verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(
    ("per_s", "reach", "verdict"),
    [(1.2, 0.05, Verdict.PASS), (1.02, 0.1, Verdict.UNKNOWN), (0.97, 0.01, Verdict.UNKNOWN)],
)
def test_c1_an_emptied_queue_passes_only_when_the_capacity_is_above_the_offered_rate(per_s, reach, verdict):
    """A backlog without a level, emptied by every micro-batch: above its capacity a query may look so for a minute."""
    times_s, rng = np.arange(15) * 4.0, np.random.default_rng(3)
    backlog = RATE_PER_S * 4.0 * rng.lognormal(0, 0.25, 15)
    options = {"rate_per_s": RATE_PER_S, "left": np.zeros(15)}
    assert judge_backlog(times_s, backlog, **options).verdict is Verdict.PASS
    found = judge_backlog(times_s, backlog, **options, capacity=about(per_s * RATE_PER_S, reach))
    assert found.verdict is verdict
    assert f"{abs(per_s - 1):.0%} {'more' if per_s > 1 else 'less'} than is offered" in found.reason


@pytest.mark.parametrize(
    ("low", "high", "verdict"),
    [
        (50.1, 60.0, Verdict.FAIL),
        (50.0, 99.9, Verdict.PASS),
        (50.0, 100.0, Verdict.UNKNOWN),
        (-500.0, 99.9, Verdict.PASS),
    ],
)
def test_an_interval_is_compared_with_the_tolerance_and_with_twice_as_much(low, high, verdict):
    assert _decide(Slope(55.0, low, high), RATE_PER_S, 0.005)[0] is verdict


def test_growth_is_the_median_of_the_last_third_by_that_of_the_first():
    assert _growth(np.array([1.0, 2.0, 9.0, 50.0, 50.0, 50.0, 3.0, 5.0, 99.0])) == 2.5
    assert _growth(np.array([0.0, 0.0, 1.0, 1.0, 1.0, 1.0])) == np.inf


UNDECIDED = BacklogTrend(None, None, None, Verdict.UNKNOWN, "")


@pytest.mark.parametrize(("last", "verdict"), [(3.0, Verdict.PASS), (3.01, Verdict.UNKNOWN)])
def test_the_level_of_an_emptied_backlog_may_rise_by_half(last, verdict):
    assert _judge_emptied(np.repeat([2.0, 2.5, last], 5), np.zeros(15), UNDECIDED).verdict is verdict


@pytest.mark.parametrize(("limit_per_s", "verdict"), [(2.0, Verdict.UNKNOWN), (1.99, Verdict.FAIL)])
def test_few_micro_batches_fail_where_their_backlog_grows_by_more_than_the_tolerance(limit_per_s, verdict):
    times_s = np.arange(6.0)
    assert _judge_left(times_s, 2 * times_s, np.ones(6), UNDECIDED, limit_per_s).verdict is verdict


@pytest.mark.parametrize(("behind", "verdict"), [(5, Verdict.UNKNOWN), (6, Verdict.FAIL)])
def test_a_query_that_was_behind_for_half_of_the_micro_batches_must_not_have_a_level_that_rises(behind, verdict):
    rest = np.repeat([0.0, 1.0], [12 - behind, behind])
    assert _judge_left(np.arange(12.0), np.arange(5.0, 17.0), rest, UNDECIDED, 0.1).verdict is verdict


def test_a_gap_of_a_quarter_of_the_time_is_bridged():
    assert judge_backlog([*range(10), 12], [7.0] * 11, rate_per_s=RATE_PER_S).slope_per_s == 0


def test_two_backlogs_may_be_seen_at_the_same_time_and_rates_may_be_below_one():
    times_s = [0.0, *np.arange(12.0)]
    assert judge_backlog(times_s, np.full(13, 2.0), rate_per_s=0.5).verdict is Verdict.PASS


def test_a_backlog_that_grows_by_one_event_with_every_micro_batch_grows():
    t, y = np.arange(5.0), 10.0 + np.arange(5.0)
    trend = BacklogTrend(None, None, None, Verdict.UNKNOWN, "")
    assert _judge_left(t, y, np.ones(5), trend, 0.5).verdict is Verdict.FAIL
    assert _judge_left(t, y, np.ones(5), trend, 1.0).verdict is Verdict.UNKNOWN
    assert _judge_left(t, np.array([10.0, 12.0, 12.0, 13.0, 14.0]), np.ones(5), trend, 0.5).verdict is Verdict.UNKNOWN


@pytest.mark.parametrize(("tolerance", "verdict"), [(0.005, Verdict.FAIL), (0.02, Verdict.UNKNOWN)])
def test_what_a_few_micro_batches_leave_may_grow_by_a_share_of_the_rate(tolerance, verdict):
    # Five points are too few for a slope; they grow by 100 events per second, one percent of what is offered.
    t, y = 2.0 * np.arange(5), 5000.0 + 200.0 * np.arange(5)
    found = judge_backlog(t, y, rate_per_s=RATE_PER_S, left=np.full(5, 10.0), tolerance=tolerance)
    assert found.verdict is verdict
