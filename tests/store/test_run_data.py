import dataclasses
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from streamgauge.arrivals import Constant
from streamgauge.errors import EnvironmentNotReadyError, InvalidExperimentError, UsageError
from streamgauge.machine.process import current_process
from streamgauge.store import StoredRun, list_runs, open_run, runs_root

VALUES = st.none() | st.integers() | st.text(max_size=5) | st.lists(st.booleans(), max_size=2)
DOCUMENTS = st.dictionaries(st.text(max_size=3), VALUES, max_size=2)


def rewrite(path: Path, **fields: object) -> None:
    document = json.loads((path / "run.json").read_text())
    (path / "run.json").write_text(json.dumps({**document, **fields}))


def test_reading_run_documents_needs_no_heavy_library(root, make):
    make().finish("finished")
    code = (
        "import sys; from pathlib import Path; from streamgauge.store import list_runs, open_run;"
        f"root = Path({str(root)!r}); list_runs(root); open_run(root, 'latest').progress();"
        "print(sorted({'numpy', 'pyarrow', 'pandas', 'psutil', 'pyspark'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_a_run_is_found_by_id_beginning_word_or_path(root, make, monkeypatch):
    first, second = make("ysb"), make("wordcount")
    for reference, expected in [
        (first.run_id, first),
        (first.run_id[:19], first),
        (second.run_id[:-1], second),
        ("latest", second),
        (str(first.path), first),
        (f"{first.path}/../{second.run_id}/", second),
    ]:
        assert open_run(root, reference).run_id == expected.run_id
    monkeypatch.chdir(first.path)
    assert open_run(root, ".").run_id == first.run_id
    monkeypatch.chdir(root)
    assert open_run(Path("elsewhere"), first.run_id).run_id == first.run_id


def test_an_unknown_run_gets_the_closest_one(root, make):
    run_id = make().run_id
    with pytest.raises(UsageError) as caught:
        open_run(root, run_id.replace("ysb", "ybs"))
    assert caught.value.where == str(root)
    assert caught.value.remedy == f"did you mean `{run_id}`?"


@pytest.mark.parametrize("reference", ["", "zzz", "..", "x" * 5000, "a\0b", "/no/such/run"])
def test_a_reference_to_nothing_is_a_wrong_usage(root, make, reference):
    make()
    with pytest.raises(UsageError, match="unknown run"):
        open_run(root, reference)


@pytest.mark.parametrize("reference", ["latest", "20261115"])
def test_without_runs_the_remedy_says_how_to_make_one(root, reference):
    with pytest.raises(UsageError, match="start one with `streamgauge run`"):
        open_run(root, reference)


def test_the_remedy_among_many_runs_stays_short(root, make):
    ids = [make().run_id for _ in range(12)]
    with pytest.raises(UsageError) as unknown:
        open_run(root, "zzz")
    with pytest.raises(UsageError) as ambiguous:
        open_run(root, "2026")
    assert ambiguous.value.what == '"2026" is the beginning of 12 runs'
    for error in (unknown.value, ambiguous.value):
        assert ids[-1] in error.remedy
        assert ids[0] not in error.remedy


def test_an_ambiguous_beginning_lists_what_it_may_mean(root, make):
    ids = [make().run_id, make().run_id]
    with pytest.raises(UsageError) as caught:
        open_run(root, "20261115T19")
    assert caught.value.remedy == f"write more of one of these: {ids[1]}, {ids[0]}"


def test_a_running_run_reads_as_running_while_its_process_lives(root, make):
    assert open_run(root, make().run_id).status == "running"


def dead_process() -> dict[str, object]:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return {"pid": child.pid, "started_s": 1.8e9}


@pytest.mark.parametrize(
    "process",
    [
        dead_process(),
        {"pid": os.getpid(), "started_s": 1.0},
        {"pid": os.getpid(), "started_s": 10**400},
        {"pid": 10**30, "started_s": 1.0},
        {"pid": -1, "started_s": 1.0},
        {"pid": "me", "started_s": "now"},
        {},
        None,
    ],
)
def test_f6_a_running_run_without_its_process_reads_as_interrupted(root, make, process):
    path = make().path
    rewrite(path, process=process)
    assert open_run(root, path.name).status == "interrupted"
    assert open_run(root, path.name).document["status"] == "running"


@pytest.mark.fault
def test_f6_a_killed_process_that_nobody_collected_is_gone(root, make):
    import psutil

    writer = make()
    child = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE)
    process = current_process() | {"pid": child.pid, "started_s": psutil.Process(child.pid).create_time()}
    rewrite(writer.path, process=process)
    assert open_run(root, writer.run_id).status == "running"
    child.kill()
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)
    assert open_run(root, writer.run_id).status == "interrupted"
    child.communicate()


