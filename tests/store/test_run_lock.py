"""Runs of other containers, PID namespaces and hosts on the same folder."""

import errno
import fcntl
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from streamgauge.errors import UsageError
from streamgauge.machine.lock import probe
from streamgauge.machine.process import current_place
from streamgauge.store import list_runs, open_run, remove_run, sweep_scratch

ELSEWHERE = {"host": "other", "boot_id": "another-boot", "pid_namespace": "pid:[1]"}
# Makes a run with a checkpoint, says so, and goes on until its input ends.
WRITER = """
import sys
from pathlib import Path
from streamgauge.clock import SystemClock
from streamgauge.store import RunWriter
writer = RunWriter.create(Path(sys.argv[1]), workload="ysb", document={}, clock=SystemClock())
(writer.work / "checkpoint").mkdir()
print(writer.run_id, flush=True)
sys.stdin.read()
"""


def rewrite(path: Path, **fields: Any) -> None:
    document = json.loads((path / "run.json").read_text())
    document["process"] |= fields
    (path / "run.json").write_text(json.dumps(document))


def started(root: Path, *prefix: str) -> "tuple[subprocess.Popen[str], Path]":
    child = subprocess.Popen(
        [*prefix, sys.executable, "-c", WRITER, str(root)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout is not None
    return child, root / child.stdout.readline().strip()


def test_a_run_says_on_which_host_and_in_which_pid_namespace_its_process_is(root, make):
    process = open_run(root, make().run_id).document["process"]
    assert process.items() >= current_place().items()
    assert set(current_place()) == {"host", "boot_id", "pid_namespace"}


@pytest.mark.parametrize("name", sorted(ELSEWHERE))
def test_a_foreign_run_is_running_while_its_lock_is_held_whatever_its_number_means_here(root, make, name):
    writer = make()
    (writer.work / "checkpoint").mkdir()
    rewrite(writer.path, pid=2**22 + 1, **{name: ELSEWHERE[name]})
    assert open_run(root, writer.run_id).status == "running"
    assert sweep_scratch(root) == []
    with pytest.raises(UsageError, match=r"is still running elsewhere") as caught:
        remove_run(root, writer.run_id)
    assert f"stop process {2**22 + 1} there first" in caught.value.remedy
    assert (writer.work / "checkpoint").is_dir()


def test_a_foreign_run_whose_lock_is_free_is_interrupted_and_swept(root, make):
    path = make().path
    rewrite(path, **ELSEWHERE)
    assert open_run(root, path.name).status == "interrupted"
    assert sweep_scratch(root) == [path / "work"]
    remove_run(root, path.name)
    assert list_runs(root) == []


def test_without_locks_foreign_runs_count_as_alive_and_are_never_swept(root, make, monkeypatch):
    def refuse(*_: object) -> None:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr(fcntl, "flock", refuse)
    writer = make()
    assert open_run(root, writer.run_id).status == "running"
    rewrite(writer.path, **ELSEWHERE)
    assert open_run(root, writer.run_id).status == "running"
    assert sweep_scratch(root) == []
    with pytest.raises(UsageError, match="its lock cannot be checked on this file system") as caught:
        remove_run(root, writer.run_id)
    assert "remove the folder by hand" in caught.value.remedy
    rewrite(writer.path, **current_place(), pid=2**22 + 1)
    assert sweep_scratch(root) == [writer.work]


def test_a_run_that_its_own_process_gave_up_is_interrupted(root, make):
    path = make().path
    assert probe(path / "lock") == "free"
    assert open_run(root, path.name).status == "interrupted"


def test_the_lock_goes_with_the_run(root, make):
    writer = make()
    assert probe(writer.path / "lock") == "held"
    writer.finish("finished")
    assert not (writer.path / "lock").exists()


def test_a_run_of_an_earlier_version_is_judged_by_its_process_and_never_swept(root, make):
    path = make().path
    (path / "lock").unlink()
    document = json.loads((path / "run.json").read_text())
    alive = {name: document["process"][name] for name in ("pid", "started_s")}
    for process, status in ((alive, "running"), (alive | {"started_s": 1.0}, "interrupted")):
        (path / "run.json").write_text(json.dumps(document | {"process": process}))
        assert open_run(root, path.name).status == status
        assert sweep_scratch(root) == []
    remove_run(root, path.name)
    assert list_runs(root) == []


@pytest.mark.parametrize("planted", ["link", "pipe", "folder"])
def test_what_is_not_a_lock_says_nothing(tmp_path, planted):
    path = tmp_path / "lock"
    if planted == "link":
        path.symlink_to(tmp_path / "elsewhere")
    elif planted == "pipe":
        os.mkfifo(path)
    else:
        (tmp_path / "file").touch()
        path = tmp_path / "file" / "lock"
    assert probe(path) in ("unknown", "free")


def test_a_fork_of_the_writer_does_not_keep_its_lock(root, make):
    """Children that outlive the writer, such as those of multiprocessing, must not make it look alive."""
    writer = make()
    path = writer.path / "lock"
    (read, write), (ready, tell) = os.pipe(), os.pipe()
    child = os.fork()
    if not child:
        os.close(write)
        os.write(tell, b".")
        os.read(read, 1)
        os._exit(0)
    try:
        os.read(ready, 1)
        assert probe(path) == "held"
        del writer
        assert probe(path) == "free"
    finally:
        for handle in (write, read, ready, tell):
            os.close(handle)
        os.waitpid(child, 0)


def test_a_program_that_the_writer_started_does_not_keep_its_lock(root, make):
    writer = make()
    path = writer.path / "lock"
    with subprocess.Popen(["cat"], stdin=subprocess.PIPE, close_fds=False) as child:
        del writer
        assert probe(path) == "free"
        assert child.poll() is None


@pytest.mark.fault
@pytest.mark.parametrize("prefix", [(), ("unshare", "-pf", "--mount-proc")], ids=["process", "namespace"])
def test_a_live_run_of_a_neighbour_is_left_alone_until_its_process_is_killed(root, prefix):
    if prefix and (
        not shutil.which(prefix[0]) or subprocess.run([*prefix, "true"], capture_output=True, check=False).returncode
    ):
        pytest.skip("this system does not let us make a PID namespace with `unshare -pf --mount-proc`")
    child, path = started(root, *prefix)
    try:
        assert open_run(root, path.name).status == "running"
        assert sweep_scratch(root) == []
        with pytest.raises(UsageError, match="is still running"):
            remove_run(root, path.name)
        assert (path / "work" / "checkpoint").is_dir()
    finally:
        child.stdin.close()
        child.wait()
    assert open_run(root, path.name).status == "interrupted"
    assert sweep_scratch(root) == [path / "work"]
