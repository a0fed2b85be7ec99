"""Tasks by stage: the k-th stage of every measured micro-batch taken together."""

from array import array
from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from streamgauge.measure.records import TaskRecord

_SUMMED = ("run_s", "cpu_s", "gc_s", "shuffle_read_bytes", "shuffle_write_bytes", "spilled_bytes")
# Tasks of a micro-batch come before those of as many others.
_OPEN_BATCHES = 1_000


@dataclass(frozen=True)
class StageRow:
    """Means per micro-batch of one stage; skew is the slowest task against the mean, None with one task only."""

    position: int
    batches: int
    tasks: float
    run_s: float
    cpu_s: float
    gc_s: float
    task_mean_s: float
    task_slowest_s: float
    shuffle_read_bytes: float
    shuffle_write_bytes: float
    spilled_bytes: float
    skew_median: float | None
    skew_max: float | None


class _Position:
    """What is known of the k-th stages so far: sums over micro-batches, and some numbers of each."""

    def __init__(self) -> None:
        self.tasks = 0
        self.sums = dict.fromkeys(_SUMMED, 0.0)
        self.mean_s, self.slowest_s, self.skews = array("d"), array("d"), array("d")

    def take(self, group: Sequence[TaskRecord]) -> None:
        """Take the tasks of a stage of one more micro-batch."""
        self.tasks += len(group)
        for name in _SUMMED:
            self.sums[name] = sum((getattr(task, name) for task in group), self.sums[name])
        runs_s = [task.run_s for task in group]
        self.mean_s.append(float(np.mean(runs_s)))
        self.slowest_s.append(max(runs_s))
        self.skews.extend(_skews(group))

    def row(self, position: int) -> StageRow:
        """Return the means over micro-batches."""
        count = len(self.mean_s)
        return StageRow(
            position=position,
            batches=count,
            tasks=self.tasks / count,
            task_mean_s=float(np.mean(self.mean_s)),
            task_slowest_s=float(np.mean(self.slowest_s)),
            skew_median=float(np.median(self.skews)) if self.skews else None,
            skew_max=max(self.skews) if self.skews else None,
            **{name: value / count for name, value in self.sums.items()},
        )


def stage_rows(tasks: Iterable[TaskRecord], batch_ids: Collection[int]) -> list[StageRow]:
    """Sum up the successful tasks of some micro-batches; stages are numbered in the order in which they began."""
    open_batches: dict[int, dict[int, list[TaskRecord]]] = {}
    positions: dict[int, _Position] = {}

    def close(batch_id: int) -> None:
        for position, (_, group) in enumerate(sorted(open_batches.pop(batch_id).items()), 1):
            positions.setdefault(position, _Position()).take(group)

    for task in tasks:
        if task.batch_id in batch_ids and task.is_ok:
            open_batches.setdefault(task.batch_id, {}).setdefault(task.stage_id, []).append(task)
            if len(open_batches) > _OPEN_BATCHES:
                close(next(iter(open_batches)))
    for batch_id in list(open_batches):
        close(batch_id)
    return [found.row(position) for position, found in sorted(positions.items())]


def _skews(group: Sequence[TaskRecord]) -> list[float]:
    """Return the slowest run time by the mean, of each attempt of a stage with more than one task."""
    runs: dict[int, list[float]] = {}
    for task in group:
        runs.setdefault(task.stage_attempt, []).append(task.run_s)
    return [float(max(r) / np.mean(r)) for r in runs.values() if len(r) > 1 and np.mean(r) > 0]
