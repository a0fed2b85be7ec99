from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from streamgauge.arrivals import Constant, Schedule, parse_law
from streamgauge.measure import ingested_rate, is_level, offered_rate, processed_rate

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


def parts(*counts, part_us=1_000_000):
    """Return a schedule with that many events in each part of a second."""
    return Schedule(part_us * np.arange(len(counts) + 1), np.cumsum([0, *counts]))


def level(schedule, start_s=0, end_s=10):
    return is_level(schedule, ORIGIN_US, ORIGIN_US + round(1e6 * start_s), ORIGIN_US + round(1e6 * end_s))


@pytest.mark.parametrize("place", [0, 4, 9])
@pytest.mark.parametrize("sign", [1, -1])
def test_a_tenth_of_the_time_may_differ_by_a_twentieth_four_deviations_and_an_event(place, sign):
    # The mean of 10,000 allows 500 + 4 * 100 + 1.
    for more, expected in ((901, True), (902, False)):
        counts = [10_000 - sign * 100] * 10
        counts[(place + 1) % 10] -= sign * (more - 900)
        counts[place] = 10_000 + sign * more
        assert sum(counts) == 100_000
        assert level(parts(*counts)) is expected


def test_a_load_that_changes_outside_of_the_interval_is_level():
    changing = parts(*[1000] * 10, *[5000] * 10)
    assert level(changing)
    assert level(changing, 10, 20)
    assert not level(changing, 5, 15)


def test_chance_does_not_make_a_load_vary():
    assert level(parse_law("poisson", rate_per_s=50.0, seed=1).schedule(10.0))


def test_an_interval_that_is_empty_or_the_wrong_way_round_is_level():
    changing = parts(*[1000] * 5, *[5000] * 5)
    assert level(changing, 5, 5)
    assert level(changing, 9, 1)
    assert offered_rate(changing, ORIGIN_US, ORIGIN_US + 9, ORIGIN_US + 1) is None


def test_the_rate_of_a_load_that_varies_is_that_between_the_first_and_the_last_instant():
    batches = [
        make_batch(k, 0, n, started_s=t, emitted_s=t + 1) for k, (t, n) in enumerate([(2, 5), (3, 900), (7, 1005)])
    ]
    assert ingested_rate(batches, *FOREVER, level=False) == 200.0
    assert processed_rate(batches, *FOREVER, level=False) == 200.0
    assert processed_rate(batches[::-1], *FOREVER, level=False) == 200.0
    # By default the load is level, and the rate that of a line through all instants.
    assert processed_rate(batches, *FOREVER) == pytest.approx(processed_rate(batches, *FOREVER, level=True))
    assert ingested_rate(batches, *FOREVER) == pytest.approx(np.polyfit([2, 3, 7], [5, 900, 1005], 1)[0])
