"""`runs export`: the tables of a run as files for other tools."""

import csv
import json

import pyarrow.parquet as pq
import pytest

from made_runs.samples import evidence
from made_runs.stored_runs import begin_run, failed_run, kill, store_run
from report.test_html_report import healthy_evidence
from streamgauge.conclude.stored_run import summary_of

TABLES = ["batches", "tasks", "resources", "latency"]


@pytest.fixture
def stored(tmp_path):
    return store_run(tmp_path / "runs", healthy_evidence())


def test_parquet_files_hold_the_tables_of_the_run_directory(call, stored, tmp_path):
    result = call("runs", "export", "latest")
    assert result.code == 0
    folder = tmp_path / f"export-{stored.run_id}"
    assert sorted(path.name for path in folder.iterdir()) == sorted(f"{n}.parquet" for n in [*TABLES, "summary"])
    for name in TABLES:
        assert pq.read_table(folder / f"{name}.parquet").equals(stored.table(name)), name
    assert result.out.count("wrote ") == 5


def test_the_summary_is_a_table_of_keys(call, stored, tmp_path):
    call("runs", "export", "latest", "--output", "out")
    rows = {row["key"]: row for row in pq.read_table(tmp_path / "out" / "summary.parquet").to_pylist()}
    summary = stored.document["summary"]
    assert rows["processed_rate_per_s"]["value"] == summary["processed_rate_per_s"]
    assert rows["end_to_end_latency_s.p95"]["value"] == summary["end_to_end_latency_s"]["p95"]
    assert (rows["verdict"]["text"], rows["verdict"]["value"]) == ("pass", None)
    named = {key: (rows[key]["title"], rows[key]["unit"]) for key in ("state.bytes_max", "batches", "verdict")}
    assert named == {
        "state.bytes_max": ("state, most bytes", "bytes"),
        "batches": ("measured micro-batches", None),
        "verdict": (None, None),
    }
    assert (rows["offline_rate_per_s"]["text"], rows["offline_rate_per_s"]["value"]) == (None, None)
    assert rows["findings.0.question"]["text"] == "evidence"


def test_csv_files_have_the_same_columns_and_numbers(call, stored, tmp_path):
    assert call("runs", "export", stored.run_id, "--format", "csv", "--output", "out").code == 0
    table = stored.table("batches")
    with (tmp_path / "out" / "batches.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert list(rows[0]) == table.column_names
    for row, expected in zip(rows, table.to_pylist(), strict=True):
        for name, value in expected.items():
            assert (None if row[name] == "" else float(row[name])) == value, name


def test_json_is_one_document(call, stored, tmp_path):
    assert call("runs", "export", "latest", "--format", "json").out == f"wrote export-{stored.run_id}.json\n"
    document = json.loads((tmp_path / f"export-{stored.run_id}.json").read_text())
    assert (document["run_id"], document["workload"], document["status"]) == (stored.run_id, "ysb", "finished")
    assert document["summary"] == summary_of(stored) | {"run_dir": f"runs/{stored.run_id}"}
    assert document["configuration"] == stored.document["configuration"]
    assert list(document["tables"]) == TABLES
    assert document["tables"]["batches"] == stored.table("batches").to_pylist()


def test_files_that_are_there_are_not_replaced_unless_told(call, stored, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "tasks.csv").write_text("mine")
    result = call("runs", "export", "latest", "--format", "csv", "--output", "out")
    assert result.code == 2
    assert "there already: out/tasks.csv" in result.err
    assert "--overwrite" in result.err
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["tasks.csv"]
    assert call("runs", "export", "latest", "--format", "csv", "--output", "out", "--overwrite").code == 0
    assert (tmp_path / "out" / "tasks.csv").read_text() != "mine"


def test_a_document_is_not_replaced_either(call, stored, tmp_path):
    (tmp_path / "run.json").write_text("mine")
    result = call("runs", "export", "latest", "--format", "json", "--output", "run.json")
    assert result.code == 2
    assert (tmp_path / "run.json").read_text() == "mine"
    (tmp_path / "folder").mkdir()
    assert '"folder" is a folder' in call("runs", "export", "--format", "json", "-o", "folder", "--overwrite").err
    assert '"run.json" is a file' in call("runs", "export", "--format", "csv", "-o", "run.json", "--overwrite").err


def test_an_unknown_format_is_refused_with_the_nearest(call, stored):
    result = call("runs", "export", "latest", "--format", "cvs")
    assert result.code == 2
    assert "did you mean `csv`?" in result.err


def test_json_output_lists_the_files(call, stored):
    document = call("runs", "export", "latest", "--format", "csv", "--json").document
    assert document["missing"] == []
    assert [path.rpartition("/")[2] for path in document["files"]] == [f"{name}.csv" for name in [*TABLES, "summary"]]


def test_a_killed_run_is_exported_as_far_as_its_reports_tell(call, tmp_path):
    run = evidence()
    kill(begin_run(tmp_path / "runs", run, run.batches[29].started_us))
    result = call("runs", "export", "latest", "--format", "json", "--output", "killed.json")
    assert result.code == 0
    assert "not written, because the run has none: tasks, resources" in result.err
    document = json.loads((tmp_path / "killed.json").read_text())
    assert (document["status"], document["summary"]["verdict"]) == ("interrupted", "unknown")
    assert len(document["tables"]["batches"]) == 30
    assert document["tables"]["latency"]


def test_a_run_that_ended_before_its_load_has_its_summary_only(call, tmp_path):
    failed_run(tmp_path / "runs")
    result = call("runs", "export", "latest", "--format", "csv", "--output", "out")
    assert result.code == 0
    assert [path.name for path in (tmp_path / "out").iterdir()] == ["summary.csv"]
    assert "batches, tasks, resources, latency" in result.err
    assert "no Java 17 or newer was found" in (tmp_path / "out" / "summary.csv").read_text()


def test_a_place_that_cannot_be_written_is_named(call, stored, tmp_path):
    (tmp_path / "file").write_text("")
    result = call("runs", "export", "latest", "--output", "file/below")
    assert result.code == 4
    assert "cannot write the export" in result.err
