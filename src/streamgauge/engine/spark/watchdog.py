"""The watch over a Java process: one that has died is noticed at once, one that no longer answers is killed.

A call to Java blocks until the answer comes or the connection closes. The connections of a dead process close, so
killing a hung one also ends every call that waits for it.
"""

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from streamgauge.clock import Clock
from streamgauge.errors import RunFailedError

if TYPE_CHECKING:
    import subprocess

LOOK_EVERY_S = 0.25
# Much longer than Java stops for a garbage collection of the heap that it has by default.
HANG_DEADLINE_S = 30.0
INTERRUPTED_DEADLINE_S = 3.0
# How often the other processes of Java's session are looked at, which costs more than a look at Java.
WORKERS_EVERY_S = 5.0
# A call that fails because Java died may fail before the death is noticed.
NOTICE_S = 2.0
# A process that was stopped itself, with Ctrl-Z for example, must not take that time for a hang of Java.
MOST_PER_LOOK_S = 4 * LOOK_EVERY_S
KILL_ROUNDS = 3


@dataclass
class _Limit:
    """What must be done before `left_s` have passed."""

    what: str
    limit_s: float
    left_s: float


@dataclass
class Watchdog:
    """Decides whether a process is dead or hung; `look` is called several times a second.

    `poll` returns the exit code of a process that has ended, `answers` whether it has answered since the last look,
    `has_stopped` whether a process that it started is stopped, and `kill` ends it with all that it started.
    """

    poll: Callable[[], int | None]
    answers: Callable[[], bool]
    kill: Callable[[], None]
    clock: Clock
    log: Path
    hang_deadline_s: float = HANG_DEADLINE_S
    has_stopped: Callable[[], bool] = lambda: False
    name: str = "Spark's Java process"
    moment: Callable[[], str] = lambda: ""
    failure: RunFailedError | None = None
    is_interrupted: bool = False
    _silent_s: float = 0.0
    _stopped_s: float = 0.0
    _since_workers_s: float = 0.0
    _limit: _Limit | None = None
    _noticed: threading.Event = field(default_factory=threading.Event)
    _end: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._looked_s = self.clock.monotonic_s()

    def look(self) -> None:
        """Look once."""
        now_s = self.clock.monotonic_s()
        passed_s, self._looked_s = min(now_s - self._looked_s, MOST_PER_LOOK_S), now_s
        if self.failure is not None:
            return
        code = self.poll()
        if code is not None:
            self._fail(f"{self.name} {_ended(code)}", "see whether memory ran out or somebody killed it")
            return
        self._silent_s = 0.0 if self.answers() else self._silent_s + passed_s
        self._check_silence()
        self._check_workers(passed_s)
        self._check_limit(passed_s)

    def _check_silence(self) -> None:
        limit_s = INTERRUPTED_DEADLINE_S if self.is_interrupted else self.hang_deadline_s
        if self._silent_s >= limit_s:
            what = f"{self.name} did not answer for {limit_s:g} s and was killed"
            self._fail(what, "see whether it was stopped, or whether its garbage collection took that long")

    def _check_workers(self, passed_s: float) -> None:
        """A stopped Python worker keeps its task from ever ending; one that is only slow runs."""
        self._since_workers_s += passed_s
        if self._since_workers_s < WORKERS_EVERY_S or self.failure is not None:
            return
        self._stopped_s = self._stopped_s + self._since_workers_s if self.has_stopped() else 0.0
        self._since_workers_s = 0.0
        if self._stopped_s >= self.hang_deadline_s:
            what = f"a Python worker of Spark was stopped for {self.hang_deadline_s:g} s, and {self.name} was killed"
            self._fail(what, "see who stopped it, with SIGSTOP or a debugger")

    def _check_limit(self, passed_s: float) -> None:
        limit = self._limit
        if limit is None or self.failure is not None:
            return
        limit.left_s -= passed_s
        if self.is_interrupted:
            limit.left_s = min(limit.left_s, INTERRUPTED_DEADLINE_S)
        if limit.left_s <= 0:
            what = f"{limit.what} did not end within {limit.limit_s:g} s, and {self.name} was killed"
            self._fail(what, "see Spark's log there")

    def _fail(self, what: str, remedy: str) -> None:
        # Made first: whoever waits for an answer asks for it as soon as the connections close.
        self.failure = RunFailedError(what + self.moment(), where=str(self.log), remedy=remedy)
        self.kill()
        self._noticed.set()

    def check(self) -> None:
        """Raise when the process is dead or was killed."""
        if self.failure is not None:
            raise self.failure

    def interrupt(self) -> None:
        """Give the process, and what it is asked to do, only a few seconds more. Signal handlers may call this."""
        self.is_interrupted = True

    @contextmanager
    def within(self, limit_s: float, what: str) -> Iterator[None]:
        """Kill the process when what happens inside takes longer."""
        outer, self._limit = self._limit, _Limit(what, limit_s, limit_s)
        try:
            yield
        finally:
            self._limit = outer

    @contextmanager
    def watching(self) -> Iterator[None]:
        """Look again and again, in a thread of its own."""
        thread = threading.Thread(target=self._run, name="watchdog", daemon=True)
        thread.start()
        try:
            yield
        finally:
            self._end.set()
            thread.join(NOTICE_S)

    def _run(self) -> None:
        while not self._end.wait(LOOK_EVERY_S):
            self.look()

    @contextmanager
    def explaining(self, moment: Callable[[], str] | None = None) -> Iterator[None]:
        """Name the death of the process as the cause of every error that follows from it; `moment` says when it was.

        After an interrupt, the death was the user's wish.
        """
        outer, self.moment = self.moment, moment or self.moment
        try:
            yield
        except Exception as error:
            if self.failure is None and _is_lost_connection(error):
                self._noticed.wait(NOTICE_S)
            if self.failure is None:
                raise
            if self.is_interrupted:
                raise KeyboardInterrupt from error
            if error is self.failure:
                raise
            raise self.failure from error
        finally:
            self.moment = outer


