import errno
import io
import json
import os
import re
import resource
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from typing import NoReturn

import numpy as np
import pyarrow as pa
import pytest

from streamgauge.arrivals import Constant
from streamgauge.clock import ManualClock
from streamgauge.errors import EnvironmentNotReadyError
from streamgauge.store import SCHEMA_VERSION, RunWriter, open_run


def test_a_run_directory_can_be_read_by_its_owner_only(tmp_path):
    writer = RunWriter.create(tmp_path / "runs", workload="ysb", document={}, clock=ManualClock())
    assert writer.path.stat().st_mode & 0o777 == 0o700


class Killed(BaseException):
    """Stands for a kill: no handler of ordinary errors sees it."""


def no_space(*_args: object, **_options: object) -> NoReturn:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def document_of(writer: RunWriter) -> dict[str, object]:
    return json.loads((writer.path / "run.json").read_text())


def files_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def test_a_fresh_run_directory_says_what_it_is_and_who_writes_it(root, make):
    writer = make("NEXMark q5", configuration={"rate_per_s": 5.0}, run_id="not mine to choose")
    document = document_of(writer)
    assert re.fullmatch(r"20261115T194504-nexmark-q5-[0-9a-f]{4}", writer.run_id)
    assert writer.path == root / writer.run_id
    assert document["schema_version"] == SCHEMA_VERSION
    assert document["run_id"] == writer.run_id
    assert document["status"] == "running"
    assert document["workload"] == "NEXMark q5"
    assert document["created"] == "2026-11-15T19:45:04.250000+00:00"
    assert document["configuration"] == {"rate_per_s": 5.0}
    assert document["process"]["pid"] == os.getpid()
    assert document["verdict"] is None
    assert files_in(writer.path) == {"run.json", "events.jsonl", "work", "lock"}


@pytest.mark.parametrize("workload", ["../../etc", "my_module.py:build", "ÄÖ", "", "x" * 500])
def test_any_workload_name_gives_a_plain_folder_name(make, workload):
    assert re.fullmatch(r"[0-9]{8}T[0-9]{6}-[a-z0-9-]{1,40}-[0-9a-f]{4}", make(workload).run_id)


def test_two_runs_of_one_second_never_share_a_folder(root, clock, monkeypatch):
    drawn = iter(["aaaa", "aaaa", "bbbb"])
    monkeypatch.setattr("secrets.token_hex", lambda _bytes: next(drawn))
    ids = [RunWriter.create(root, workload="ysb", document={}, clock=clock).run_id for _ in range(2)]
    assert [run_id[-4:] for run_id in ids] == ["aaaa", "bbbb"]


def test_a_search_for_a_free_name_ends(root, clock, monkeypatch):
    monkeypatch.setattr("secrets.token_hex", lambda _bytes: "aaaa")
    RunWriter.create(root, workload="ysb", document={}, clock=clock)
    with pytest.raises(EnvironmentNotReadyError, match="File exists"):
        RunWriter.create(root, workload="ysb", document={}, clock=clock)


def test_an_update_replaces_the_named_fields_only(make):
    writer = make(configuration={"seed": 1})
    writer.update(verdict="pass", load={"origin_us": 7})
    document = document_of(writer)
    assert (document["verdict"], document["load"]) == ("pass", {"origin_us": 7})
    assert (document["configuration"], document["status"]) == ({"seed": 1}, "running")


def test_e3_progress_is_on_disk_as_soon_as_it_is_appended(make, progress):
    writer = make()
    for batch_id in range(3):
        writer.append_progress(progress(batch_id))
        lines = (writer.path / "events.jsonl").read_text().splitlines()
        assert [json.loads(line) for line in lines] == [progress(b) for b in range(batch_id + 1)]


def test_tables_and_schedule_come_back_as_they_were(root, make):
    writer = make()
    table = pa.table({"batch_id": [0, 1], "phase": ["a", None]})
    schedule = Constant(1000.0).schedule(10.0)
    writer.write_table("phases", table)
    writer.write_schedule(schedule)
    run = open_run(root, writer.run_id)
    assert run.table("phases").equals(table)
    assert run.schedule() == schedule
    assert files_in(writer.path) == {"run.json", "events.jsonl", "work", "lock", "phases.parquet", "schedule.npy"}


@pytest.mark.parametrize("name", ["../batches", "a/b", "", ".hidden"])
def test_a_table_cannot_leave_its_run_directory(make, name):
    with pytest.raises(ValueError, match="not the name of a table"):
        make().write_table(name, pa.table({"x": [1]}))


