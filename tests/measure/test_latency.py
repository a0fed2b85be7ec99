from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.arrivals import Constant
from streamgauge.clock import ManualClock
from streamgauge.measure import RELATIVE_ERROR, Histogram, batch_latency, negative_events

from .samples import ORIGIN_US, make_batch, schedules


@st.composite
def emitted_batches(draw):
    schedule = draw(schedules())
    first = draw(st.integers(0, schedule.total))
    last = draw(st.integers(first, schedule.total))
    # From well before the last event is created (a clock jump) to long after.
    emitted_us = draw(st.integers(0, 2 * schedule.end_us) | st.integers(0, 2**43))
    return schedule, make_batch(0, first, last, emitted_s=emitted_us / 1e6)


def brute_force(schedule, batch, first, last):
    times = schedule.times_us(np.arange(first, last)) + ORIGIN_US
    return batch.emitted_us - times


@given(emitted_batches())
@settings(max_examples=200)
def test_t2_the_histogram_equals_the_one_of_every_single_event(drawn):
    schedule, batch = drawn
    found = batch_latency(schedule, ORIGIN_US, batch)
    expected = Histogram.from_values_us(brute_force(schedule, batch, batch.first, batch.last))
    assert np.array_equal(found.counts, expected.counts)
    assert (found.min_us, found.max_us) == (expected.min_us, expected.max_us)
    assert found.sum_us == pytest.approx(expected.sum_us, rel=1e-12, abs=batch.events + 1)


@given(emitted_batches())
def test_t2_negative_latencies_are_all_counted(drawn):
    schedule, batch = drawn
    expected = int(np.sum(brute_force(schedule, batch, batch.first, batch.last) < 0))
    assert negative_events(schedule, ORIGIN_US, batch) == expected


@given(emitted_batches(), st.integers(-5, 2_500), st.integers(-5, 2_500))
def test_a_narrowed_batch_measures_only_the_events_inside(drawn, first, last):
    schedule, batch = drawn
    found = batch_latency(schedule, ORIGIN_US, batch, first=first, last=last)
    inside = range(max(first, batch.first), min(last, batch.last))
    latencies = brute_force(schedule, batch, inside.start, inside.stop) if inside else []
    assert np.array_equal(found.counts, Histogram.from_values_us(latencies).counts)
    assert negative_events(schedule, ORIGIN_US, batch, first=first, last=last) == np.sum(np.asarray(latencies) < 0)


@given(emitted_batches(), st.integers(0, 2_500))
def test_the_two_sides_of_a_cut_make_the_whole(drawn, cut):
    schedule, batch = drawn
    parts = batch_latency(schedule, ORIGIN_US, batch, last=cut) + batch_latency(schedule, ORIGIN_US, batch, first=cut)
    whole = batch_latency(schedule, ORIGIN_US, batch)
    assert np.array_equal(parts.counts, whole.counts)
    assert (parts.min_us, parts.max_us) == (whole.min_us, whole.max_us)


@pytest.mark.parametrize(("latency_us", "low_us"), [(255, 255), (256, 256), (257, 256), (258, 258)])
def test_a_latency_at_an_edge_belongs_to_the_bucket_that_starts_there(latency_us, low_us):
    schedule = Constant(1.0).schedule(2.0)
    batch = make_batch(0, 1, 2, emitted_s=1 + latency_us / 1e6)
    assert batch_latency(schedule, ORIGIN_US, batch).to_rows()[0][0] == low_us


def test_a_batch_without_events_has_an_empty_histogram():
    schedule = Constant(10.0).schedule(1.0)
    assert batch_latency(schedule, ORIGIN_US, make_batch(3, 5, 5)) == Histogram.empty()
    assert negative_events(schedule, ORIGIN_US, make_batch(3, 5, 5)) == 0


def test_events_that_were_never_offered_have_no_latency():
    schedule = Constant(10.0).schedule(1.0)
    inside, beyond = (make_batch(0, 0, last, emitted_s=2) for last in (10, 15))
    assert batch_latency(schedule, ORIGIN_US, beyond) == batch_latency(schedule, ORIGIN_US, inside)
    assert negative_events(schedule, ORIGIN_US, beyond) == 0
    assert batch_latency(schedule, ORIGIN_US, make_batch(1, 12, 15)) == Histogram.empty()


def test_millions_of_events_are_measured_exactly_without_touching_each():
    schedule = Constant(4_000_000.0).schedule(100.0)
    batch = make_batch(0, 0, schedule.total, emitted_s=100.0)
    histogram = batch_latency(schedule, ORIGIN_US, batch)
    assert histogram.count == 400_000_000
    assert histogram.mean_s == pytest.approx(50.0, rel=1e-6)
    assert histogram.quantile_s(0.99) == pytest.approx(99.0, rel=RELATIVE_ERROR)


