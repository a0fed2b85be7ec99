"""The embedded source's planning, which needs neither Java nor a session."""

import gc

import numpy as np
import pytest
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadMaxRows

from streamgauge.arrivals import Constant
from streamgauge.arrivals.admission import MIN_ADMITTED
from streamgauge.engine.admission import AdaptiveAdmission, FixedAdmission, admission_of
from streamgauge.engine.spark.gate import Gate
from streamgauge.engine.spark.source import EmbeddedReader

# A load of the past, so that what exists does not depend on when the test runs.
ORIGIN_US = 1_700_000_000_000_000


@pytest.fixture
def control(tmp_path):
    """A control folder with 10,000 events at 1000/s."""
    Constant(1000.0).schedule(10.0).save(tmp_path / "schedule.npy")
    return tmp_path


@pytest.fixture
def reader(control):
    def one(**options):
        texts = {"control": str(control), "partitions": "2", "admission_target_s": "3.0"} | options
        return EmbeddedReader(texts)

    return one


def test_before_the_gate_is_there_no_event_exists(reader):
    source = reader()
    assert source.initialOffset() == {"n": 0}
    assert source.latestOffset({"n": 0}, source.getDefaultReadLimit()) == {"n": 0}
    assert source.reportLatestOffset() == {"n": 0}
    assert source.partitions({"n": 0}, {"n": 5}) == []


def test_l3_the_latest_offset_is_the_number_of_events_created_by_now(reader, control):
    source = reader()
    Gate(ORIGIN_US, ORIGIN_US + 3_999_999).write(control)
    assert source.latestOffset({"n": 0}, ReadAllAvailable())["n"] == 4_000
    Gate(ORIGIN_US).write(control)
    assert source.latestOffset({"n": 0}, ReadAllAvailable())["n"] == 10_000


def test_a_gate_that_closes_early_is_noticed(reader, control):
    source = reader()
    Gate(ORIGIN_US).write(control)
    assert source.reportLatestOffset() == {"n": 10_000}
    Gate(ORIGIN_US, ORIGIN_US + 999).write(control)
    assert source.reportLatestOffset() == {"n": 1}


def test_the_limit_holds_events_back_and_says_how_many(reader, control):
    source = reader(max_rows_per_batch="300")
    Gate(ORIGIN_US).write(control)
    limit = source.getDefaultReadLimit()
    assert isinstance(limit, ReadMaxRows)
    assert source.latestOffset({"n": 0}, limit) == {"n": 300, "left": 9_700}
    assert source.latestOffset({"n": 300, "left": 9_700}, limit) == {"n": 600, "left": 9_400}
    assert source.latestOffset({"n": 9_900}, limit) == {"n": 10_000, "left": 0}


def test_an_offset_does_not_move_when_nothing_is_new(reader, control):
    source = reader()
    Gate(ORIGIN_US).write(control)
    start = {"n": 10_000, "left": 0}
    assert source.latestOffset(start, source.getDefaultReadLimit()) == start


def test_a_bounded_run_ends_where_it_began_to_look(reader, control):
    source = reader()
    Gate(ORIGIN_US, ORIGIN_US + 4_999_999).write(control)
    source.prepareForTriggerAvailableNow()
    Gate(ORIGIN_US).write(control)
    assert source.latestOffset({"n": 0}, ReadAllAvailable())["n"] == 5_000


@pytest.mark.parametrize("partitions", [1, 2, 7])
def test_l2_partitions_hold_every_event_once_at_its_time(reader, control, partitions):
    source = reader(partitions=str(partitions))
    Gate(ORIGIN_US).write(control)
    numbers, times_us = [], []
    for partition in source.partitions({"n": 123}, {"n": 9_001, "left": 5}):
        for first, last, base, events, segment_us, span_us, _ in zip(*partition.columns, strict=True):
            n = np.arange(first, last + 1)
            numbers += n.tolist()
            times_us += (segment_us + (n - base) * span_us // events).tolist()
    assert numbers == list(range(123, 9_001))
    assert times_us == (source.schedule.times_us(np.arange(123, 9_001)) + ORIGIN_US).tolist()


def test_a_partition_sends_its_chunks_as_one_table(reader, control, monkeypatch):
    # Meant for workers, which do nothing else; here it would keep the objects of all other tests alive.
    monkeypatch.setattr(gc, "freeze", lambda: None)
    source = reader()
    Gate(ORIGIN_US).write(control)
    first, _ = source.partitions({"n": 0}, {"n": 10_000})
    (table,) = source.read(first)
    assert table.schema.names == ["first", "last", "base", "events", "segment_us", "span_us", "load_us"]
    assert sum(row["last"] - row["first"] + 1 for row in table.to_pylist()) == 5_000


def test_more_partitions_than_events_leave_some_out(reader, control):
    Gate(ORIGIN_US).write(control)
    assert len(reader(partitions="8").partitions({"n": 0}, {"n": 3})) == 3


def test_the_user_s_limit_never_changes():
    admission = admission_of({"max_rows_per_batch": "300"})
    assert admission == FixedAdmission(300)
    assert [admission.allow(start, float(start)) for start in (0, 300, 600)] == [300, 300, 300]


def test_a_fast_query_doubles_its_limit_batch_by_batch():
    admission = AdaptiveAdmission(target_s=3.0, limit=10_000)
    assert [admission.allow(0, 0.0), admission.allow(10_000, 0.1), admission.allow(30_000, 0.2)] == [
        10_000,
        20_000,
        40_000,
    ]


def test_a_slow_query_halves_its_limit_but_not_without_end():
    admission = AdaptiveAdmission(target_s=3.0, limit=10_000)
    start, now_s = 0, 0.0
    for _ in range(10):
        start, now_s = start + admission.allow(start, now_s), now_s + 1_000.0
    assert admission.limit == MIN_ADMITTED


@pytest.mark.parametrize("rate_per_s", [2_000.0, 100_000.0])
def test_under_overload_batches_settle_at_the_target(rate_per_s):
    admission = AdaptiveAdmission(target_s=3.0, limit=50_000)
    start, now_s = 0, 0.0
    for _ in range(20):
        allowed = admission.allow(start, now_s)
        start, now_s = start + allowed, now_s + allowed / rate_per_s
    assert allowed / rate_per_s == pytest.approx(3.0, rel=0.01)


def test_a_batch_below_its_limit_leaves_it_alone():
    admission = AdaptiveAdmission(target_s=3.0, limit=10_000)
    admission.allow(0, 0.0)
    assert admission.allow(9_999, 50.0) == 10_000


def test_a_restart_on_the_same_offset_leaves_the_limit_alone():
    admission = AdaptiveAdmission(target_s=3.0, limit=10_000)
    admission.allow(5_000, 0.0)
    assert admission.allow(5_000, 9.0) == 10_000
