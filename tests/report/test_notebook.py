"""Runs in a notebook: what `open_run` and `list_runs` return shows itself."""

import subprocess
import sys
from dataclasses import replace

import pytest

from made_runs.samples import evidence, offline, resources
from made_runs.stored_runs import begin_run, failed_run, kill, store_run
from report.test_html_report import HOSTILE, Page, healthy_evidence
from streamgauge.report.notebook import run_html
from streamgauge.store import list_runs
from streamgauge.store.display import html_of


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    return tmp_path_factory.mktemp("notebook") / "runs"


@pytest.fixture(scope="module")
def stored(root):
    return store_run(root, healthy_evidence())


def shown(one):
    return Page(f"<body>{html_of(one)}</body>")


def test_what_the_package_returns_shows_itself(stored, root):
    code = f"import streamgauge as sg; print(sg.open_run({str(root)!r}, 'latest')._repr_html_())"
    printed = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert printed == f"{run_html(stored)}\n"


def test_a_kind_that_nobody_registered_is_shown_as_it_prints_itself():
    assert html_of("<b>") == "<pre>&#x27;&lt;b&gt;&#x27;</pre>"


def test_a_run_shows_verdict_and_numbers(stored):
    words = shown(stored).words()
    assert words.startswith("PASS ysb")
    assert "processed 1k/s" in words
    assert "latency mean p50 p90 p95 p99 max" in words


def test_an_offline_run_shows_no_latency(tmp_path):
    run = store_run(tmp_path / "runs", offline(resources=resources(60.0)))
    words = shown(run).words()
    assert "maximum 2k/s" in words
    assert "latency" not in words
    assert "offered 1k/s" not in words


def test_a_run_without_numbers_says_why(tmp_path):
    words = shown(failed_run(tmp_path / "runs")).words()
    assert "UNKNOWN ysb (failed)" in words
    assert "no Java 17 or newer was found" in words
    assert "This run has no numbers." in words


def test_k5_names_of_others_are_escaped_in_a_notebook(stored, root):
    summary = stored.document["summary"] | {"reasons": [HOSTILE]}
    document = stored.document | {"workload": HOSTILE, "summary": summary}
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
    frame = kill(begin_run(tmp_path / "runs", run, run.batches[4].started_us)).to_pandas()
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
