"""Runs in a notebook: what `open_run` and `list_runs` return shows itself."""

from dataclasses import replace

import pytest

from experiment.samples import ORIGIN_US, at_us, evidence, offline, resources
from experiment.test_stored import kill, progress
from report.test_html_report import HOSTILE, Page, healthy_evidence, store_run
from streamgauge.clock import ManualClock
from streamgauge.store import RunWriter, list_runs


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("notebook") / "runs"


@pytest.fixture(scope="module")
def stored(root):
    return store_run(root, healthy_evidence())


def shown(one):
    return Page(f"<body>{one._repr_html_()}</body>")


def test_a_run_shows_verdict_and_numbers(stored):
    words = shown(stored).words()
    assert words.startswith("PASS ysb")
    assert "processed rate 1k/s" in words
    assert "latency mean p50 p90 p95 p99 max" in words


def test_an_offline_run_shows_no_latency(tmp_path):
    run = store_run(tmp_path / "runs", offline(resources=resources(60.0)))
    assert "processed rate" in shown(run).words()
    assert "latency" not in shown(run).words()
    assert "offered rate" not in shown(run).words()


def test_a_run_without_numbers_says_why(tmp_path):
    writer = RunWriter.create(tmp_path / "runs", workload="ysb", document={}, clock=ManualClock())
    writer.finish("failed", verdict="unknown", reasons=["no Java 17 or newer was found"])
    words = shown(list_runs_first(tmp_path / "runs")).words()
    assert "UNKNOWN ysb (failed)" in words
    assert "no Java 17 or newer was found" in words
    assert "The run has no numbers." in words


def list_runs_first(root):
    from streamgauge.store import open_run

    return open_run(root, "latest")


def test_k5_names_of_others_are_escaped_in_a_notebook(stored, root):
    document = stored.document | {"workload": HOSTILE, "reasons": [HOSTILE]}
    page = shown(replace(stored, document=document))
    assert not page.all("script")
    assert page.words().count(HOSTILE) == 2
    listed = list_runs(root)
    listed[0] = replace(listed[0], workload=HOSTILE)
    assert not shown(listed).all("script")


def test_micro_batches_become_a_data_frame(stored):
    frame = stored.to_pandas()
    assert list(frame.columns) == stored.table("batches").column_names
    assert frame["events"].sum() == stored.document["summary"]["events_processed"]
    assert len(stored.to_pandas("tasks")) == stored.table("tasks").num_rows
    assert stored.to_pandas("nothing").empty


def test_the_micro_batches_of_a_killed_run_come_from_its_reports(tmp_path):
    run = evidence()
    writer = RunWriter.create(tmp_path / "runs", workload="ysb", document={}, clock=ManualClock())
    writer.update(load={"origin_us": ORIGIN_US, "closed_us": at_us(25.0)})
    for one in run.batches[:5]:
        writer.append_progress(progress(one))
    frame = kill(writer).to_pandas()
    assert list(frame["batch_id"]) == [b.batch_id for b in run.batches[:5]]
    assert {"events", "duration_s", "execution_s", "backlog_events"} - set(frame.columns) == {"backlog_events"}


def test_a_list_of_runs_is_a_table_and_a_data_frame(stored, root):
    listed = list_runs(root)
    assert stored.run_id in shown(listed).words()
    frame = listed.to_pandas()
    assert list(frame["run_id"]) == [run.run_id for run in listed]
    assert list(frame.columns)[:3] == ["run_id", "path", "status"]


def test_no_runs_are_an_empty_table(tmp_path):
    listed = list_runs(tmp_path / "none")
    assert listed == []
    assert listed.to_pandas().empty
    assert "run workload status verdict" in shown(listed).words()
