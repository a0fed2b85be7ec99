"""When micro-batches start and what they hold."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.arrivals import parse_law
from streamgauge.arrivals.admission import FIRST_ADMITTED
from streamgauge.engine import admission
from streamgauge.model import ArrivalCurve, next_start
from streamgauge.model.trigger import AdmissionLimit, Offering


def starts_of(durations_s, trigger_s, first_s=0.0):
    """Return the starts of successive triggers, and that of the one after them."""
    starts = [first_s]
    for duration_s in durations_s:
        starts.append(float(next_start(starts[-1], starts[-1] + duration_s, trigger_s)))
    return starts


def test_starts_follow_the_trigger_unless_a_micro_batch_overruns_it():
    assert starts_of([0.4, 1.3, 0.7, 0.9], 1.0) == [0, 1.0, 2.3, 3.0, 4.0]


def test_without_an_interval_a_trigger_follows_at_once():
    assert starts_of([0.5, 0.25], 0.0, first_s=1.0) == [1.0, 1.5, 1.75]


@given(
    st.lists(st.floats(0.001, 5.0), min_size=1, max_size=30),
    st.sampled_from([0.1, 0.25, 0.3, 1.0, 1.7]),
    st.floats(0.0, 3.0),
)
def test_a_start_is_the_end_of_the_last_micro_batch_or_a_later_multiple(durations, interval, first):
    starts = starts_of(durations, interval, first_s=first)
    for start, duration, following in zip(starts, durations, starts[1:], strict=False):
        end = start + duration
        assert following >= end
        at_end = following == end
        multiple = following / interval
        assert at_end or abs(multiple - round(multiple)) < 1e-6
        assert at_end or following - start <= interval * (1 + 1e-6)


@pytest.mark.parametrize(
    "text", ["constant", "sine(peak=2k, phase=4s)", "burst(burst_rate=5k, interval=3s, duration=1s)"]
)
def test_the_curve_counts_as_the_compiled_schedule_does(text):
    law = parse_law(text, rate_per_s=1000.0)
    curve, schedule = ArrivalCurve.from_law(law, 10.0), law.schedule(10.0)
    t = np.linspace(0.0, 10.0, 501)
    created = schedule.created(np.round(t * 1e6).astype(np.int64) - 1)
    assert np.abs(curve.expected(t) - created).max() <= 2
    numbers = np.arange(0, schedule.total, 37)
    assert np.abs(curve.time_of(numbers) - schedule.times_us(numbers) / 1e6).max() < 0.011


def test_events_come_after_a_pause_and_not_during_it():
    curve = ArrivalCurve(np.array([0.0, 1.0, 3.0, 4.0, 9.0]), np.array([0.0, 10.0, 10.0, 20.0, 20.0]))
    assert curve.time_of([0, 5, 10, 15, 20]).tolist() == [0.0, 0.5, 3.0, 3.5, 4.0]
    assert curve.expected([0.5, 2.0, 100.0]).tolist() == [5.0, 10.0, 20.0]


@pytest.mark.parametrize(
    ("text", "share"), [("constant", 0.0), ("poisson", 1.0), ("poisson(rate=300) + constant(rate=100)", 0.75)]
)
def test_the_share_of_chance_is_that_of_the_poisson_law(text, share):
    assert ArrivalCurve.from_law(parse_law(text, rate_per_s=100.0), 10.0).random_share == pytest.approx(share)


def test_random_events_have_the_mean_and_the_variance_of_poissons_law():
    curve = ArrivalCurve.from_law(parse_law("poisson", rate_per_s=50.0), 20.0)
    offering = Offering.start(curve, 4000, np.random.default_rng(3))
    for now in (1.0, 4.0, 10.0):
        created = offering.look(np.full(4000, now))
    assert created.mean() == pytest.approx(500, rel=0.005)
    assert created.var() == pytest.approx(500, rel=0.08)


def test_the_next_event_is_told_exactly_without_chance_and_never_after_the_load():
    offering = Offering.start(
        ArrivalCurve.from_law(parse_law("constant", rate_per_s=10.0), 1.0), 1, np.random.default_rng(1)
    )
    offering.look(np.array([0.31]))
    assert offering.created.tolist() == [4.0]
    assert offering.next_s().tolist() == [pytest.approx(0.4)]
    offering.look(np.array([5.0]))
    assert offering.created.tolist() == [10.0]
    assert offering.next_s().tolist() == [np.inf]


def test_the_limit_adapts_as_that_of_the_embedded_source():
    rng = np.random.default_rng(5)
    limit = AdmissionLimit(1, fixed=None, target_s=3.0)
    real = admission.AdaptiveAdmission(3.0, FIRST_ADMITTED)
    consumed, now = 0, 0.0
    for _ in range(60):
        allowed = real.allow(consumed, now)
        assert limit.allow(np.array([consumed]), np.array([now]), np.array([True])).tolist() == [allowed]
        consumed += allowed if rng.random() < 0.8 else int(allowed * rng.random())
        now += float(rng.uniform(0.2, 9.0))


def test_replications_without_events_leave_their_limit_alone():
    limit = AdmissionLimit(2, fixed=None, target_s=3.0)
    limit.allow(np.zeros(2), np.zeros(2), np.array([True, False]))
    second = limit.allow(np.full(2, 500_000.0), np.ones(2), np.array([True, False]))
    assert second.tolist() == [1_000_000, 500_000]


def test_a_fixed_limit_stays_and_no_target_is_no_limit():
    assert AdmissionLimit(1, fixed=7, target_s=3.0).allow(np.ones(1), np.ones(1), np.ones(1, bool)).tolist() == [7]
    assert AdmissionLimit(1, fixed=None, target_s=np.inf).allow(np.ones(1), np.ones(1), np.ones(1, bool))[0] == np.inf


def test_arrays_of_triggers_are_as_single_ones():
    starts, ends = np.array([0.0, 0.2, 2.3]), np.array([0.4, 3.5, 2.9])
    both = next_start(starts, ends, 1.0)
    assert both.tolist() == [float(next_start(s, e, 1.0)) for s, e in zip(starts, ends, strict=True)] == [1.0, 3.5, 3.0]


def test_a_part_that_comes_by_chance_scatters_and_the_rest_does_not():
    curve = ArrivalCurve.from_law(parse_law("poisson(rate=30) + constant(rate=10)", rate_per_s=1.0), 20.0)
    offering = Offering.start(curve, 4000, np.random.default_rng(3))
    for now in (1.0, 4.0, 10.0):
        created = offering.look(np.full(4000, now))
    assert created.mean() == pytest.approx(400, rel=0.005)
    assert created.var() == pytest.approx(300, rel=0.08)
    assert offering.shift() == pytest.approx(400 - created)
    # A look back finds nothing new.
    assert (offering.look(np.full(4000, 9.0)) == created).all()


def test_the_next_event_by_chance_is_as_far_as_its_rate_says_and_none_comes_after_the_load():
    curve = ArrivalCurve.from_law(parse_law("poisson", rate_per_s=50.0), 20.0)
    offering = Offering.start(curve, 4000, np.random.default_rng(3))
    offering.look(np.full(4000, 4.0))
    assert (offering.next_s() - 4.0).mean() == pytest.approx(1 / 50, rel=0.08)
    offering.look(np.full(4000, 19.99))
    # Half an event is expected in what is left.
    assert np.isinf(offering.next_s()).mean() == pytest.approx(np.exp(-0.5), abs=0.03)


def test_without_chance_nothing_is_shifted():
    offering = Offering.start(
        ArrivalCurve.from_law(parse_law("constant", rate_per_s=10.0), 1.0), 2, np.random.default_rng(1)
    )
    offering.look(np.full(2, 0.55))
    assert offering.shift().tolist() == [0.0, 0.0]


def test_the_total_and_the_mean_rate_of_a_curve_are_those_of_its_load():
    curve = ArrivalCurve(np.array([0.0, 4.0, 5.0]), np.array([0.0, 10.0, 12.9999999999]))
    assert (curve.total, curve.end_s, curve.whole) == (12.9999999999, 5.0, 13.0)
    assert curve.mean_rate_per_s == pytest.approx(2.6)
    assert curve.time_of([-1.0, 99.0]).tolist() == [0.0, 5.0]


def test_a_limit_never_falls_below_the_smallest_nor_by_more_than_half_at_a_time():
    limit = AdmissionLimit(1, fixed=None, target_s=3.0)
    consumed, seen = 0.0, []
    for step in range(14):
        seen.append(float(limit.allow(np.array([consumed]), np.array([1000.0 * step]), np.array([True]))[0]))
        consumed += seen[-1]
    assert seen[0] == seen[1] * 2 == 500_000
    assert all(after >= before // 2 for before, after in pairwise(seen))
    assert seen[-1] == 1000


@pytest.mark.parametrize(("start", "following"), [(0.9999999999, 2.0), (0.999, 1.0), (1.0, 2.0), (1.001, 2.0)])
def test_a_start_that_misses_a_multiple_by_rounding_counts_as_that_multiple(start, following):
    assert float(next_start(start, start + 0.0001, 1.0)) == pytest.approx(following)


def test_an_event_whose_time_is_missed_by_rounding_exists():
    curve = ArrivalCurve(np.array([0.0, 1.0]), np.array([0.0, 10.0]))
    offering = Offering.start(curve, 3, np.random.default_rng(1))
    assert offering.look(np.array([0.29999999999, 0.3, 0.2999])).tolist() == [4.0, 4.0, 3.0]
