"""When micro-batches start and what they hold."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.arrivals import parse_law
from streamgauge.engine import source
from streamgauge.experiment import settings as run_settings
from streamgauge.model import ArrivalCurve, next_start, query, trigger, trigger_starts
from streamgauge.model.trigger import AdmissionLimit, Offering


def test_starts_follow_the_trigger_unless_a_micro_batch_overruns_it():
    assert trigger_starts([0.4, 1.3, 0.7, 0.9], 1.0) == [0, 1.0, 2.3, 3.0, 4.0]


def test_without_an_interval_a_trigger_follows_at_once():
    assert trigger_starts([0.5, 0.25], 0.0, first_s=1.0) == [1.0, 1.5, 1.75]


@given(
    st.lists(st.floats(0.001, 5.0), min_size=1, max_size=30),
    st.sampled_from([0.1, 0.25, 0.3, 1.0, 1.7]),
    st.floats(0.0, 3.0),
)
def test_a_start_is_the_end_of_the_last_micro_batch_or_a_later_multiple(durations, interval, first):
    starts = trigger_starts(durations, interval, first_s=first)
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


def test_a_recorded_schedule_has_no_chance():
    schedule = parse_law("poisson", rate_per_s=100.0).schedule(5.0)
    curve = ArrivalCurve.from_schedule(schedule)
    assert curve.random_share == 0
    assert curve.total == schedule.total


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
    real = source.AdaptiveAdmission(3.0, source.FIRST_ADMITTED)
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


def test_the_model_limits_as_the_engine_does():
    assert (trigger.FIRST_ADMITTED, trigger.MIN_ADMITTED) == (source.FIRST_ADMITTED, source.MIN_ADMITTED)
    assert (query.ADMIT_S, query.ADMIT_TRIGGERS) == (run_settings.ADMIT_S, run_settings.ADMIT_TRIGGERS)
    assert (query.MAX_CORES, query.MAX_PARTITIONS) == (run_settings.MAX_CORES, run_settings.MAX_PARTITIONS)


def test_arrays_of_triggers_are_as_single_ones():
    starts, ends = np.array([0.0, 0.2, 2.3]), np.array([0.4, 3.5, 2.9])
    both = next_start(starts, ends, 1.0)
    assert both.tolist() == [float(next_start(s, e, 1.0)) for s, e in zip(starts, ends, strict=True)] == [1.0, 3.5, 3.0]
