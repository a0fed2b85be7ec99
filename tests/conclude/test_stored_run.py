import json

import pytest

from made_runs.samples import ORIGIN_US, at_us, evidence
from made_runs.stored_runs import create_run, kill, offer_load
from streamgauge.conclude.stored_run import summary_of
from streamgauge.conclude.summary import summarise
from streamgauge.errors import InvalidExperimentError
from streamgauge.store import open_run
from streamgauge.store.layout import RUN_FILE


@pytest.fixture
def writer(tmp_path):
    return create_run(tmp_path / "runs", evidence())


def test_f6_a_killed_run_reads_as_interrupted_with_partial_numbers(writer):
    offer_load(writer, evidence(), at_us(20.0))
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
    offer_load(writer, evidence(), at_us(20.0))
    summary = summary_of(kill(writer))
    assert summary["events"] == 20_251
    assert summary["events_processed"] == 20_001


def test_a_run_killed_during_the_warm_up_has_no_numbers(writer):
    offer_load(writer, evidence(), at_us(3.0))
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
    offer_load(writer, evidence(), at_us(20.0))
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
    offer_load(writer, evidence(), at_us(20.0))
    writer.update(**changes)
    with pytest.raises(InvalidExperimentError) as caught:
        summary_of(kill(writer))
    assert caught.value.where == str(writer.path / RUN_FILE)
    assert caught.value.remedy


def test_a_killed_online_run_still_knows_its_maximum(writer):
    offer_load(writer, evidence(), at_us(20.0))
    maximum = {"rate_per_s": 2000.0, "run_id": "inner", "verdict": "pass", "reasons": []}
    writer.update(load={"origin_us": ORIGIN_US, "closed_us": at_us(25.0), "maximum": maximum})
    assert summary_of(kill(writer))["offline_rate_per_s"] == 2000.0