@given(emitted_batches(), st.integers(0, 10**7))
def test_t2_waiting_and_processing_add_up_to_the_end_to_end_latency_of_every_event(drawn, processing_us):
    schedule, late = drawn
    # No event is emitted before it is due: the batch starts when the last of its events exists, or later.
    newest_us = int(schedule.times_us(late.last - 1)) if late.events else 0
    started_us = max(late.emitted_us, ORIGIN_US + newest_us)
    batch = replace(late, started_us=started_us, emitted_us=started_us + processing_us)
    waiting_us = started_us - ORIGIN_US - schedule.times_us(np.arange(batch.first, batch.last))
    found = batch_latency(schedule, ORIGIN_US, batch)
    expected = Histogram.from_values_us(waiting_us + processing_us)
    assert np.all(waiting_us >= 0)
    assert negative_events(schedule, ORIGIN_US, batch) == 0
    assert np.array_equal(found.counts, expected.counts)
    assert (found.min_us, found.max_us) == (expected.min_us, expected.max_us)


def open_loop(schedule, clock, *, stall_at_s, stall_s):
    """Take all that is due, again and again, into a sink that needs 50 ms and stalls once."""
    batches, first = [], 0
    while first < schedule.total:
        started_s, last = clock.monotonic_s(), int(schedule.created(round(clock.monotonic_s() * 1e6)))
        clock.sleep(0.05)
        if started_s >= stall_at_s:
            clock.sleep(stall_s)
            stall_s = 0.0
        emitted_s = clock.monotonic_s()
        batches.append(make_batch(len(batches), first, last, started_s=started_s, emitted_s=emitted_s))
        first = last
    return batches


def test_l3_a_stalled_sink_changes_no_intended_time_and_its_lateness_is_recorded_at_full_size():
    schedule = Constant(100.0).schedule(10.0)
    smooth = open_loop(schedule, ManualClock(), stall_at_s=4.0, stall_s=0.0)
    stalled = open_loop(schedule, ManualClock(), stall_at_s=4.0, stall_s=2.0)
    latenesses_s = []
    for batches in (smooth, stalled):
        numbers = np.concatenate([np.arange(b.first, b.last) for b in batches])
        assert np.array_equal(numbers, np.arange(1_000))
        oldest_us = schedule.times_us([b.first for b in batches if b.events])
        taken_us = np.array([b.started_us for b in batches if b.events]) - ORIGIN_US
        latenesses_s.append((taken_us - oldest_us) / 1e6)
    assert latenesses_s[0].max() <= 0.06
    assert latenesses_s[1].max() == pytest.approx(2.05, abs=0.02)
    waited = [batch_latency(schedule, ORIGIN_US, b).max_us / 1e6 for b in stalled if b.events]
    assert max(waited) == pytest.approx(2.1, abs=0.02)


def stalling_server(schedule, *, service_us, stall_us):
    """Return when each event was sent and answered by a server that answers one at a time and stalls once."""
    sent, answered, free_us = [], [], 0
    for intended_us in schedule.times_us(np.arange(schedule.total)):
        start_us = max(int(intended_us), free_us)
        working_us = max(start_us, stall_us[1]) if stall_us[0] <= start_us < stall_us[1] else start_us
        free_us = working_us + service_us
        sent.append(start_us)
        answered.append(free_us)
    return np.array(sent), np.array(answered)


def test_t1_a_stall_is_seen_at_full_size_from_intended_time_and_hidden_from_send_time():
    schedule = Constant(100.0).schedule(10.0)
    sent_us, answered_us = stalling_server(schedule, service_us=1_000, stall_us=(4_000_000, 5_000_000))
    batches = [make_batch(n, n, n + 1, emitted_s=t / 1e6) for n, t in enumerate(answered_us)]
    intended = sum((batch_latency(schedule, ORIGIN_US, batch) for batch in batches), Histogram.empty())
    from_sending = Histogram.from_values_us(answered_us - sent_us)
    assert intended.count == from_sending.count == 1_000
    # The 990th of 1,000 is the stall's 11th event: it waits 1 s - 10 * 10 ms and for 10 others of 1 ms.
    assert intended.quantile_s(0.99) == pytest.approx(0.911, rel=RELATIVE_ERROR)
    assert from_sending.quantile_s(0.99) == pytest.approx(0.001, rel=RELATIVE_ERROR)
    assert intended.max_us == from_sending.max_us == 1_001_000
