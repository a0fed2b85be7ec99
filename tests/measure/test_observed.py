import json
from dataclasses import replace

import numpy as np
import pytest

from made_runs.event_logs import START_MS, kafka, progress, steady
from streamgauge.arrivals.schedule import MAX_SEGMENT_PRODUCT
from streamgauge.measure import infer_trigger_s, observed_batches, observed_schedule, tells_backlog
from streamgauge.measure.observed_load import look_us


def plain(document):
    """A report as listeners get it, where offsets are no text."""
    sources = [
        {key: json.loads(value) if key.endswith("Offset") and value else value for key, value in source.items()}
        for source in document["sources"]
    ]
    return {**document, "sources": sources}


def started(starts_ms, *, took_ms=200, unit_ms=3_600_000):
    """Micro-batches of 100 rows that begin at these times, in milliseconds after a multiple of a unit."""
    origin_ms = START_MS // unit_ms * unit_ms
    return observed_batches([progress(k, origin_ms + ms, 100, took_ms=took_ms) for k, ms in enumerate(starts_ms)])


def test_rows_count_as_events_from_the_first_report_on():
    found = observed_batches([progress(k, START_MS + k * 1000, rows) for k, rows in ((4, 10), (5, 0), (6, 30))])
    assert [(b.batch_id, b.first, b.last) for b in found] == [(4, 0, 10), (5, 10, 10), (6, 10, 40)]


def test_the_rows_of_all_sources_add_up():
    sources = [{"description": "a", "numInputRows": 10}, {"description": "b", "numInputRows": 5}]
    (found,) = observed_batches([progress(0, START_MS, 0, sources=sources)])
    assert found.events == 15


def test_triggers_that_ran_nothing_are_left_out():
    idle = progress(1, START_MS + 1000, 0)
    del idle["durationMs"]["addBatch"]
    assert [b.batch_id for b in observed_batches([progress(0, START_MS, 10), idle])] == [0]


def test_what_kafka_still_holds_is_left_behind():
    document = plain(progress(0, START_MS, 0, sources=[kafka(100, 500, 750)]))
    (found,) = observed_batches([document])
    assert (found.events, found.left) == (100, 250)
    assert tells_backlog([document])


@pytest.mark.parametrize(
    "latest",
    [
        None,
        7,
        {"offset": 7},
        {},
        {"clicks": {"0": "many"}},
        {"clicks": 7},
        {"clicks": {"0": 5}, "views": 7},
        {"clicks": {"0": 5, "1": "many"}},
    ],
    ids=["none", "number", "other", "empty", "text", "flat", "one flat", "one text"],
)
def test_a_source_that_is_not_kafka_does_not_tell_what_it_holds(latest):
    source = {"description": "x", "numInputRows": 10, "endOffset": latest, "latestOffset": latest}
    document = progress(0, START_MS, 0, sources=[source])
    (found,) = observed_batches([document])
    assert (found.events, found.left) == (10, 0)
    assert not tells_backlog([document])


def test_one_source_that_does_not_tell_is_enough_to_know_nothing():
    sources = [kafka(100, 500, 750), {"description": "x", "numInputRows": 10}]
    assert not tells_backlog([plain(progress(0, START_MS, 0, sources=sources))])
    assert not tells_backlog([])


def test_the_events_of_our_own_source_are_counted_by_its_offsets():
    source = {"description": "s", "startOffset": {"n": 50}, "endOffset": {"n": 80, "left": 5}, "numInputRows": 2}
    document = progress(3, START_MS, 0, sources=[source])
    (found,) = observed_batches([document])
    assert (found.events, found.left) == (30, 5)
    assert tells_backlog([document])