def test_the_end_of_a_run_removes_the_scratch_folder(root, make):
    writer = make()
    (writer.work / "checkpoint").mkdir()
    (writer.work / "checkpoint" / "0").write_text("v1")
    writer.finish("finished", verdict="pass")
    run = open_run(root, writer.run_id)
    assert not writer.work.exists()
    assert (run.status, run.document["verdict"]) == ("finished", "pass")


def test_nothing_is_written_to_a_run_that_has_ended(make, progress):
    writer = make()
    writer.finish("failed", reasons=["the query broke"])
    before = {path.name: path.read_bytes() for path in writer.path.iterdir()}
    for attempt in (
        lambda: writer.update(verdict="pass"),
        lambda: writer.append_progress(progress(0)),
        lambda: writer.write_table("batches", pa.table({"x": [1]})),
        lambda: writer.write_schedule(Constant(1.0).schedule(2.0)),
        lambda: writer.finish("finished"),
    ):
        with pytest.raises(RuntimeError, match="has ended"):
            attempt()
    assert {path.name: path.read_bytes() for path in writer.path.iterdir()} == before


def test_numbers_that_json_does_not_know_are_refused_and_the_old_document_stays(make):
    writer = make()
    with pytest.raises(ValueError, match="JSON compliant"):
        writer.update(summary={"mean": float("nan")})
    writer.update(verdict="unknown")
    assert document_of(writer)["summary"] is None


@pytest.mark.parametrize("step", ["os.fsync", "os.replace"])
def test_e3_a_kill_before_the_replacement_leaves_the_old_document(make, monkeypatch, step):
    writer = make()

    def kill(*_args: object, **_options: object) -> NoReturn:
        raise Killed

    with monkeypatch.context() as patch:
        patch.setattr(step, kill)
        patch.setattr(Path, "unlink", kill)
        with suppress(Killed):
            writer.update(verdict="pass")
    assert document_of(writer)["verdict"] is None
    writer.update(verdict="fail")
    assert document_of(writer)["verdict"] == "fail"


def test_e3_a_kill_after_the_replacement_leaves_the_new_document(make, monkeypatch):
    writer = make()
    replace = os.replace

    def replace_and_die(old: Path, new: Path) -> NoReturn:
        replace(old, new)
        raise Killed

    monkeypatch.setattr(os, "replace", replace_and_die)
    with suppress(Killed):
        writer.update(verdict="pass")
    assert document_of(writer)["verdict"] == "pass"


ENDLESS_WRITER = """
import sys
from pathlib import Path
from streamgauge.clock import SystemClock
from streamgauge.store import RunWriter

writer = RunWriter.create(Path(sys.argv[1]), workload="ysb", document={}, clock=SystemClock())
for number in range(10**9):
    writer.update(summary={"number": number, "twice": [number] * 5000})
    writer.append_progress({"batchId": number})
    print(writer.run_id, number, flush=True)
"""


@pytest.mark.fault
@pytest.mark.parametrize("updates", [1, 2, 5, 17])
def test_e3_a_killed_process_leaves_a_whole_document_and_all_its_progress(root, updates):
    with subprocess.Popen(
        [sys.executable, "-c", ENDLESS_WRITER, str(root)], stdout=subprocess.PIPE, text=True
    ) as process:
        for _ in range(updates):
            run_id, number = process.stdout.readline().split()
        assert open_run(root, run_id).status == "running"
        process.send_signal(signal.SIGKILL)
    run = open_run(root, run_id)
    summary = run.document["summary"]
    assert run.status == "interrupted"
    assert summary["number"] >= int(number)
    assert summary["twice"] == [summary["number"]] * 5000
    batch_ids = [document["batchId"] for document in run.progress()]
    assert batch_ids == list(range(len(batch_ids)))
    assert len(batch_ids) > int(number)


@pytest.mark.parametrize(
    ("place", "reason"),
    [
        ("file", "Not a directory"),
        ("file/runs", "Not a directory"),
        ("/proc/runs", "No such file or directory"),
    ],
)
def test_a_place_that_cannot_hold_runs_is_named_with_a_remedy(tmp_path, clock, place, reason):
    (tmp_path / "file").write_text("not a folder")
    with pytest.raises(EnvironmentNotReadyError) as caught:
        RunWriter.create(tmp_path / place, workload="ysb", document={}, clock=clock)
    assert str(caught.value) == (
        f"{tmp_path / place}: cannot make the folder of runs: {reason}\n"
        "  choose another place with --runs or STREAMGAUGE_RUNS, or free space there"
    )


