import json
from datetime import UTC, datetime

import pytest

from streamgauge.arrivals import Constant
from streamgauge.clock import ManualClock
from streamgauge.errors import InvalidExperimentError
from streamgauge.experiment.settings import parse_settings
from streamgauge.experiment.stored import summary_of
from streamgauge.experiment.summary import summarise
from streamgauge.store import RunWriter, open_run
from streamgauge.store.layout import RUN_FILE

from .samples import ORIGIN_US, at_us, evidence


def progress(batch):
    """Return the document from which Spark's report of a micro-batch is read."""
    started = datetime.fromtimestamp(batch.started_us / 1e6, UTC)
    return {
        "batchId": batch.batch_id,
        "timestamp": started.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "durationMs": {"addBatch": 140, "commitOffsets": 50, "triggerExecution": 250},
        "sources": [{"startOffset": {"n": batch.first}, "endOffset": {"n": batch.last, "left": batch.left}}],
        "stateOperators": [],
        "sink": {"numOutputRows": 1},
    }


@pytest.fixture
def writer(tmp_path):
    settings = parse_settings(rate=1000, duration="20s", warmup="5s", cores=2)
    configuration = settings.document() | {"parameters": {"campaigns": 100}}
    clock = ManualClock(wall_offset_s=ORIGIN_US / 1e6)
    return RunWriter.create(tmp_path / "runs", workload="ysb", document={"configuration": configuration}, clock=clock)


def offer(writer, until_s):
    """Let the load run until `until_s`."""
    writer.write_schedule(Constant(1000.0).schedule(25.0))
    writer.update(load={"origin_us": ORIGIN_US, "closed_us": at_us(25.0)})
    for batch in evidence().batches:
        if batch.started_us <= at_us(until_s):
            writer.append_progress(progress(batch))


def kill(writer):
    """Leave the directory as a killed process does: its document says that it runs, and nobody does."""
    path = writer.path / RUN_FILE
    document = json.loads(path.read_text())
    document["process"] = {"pid": 2**22 + 1, "started_s": 0.0}
    path.write_text(json.dumps(document))
    with (writer.path / "events.jsonl").open("ab") as file:
        file.write(b'{"batchId": 999, "timest')
    return open_run(writer.path.parent, writer.run_id)


def test_f6_a_killed_run_reads_as_interrupted_with_partial_numbers(writer):
    offer(writer, until_s=20.0)
    stored = kill(writer)
    summary = summary_of(stored)
    assert stored.status == "interrupted"
    assert summary["verdict"] == "unknown"
    assert "the run was interrupted before its time" in summary["reasons"]
    assert summary["run_id"] == writer.run_id
    assert summary["workload"] == "ysb"
    assert summary["offered_rate_per_s"] == pytest.approx(1000.0)
    assert summary["processed_rate_per_s"] == pytest.approx(1000.0)
    assert summary["end_to_end_latency_s"]["p50"] == pytest.approx(0.449, rel=5e-3)
    assert summary["end_to_end_latency_s"]["max"] == pytest.approx(0.699)
    json.dumps(summary, allow_nan=False)


def test_the_load_of_a_killed_run_counts_until_its_last_sign_of_life(writer):
    offer(writer, until_s=20.0)
    summary = summary_of(kill(writer))
    assert summary["events"] == 20_251
    assert summary["events_processed"] == 20_001


def test_a_run_killed_during_the_warm_up_has_no_numbers(writer):
    offer(writer, until_s=3.0)
    summary = summary_of(kill(writer))
    assert summary["verdict"] == "unknown"
    assert summary["processed_rate_per_s"] is None


def test_a_run_killed_before_its_load_says_so(writer):
    summary = summary_of(kill(writer))
    assert summary["verdict"] == "unknown"
    assert summary["reasons"] == ["the run ended before any event was offered"]
    assert "batches" not in summary


def test_a_run_that_still_goes_on_says_so(writer):
    summary = summary_of(open_run(writer.path.parent, writer.run_id))
    assert (summary["verdict"], summary["reasons"]) == ("unknown", ["the run is still going on"])


def test_a_failed_run_keeps_its_reason(writer):
    writer.finish("failed", verdict="unknown", reasons=["the streaming query failed: boom"])
    summary = summary_of(open_run(writer.path.parent, writer.run_id))
    assert summary["verdict"] == "unknown"
    assert summary["reasons"] == ["the streaming query failed: boom"]


def test_a_run_that_failed_under_load_keeps_its_reason_first_and_its_numbers(writer):
    offer(writer, until_s=20.0)
    writer.finish("failed", verdict="unknown", reasons=["the streaming query failed: boom"])
    summary = summary_of(open_run(writer.path.parent, writer.run_id))
    assert summary["reasons"][0] == "the streaming query failed: boom"
    assert summary["verdict"] == "unknown"
    assert summary["batches"] > 0


def test_the_summary_of_a_finished_run_is_the_stored_one(writer):
    whole = summarise(evidence())
    writer.finish("finished", summary=whole, verdict=whole["verdict"], reasons=whole["reasons"])
    summary = summary_of(open_run(writer.path.parent, writer.run_id))
    assert {key: summary[key] for key in whole} == json.loads(json.dumps(whole))
    assert summary["run_dir"] == str(writer.path)


@pytest.mark.parametrize("changes", [{"configuration": None}, {"configuration": {"speed": 3}}, {"load": {"x": 1}}])
def test_a_killed_run_with_a_foreign_document_is_an_error_of_the_file(writer, changes):
    offer(writer, until_s=20.0)
    writer.update(**changes)
    stored = kill(writer)
    with pytest.raises(InvalidExperimentError) as caught:
        summary_of(stored)
    assert caught.value.where == str(writer.path / RUN_FILE)
    assert caught.value.remedy


def test_a_killed_online_run_still_knows_its_maximum(writer):
    offer(writer, until_s=20.0)
    maximum = {"rate_per_s": 2000.0, "run_id": "inner", "verdict": "pass", "reasons": []}
    writer.update(load={"origin_us": ORIGIN_US, "closed_us": at_us(25.0), "maximum": maximum})
    assert summary_of(kill(writer))["offline_rate_per_s"] == 2000.0
