from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from streamgauge.arrivals import Constant
from streamgauge.measure import capacity, ingested_rate, offered_rate, processed_rate

from .samples import ORIGIN_US, make_batch, schedules

FOREVER = (0, 2**62)


def test_the_offered_rate_of_a_constant_law_is_its_rate():
    schedule = Constant(100.0).schedule(10.0)
    assert offered_rate(schedule, ORIGIN_US, ORIGIN_US + 2_000_000, ORIGIN_US + 5_000_000) == 100.0


def test_the_offered_rate_counts_time_without_load():
    schedule = Constant(100.0).schedule(10.0)
    assert offered_rate(schedule, ORIGIN_US, ORIGIN_US - 10_000_000, ORIGIN_US + 10_000_000) == 50.0


@given(schedules(), st.integers(-100, 10**7), st.integers(1, 10**7))
def test_the_offered_rate_counts_events_of_the_half_open_interval(schedule, start_us, length_us):
    times = schedule.times_us(np.arange(schedule.total))
    inside = int(np.sum((times >= start_us) & (times < start_us + length_us)))
    found = offered_rate(schedule, ORIGIN_US, ORIGIN_US + start_us, ORIGIN_US + start_us + length_us)
    assert found == pytest.approx(inside / length_us * 1e6)


def test_an_empty_interval_has_no_offered_rate():
    assert offered_rate(Constant(1.0).schedule(1.0), 0, 5, 5) is None


def test_the_processed_rate_is_the_line_through_the_emissions():
    batches = [
        make_batch(0, 0, 1_000, emitted_s=1),
        make_batch(1, 1_000, 1_100, emitted_s=2),
        make_batch(2, 1_100, 1_400, emitted_s=4),
    ]
    assert processed_rate(batches, *FOREVER) == pytest.approx(np.polyfit([1, 2, 4], [1_000, 1_100, 1_400], 1)[0])


def test_s7_rates_equal_the_linear_regression_of_scipy():
    rng = np.random.default_rng(1)
    times_s, events = np.round(np.cumsum(rng.uniform(0.2, 2.0, 50)), 6), np.cumsum(rng.integers(0, 5_000, 50))
    batches = [
        make_batch(k, 0, int(n), started_s=t, emitted_s=t) for k, (t, n) in enumerate(zip(times_s, events, strict=True))
    ]
    expected = stats.linregress(times_s, events).slope
    assert processed_rate(batches, *FOREVER) == pytest.approx(expected, rel=1e-9)
    assert ingested_rate(batches, *FOREVER) == pytest.approx(expected, rel=1e-9)


def test_the_ingested_rate_runs_from_start_to_start():
    batches = [
        make_batch(0, 0, 1_000, started_s=0, emitted_s=9),
        make_batch(1, 1_000, 1_500, started_s=2, emitted_s=10),
    ]
    assert ingested_rate(batches, *FOREVER) == 250.0


def test_an_unthrottled_query_ingests_what_is_offered():
    schedule = Constant(1_000.0).schedule(20.0)
    ends = [int(schedule.created(round(k * 1.3e6))) for k in range(10)]
    batches = [make_batch(k, ends[k - 1], ends[k], started_s=1.3 * k) for k in range(1, 10)]
    start_us, end_us = batches[0].started_us, batches[-1].started_us
    assert ingested_rate(batches, *FOREVER) == pytest.approx(offered_rate(schedule, ORIGIN_US, start_us, end_us))


def test_only_batches_inside_the_half_open_interval_count():
    batches = [make_batch(k, 100 * k, 100 * (k + 1), emitted_s=k) for k in range(5)]
    assert processed_rate(batches, ORIGIN_US + 1_000_000, ORIGIN_US + 3_000_000) == 100.0
    assert processed_rate(batches, ORIGIN_US + 1_000_000, ORIGIN_US + 2_000_000) is None


@pytest.mark.parametrize("rate", [ingested_rate, processed_rate])
def test_fewer_than_two_batches_or_two_at_once_have_no_rate(rate):
    one = make_batch(0, 0, 10)
    assert rate([], *FOREVER) is None
    assert rate([one], *FOREVER) is None
    assert rate([one, make_batch(1, 10, 20, started_s=0)], *FOREVER) is None


def test_a_stuck_query_has_a_processed_rate_of_zero():
    batches = [make_batch(0, 0, 100, emitted_s=1), make_batch(1, 100, 100, emitted_s=11)]
    assert processed_rate(batches, *FOREVER) == 0.0


def test_one_late_emission_at_the_end_hardly_moves_the_processed_rate():
    steady = [make_batch(k, k * 1_000, (k + 1) * 1_000, emitted_s=k + 1) for k in range(40)]
    late = [*steady[:-1], replace(steady[-1], emitted_us=steady[-1].emitted_us + 800_000)]
    assert processed_rate(steady, *FOREVER) == pytest.approx(1_000)
    assert processed_rate(late, *FOREVER) == pytest.approx(1_000, rel=0.005)


def long_batches(rate_per_s, *, fixed_s=0.5, per_event_s=1e-3):
    """Return micro-batches, each of what came during the one before, and how long their tasks take."""
    takes_s = fixed_s / (1 - rate_per_s * per_event_s)
    events = round(rate_per_s * takes_s)
    made = [make_batch(k, k * events, (k + 1) * events, started_s=0, emitted_s=takes_s - 0.01) for k in range(3)]
    return made, takes_s - fixed_s


@pytest.mark.parametrize("rate_per_s", [50.0, 400.0, 800.0])
def test_micro_batches_tell_the_capacity_at_any_rate(rate_per_s):
    # Micro-batches of 3 s, of which half a second passes without tasks.
    assert capacity(*long_batches(rate_per_s), longest_s=3.0) == pytest.approx(1000 * 2.5 / 3, rel=0.02)


def test_the_admission_limit_and_the_trigger_decide_the_capacity_where_they_are_given():
    batches, tasks_s = long_batches(400.0)
    limited = {"longest_s": 3.0, "most_events": 500}
    assert capacity(batches, tasks_s, **limited) == pytest.approx(500 / (0.5 + 0.5), rel=0.01)
    assert capacity(batches, tasks_s, trigger_s=2.0, **limited) == pytest.approx(250)


def test_nothing_but_micro_batches_with_time_for_tasks_tells_a_capacity():
    batches, tasks_s = long_batches(400.0, fixed_s=3.5)
    assert capacity([], 1.0, longest_s=3.0) is None
    assert capacity(batches, 0.0, longest_s=3.0) is None
    assert capacity(batches, tasks_s, longest_s=3.0) is None
