from dataclasses import replace

import pytest

from streamgauge.measure import PHASES, Batch, batch_from_progress, batches_from_progress, counted_batch
from streamgauge.measure.batch import refuse_impossible

START_US = 1_767_323_045_678_000  # 2026-01-02T03:04:05.678Z


def progress(**changes):
    """Return a progress document as Spark writes it."""
    document = {
        "id": "5a9c7f2e-0000-0000-0000-000000000000",
        "timestamp": "2026-01-02T03:04:05.678Z",
        "batchId": 7,
        "batchDuration": 260,
        "numInputRows": 3,
        "durationMs": {
            "addBatch": 150,
            "commitOffsets": 20,
            "getBatch": 1,
            "latestOffset": 4,
            "queryPlanning": 30,
            "triggerExecution": 260,
            "walCommit": 25,
        },
        "eventTime": {"watermark": "2026-01-02T03:03:55.000Z"},
        "stateOperators": [
            {
                "numRowsTotal": 40,
                "memoryUsedBytes": 1_000,
                "commitTimeMs": 12,
                "numRowsDroppedByWatermark": 2,
            },
            {"numRowsTotal": 2, "memoryUsedBytes": 24, "commitTimeMs": 3, "numRowsDroppedByWatermark": 0},
        ],
        "sources": [{"startOffset": {"n": 700}, "endOffset": {"n": 900, "left": 50}, "latestOffset": {"n": 950}}],
        "sink": {"description": "noop", "numOutputRows": 11},
    }
    return document | changes


def test_times_run_from_the_trigger_and_emission_precedes_the_commit_log():
    batch = batch_from_progress(progress())
    assert batch.started_us == START_US
    assert batch.emitted_us == START_US + 240_000
    assert batch.finished_us == START_US + 260_000
    assert batch.duration_s == pytest.approx(0.26)


def test_event_numbers_come_from_the_offsets_and_not_from_the_rows():
    batch = batch_from_progress(progress())
    assert (batch.batch_id, batch.first, batch.last, batch.left, batch.events) == (7, 700, 900, 50, 200)


def test_t2_phases_add_up_to_the_trigger():
    batch = batch_from_progress(progress())
    assert batch.phases_s["execution"] == 0.15
    assert batch.phases_s["other"] == pytest.approx(0.03)
    assert sum(batch.phases_s.values()) == pytest.approx(batch.duration_s)
    assert set(batch.phases_s) == {*PHASES.values(), "other"}


def test_t2_phases_that_overlap_do_not_make_the_rest_negative():
    duration_ms = {"addBatch": 300, "triggerExecution": 260}
    assert batch_from_progress(progress(durationMs=duration_ms)).phases_s["other"] == 0.0


@pytest.mark.parametrize("label", ["2026-01-02T02:04:05.678Z", "2026-01-02T04:04:05.678Z", "1999-12-31T23:59:59.999Z"])
def test_t3_a_jump_of_the_wall_clock_moves_the_labels_of_a_batch_and_none_of_its_durations(label):
    before, after = batch_from_progress(progress()), batch_from_progress(progress(timestamp=label))
    assert after.started_us != before.started_us
    assert (after.duration_s, after.phases_s) == (before.duration_s, before.phases_s)
    assert after.emitted_us - after.started_us == before.emitted_us - before.started_us


def test_state_is_summed_over_the_operators():
    batch = batch_from_progress(progress())
    assert (batch.state_rows, batch.state_bytes, batch.late_rows) == (42, 1_024, 2)
    assert batch.state_commit_s == pytest.approx(0.015)


def test_the_watermark_is_an_instant():
    assert batch_from_progress(progress()).watermark_us == START_US - 10_678_000


def test_a_query_without_event_time_and_state_has_no_watermark():
    batch = batch_from_progress(progress(eventTime={}, stateOperators=[]))
    assert (batch.watermark_us, batch.state_rows, batch.late_rows) == (None, 0, 0)


def test_the_first_batch_starts_at_event_zero():
    source = {"startOffset": None, "endOffset": {"n": 5}, "latestOffset": None}
    batch = batch_from_progress(progress(sources=[source]))
    assert (batch.first, batch.last, batch.left) == (0, 5, 0)


@pytest.mark.parametrize("sink", [{}, {"numOutputRows": -1}])
def test_an_unknown_number_of_output_rows_is_missing_and_not_zero(sink):
    assert batch_from_progress(progress(sink=sink)).output_rows is None