def _ended(code: int) -> str:
    """Say how a process ended.

    >>> _ended(-9), _ended(1)
    ('was killed by signal 9 (SIGKILL)', 'ended by itself with exit code 1')
    """
    if code >= 0:
        return f"ended by itself with exit code {code}"
    return f"was killed by signal {-code} ({signal.Signals(-code).name})"


def _is_lost_connection(error: BaseException) -> bool:
    """Return whether an error may come from a connection to Java that has closed."""
    from py4j.protocol import Py4JError, Py4JJavaError

    seen: set[int] = set()
    found: BaseException | None = error
    while found is not None and id(found) not in seen:
        if isinstance(found, Py4JError | OSError | EOFError) and not isinstance(found, Py4JJavaError):
            return True
        seen.add(id(found))
        found = found.__cause__ or found.__context__
    return False


class Heartbeat:
    """Asks Java for the time, over a connection of its own, and never waits for the answer."""

    def __init__(self, port: int, secret: str) -> None:
        self._port, self._secret = port, secret
        self._socket: socket.socket | None = None

    def answers(self) -> bool:
        """Return whether the last question is answered; then the next one is asked."""
        try:
            if self._socket is None:
                self._connect()
                return False
            # An answer is a short line.
            if not self._socket.recv(4096):
                raise ConnectionResetError
            self._ask()
        except BlockingIOError:
            return False
        except OSError:
            self.close()
            return False
        return True

    def _connect(self) -> None:
        from py4j.protocol import AUTH_COMMAND_NAME

        # The kernel takes connections and short messages in, whether Java is stopped or not.
        self._socket = socket.create_connection(("127.0.0.1", self._port), timeout=LOOK_EVERY_S)
        self._socket.setblocking(False)
        self._socket.sendall(f"{AUTH_COMMAND_NAME}\n{self._secret}\n".encode())

    def _ask(self) -> None:
        from py4j.protocol import CALL_COMMAND_NAME, END_COMMAND_PART, STATIC_PREFIX

        assert self._socket is not None
        call = f"{CALL_COMMAND_NAME}{STATIC_PREFIX}java.lang.System\ncurrentTimeMillis\n{END_COMMAND_PART}"
        self._socket.sendall(call.encode())

    def close(self) -> None:
        """Close the connection."""
        if self._socket is not None:
            self._socket.close()
        self._socket = None


def session_members(session_id: int) -> list[int]:
    """Return the processes of a session; those that nobody has collected yet count too."""
    import psutil

    found = []
    for pid in psutil.pids():
        with suppress(OSError):
            if os.getsid(pid) == session_id:
                found.append(pid)
    return found


def has_stopped_worker(session_id: int) -> bool:
    """Return whether a process of a session is stopped, as by SIGSTOP; its leader, Java itself, does not count."""
    import psutil

    for pid in set(session_members(session_id)) - {session_id}:
        with suppress(psutil.Error):
            if psutil.Process(pid).status() == psutil.STATUS_STOPPED:
                return True
    return False


def kill_session(session_id: int) -> None:
    """Kill every process of a session. Python workers are in it, but in a process group of their own."""
    for _ in range(KILL_ROUNDS):
        members = session_members(session_id)
        if not members:
            return
        for pid in members:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)


def watch_java(
    process: "subprocess.Popen[bytes]", heartbeat: Heartbeat, *, clock: Clock, log: Path, hang_deadline_s: float
) -> Watchdog:
    """Return the watchdog of a Java process that leads a session of its own."""
    return Watchdog(
        poll=process.poll,
        answers=heartbeat.answers,
        kill=partial(kill_session, process.pid),
        has_stopped=partial(has_stopped_worker, process.pid),
        clock=clock,
        log=log,
        hang_deadline_s=hang_deadline_s,
    )
