"""What the run's processes use: this process, Spark's Java processes and their Python workers, once a second.

Besides, a small piece of work that is always the same tells how fast the processor is. Others on the same processor,
such as those on the second thread of a core, slow it without any time that the system would call stolen.
"""

import itertools
import math
import statistics
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import psutil

from streamgauge.clock import Clock

if TYPE_CHECKING:
    import pyarrow as pa

PERIOD_S = 1.0
# Looks at the speed of the processor in each period; one takes about half a millisecond.
LOOKS = 5
_STEPS = 6000
ROLES = ("tool", "java", "python_workers")


@dataclass(frozen=True)
class ResourceSample:
    """CPU seconds used so far and memory in use now, per role; `stolen_s` is time that other tenants took.

    `look_mean_s` and `look_least_s` are the mean and the least CPU time of a piece of work that is always the same,
    in the time since the sample before.
    """

    at_us: int
    monotonic_s: float
    cpu_s: dict[str, float]
    memory_bytes: dict[str, int]
    stolen_s: float
    look_mean_s: float | None = None
    look_least_s: float | None = None


def look_s() -> float:
    """Return the CPU time of a piece of work that is always the same."""
    began_s, value = time.thread_time(), 1
    for _ in range(_STEPS):
        value = (value * 1_103_515_245 + 12_345) & 0x7FFFFFFF
    return time.thread_time() - began_s


@dataclass
class ResourceSampler:
    """Samples in a thread of its own until told to stop."""

    java_pid: int
    clock: Clock
    samples: list[ResourceSample] = field(default_factory=list)
    # Executors on this machine that are no children of the driver.
    executor_pids: Sequence[int] = ()
    look: Callable[[], float] = look_s

    def __post_init__(self) -> None:
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="resources", daemon=True)
        # CPU time of workers that have ended must not vanish from the sum.
        self._cpu_by_process: dict[tuple[int, float], tuple[str, float]] = {}

    def start(self) -> None:
        """Begin to sample."""
        self._thread.start()

    def stop(self) -> None:
        """Take a last sample and end."""
        self._end.set()
        self._thread.join(timeout=5)

    def _run(self) -> None:
        looks_s, is_last = [self.look()], False
        while True:
            with suppress(psutil.Error):
                self.samples.append(self._sample(looks_s))
            if is_last:
                return
            looks_s = []
            while len(looks_s) < LOOKS and not is_last:
                is_last = self._end.wait(PERIOD_S / LOOKS)
                looks_s.append(self.look())

    def _sample(self, looks_s: Sequence[float]) -> ResourceSample:
        memory = dict.fromkeys(ROLES, 0)
        for role, process in self._processes():
            with suppress(psutil.Error), process.oneshot():
                times = process.cpu_times()
                self._cpu_by_process[(process.pid, process.create_time())] = (role, times.user + times.system)
                memory[role] += process.memory_info().rss
        cpu = dict.fromkeys(ROLES, 0.0)
        for role, used_s in self._cpu_by_process.values():
            cpu[role] += used_s
        return ResourceSample(
            at_us=round(self.clock.wall_s() * 1e6),
            monotonic_s=self.clock.monotonic_s(),
            cpu_s=cpu,
            memory_bytes=memory,
            stolen_s=getattr(psutil.cpu_times(), "steal", 0.0),
            look_mean_s=math.fsum(looks_s) / len(looks_s),
            look_least_s=min(looks_s),
        )

    def _processes(self) -> list[tuple[str, psutil.Process]]:
        found = [("tool", psutil.Process())]
        for pid in (self.java_pid, *self.executor_pids):
            with suppress(psutil.Error):
                root = psutil.Process(pid)
                for process in (root, *root.children(recursive=True)):
                    with suppress(psutil.Error):
                        found.append(("java" if "java" in process.name() else "python_workers", process))
        return found


def clock_jump_s(samples: list[ResourceSample]) -> float:
    """Return how far the wall clock moved against the monotonic clock, at most, between two samples."""
    drift = [sample.at_us / 1e6 - sample.monotonic_s for sample in samples]
    return max((abs(b - a) for a, b in itertools.pairwise(drift)), default=0.0)


def slowdown(samples: Sequence[ResourceSample]) -> float | None:
    """Return how much longer the piece of work took on average than it usually takes undisturbed; None without looks.

    Undisturbed is the least of all looks: so a processor that is as slow all the time, as under the heat of its own
    load, is not slowed down, and one that is slow for most of the time is.
    """
    looks = [(s.look_mean_s, s.look_least_s) for s in samples if s.look_mean_s and s.look_least_s]
    if not looks:
        return None
    return statistics.fmean(mean_s for mean_s, _ in looks) / min(least_s for _, least_s in looks)


def resources_table(samples: list[ResourceSample]) -> "pa.Table":
    """Return the samples as a table."""
    import pyarrow as pa

    columns: dict[str, list[float | None]] = {
        "at_us": [s.at_us for s in samples],
        "stolen_s": [s.stolen_s for s in samples],
        "look_mean_s": [s.look_mean_s for s in samples],
        "look_least_s": [s.look_least_s for s in samples],
    }
    for role in ROLES:
        columns[f"{role}_cpu_s"] = [s.cpu_s[role] for s in samples]
        columns[f"{role}_memory_bytes"] = [s.memory_bytes[role] for s in samples]
    return pa.table(columns)
