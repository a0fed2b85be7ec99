"""Runs that others damaged: refused with the file and what to do, and never a way out of the run directory."""

import json
import os
import shutil
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamgauge.clock import ManualClock
from streamgauge.errors import InvalidExperimentError, UsageError
from streamgauge.store import (
    RunWriter,
    SetWriter,
    list_runs,
    list_sets,
    open_member,
    open_run,
    open_set,
    remove_run,
    resolve_groups,
)
from streamgauge.store.json_text import MAX_DEPTH, parse_object
from streamgauge.store.run_document import problems_in
from streamgauge.store.table_schema import columns_of, problems_in_table

RELEASED = Path(__file__).parent / "released" / "0.1.0"
RUN_ID = "20231114T221317-ysb-0001"


@pytest.fixture
def run(tmp_path) -> Path:
    shutil.copytree(RELEASED, tmp_path / "runs")
    return tmp_path / "runs" / RUN_ID


def change(run: Path, path: str, value: object) -> None:
    document = json.loads((run / "run.json").read_text())
    *keys, last = path.split(".")
    place = document
    for key in keys:
        place = place[key]
    if value is KeyError:
        del place[last]
    else:
        place[last] = value
    (run / "run.json").write_text(json.dumps(document))


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("verdict", "great", "verdict"),
        ("reasons", [1], "reasons.0"),
        ("load.origin_us", "now", "load.origin_us"),
        ("load.closed_us", 10**30, "load.closed_us"),
        ("load.cores", 0, "load.cores"),
        ("configuration.rate_per_s", True, "configuration.rate_per_s"),
        ("configuration.trigger_s", -1, "configuration.trigger_s"),
        ("configuration.conf", [], "configuration.conf"),
        ("environment.packages", "all", "environment.packages"),
        ("summary", [], "summary"),
        ("summary.verdict", None, "summary.verdict"),
        ("summary.events_processed", KeyError, "summary.events_processed"),
        ("summary.batches", 1.5, "summary.batches"),
        ("summary.end_to_end_latency_s", None, "summary.end_to_end_latency_s"),
        ("summary.end_to_end_latency_s.p99", "fast", "summary.end_to_end_latency_s.p99"),
        ("summary.resources.cores_used.java", "all", "summary.resources.cores_used.java"),
        ("summary.findings", [{"question": "x"}], "summary.findings.0"),
        ("summary.phases_s.tasks", [], "summary.phases_s.tasks"),
    ],
)
def test_a_value_that_readers_cannot_use_is_named_with_its_place(run, path, value, words):
    change(run, path, value)
    with pytest.raises(InvalidExperimentError) as caught:
        open_run(run.parent, RUN_ID)
    assert words in caught.value.what
    assert (caught.value.where, caught.value.exit_code) == (str(run / "run.json"), 3)
    assert "runs remove" in caught.value.remedy
    assert [listing.run_id for listing in list_runs(run.parent)][-1] == RUN_ID


def test_runs_of_releases_have_no_problems():
    for path in RELEASED.rglob("run.json"):
        assert problems_in(json.loads(path.read_text())) == []


def test_many_problems_are_counted():
    found = problems_in({"reasons": list(range(50))})
    assert (len(found), found[-1]) == (11, "and 40 more")


@pytest.mark.parametrize("text", ["NaN", "Infinity", "1e999", "-1e999"])
def test_numbers_that_are_not_finite_are_refused_in_a_run_but_not_in_reports_of_spark(text):
    line = f'{{"rate": {text}}}'.encode()
    with pytest.raises(InvalidExperimentError, match="not JSON"):
        parse_object(line, Path("run.json"))
    assert "rate" in parse_object(line, Path("events.jsonl"), is_finite=False)


def test_deep_documents_and_halves_of_characters_are_refused():
    nested = "[" * MAX_DEPTH + "]" * MAX_DEPTH
    for text, words in ((f'{{"a": {nested}}}', "nested deeper"), ('{"a": ["\\ud800"]}', "half of a character")):
        with pytest.raises(InvalidExperimentError, match=words):
            parse_object(text.encode(), Path("run.json"))
    assert parse_object(b'{"a": "\\ud83d\\ude00"}', Path("run.json")) == {"a": "\N{GRINNING FACE}"}


def table_of(run: Path, name: str) -> pa.Table:
    return pq.ParquetFile(run / f"{name}.parquet").read()


@pytest.mark.parametrize("name", ["batches", "tasks", "resources", "latency"])
def test_tables_of_releases_have_no_problems(name):
    assert problems_in_table(name, table_of(RELEASED / RUN_ID, name)) == []


@pytest.mark.parametrize(
    ("column", "values", "words"),
    [
        ("events", None, "missing: events"),
        ("events", "text", "holds string, not whole numbers"),
        ("events", 2**60, "which cannot be measured"),
        ("duration_s", float("nan"), "not finite"),
        ("duration_s", float("inf"), "not finite"),
        ("state_rows", "gap", "has gaps"),
    ],
)
def test_a_column_that_readers_cannot_use_is_named(run, column, values, words):
    table = table_of(run, "batches")
    rest = table.column(column).to_pylist()[1:]
    if values is None:
        table = table.drop_columns([column])
    else:
        changed = (
            [str(value) for value in (0, *rest)] if values == "text" else [None if values == "gap" else values, *rest]
        )
        table = table.set_column(table.column_names.index(column), column, pa.array(changed))
    pq.write_table(table, run / "batches.parquet")
    with pytest.raises(InvalidExperimentError, match=words) as caught:
        open_run(run.parent, RUN_ID).table("batches")
    assert caught.value.where == str(run / "batches.parquet")


