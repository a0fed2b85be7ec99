"""Results that are timed one by one."""

import numpy as np
import pytest

from streamgauge.arrivals import parse_law
from streamgauge.measure import Emissions, account, all_processed

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