@pytest.mark.parametrize("interval_ms", [100, 250, 500, 1000, 1500, 2000, 7000, 10_000, 60_000])
def test_the_trigger_is_told_from_starts_just_after_its_multiples(interval_ms):
    rng = np.random.default_rng(1)
    late = rng.integers(0, max(2, min(15, interval_ms // 25)), 30)
    starts = [interval_ms * (k + 1) + int(late[k]) for k in range(30)]
    assert infer_trigger_s(started(starts, took_ms=interval_ms // 2, unit_ms=interval_ms)) == interval_ms / 1000


def test_a_trigger_is_told_although_some_micro_batches_overran_it():
    starts = [1000 * k + 3 for k in range(10)] + [10_000 + 1700, 13_002, 14_001, 15_004, 16_002]
    assert infer_trigger_s(started(starts)) == 1.0


def test_triggers_that_found_nothing_do_not_hide_the_interval():
    assert infer_trigger_s(started([2000 * k + 2 for k in (1, 2, 5, 6, 9, 10, 11, 17)])) == 2.0


def test_micro_batches_that_follow_each_other_at_once_have_no_interval():
    assert infer_trigger_s(started([211 * k for k in range(20)])) == 0.0


def test_starts_at_odd_times_come_from_a_query_that_looks_all_the_time():
    rng = np.random.default_rng(2)
    assert infer_trigger_s(started(np.cumsum(rng.integers(300, 900, 20)))) == 0.0


def test_too_few_micro_batches_tell_no_trigger():
    assert infer_trigger_s(started([1000, 2000, 3000])) is None
    assert infer_trigger_s([]) is None


def test_rows_come_evenly_between_two_looks():
    found = started([0, 1000, 2000])
    schedule = observed_schedule(found)
    assert schedule.created([1_000_000 - 1, 1_500_000 - 1, 2_000_000 - 1]).tolist() == [200, 250, 300]
    assert schedule.end_us == look_us(found[-1]) - found[0].started_us == 2_000_000
    assert schedule.total == 300


def test_rows_that_a_source_keeps_back_have_come_already():
    documents = [plain(progress(k, START_MS + 1000 * k, 0, sources=[kafka(100, 100 * k, 150 * k)])) for k in range(4)]
    schedule = observed_schedule(observed_batches(documents))
    assert schedule.created([1_000_000 - 1, 2_000_000 - 1, 3_000_000 - 1]).tolist() == [250, 400, 550]


def test_rows_found_after_an_idle_time_are_not_older_than_the_look_before():
    quiet = started([0, 10_000])
    assert observed_schedule(quiet, trigger_s=1.0).created(9_000_000 - 1) == 100
    assert observed_schedule(quiet, trigger_s=1.0).created(9_500_000 - 1) == 150
    assert observed_schedule(quiet, trigger_s=0.0).created(9_949_000) == 100
    assert observed_schedule(quiet, trigger_s=None).created(5_000_000 - 1) == 150


def test_without_an_idle_look_the_trigger_does_not_matter():
    busy = started([0, 200, 400], took_ms=190)
    assert observed_schedule(busy, trigger_s=0.0) == observed_schedule(busy)


def test_a_look_takes_the_time_that_spark_reports_for_it():
    (found,) = started([0])
    later = replace(found, phases_s={**found.phases_s, "source_offsets": 0.05})
    assert look_us(later) - look_us(found) == 50_000


def test_many_rows_after_a_very_long_time_are_still_exact_arithmetic():
    day_ms = 86_400_000
    documents = [progress(0, START_MS, 0), progress(1, START_MS + 30 * day_ms, 10**12)]
    schedule = observed_schedule(observed_batches(documents))
    assert schedule.total == 10**12
    half = int(schedule.created(15 * day_ms * 1000 - 1))
    assert half == pytest.approx(5 * 10**11, rel=1e-6)


def test_no_micro_batch_tells_nothing():
    with pytest.raises(ValueError, match="no micro-batch"):
        observed_schedule([])


def test_reports_out_of_order_are_put_in_order():
    documents = steady(5)
    assert observed_batches(documents[::-1]) == observed_batches(documents)


@pytest.mark.parametrize(("took_ms", "trigger_s"), [(990, 0.0), (970, 0.0), (969, 1.0), (899, 1.0)])
def test_only_a_wait_of_more_than_thirty_milliseconds_shows_a_trigger(took_ms, trigger_s):
    assert infer_trigger_s(started([1000 * k for k in range(20)], took_ms=took_ms)) == trigger_s


@pytest.mark.parametrize(
    ("waits", "wait_ms", "trigger_s"), [(1, 200, 0.0), (2, 200, None), (4, 200, None), (4, 70, 0.0)]
)
def test_some_long_waits_that_are_too_few_leave_the_trigger_open(waits, wait_ms, trigger_s):
    # Eleven micro-batches; more than a tenth of them that waited are more than chance.
    gaps_ms = [200 + wait_ms + 7 * k if k < waits else 203 for k in range(10)]
    assert infer_trigger_s(started([31, *(31 + np.cumsum(gaps_ms)).tolist()])) == trigger_s


def test_an_interval_is_told_although_the_gaps_between_starts_are_off():
    # Of eleven gaps six are 366 ms, because every other start is late.
    starts = [350 * (k + 1) + 16 * (k % 2) for k in range(12)]
    assert infer_trigger_s(started(starts, took_ms=100, unit_ms=350)) == 0.35


@pytest.mark.parametrize(("interval_ms", "trigger_s"), [(50, 0.05), (49, 0.0)])
def test_fifty_milliseconds_is_the_shortest_interval(interval_ms, trigger_s):
    assert infer_trigger_s(started([interval_ms * k for k in range(20)], took_ms=10, unit_ms=interval_ms)) == trigger_s


@pytest.mark.parametrize(("off", "trigger_s"), [(2, 1.0), (3, 0.0)])
def test_a_tenth_of_the_starts_may_be_off(off, trigger_s):
    # Twenty starts had to wait.
    starts = [1000 * k + (437 if k <= off else 20) for k in range(21)]
    assert infer_trigger_s(started(starts)) == trigger_s


@pytest.mark.parametrize(("many", "trigger_s"), [(6, 1.0), (5, None)])
def test_five_waits_are_needed_to_tell_a_trigger(many, trigger_s):
    assert infer_trigger_s(started([1000 * k for k in range(many)])) == trigger_s


def test_rows_come_between_looks_and_after_idle_ones():
    batches = started([0, 1000, 6000, 7000, 20_000])
    schedule = observed_schedule(batches, trigger_s=2.0)
    # Before the third and the fifth micro-batch there was a look two seconds earlier that found nothing.
    seconds = [0, 0.000001, 1, 4, 6, 7, 18, 20]
    assert (schedule.time_us / 1e6).tolist() == pytest.approx(seconds)
    assert schedule.count.tolist() == [0, 100, 200, 200, 300, 400, 400, 500]


def test_a_look_that_is_reported_after_its_micro_batch_leaves_times_in_order():
    first, *others = started([0, 3000, 3100, 9000])
    odd = replace(first, phases_s={**first.phases_s, "source_offsets": 5.0})
    schedule = observed_schedule([odd, *others], trigger_s=1.0)
    assert schedule.time_us.tolist() == [0, 5_000_000, 5_000_001, 5_000_002, 8_000_000, 9_000_000]
    assert schedule.count.tolist() == [0, 100, 200, 300, 300, 400]


def test_rows_that_are_left_never_lower_the_number_that_came():
    documents = [
        plain(progress(k, START_MS + 1000 * k, 0, sources=[kafka(100, 0, latest)]))
        for k, latest in enumerate((900, 0, 0))
    ]
    assert observed_schedule(observed_batches(documents)).count.tolist() == [0, 1000, 1000, 1000]


def test_every_part_of_a_long_time_with_many_rows_has_its_rate():
    day_ms = 86_400_000
    documents = [progress(k, START_MS + 30 * day_ms * k, rows) for k, rows in enumerate((5, 10**12, 3 * 10**12))]
    schedule = observed_schedule(observed_batches(documents))
    at_us = [day_ms * 1000 * days - 1 for days in (15, 30, 45, 60)]
    assert schedule.created(at_us).tolist() == pytest.approx([5 * 10**11, 10**12, 2.5 * 10**12, 4 * 10**12], rel=1e-6)
    assert np.all(np.diff(schedule.time_us) * np.diff(schedule.count).astype(float) <= MAX_SEGMENT_PRODUCT)
    assert schedule.count[-1] == 4 * 10**12 + 5


def test_an_interval_of_any_whole_number_of_milliseconds_is_told_by_the_gaps():
    assert infer_trigger_s(started([1237 * k for k in range(12)], unit_ms=1237)) == 1.237