def test_a_batch_without_output_has_zero_rows():
    assert batch_from_progress(progress(sink={"numOutputRows": 0})).output_rows == 0


def test_an_idle_trigger_is_no_batch():
    assert batch_from_progress(progress(durationMs={"latestOffset": 1, "triggerExecution": 1})) is None


def test_a_source_without_an_end_is_no_batch():
    source = {"startOffset": None, "endOffset": None, "latestOffset": None}
    assert batch_from_progress(progress(sources=[source])) is None


def test_a_batch_that_only_moves_the_watermark_holds_no_events():
    source = {"startOffset": {"n": 9}, "endOffset": {"n": 9}, "latestOffset": {"n": 9}}
    assert batch_from_progress(progress(sources=[source])).events == 0


def test_batches_are_sorted_and_idle_triggers_left_out():
    idle = progress(batchId=9, durationMs={"triggerExecution": 1})
    documents = [progress(batchId=8), idle, progress(batchId=7)]
    assert [batch.batch_id for batch in batches_from_progress(documents)] == [7, 8]


@pytest.mark.parametrize(
    "fault",
    [
        {"emitted_us": START_US - 1},
        {"finished_us": START_US + 239_999},
        {"last": 699},
        {"left": -1},
        {"state_rows": 2**53 + 1},
        {"phases_s": {"execution": -0.001}},
        {"phases_s": {"execution": -0.001, "other": 1.0}},
    ],
    ids=str,
)
def test_each_number_that_cannot_have_been_measured_is_refused_by_itself(fault):
    refuse_impossible([batch_from_progress(progress())])
    with pytest.raises(ValueError, match="micro-batch 7"):
        refuse_impossible([replace(batch_from_progress(progress()), **fault)])


def test_phases_that_are_not_reported_take_no_time():
    batch = batch_from_progress(progress(durationMs={"addBatch": 200, "triggerExecution": 260}))
    assert {name: seconds for name, seconds in batch.phases_s.items() if seconds} == pytest.approx(
        {"execution": 0.2, "other": 0.06}
    )
    assert batch.emitted_us == batch.finished_us == START_US + 260_000


def test_numbers_at_the_ends_of_what_can_be_measured_are_accepted():
    none = Batch(0, 0, 0, 0, 0, 0, 0, {"execution": 0.0})
    most = 2**53
    refuse_impossible([none, Batch(most, most, most, most, most, most, most, {"execution": float(most)})])
    refuse_impossible([replace(none, state_rows=most, state_bytes=most)])


@pytest.mark.parametrize(
    "name", ["batch_id", "started_us", "first", "left", "state_rows", "state_bytes", "last", "finished_us"]
)
@pytest.mark.parametrize("value", [-1, 2**53 + 1])
def test_no_number_of_a_batch_is_negative_or_beyond_what_anybody_counts(name, value):
    with pytest.raises(ValueError, match="has a number that cannot be measured"):
        refuse_impossible([replace(Batch(0, 0, 0, 0, 0, 0, 0, {}), **{name: value})])


def test_a_phase_longer_than_anybody_measures_is_refused():
    with pytest.raises(ValueError, match="a phase"):
        refuse_impossible([Batch(0, 0, 0, 0, 0, 0, 0, {"execution": 2.0**53 + 2})])


def test_what_a_batch_is_not_told_of_is_none_or_nothing():
    batch = Batch(0, 0, 0, 0, 0, 0, 0, {})
    assert (batch.watermark_us, batch.output_rows) == (None, None)
    assert (batch.state_rows, batch.state_bytes, batch.state_commit_s, batch.late_rows) == (0, 0, 0.0, 0)


def test_a_batch_of_a_broker_holds_the_events_that_the_query_counted():
    latest = {"clicks": {"0": 30, "1": 9, "2": 4}}
    source = {"numInputRows": 5, "endOffset": {"clicks": {"0": 20, "1": 10}}, "latestOffset": latest}
    batch = counted_batch(progress(sources=[source]), 100, 40)
    # Ten records wait in the first partition; the second is ahead of the report, and of the third nothing is known.
    assert (batch.first, batch.last, batch.left, batch.started_us) == (100, 140, 10, START_US)
    assert counted_batch(progress(sources=[{"numInputRows": 5}]), 0, 40).left == 0
    assert counted_batch(progress(durationMs={"triggerExecution": 1}), 0, 40) is None
