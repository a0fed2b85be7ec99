"""The evidence of a stored run."""

import json

import pyarrow.parquet as pq
import pytest

from made_runs.samples import at_us, evidence
from made_runs.shelf import offline_run, slower
from made_runs.stored_runs import failed_run
from streamgauge.conclude.comparison import (
    metric_values,
)
from streamgauge.conclude.stored_run import differences, evidence_of
from streamgauge.conclude.summary import summarise
from streamgauge.conclude.tables import batches_table
from streamgauge.errors import InvalidExperimentError


@pytest.mark.parametrize("run", [slower(evidence(), 1.2), offline_run(1.3)], ids=["open", "offline"])
def test_the_evidence_of_a_stored_run_gives_its_numbers_again(shelf, run):
    again = summarise(evidence_of(shelf.open(shelf.store(run))))
    whole = summarise(run)
    for name in ("end_to_end_latency_s", "batch_duration_s", "core_use", "backlog_events"):
        assert again[name] == pytest.approx(whole[name]), name
    for name in (
        "stages",
        "steady_state",
        "processed_rate_per_s",
        "offline_rate_per_s",
        "batches",
        "events",
        "verdict",
        "cores",
        "output_mode",
    ):
        assert again[name] == whole[name], name


def of_a_topic(shelf, run, **changes):
    """Store a run whose reports count no events of ours, as those of Kafka, beside its table of micro-batches."""
    folder = shelf.root / shelf.store(run, **changes)
    pq.write_table(batches_table(run), folder / "batches.parquet")
    (folder / "events.jsonl").write_text("")
    return shelf.open(folder.name)


def test_a_run_with_reports_of_another_source_is_measured_by_its_table(shelf):
    run = slower(evidence(), 1.2)
    found = metric_values(evidence_of(of_a_topic(shelf, run)))
    assert found == metric_values(run)
    assert found["end_to_end_latency_s.mean"] is not None


def test_latencies_of_single_results_are_not_those_of_commits(shelf):
    found = metric_values(evidence_of(of_a_topic(shelf, evidence(), timing="record")))
    assert (found["end_to_end_latency_s.mean"], found["batch_duration_s.mean"]) == (None, 0.25)
    unbatched = metric_values(evidence_of(of_a_topic(shelf, evidence(), timing="record", mode="real-time")))
    assert unbatched["batch_duration_s.mean"] is None


def test_a_run_of_an_earlier_version_is_read_by_the_names_of_today(shelf):
    run_id = shelf.one()
    path = shelf.root / run_id / "run.json"
    document = json.loads(path.read_text())
    document["configuration"]["latency"] = document["configuration"].pop("timing")
    path.write_text(json.dumps(document))
    assert evidence_of(shelf.open(run_id)).settings.timing == "commit"
    assert differences([shelf.open(run_id), shelf.open(shelf.one())]) == []


def test_the_evidence_of_an_interrupted_run_says_so(shelf):
    found = evidence_of(shelf.open(shelf.one(status="interrupted")))
    assert found.is_interrupted
    assert found.closed_us == at_us(25.0)


def test_a_table_of_others_is_an_error_of_its_file(shelf):
    run_id = shelf.one()
    (shelf.root / run_id / "tasks.parquet").write_bytes((shelf.root / run_id / "resources.parquet").read_bytes())
    with pytest.raises(InvalidExperimentError, match="columns are missing: batch_id") as caught:
        list(evidence_of(shelf.open(run_id)).tasks)
    assert caught.value.where.endswith("tasks.parquet")


def test_a_run_without_load_has_no_evidence(shelf):
    with pytest.raises(InvalidExperimentError, match="before any event was offered"):
        evidence_of(failed_run(shelf.root))
