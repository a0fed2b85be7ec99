"""Files of released versions stay readable; `released` holds run directories as each version wrote them."""

import json
import shutil
from pathlib import Path

import pytest

from streamgauge.conclude.stored_run import summary_of
from streamgauge.store import SCHEMA_VERSION, list_runs, open_run
from streamgauge.store.layout import RUN_FILE

RELEASED = Path(__file__).parent / "released"
VERSIONS = sorted(folder.name for folder in RELEASED.iterdir())


def documents():
    return [json.loads(path.read_text()) for path in RELEASED.rglob(RUN_FILE)]


@pytest.fixture(params=VERSIONS)
def stored_by(request, tmp_path):
    """The runs that a version stored, newest first, in a place of their own."""
    root = shutil.copytree(RELEASED / request.param, tmp_path / "stored")
    return [open_run(root, listing.run_id) for listing in list_runs(root)]


def test_e4_there_are_files_of_every_schema():
    assert {document["schema_version"] for document in documents()} == set(range(1, SCHEMA_VERSION + 1))


def test_e4_a_finished_run_of_every_release_is_read_whole(stored_by):
    run = next(run for run in stored_by if run.status == "finished")
    batches, schedule = run.batches(), run.schedule()
    summary = summary_of(run)
    assert (summary["verdict"], summary["events"]) == ("pass", schedule.total) == ("pass", 25_000)
    assert sum(batch.events for batch in batches) == 25_000
    assert run.table("batches")["last"].to_pylist() == [batch.last for batch in batches]
    assert sum(run.table("latency")["count"].to_pylist()) == summary["end_to_end_latency_s"]["count"] == 20_000
    assert run.table("tasks").num_rows == 2 * sum(1 for batch in batches if batch.events)
    assert run.table("resources").num_rows == 26


def test_e4_a_killed_run_of_every_release_still_has_its_partial_numbers(stored_by):
    run = next(run for run in stored_by if run.status == "interrupted")
    summary = summary_of(run)
    assert summary["verdict"] == "unknown"
    assert "the run was interrupted before its time" in summary["reasons"]
    assert summary["processed_rate_per_s"] == pytest.approx(1000.0)
    assert summary["events_processed"] == 20_001