def test_every_field_of_a_task_has_a_kind():
    from dataclasses import fields

    from streamgauge.measure.records import TaskRecord

    assert set(columns_of("tasks")) == {field.name for field in fields(TaskRecord)}
    assert columns_of("tasks")["is_ok"].kind is bool
    assert columns_of("stages")["submitted_us"].may_lack


def test_the_micro_batches_are_those_of_the_table_whoever_reported_them(run):
    whole = open_run(run.parent, RUN_ID).batches()
    (run / "events.jsonl").unlink()
    assert open_run(run.parent, RUN_ID).batches() == whole


@pytest.mark.parametrize(("column", "words"), [("finished_us", "ends before it begins"), ("last", "TypeError")])
def test_a_table_with_impossible_micro_batches_is_an_error_of_its_file(run, column, words):
    table = pq.read_table(run / "batches.parquet")
    place = table.column_names.index(column)
    wrong = table.remove_column(place) if column == "last" else table.set_column(place, column, table["started_us"])
    pq.write_table(wrong, run / "batches.parquet")
    with pytest.raises(InvalidExperimentError, match=words) as caught:
        open_run(run.parent, RUN_ID).batches()
    assert caught.value.where == str(run / "batches.parquet")


@pytest.mark.parametrize(
    "change_report",
    [
        lambda d: d["durationMs"].update(triggerExecution=10**30),
        lambda d: d["durationMs"].update(triggerExecution=-5),
        lambda d: d["sources"][0].update(endOffset={"n": -5, "left": 0}),
        lambda d: d.update(batchId=-1),
        lambda d: d.update(timestamp="9999-01-01T00:00:00Z"),
        lambda d: d.update(sources=[]),
        lambda d: d.update(durationMs=None),
    ],
)
def test_a_report_with_impossible_numbers_is_an_error_of_its_file(run, change_report):
    (run / "batches.parquet").unlink()
    lines = (run / "events.jsonl").read_text().splitlines()
    document = json.loads(lines[5])
    change_report(document)
    lines[5] = json.dumps(document)
    (run / "events.jsonl").write_text("\n".join(lines) + "\n")
    with pytest.raises(InvalidExperimentError) as caught:
        open_run(run.parent, RUN_ID).batches()
    assert caught.value.where == str(run / "events.jsonl")


@pytest.mark.parametrize("name", ["run.json", "events.jsonl", "batches.parquet", "schedule.npy"])
@pytest.mark.parametrize("kind", ["link", "pipe", "folder"])
def test_what_is_not_a_file_of_the_run_is_not_read(run, tmp_path, name, kind):
    path = run / name
    if kind == "link":
        elsewhere = tmp_path / f"elsewhere-{name}"
        path.rename(elsewhere)
        path.symlink_to(elsewhere)
    else:
        path.unlink()
        os.mkfifo(path) if kind == "pipe" else path.mkdir()
    with pytest.raises(InvalidExperimentError, match="leads out of the run" if kind == "link" else "not a file"):
        stored = open_run(run.parent, str(run))
        stored.progress(), stored.schedule(), stored.table("batches")


@pytest.mark.parametrize("run_id", ["../runs", "..", ".", "", "/etc", f"../runs/{RUN_ID}", "a\0b", "x" * 5000])
def test_documents_cannot_name_runs_elsewhere(run, run_id):
    with pytest.raises(UsageError, match="unknown run"):
        open_member(run.parent, run_id)
    assert open_member(run.parent, RUN_ID).run_id == RUN_ID


def test_a_set_leads_to_no_run_outside_of_its_folder(run, tmp_path):
    other = tmp_path / "other"
    writer = SetWriter.create(other, kind="suite", title="x", document={}, clock=ManualClock())
    writer.add(str(run))
    writer.add(f"../runs/{RUN_ID}")
    (group,) = resolve_groups(other, writer.set_id)
    assert (group.runs, group.missing) == ((), (str(run), f"../runs/{RUN_ID}"))


@pytest.mark.parametrize(
    "changes",
    [
        {"members": None},
        {"members": [1]},
        {"members": [{"run_id": 1}]},
        {"members": [{"run_id": "a", "key": {}}]},
        {"members": [{"run_id": "a", "took_s": "long"}]},
        {"kind": 5},
        {"title": None},
        {"schema_version": "1"},
    ],
    ids=str,
)
def test_a_damaged_set_is_an_error_of_its_file_and_hides_no_other(tmp_path, changes):
    clock = ManualClock()
    good = SetWriter.create(tmp_path, kind="suite", title="good", document={}, clock=clock)
    bad = SetWriter.create(tmp_path, kind="suite", title="bad", document={}, clock=clock)
    bad.update(**changes)
    with pytest.raises(InvalidExperimentError, match="not a set of runs") as caught:
        open_set(tmp_path, bad.set_id)
    assert caught.value.where == str(bad.path)
    assert [one.set_id for one in list_sets(tmp_path)] == [good.set_id]


def test_removing_a_run_follows_no_link_in_it(run, tmp_path):
    kept = tmp_path / "kept"
    kept.mkdir()
    (kept / "file").write_text("mine")
    (run / "work").symlink_to(kept)
    (run / "events.jsonl").unlink()
    (run / "events.jsonl").symlink_to(kept / "file")
    remove_run(run.parent, RUN_ID)
    assert not run.exists()
    assert (kept / "file").read_text() == "mine"


def test_a_run_that_is_discarded_leaves_nothing(tmp_path):
    writer = RunWriter.create(tmp_path, workload="ysb", document={}, clock=ManualClock())
    writer.append_progress({"batchId": 0})
    writer.discard()
    assert list(tmp_path.iterdir()) == []
