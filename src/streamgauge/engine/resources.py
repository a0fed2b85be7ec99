"""What the run's processes use: this process, Spark's Java processes and their Python workers, once a second."""

import itertools
import threading
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import psutil

from streamgauge.clock import Clock

if TYPE_CHECKING:
    import pyarrow as pa

PERIOD_S = 1.0
ROLES = ("tool", "java", "python_workers")


@dataclass(frozen=True)
class ResourceSample:
    """CPU seconds used so far and memory in use now, per role; `stolen_s` is time that other tenants took."""

    at_us: int
    monotonic_s: float
    cpu_s: dict[str, float]
    memory_bytes: dict[str, int]
    stolen_s: float


@dataclass
class ResourceSampler:
    """Samples in a thread of its own until told to stop."""

    java_pid: int
    clock: Clock
    samples: list[ResourceSample] = field(default_factory=list)
    # Executors on this machine that are no children of the driver.
    executor_pids: Sequence[int] = ()

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
        is_last = False
        while True:
            with suppress(psutil.Error):
                self.samples.append(self._sample())
            if is_last:
                return
            is_last = self._end.wait(PERIOD_S)

    def _sample(self) -> ResourceSample:
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


def resources_table(samples: list[ResourceSample]) -> "pa.Table":
    """Return the samples as a table."""
    import pyarrow as pa

    columns: dict[str, list[float]] = {
        "at_us": [s.at_us for s in samples],
        "stolen_s": [s.stolen_s for s in samples],
    }
    for role in ROLES:
        columns[f"{role}_cpu_s"] = [s.cpu_s[role] for s in samples]
        columns[f"{role}_memory_bytes"] = [s.memory_bytes[role] for s in samples]
    return pa.table(columns)
