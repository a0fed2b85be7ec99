"""`report`: where it writes, what it refuses."""

import json
import subprocess
import sys

import pytest

from made_runs.samples import ORIGIN_US, evidence
from made_runs.stored_runs import store_run
from streamgauge.clock import ManualClock
from streamgauge.store import SetWriter


@pytest.fixture
def stored(tmp_path):
    return store_run(tmp_path / "runs", evidence())


def test_the_latest_run_is_reported_beside_the_caller(call, stored, tmp_path):
    result = call("report")
    assert (result.code, result.out) == (0, f"wrote report-{stored.run_id}.html\n")
    text = (tmp_path / f"report-{stored.run_id}.html").read_text(encoding="utf-8")
    assert text.startswith("<!doctype html>")
    assert stored.run_id in text
    assert [path.name for path in tmp_path.glob(".new-*")] == []


def test_a_file_can_be_named_and_its_ending_tells_the_format(call, stored, tmp_path):
    assert call("report", stored.run_id, "--output", "a.md").out == "wrote a.md\n"
    assert (tmp_path / "a.md").read_text(encoding="utf-8").startswith("# ysb\n")
    call("report", stored.run_id, "-o", "b.txt", "--format", "md")
    assert (tmp_path / "b.txt").read_text(encoding="utf-8") == (tmp_path / "a.md").read_text(encoding="utf-8")
    assert call("report", "latest", "--format", "md").out == f"wrote report-{stored.run_id}.md\n"


def test_standard_output_gets_markdown_and_nothing_else(call, stored, tmp_path):
    result = call("report", "latest", "--output", "-")
    assert result.out.startswith("# ysb\n")
    assert not list(tmp_path.glob("report*"))
    assert call("report", "--output", "-", "--format", "html").out.startswith("<!doctype html>")


def test_a_report_that_is_there_is_replaced(call, stored, tmp_path):
    (tmp_path / "a.html").write_text("old")
    assert call("report", "--output", "a.html").code == 0
    assert (tmp_path / "a.html").read_text(encoding="utf-8").startswith("<!doctype html>")


def test_a_folder_is_not_overwritten(call, stored, tmp_path):
    (tmp_path / "here").mkdir()
    result = call("report", "--output", "here")
    assert result.code == 2
    assert '"here" is a folder' in result.err
    assert "name a file in it" in result.err
    assert list((tmp_path / "here").iterdir()) == []


def test_a_place_that_cannot_be_written_is_named(call, stored):
    result = call("report", "--output", "no/such/place.html")
    assert result.code == 4
    assert "cannot write the report" in result.err


def test_an_unknown_format_is_refused_with_the_nearest(call, stored):
    result = call("report", "--format", "htm")
    assert (result.code, result.out) == (2, "")
    assert "did you mean `html`?" in result.err


def test_an_unknown_run_is_refused(call, stored, tmp_path):
    result = call("report", "nothing")
    assert result.code == 2
    assert 'unknown run "nothing"' in result.err
    assert not list(tmp_path.glob("report*"))


def test_a_run_of_a_newer_version_is_refused_in_words(call, stored):
    path = stored.path / "run.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema_version": 99}))
    result = call("report", stored.run_id)
    assert result.code == 3
    assert "schema version 99 is newer" in result.err


def test_json_says_what_was_written(call, stored, tmp_path):
    document = call("report", "--json").document
    assert document == {
        "file": f"report-{stored.run_id}.html",
        "format": "html",
        "title": "ysb",
        "runs": [stored.run_id],
        "sets": [],
    }
    assert (tmp_path / document["file"]).exists()
    assert call("report", "--json", "--output", "-").code == 2


def test_a_set_is_reported_by_its_id(call, stored, tmp_path):
    writer = SetWriter.create(
        tmp_path / "runs", kind="suite", title="nightly", document={}, clock=ManualClock(wall_offset_s=ORIGIN_US / 1e6)
    )
    writer.add(stored.run_id, name="slow", verdict="pass")
    writer.update(status="finished", result={"suite": "nightly", "verdict": "pass", "runs": []})
    document = call("report", writer.set_id, "--json").document
    assert document["file"] == f"report-{writer.set_id}.html"
    assert (document["title"], document["sets"]) == ("Suite nightly", [writer.set_id])


def test_several_runs_have_a_name_that_says_so(call, tmp_path):
    first = store_run(tmp_path / "runs", evidence())
    second = store_run(tmp_path / "runs", evidence(rate_per_s=500.0))
    result = call("report", first.run_id, second.run_id)
    assert result.out == f"wrote report-{first.run_id}-and-1-more.html\n"


def test_runs_elsewhere_are_found(call, stored, tmp_path, monkeypatch):
    (tmp_path / "runs").rename(tmp_path / "other")
    assert call("report", "latest", "--runs", "other").code == 0
    monkeypatch.setenv("STREAMGAUGE_RUNS", "other")
    assert call("report", "latest").code == 0


def test_a_report_needs_no_spark():
    code = (
        "import sys\n"
        "import streamgauge.cli.main, streamgauge.report.html.page, streamgauge.report.markdown\n"
        "print([m for m in ('pyspark', 'jinja2', 'pandas', 'duckdb') if m in sys.modules])\n"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout == "[]\n"
