"""The start of one service: its folder, its processes as they come, and what to say when one of them fails."""

import os
import re
import shutil
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import ClassVar, Protocol

from streamgauge.clock import Clock, SystemClock
from streamgauge.errors import EnvironmentNotReadyError
from streamgauge.files import disk_access
from streamgauge.machine.process import current_process
from streamgauge.services.processes import end, spawn, started_at_s
from streamgauge.services.service import ProcessIdentity, ServerProcess, Service
from streamgauge.services.state import write_state

Say = Callable[[str], None]
POLL_S = 0.05
LAST_LINES = 8
LINE_CHARACTERS = 200
PREFIX = "streamgauge-"


class Server(Protocol):
    """A kind of service; its fields are its settings."""

    name: ClassVar[str]

    def prepare(self, say: Say) -> None:
        """Raise EnvironmentNotReadyError when this machine lacks something; fetch what can be fetched."""
        ...

    def settings(self) -> Mapping[str, int | str]:
        """Return what holds, defaults included."""
        ...

    def start(self, launch: "Launch") -> str:
        """Start all processes, wait until they answer, and return the address for clients."""
        ...


def last_lines(log: Path) -> list[str]:
    """Return what a server said last; the depth of Java's stack traces is left out."""
    text = log.read_text(errors="replace") if log.exists() else ""
    lines = [line.rstrip()[:LINE_CHARACTERS] for line in text.splitlines() if line.strip()]
    return [line for line in lines if not re.match(r"\s*(at |\.\.\. \d+ more)", line)][-LAST_LINES:]


class Launch:
    """A service that is being started: each process is recorded as soon as there is one."""

    def __init__(self, service: Service, state: Path, clock: Clock | None = None) -> None:
        self.service = service
        self._state = state
        self._clock = clock or SystemClock()
        self._children: dict[str, subprocess.Popen[bytes]] = {}
        write_state(state, service)

    @property
    def folder(self) -> Path:
        """Everything that the service writes goes there."""
        return self.service.folder

    def start(self, name: str, command: Sequence[str], *, port: int, environment: Mapping[str, str]) -> None:
        """Start one server process."""
        log = self.folder / f"{name}.log"
        child = self._popen(command, log, environment)
        self._children[name] = child
        server = ServerProcess(child.pid, started_at_s(child.pid), name, port, log)
        self.service = replace(self.service, processes=(*self.service.processes, server))
        write_state(self._state, self.service)

    def run(self, name: str, command: Sequence[str], *, environment: Mapping[str, str], deadline_s: float) -> None:
        """Run a command that must succeed before the servers start."""
        log = self.folder / f"{name}.log"
        child = self._popen(command, log, environment)
        try:
            code = child.wait(deadline_s)
        except subprocess.TimeoutExpired:
            raise self._failure(name, f"does not end within {deadline_s:.0f} s") from None
        if code != 0:
            raise self._failure(name, f"ended with exit code {code}")

    def wait_until(self, answers: Mapping[str, Callable[[], bool]], deadline_s: float) -> None:
        """Block until every named process answers; fail when one of all processes ends, or time runs out."""
        end_s = self._clock.monotonic_s() + deadline_s
        waiting = dict(answers)
        while waiting:
            for name, child in self._children.items():
                if child.poll() is not None:
                    raise self._failure(name, f"ended with exit code {child.returncode}")
            waiting = {name: answer for name, answer in waiting.items() if not answer()}
            if waiting and self._clock.monotonic_s() > end_s:
                name = next(iter(waiting))
                raise self._failure(name, f"does not answer within {deadline_s:.0f} s")
            if waiting:
                self._clock.sleep(POLL_S)

    def _popen(self, command: Sequence[str], log: Path, environment: Mapping[str, str]) -> "subprocess.Popen[bytes]":
        with disk_access(f"start {command[0]}", self.folder, "check the program and the folder"):
            return spawn(command, folder=self.folder, log=log, environment=environment)

    def _failure(self, name: str, what: str) -> EnvironmentNotReadyError:
        log = self.folder / f"{name}.log"
        lines = last_lines(log) or ["it said nothing"]
        # The folder goes when a start fails; the log must outlive it.
        handle, kept = tempfile.mkstemp(prefix=f"{PREFIX}{self.service.name}-{name}-", suffix=".log")
        os.close(handle)
        if log.exists():
            shutil.copyfile(log, kept)
        indented = "\n".join(f"    {line}" for line in lines)
        return EnvironmentNotReadyError(
            f"{self.service.name} did not start: {name} {what}",
            where=kept,
            remedy=f"read the log; its last lines are\n{indented}",
        )


def make_folder(name: str, parent: Path | None) -> Path:
    """Make the folder of a new service, of which the owner alone can read."""
    place = parent if parent is not None else Path(tempfile.gettempdir())
    with disk_access("make the folder of the service", place, "choose another place with --folder"):
        return Path(tempfile.mkdtemp(prefix=f"{PREFIX}{name}-", dir=place.resolve()))


def remove_folder(service: Service) -> None:
    """Delete what a service has written; a folder that we cannot have made stays."""
    if service.folder.name.startswith(f"{PREFIX}{service.name}-"):
        shutil.rmtree(service.folder, ignore_errors=True)


def launch_service(server: Server, *, state: Path, parent: Path | None, private: bool) -> Service:
    """Start a service and wait until it answers; whatever goes wrong, nothing of it stays."""
    starter = current_process()
    service = Service(
        name=server.name,
        recorded="starting",
        settings=server.settings(),
        folder=make_folder(server.name, parent),
        starter=ProcessIdentity(starter["pid"], starter["started_s"]),
        private=private,
    )
    started = Launch(service, state)
    try:
        address = server.start(started)
        service = replace(started.service, recorded="up", address=address)
        write_state(state, service)
    except BaseException:
        discard(started.service, state)
        raise
    return service


def discard(service: Service, state: Path) -> None:
    """End a service, delete its folder, and only then forget it."""
    end(service)
    remove_folder(service)
    state.unlink(missing_ok=True)