def test_a_read_only_root_is_named(root, clock, monkeypatch):
    root.mkdir()

    def refuse(_path: Path, *_args: object, **options: object) -> None:
        if not options.get("exist_ok"):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))

    monkeypatch.setattr(Path, "mkdir", refuse)
    with pytest.raises(EnvironmentNotReadyError, match="cannot make a run directory: Permission denied"):
        RunWriter.create(root, workload="ysb", document={}, clock=clock)


def test_a_disk_that_is_full_from_the_start_leaves_no_folder(root, clock, monkeypatch):
    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(EnvironmentNotReadyError, match=r"cannot write run\.json: No space left on device"):
        RunWriter.create(root, workload="ysb", document={}, clock=clock)
    assert list(root.iterdir()) == []


@pytest.mark.parametrize(
    "write",
    [
        lambda writer: writer.update(verdict="pass"),
        lambda writer: writer.write_table("batches", pa.table({"x": [1]})),
        lambda writer: writer.write_schedule(Constant(1.0).schedule(2.0)),
    ],
    ids=["document", "table", "schedule"],
)
def test_e3_a_disk_that_fills_up_spoils_no_file(make, monkeypatch, write):
    writer = make()
    before = {path.name: path.is_dir() or path.read_bytes() for path in writer.path.iterdir()}
    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(EnvironmentNotReadyError, match="No space left on device"):
        write(writer)
    assert {path.name: path.is_dir() or path.read_bytes() for path in writer.path.iterdir()} == before


def test_a_table_that_the_system_refuses_to_write_leaves_nothing(make):
    writer = make()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(EnvironmentNotReadyError, match=r"cannot write x\.parquet: File too large"):
            writer.write_table("x", pa.table({"x": np.random.default_rng(1).random(100_000)}))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert files_in(writer.path) == {"run.json", "events.jsonl", "work", "lock"}


def test_a_really_full_disk_is_reported_for_progress(make, progress, monkeypatch):
    writer = make()
    # Only an open handle: a path to the device could end up deleted or replaced.
    full = io.BufferedWriter(io.FileIO("/dev/full", "ab"))
    monkeypatch.setattr(writer, "_events", full)
    with pytest.raises(EnvironmentNotReadyError) as caught:
        writer.append_progress(progress(0))
    with suppress(OSError):
        full.close()
    assert caught.value.what == "cannot write events.jsonl: No space left on device"
    assert caught.value.where == str(writer.path / "events.jsonl")
    assert "--runs" in caught.value.remedy


class NearlyFullFile(io.FileIO):
    """Takes twenty bytes more, then nothing until the scratch folder goes."""

    def __init__(self, path: Path, work: Path) -> None:
        super().__init__(path, "ab")
        self.work = work
        self.room = 20

    def write(self, data: memoryview) -> int:
        if not self.work.exists():
            return super().write(data)
        if not self.room:
            no_space()
        written = super().write(data[: self.room])
        self.room -= written
        return written


def test_e3_a_line_cut_short_by_a_full_disk_is_completed_when_there_is_space(root, make, progress, monkeypatch):
    writer = make()
    raw = NearlyFullFile(writer.path / "events.jsonl", writer.work)
    monkeypatch.setattr(writer, "_events", io.BufferedWriter(raw))
    with pytest.raises(EnvironmentNotReadyError):
        writer.append_progress(progress(0))
    assert (writer.path / "events.jsonl").stat().st_size == 20
    assert open_run(root, writer.run_id).progress() == []
    writer.finish("failed")
    assert open_run(root, writer.run_id).progress() == [progress(0)]


def test_an_end_that_found_no_space_can_be_repeated(root, make, monkeypatch):
    writer = make()
    with monkeypatch.context() as patch:
        patch.setattr(os, "fsync", no_space)
        with pytest.raises(EnvironmentNotReadyError):
            writer.finish("finished")
    writer.finish("failed")
    assert open_run(root, writer.run_id).status == "failed"


def test_a_moved_clock_names_the_run(root):
    writer = RunWriter.create(root, workload="ysb", document={}, clock=ManualClock())
    assert writer.run_id.startswith("19700101T000000-ysb-")
