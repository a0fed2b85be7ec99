"""Results that are timed one by one."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from streamgauge.arrivals import Schedule, parse_law
from streamgauge.measure import Batch, Emissions, Histogram, account, all_processed

from .samples import schedules

ORIGIN_US = 1_700_000_000_000_000


def steady(latency_us: int, *, rate: int = 1000, seconds: int = 4) -> Emissions:
    """Return one result per event, each so much later than its event."""
    intended = ORIGIN_US + np.arange(rate * seconds) * (1_000_000 // rate)
    return Emissions.of(intended + latency_us, intended)


def schedule(seconds: float = 4.0):
    return parse_law("constant", rate_per_s=1000.0, seed=1).schedule(seconds)


def test_a_latency_is_the_appearance_minus_the_time_of_the_event():
    found = Emissions.of([ORIGIN_US + 9000, ORIGIN_US + 5000], [ORIGIN_US + 2000, ORIGIN_US + 1000])
    assert list(found.latency_us) == [4000, 7000]
    histogram = found.histogram(ORIGIN_US, ORIGIN_US + 10_000)
    assert (histogram.count, histogram.min_us, histogram.max_us) == (2, 4000, 7000)


def test_only_results_of_events_in_the_measured_time_count():
    found = steady(5000).histogram(ORIGIN_US + 1_000_000, ORIGIN_US + 3_000_000)
    assert (found.count, found.min_us, found.max_us) == (2000, 5000, 5000)


def test_a_result_before_its_event_is_seen_and_a_tick_is_forgiven():
    assert steady(-1000).negative == 0
    assert steady(-2000).negative == 4000
    assert steady(-2000).histogram(ORIGIN_US, ORIGIN_US + 10**7).max_us == 0


def test_slices_cover_all_events_once_and_follow_the_latest_result():
    slices = steady(20_000).slices(schedule(), ORIGIN_US)
    assert [b.last for b in slices[:2]] == pytest.approx([480, 980], abs=2)
    found = account(4000, slices)
    assert (found.processed, found.in_flight, found.reasons) == (4000, 0, ())
    assert sum(b.output_rows or 0 for b in slices) == 4000


def test_results_that_stop_early_leave_events_that_are_not_known_to_be_processed():
    whole = steady(20_000)
    half = Emissions.of(whole.appeared_us[:2000], whole.intended_us[:2000])
    slices = half.slices(schedule(), ORIGIN_US)
    assert account(4000, slices).in_flight == pytest.approx(2000, abs=1)
    assert account(4000, all_processed(slices, 4000)).in_flight == 0


def test_a_query_that_falls_behind_shows_a_growing_backlog():
    intended = ORIGIN_US + np.arange(4000) * 1000
    slow = Emissions.of(ORIGIN_US + np.arange(4000) * 2000, intended)
    backlog = [int(schedule().created(b.emitted_us - ORIGIN_US)) - b.last for b in slow.slices(schedule(), ORIGIN_US)]
    assert backlog[:7] == sorted(backlog[:7])
    assert backlog[6] > 1500


def test_the_latency_of_a_slice_is_that_of_its_results():
    slices = steady(20_000).slices(schedule(), ORIGIN_US)
    assert steady(20_000).in_slice(slices[3]).mean_s == pytest.approx(0.02)


def test_without_results_there_are_no_slices():
    nothing = Emissions.of([], [])
    assert nothing.slices(schedule(), ORIGIN_US) == []
    assert nothing.histogram(0, ORIGIN_US).count == 0
    assert all_processed([], 10) == []


def test_a_last_result_that_comes_late_has_a_slice():
    intended = [ORIGIN_US, ORIGIN_US + 1000]
    late = Emissions.of([ORIGIN_US + 5000, ORIGIN_US + 3_200_000], intended)
    slices = late.slices(schedule(), ORIGIN_US, slice_us=1_000_000)
    assert [b.output_rows for b in slices] == [1, 0, 0, 1]
    assert slices[-1].emitted_us == ORIGIN_US + 4_000_000


@st.composite
def results(draw):
    """Draw a schedule and results of some of its events, in whole milliseconds, at any time after them."""
    planned = draw(schedules(max_events=60))
    events = draw(st.lists(st.integers(0, planned.total - 1), min_size=1, max_size=30))
    delays_ms = draw(st.lists(st.integers(0, 4000), min_size=len(events), max_size=len(events)))
    intended_us = ORIGIN_US + planned.times_us(events) // 1000 * 1000
    return planned, Emissions.of(intended_us + 1000 * np.array(delays_ms), intended_us)


def known_processed(planned, found, end_us):
    """Count the events up to the last one that may be behind a result that has appeared."""
    seen = found.intended_us[found.appeared_us < end_us]
    until_us = min(int(seen.max()) + 999, end_us) if len(seen) else ORIGIN_US - 1
    return int(np.sum(ORIGIN_US + planned.times_us(np.arange(planned.total)) <= until_us))


@given(results(), st.sampled_from([1000, 250_000, 1_000_000]))
def test_slices_are_what_counting_results_one_by_one_gives(drawn, slice_us):
    planned, found = drawn
    assume((found.appeared_us[-1] - ORIGIN_US) / slice_us < 100)
    slices = found.slices(planned, ORIGIN_US, slice_us=slice_us)
    assert slices[-1].started_us <= found.appeared_us[-1] < slices[-1].emitted_us
    first = 0
    for k, piece in enumerate(slices):
        start_us = ORIGIN_US + k * slice_us
        inside = (found.appeared_us >= start_us) & (found.appeared_us < start_us + slice_us)
        last = known_processed(planned, found, start_us + slice_us)
        ends_us = (start_us, start_us + slice_us, start_us + slice_us)
        assert piece == Batch(k, *ends_us, first, last, 0, {}, output_rows=int(inside.sum()))
        assert found.in_slice(piece).counts.tolist() == (
            Histogram.from_values_us(found.latency_us[inside]).counts.tolist()
        )
        first = last


def test_an_event_before_the_load_counts_as_none():
    late = Emissions.of([ORIGIN_US + 600_000], [ORIGIN_US])
    first, second = late.slices(schedule(), ORIGIN_US)
    assert (first.last, second.last) == (0, 1)


def test_the_latency_of_a_result_before_its_event_is_none():
    early = steady(-2000)
    (first, *_) = early.slices(schedule(), ORIGIN_US + 1_000_000)
    found = early.in_slice(first)
    assert (found.count, found.min_us, found.max_us) == (500, 0, 0)


def test_times_of_events_are_cut_to_milliseconds_and_so_is_the_begin_of_the_measured_time():
    found = Emissions.of([9000, 9000, 9000, 9000], [2000, 3000, 4000, 5000])
    assert found.histogram(3999, 5000).count == 2
    assert found.histogram(3000, 5001).count == 3


def test_only_the_last_slice_ends_with_the_last_event_that_was_offered():
    slices = steady(20_000).slices(schedule(), ORIGIN_US)
    found = all_processed(slices, 5000)
    assert found[:-1] == slices[:-1]
    assert found[-1] == replace(slices[-1], last=5000)
    assert all_processed(slices, 10) == slices


def test_a_result_shows_all_events_of_its_millisecond_as_processed():
    # An event per microsecond.
    dense = Schedule(np.array([0, 5000]), np.array([0, 5000]))
    found = Emissions.of([ORIGIN_US + 600_000], [ORIGIN_US + 1000]).slices(dense, ORIGIN_US)
    assert [b.last for b in found] == [0, 2000]
