"""The executors of a cluster: which there are, what they use, and how far their clocks are from the driver's.

Small jobs look at all executors before the load and after it; none runs while something is measured.
"""

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamgauge.measure.records import ClockOffset, ExecutorUse

if TYPE_CHECKING:
    import psutil

    from streamgauge.engine.spark.session import Session

# Every look narrows the interval in which the offset of a clock lies; more than these add little.
LOOKS = 8
MOST_ROUNDS = 40
JOB_DEADLINE_S = 120.0
ID_OPTION = "--executor-id"
APPLICATION_OPTION = "--app-id"


@dataclass(frozen=True)
class Look:
    """What an executor said about itself: CPU seconds used so far and memory in use, its Python workers included.

    Both are None where its Python has no psutil; then the executor is known by its process alone.
    """

    executor: str
    host: str
    pid: int
    wall_s: float
    cpu_s: float | None
    memory_bytes: int | None


@dataclass(frozen=True)
class Survey:
    """The last look at every executor that answered, and the offsets of their clocks."""

    looks: tuple[Look, ...]
    clocks: tuple[ClockOffset, ...]

    def pids_here(self, application_id: str) -> list[int]:
        """Return the processes of those executors that run on this machine."""
        return [look.pid for look in self.looks if _is_executor(look.pid, look.executor, application_id)]


def _option(words: Sequence[str], option: str) -> str | None:
    return words[words.index(option) + 1] if option in words[:-1] else None


def _is_executor(pid: int, executor: str, application_id: str) -> bool:
    import psutil

    try:
        words = psutil.Process(pid).cmdline()
    except psutil.Error:
        return False
    return _option(words, ID_OPTION) == executor and _option(words, APPLICATION_OPTION) == application_id


def _own_executor() -> "tuple[str, psutil.Process]":
    """Return the executor that this Python worker belongs to: one of its ancestors."""
    import psutil

    for process in psutil.Process().parents():
        with suppress(psutil.Error):
            executor = _option(process.cmdline(), ID_OPTION)
            if executor is not None:
                return executor, process
    return "driver", psutil.Process()


def look_here(_: Iterable[int]) -> Iterator[tuple[str, str, int, float, float | None, int | None]]:
    """Look at the executor in which this runs; the fields are those of `Look`."""
    import socket

    wall_s = time.time()
    try:
        import psutil
    except ImportError:
        yield f"process {os.getppid()}", socket.gethostname(), os.getppid(), wall_s, None, None
        return
    executor, root = _own_executor()
    cpu_s, memory_bytes = 0.0, 0
    for process in (root, *root.children(recursive=True)):
        with suppress(psutil.Error):
            times = process.cpu_times()
            cpu_s += times.user + times.system
            memory_bytes += process.memory_info().rss
    yield executor, socket.gethostname(), root.pid, wall_s, cpu_s, memory_bytes


def known_executors(session: "Session") -> set[str]:
    """Return the ids of all executors that the driver hears of now."""
    listed = session.spark.sparkContext._jsc.sc().statusStore().executorList(True)
    return {str(listed.apply(place).id()) for place in range(listed.size())} - {"driver"}


def survey(session: "Session", *, looks: int = LOOKS) -> Survey:
    """Look at every executor until each has answered `looks` times, or it is hopeless."""
    context, slots, clock = session.spark.sparkContext, session.cores, session.watchdog.clock
    wanted = known_executors(session)
    if not wanted:
        # A job would wait for ever.
        return Survey((), ())
    seen: dict[str, list[tuple[float, Look, float]]] = {}
    for _ in range(MOST_ROUNDS):
        before_s = clock.wall_s()
        with session.watchdog.within(JOB_DEADLINE_S, "a survey of the executors"):
            found = context.parallelize(range(slots), slots).mapPartitions(look_here).collect()
        after_s = clock.wall_s()
        for fields in found:
            look = Look(*fields)
            seen.setdefault(look.executor, []).append((before_s, look, after_s))
        if all(len(seen.get(executor, ())) >= looks for executor in wanted):
            break
    latest = tuple(bounds[-1][1] for _, bounds in sorted(seen.items()))
    return Survey(latest, tuple(clock_offset(bounds) for _, bounds in sorted(seen.items())))


def clock_offset(looks: Sequence[tuple[float, Look, float]]) -> ClockOffset:
    """Narrow down an offset: every look was taken after its job began, and before the job was known to have ended.

    >>> at = lambda wall_s: Look("0", "here", 1, wall_s, 0.0, 0)
    >>> clock_offset([(10.0, at(15.25), 10.5), (20.0, at(25.25), 21.0)])
    ClockOffset(executor='0', host='here', offset_s=5.0, uncertainty_s=0.25)
    """
    low_s = max(look.wall_s - after_s for _, look, after_s in looks)
    high_s = min(look.wall_s - before_s for before_s, look, _ in looks)
    look = looks[-1][1]
    return ClockOffset(look.executor, look.host, (low_s + high_s) / 2, abs(high_s - low_s) / 2)


def executor_use(before: Survey, after: Survey) -> list[ExecutorUse]:
    """Return what each executor used between two surveys, also of those that only one of them saw."""
    first = {look.executor: look for look in before.looks}
    last = {look.executor: look for look in after.looks}
    found = []
    for executor in sorted(first | last):
        a, b = first.get(executor), last.get(executor)
        host = (first | last)[executor].host
        is_known = a is not None and b is not None and a.cpu_s is not None and b.cpu_s is not None
        used_s = b.cpu_s - a.cpu_s if is_known else None  # type: ignore[union-attr, operator]
        found.append(ExecutorUse(executor, host, used_s, b.memory_bytes if b else None))
    return found
