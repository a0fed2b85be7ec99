"""A Redis that is none, so that starts, failures and kills can be seen without any package."""

import os
import sys
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest

SERVER = """#!{python} -SE
import os, socketserver, sys, time
if {behaviour!r} == "fail":
    print("first line"), print("java.lang.Error: planted"), print("\\tat a.b.C(D.java:1)")
    sys.exit(3)
if {behaviour!r} == "hang":
    time.sleep(600)

class Pong(socketserver.BaseRequestHandler):
    def handle(self):
        self.request.recv(64)
        self.request.sendall(b"+PONG\\r\\n")

socketserver.TCPServer.allow_reuse_address = True
port = int(sys.argv[sys.argv.index("--port") + 1])
socketserver.TCPServer(("127.0.0.1", port), Pong).serve_forever()
"""


def has_ended(process: psutil.Process) -> bool:
    """Return whether a process does nothing any more, collected by its parent or not."""
    try:
        return not process.is_running() or process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """A cache of the test's own, so that services of the developer are not touched."""
    monkeypatch.setenv("STREAMGAUGE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def redis_that(monkeypatch: pytest.MonkeyPatch, tmp_path: Path, cache: Path) -> Callable[[str], None]:
    """Put a `redis-server` on the PATH that works, fails or hangs, with temporary folders of the test's own."""
    programs, temporary = tmp_path / "bin", tmp_path / "tmp"
    programs.mkdir()
    temporary.mkdir()
    monkeypatch.setenv("PATH", os.pathsep.join((str(programs), os.environ["PATH"])))
    monkeypatch.setenv("TMPDIR", str(temporary))
    monkeypatch.setattr("tempfile.tempdir", None)

    def put(behaviour: str) -> None:
        program = programs / "redis-server"
        program.write_text(SERVER.format(python=sys.executable, behaviour=behaviour))
        program.chmod(0o755)

    return put
