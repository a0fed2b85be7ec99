"""What is recorded while a query runs: its tasks and stages, the executors of a cluster, resources over time."""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

# Stages whose tasks are still awaited; older ones have ended long ago.
MAX_STAGES = 10_000


@dataclass(frozen=True)
class TaskRecord:
    """One attempt of one task. Times are microseconds since the epoch, durations seconds of this task."""

    batch_id: int
    stage_id: int
    stage_attempt: int
    stage_tasks: int
    task_id: int
    partition: int
    attempt: int
    executor: str
    host: str
    launched_us: int
    finished_us: int
    is_ok: bool
    run_s: float
    cpu_s: float
    deserialize_s: float
    gc_s: float
    input_rows: int
    shuffle_read_rows: int
    shuffle_read_bytes: int
    shuffle_wait_s: float
    shuffle_write_rows: int
    shuffle_write_bytes: int
    spilled_bytes: int
    peak_memory_bytes: int


@dataclass(frozen=True)
class StageRecord:
    """One attempt of one stage that ran; `parents` are the stages whose output it reads, with spaces between."""

    batch_id: int
    job_id: int
    stage_id: int
    stage_attempt: int
    stage_tasks: int
    name: str
    parents: str
    submitted_us: int | None
    finished_us: int | None
    is_ok: bool


@dataclass(frozen=True)
class LostExecutor:
    """An executor that went while the application ran, and why, as Spark saw it."""

    executor: str
    at_us: int
    reason: str


class MissingTasks:
    """Counts the tasks that a stage had and the log does not show: Spark drops events when it is overrun."""

    def __init__(self) -> None:
        # Of the stages whose tasks still come: how many they have, and the partitions of those that came.
        self._open: dict[int, tuple[int, set[int]]] = {}
        self._stages = array("q")
        self._missing = 0

    def take(self, task: TaskRecord) -> None:
        """Take a task that the log shows."""
        # All attempts together: a repeated stage runs only the partitions that were lost.
        _, seen = self._open.get(task.stage_id, (0, set()))
        seen.add(task.partition)
        self._open[task.stage_id] = (task.stage_tasks, seen)
        if len(self._open) > MAX_STAGES:
            self._close(next(iter(self._open)))

    def _close(self, stage_id: int) -> None:
        count, seen = self._open.pop(stage_id)
        self._missing += count - len(seen)
        self._stages.append(stage_id)

    def count(self, stages: Iterable[StageRecord] = ()) -> int:
        """Return how many are missing; `stages` are those that ran, perhaps without a task in the log."""
        for stage_id in list(self._open):
            self._close(stage_id)
        ran, tasks = array("q"), array("q")
        for stage in stages:
            if stage.is_ok:
                ran.append(stage.stage_id)
                tasks.append(stage.stage_tasks)
        # The last attempt counts, as the one before it was given up.
        unique, last = np.unique(np.asarray(ran)[::-1], return_index=True)
        unseen = ~np.isin(unique, np.asarray(self._stages))
        return self._missing + int(np.asarray(tasks)[::-1][last][unseen].sum())


@dataclass(frozen=True)
class ClockOffset:
    """How far the clock of an executor is ahead of the driver's: within `uncertainty_s` of `offset_s`."""

    executor: str
    host: str
    offset_s: float
    uncertainty_s: float


@dataclass(frozen=True)
class ExecutorUse:
    """What one executor used between two surveys; None for what one of them did not see."""

    executor: str
    host: str
    cpu_s: float | None
    memory_bytes: int | None


@dataclass(frozen=True)
class MachineReading:
    """The machine at one moment. CPU times and stalls are seconds so far, over all cores.

    `busy_s` is the CPU time of all processes and `own_s` that of the experiment's. Spark's threads ran for `ran_s` and
    waited for a core for `waited_s`. The stalls are those of the kernel's pressure stall information (PSI): some, or
    all, tasks waited. A quota allowed `quota_cores`, and held the experiment up in `throttled_periods` of `periods`.
    """

    cores: int | None = None
    busy_s: float | None = None
    own_s: float | None = None
    ran_s: float | None = None
    waited_s: float | None = None
    cpu_some_s: float | None = None
    io_some_s: float | None = None
    io_full_s: float | None = None
    memory_some_s: float | None = None
    memory_full_s: float | None = None
    quota_cores: float | None = None
    periods: int | None = None
    throttled_periods: int | None = None
    frequency_hz: float | None = None


@dataclass(frozen=True)
class ResourceSample:
    """CPU seconds used so far and memory in use now, per role; `stolen_s` is time that other tenants took.

    `reference_loop_mean_s` and `reference_loop_least_s` are the mean and the least CPU time of the reference loop in
    the time since the sample before. `machine` are the counters of the whole machine.
    """

    at_us: int
    monotonic_s: float
    cpu_s: dict[str, float]
    memory_bytes: dict[str, int]
    stolen_s: float
    reference_loop_mean_s: float | None = None
    reference_loop_least_s: float | None = None
    machine: MachineReading | None = None
