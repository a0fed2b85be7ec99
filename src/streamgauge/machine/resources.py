"""What the run's processes use: this process, Spark's Java processes and their Python workers, once a second.

Besides, a reference loop, which is always the same work, shows how fast the processor is. Others on the same processor,
such as those on the second thread of a core, slow it without any time that the system would call stolen. Others that
take whole cores make Spark wait instead, which the counters of the machine show.
"""

import math
import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from streamgauge.clock import Clock
from streamgauge.machine.counters import ROOT, read_machine, read_waits_s
from streamgauge.machine.process import ROLES, SPARK_ROLES
from streamgauge.measure.contention import Contention, contention
from streamgauge.measure.records import MachineReading, ResourceSample

PERIOD_S = 1.0
# In each period; one takes about half a millisecond.
REFERENCE_LOOPS = 5
_STEPS = 6000
# Load generators and services: no part of Spark, and not foreign either.
OTHER = "other"


def reference_loop_s() -> float:
    """Return the CPU time of work that is always the same."""
    began_s, value = time.thread_time(), 1
    for _ in range(_STEPS):
        value = (value * 1_103_515_245 + 12_345) & 0x7FFFFFFF
    return time.thread_time() - began_s


@dataclass
class ResourceSampler:
    """Samples in a thread of its own until stopped."""

    java_pid: int
    clock: Clock
    samples: list[ResourceSample] = field(default_factory=list)
    # Executors on this machine that are not children of the driver.
    executor_pids: Sequence[int] = ()
    # Other processes of the experiment, such as brokers, that are not children of this one.
    other_pids: Sequence[int] = ()
    root: Path = ROOT
    reference_loop: Callable[[], float] = reference_loop_s

    def __post_init__(self) -> None:
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="resources", daemon=True)
        # CPU time of workers that have ended must not vanish from the sum.
        self._cpu_by_process: dict[tuple[int, float], tuple[str, float]] = {}
        self._waits_s: dict[int, tuple[float, float]] = {}

    def start(self) -> None:
        """Begin to sample."""
        self._thread.start()

    def stop(self) -> None:
        """Take a last sample and end."""
        self._end.set()
        self._thread.join(timeout=5)

    def _run(self) -> None:
        loops_s, is_last = [self.reference_loop()], False
        while True:
            with suppress(psutil.Error):
                self.samples.append(self._sample(loops_s))
            if is_last:
                return
            loops_s = []
            while len(loops_s) < REFERENCE_LOOPS and not is_last:
                is_last = self._end.wait(PERIOD_S / REFERENCE_LOOPS)
                loops_s.append(self.reference_loop())

    def _sample(self, loops_s: Sequence[float]) -> ResourceSample:
        memory = dict.fromkeys((*ROLES, OTHER), 0)
        for role, process in self._processes():
            with suppress(psutil.Error), process.oneshot():
                times = process.cpu_times()
                self._cpu_by_process[(process.pid, process.create_time())] = (role, times.user + times.system)
                memory[role] += process.memory_info().rss
            if role in SPARK_ROLES:
                self._waits_s |= read_waits_s(self.root, process.pid)
        cpu = dict.fromkeys((*ROLES, OTHER), 0.0)
        for role, used_s in self._cpu_by_process.values():
            cpu[role] += used_s
        return ResourceSample(
            at_us=round(self.clock.wall_s() * 1e6),
            monotonic_s=self.clock.monotonic_s(),
            cpu_s={role: cpu[role] for role in ROLES},
            memory_bytes={role: memory[role] for role in ROLES},
            stolen_s=getattr(psutil.cpu_times(), "steal", 0.0),
            reference_loop_mean_s=math.fsum(loops_s) / len(loops_s),
            reference_loop_least_s=min(loops_s),
            machine=read_machine(
                self.root,
                cores=psutil.cpu_count(),
                busy_s=busy_s(),
                own_s=math.fsum(cpu.values()),
                waits_s=self._waits_s.values(),
            ),
        )

    def _processes(self) -> list[tuple[str, psutil.Process]]:
        """Return every process of the experiment once, by the first role that fits."""
        found = {os.getpid(): ("tool", psutil.Process())}
        for pid in (self.java_pid, *self.executor_pids):
            for process in _tree(pid):
                with suppress(psutil.Error):
                    role = "java" if "java" in process.name() else "python_workers"
                    found.setdefault(process.pid, (role, process))
        for pid in (os.getpid(), *self.other_pids):
            for process in _tree(pid):
                found.setdefault(process.pid, (OTHER, process))
        return list(found.values())


def _tree(pid: int) -> list[psutil.Process]:
    try:
        root = psutil.Process(pid)
        return [root, *root.children(recursive=True)]
    except psutil.Error:
        return []


def busy_s() -> float:
    """Return the CPU time that all processes of this machine have used; interrupts belong to nobody."""
    times = psutil.cpu_times()
    return float(times.user + times.system + getattr(times, "nice", 0.0))


def watch_machine(clock: Clock, duration_s: float, *, other_pids: Sequence[int] = (), root: Path = ROOT) -> Contention:
    """Return what others take of the machine now, by watching it for a while."""

    def read() -> MachineReading:
        own = {process.pid: process for pid in (os.getpid(), *other_pids) for process in _tree(pid)}
        return read_machine(root, cores=psutil.cpu_count(), busy_s=busy_s(), own_s=math.fsum(map(_cpu_s, own.values())))

    first, began_s = read(), clock.monotonic_s()
    clock.sleep(duration_s)
    return contention(first, read(), clock.monotonic_s() - began_s)


def _cpu_s(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.Error:
        return 0.0
    return float(times.user + times.system)