@pytest.mark.parametrize("status", ["finished", "interrupted", "failed"])
def test_an_ended_run_keeps_its_status(root, make, status):
    writer = make()
    writer.finish(status)
    assert open_run(root, writer.run_id).status == status


def test_settings_of_earlier_versions_are_read_by_their_names_of_today(root, make):
    run = make(configuration={"rate_per_s": 5.0, "latency": "record", "format": "binary"})
    found = open_run(root, run.run_id).document["configuration"]
    assert found == {"rate_per_s": 5.0, "timing": "record", "record_format": "binary"}


def test_a_stored_run_cannot_be_changed(root, make):
    run = open_run(root, make().run_id)
    with pytest.raises(dataclasses.FrozenInstanceError):
        run.status = "finished"


@settings(deadline=None, max_examples=60, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(documents=st.lists(DOCUMENTS, max_size=3))
def test_e3_progress_cut_at_any_byte_gives_all_whole_lines_before_the_cut(tmp_path, documents):
    lines = [json.dumps(document).encode() + b"\n" for document in documents]
    whole = b"".join(lines)
    ends = [sum(map(len, lines[: k + 1])) for k in range(len(lines))]
    run = StoredRun("r", tmp_path, "interrupted", {})
    (tmp_path / "events.jsonl").write_bytes(whole)
    for cut in range(len(whole), -1, -1):
        os.truncate(tmp_path / "events.jsonl", cut)
        # A line that lacks only its line break is whole.
        assert run.progress() == documents[: sum(end - 1 <= cut for end in ends)]


def test_e3_batches_cut_at_any_byte_are_a_prefix(root, make, progress):
    writer = make()
    for batch_id in range(3):
        writer.append_progress(progress(batch_id))
    batches = open_run(root, writer.run_id).batches()
    assert [(b.batch_id, b.first, b.last) for b in batches] == [(0, 0, 10), (1, 10, 20), (2, 20, 30)]
    file = writer.path / "events.jsonl"
    whole = file.read_bytes()
    for cut in range(len(whole)):
        file.write_bytes(whole[:cut])
        found = open_run(root, writer.run_id).batches()
        assert found == batches[: len(found)]
        assert len(found) >= whole[:cut].count(b"\n")


def test_files_are_read_once(root, make, progress):
    writer = make()
    writer.append_progress(progress(0))
    writer.write_schedule(Constant(10.0).schedule(1.0))
    run = open_run(root, writer.run_id)
    batches, schedule = run.batches(), run.schedule()
    for name in ("events.jsonl", "schedule.npy"):
        (writer.path / name).unlink()
    assert run.batches() is batches
    assert run.schedule() is schedule


def test_a_run_without_files_has_nothing(root, make):
    run = open_run(root, make().run_id)
    assert (run.configuration, run.load, run.summary) == ({}, {}, {})
    assert (len(run.tasks()), len(run.stages()), run.resources(), run.latency(), run.columns("tasks")) == (
        0,
        0,
        [],
        [],
        {},
    )


def test_columns_are_the_numbers_of_a_table_and_what_is_missing_is_not_a_number(root, make):
    writer = make()
    table = {"n": [1, 2], "gap": [None, 3], "none": pa.nulls(2), "ok": [True, False], "name": ["a", "b"]}
    writer.write_table("other", pa.table(table))
    found = open_run(root, writer.run_id).columns("other")
    assert {name: str(values.tolist()) for name, values in found.items()} == {
        "n": "[1, 2]",
        "gap": "[nan, 3.0]",
        "none": "[nan, nan]",
        "ok": "[True, False]",
    }
    assert list(open_run(root, writer.run_id).columns("other", ["ok", "absent"])) == ["ok"]


def test_a_run_killed_before_its_first_progress_has_none(root, make):
    writer = make()
    (writer.path / "events.jsonl").unlink()
    assert open_run(root, writer.run_id).progress() == []


@pytest.mark.parametrize(
    ("line", "column"),
    [(b'{"batchId": }', 13), (b"", 1), (b"[1]", 1), (b"\xff\xfe\xfd", 1), (b"[" * 100_000, 1)],
)
def test_a_damaged_line_in_the_middle_is_named(root, make, progress, line, column):
    writer = make()
    writer.append_progress(progress(0))
    with (writer.path / "events.jsonl").open("ab") as file:
        file.write(line + b"\n{}\n")
    with pytest.raises(InvalidExperimentError) as caught:
        open_run(root, writer.run_id).progress()
    assert caught.value.where == f"{writer.path / 'events.jsonl'}:2:{column}"
    assert "streamgauge runs remove" in caught.value.remedy


@pytest.mark.parametrize(
    "change", [{"durationMs": 3}, {"sources": []}, {"sources": {}}, {"timestamp": "noon"}, {"batchId": None}]
)
def test_progress_that_spark_never_wrote_is_the_fault_of_the_file(root, make, progress, change):
    writer = make()
    writer.append_progress(progress(0) | change)
    with pytest.raises(InvalidExperimentError, match="not one of Spark's"):
        open_run(root, writer.run_id).batches()


@pytest.mark.parametrize(
    ("text", "place", "what"),
    [
        (b"", ":1:1", "not JSON: Expecting value"),
        (b'{\n  "run_id": oops\n}', ":2:13", "not JSON: Expecting value"),
        (b"\xff\xfe\xfd\xfc", ":1:1", "not JSON: "),
        (b"[" * 100_000, ":1:1", "not JSON: "),
        (b"9" * 5000, ":1:1", "not JSON: "),
        (b"[1, 2]", ":1:1", "expected a JSON object, found [1, 2]"),
    ],
    ids=["empty", "typo", "binary", "deep", "long number", "list"],
)
def test_a_damaged_document_is_named_with_line_and_column(root, make, text, place, what):
    writer = make()
    (writer.path / "run.json").write_bytes(text)
    with pytest.raises(InvalidExperimentError) as caught:
        open_run(root, writer.run_id)
    assert caught.value.where == f"{writer.path / 'run.json'}{place}"
    assert caught.value.what.startswith(what)
    assert caught.value.remedy


def test_e3_a_document_cut_at_any_byte_is_never_taken_for_a_run(root, make):
    writer = make()
    whole = (writer.path / "run.json").read_bytes().rstrip()
    for cut in range(len(whole)):
        (writer.path / "run.json").write_bytes(whole[:cut])
        with pytest.raises(InvalidExperimentError):
            open_run(root, writer.run_id)


def test_a_missing_document_is_named(root, make):
    writer = make()
    (writer.path / "run.json").unlink()
    for reference in (writer.run_id, str(writer.path)):
        with pytest.raises(InvalidExperimentError) as caught:
            open_run(root, reference)
        assert caught.value.what == "run.json cannot be read: No such file or directory"
        assert caught.value.where == str(writer.path / "run.json")


def test_a_path_to_another_folder_is_no_run(root, tmp_path):
    with pytest.raises(InvalidExperimentError, match=r"run\.json cannot be read"):
        open_run(root, f"{tmp_path}/")


def test_all_fields_of_a_wrong_type_are_named_at_once(root, make):
    writer = make()
    rewrite(writer.path, schema_version=True, run_id=None, status="paused", created=3, summary=[1], reasons="none")
    with pytest.raises(InvalidExperimentError) as caught:
        open_run(root, writer.run_id)
    assert caught.value.where == str(writer.path / "run.json")
    assert caught.value.what.split("; ") == [
        '"schema_version" must be a whole number from 1',
        '"run_id" is missing',
        '"created" must be text, not 3',
        '"summary" must be an object, not [1]',
        "\"reasons\" must be a list, not 'none'",
        "\"status\" must be one of running, finished, interrupted, failed, not 'paused'",
    ]


def test_e4_a_newer_schema_is_refused_with_the_way_out(root, make):
    writer = make()
    rewrite(writer.path, schema_version=2, status=7)
    with pytest.raises(InvalidExperimentError) as caught:
        open_run(root, writer.run_id)
    assert caught.value.what == "schema version 2 is newer than 1, the newest known here"
    assert caught.value.remedy.startswith("update streamgauge")


def test_a_missing_table_is_none_and_a_damaged_one_is_an_error(root, make):
    writer = make()
    run = open_run(root, writer.run_id)
    assert run.table("tasks") is None
    (writer.path / "tasks.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(InvalidExperimentError) as caught:
        run.table("tasks")
    assert caught.value.where == str(writer.path / "tasks.parquet")


def test_a_folder_named_like_a_partition_adds_no_column(tmp_path):
    from streamgauge.clock import ManualClock
    from streamgauge.store import RunWriter

    root = tmp_path / "team=core"
    writer = RunWriter.create(root, workload="ysb", document={}, clock=ManualClock())
    writer.write_table("other", pa.table({"x": [1]}))
    assert open_run(root, "latest").table("other").column_names == ["x"]


def test_a_missing_schedule_is_an_error(root, make):
    with pytest.raises(InvalidExperimentError, match="No such file"):
        open_run(root, make().run_id).schedule()


def test_a_foreign_schedule_file_runs_no_code_and_is_an_error(root, make):
    path = make().path / "schedule.npy"
    run = open_run(root, "latest")
    for array in (np.array([print, len], dtype=object), np.array(3), np.array([["a", "b"], ["c", "d"]])):
        np.save(path, array, allow_pickle=True)
        with pytest.raises(InvalidExperimentError, match="not a schedule"):
            run.schedule()
    for content in (b"", b"PK\x03\x04zip", b"\x93NUMPY\x01\x00\x08\x00{{{{{{{{"):
        path.write_bytes(content)
        with pytest.raises(InvalidExperimentError, match="not a schedule"):
            run.schedule()


def test_runs_are_listed_newest_first(root, make):
    writers = [make("ysb"), make("a"), make("nexmark-q5")]
    writers[1].finish("finished", verdict="pass")
    listed = list_runs(root)
    assert [run.run_id for run in listed] == [w.run_id for w in reversed(writers)]
    assert [run.status for run in listed] == ["running", "finished", "running"]
    assert [run.workload for run in listed] == ["nexmark-q5", "a", "ysb"]
    assert [run.verdict for run in listed] == [None, "pass", None]
    assert listed[0].created == "2026-11-15T19:45:06.250000+00:00"


def test_runs_of_one_second_are_listed_by_their_exact_time(root, make, clock):
    first = make()
    clock.sleep(-0.999)
    second = make()
    assert [run.run_id for run in list_runs(root)] == [second.run_id, first.run_id]


def test_an_unreadable_run_is_listed_in_its_place_with_the_reason(root, make, monkeypatch):
    first, bad, locked, last = make(), make(), make(), make()
    (bad.path / "run.json").write_text("{")
    is_file, read = Path.is_file, Path.read_bytes

    def refuse(path: Path) -> None:
        if locked.path in path.parents:
            raise PermissionError(13, "Permission denied")

    monkeypatch.setattr(Path, "is_file", lambda path: refuse(path) or is_file(path))
    monkeypatch.setattr(Path, "read_bytes", lambda path: refuse(path) or read(path))
    listed = list_runs(root)
    assert [run.run_id for run in listed] == [last.run_id, locked.run_id, bad.run_id, first.run_id]
    assert [run.status for run in listed] == ["running", "unreadable", "unreadable", "running"]
    assert listed[1].reason == "run.json cannot be read: Permission denied"
    assert listed[2].reason.startswith("not JSON")


def test_what_is_no_run_is_not_listed(root, make):
    (root / "notes").mkdir(parents=True)
    (root / "readme.txt").write_text("mine")
    (root / "gone").symlink_to("nowhere")
    assert list_runs(root) == []


def test_a_missing_root_has_no_runs_and_a_file_is_no_root(root):
    assert list_runs(root) == []
    root.write_text("a file")
    with pytest.raises(EnvironmentNotReadyError, match="Not a directory"):
        list_runs(root)


@pytest.mark.parametrize(("environ", "expected"), [({}, "runs"), ({"STREAMGAUGE_RUNS": ""}, "runs")])
def test_an_empty_variable_means_the_default_place(environ, expected):
    assert runs_root(None, environ) == Path(expected)
