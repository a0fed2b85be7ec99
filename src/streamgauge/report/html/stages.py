"""Tasks by stage: the k-th stage of every measured micro-batch taken together."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from streamgauge.engine.eventlog import Task


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


def stage_rows(tasks: Sequence[Task], batch_ids: set[int]) -> list[StageRow]:
    """Sum up the successful tasks of some micro-batches; stages are numbered in the order in which they began."""
    by_batch: dict[int, dict[int, list[Task]]] = {}
    for task in tasks:
        if task.batch_id in batch_ids and task.is_ok:
            by_batch.setdefault(task.batch_id, {}).setdefault(task.stage_id, []).append(task)
    by_position: dict[int, list[list[Task]]] = {}
    for stages in by_batch.values():
        for position, (_, group) in enumerate(sorted(stages.items()), 1):
            by_position.setdefault(position, []).append(group)
    return [_row(position, groups) for position, groups in sorted(by_position.items())]


def _skews(groups: Sequence[Sequence[Task]]) -> list[float]:
    """Return the slowest run time by the mean, of each attempt of a stage with more than one task."""
    runs: dict[tuple[int, int], list[float]] = {}
    for group in groups:
        for task in group:
            runs.setdefault((task.stage_id, task.stage_attempt), []).append(task.run_s)
    return [float(max(r) / np.mean(r)) for r in runs.values() if len(r) > 1 and np.mean(r) > 0]


def _row(position: int, groups: list[list[Task]]) -> StageRow:
    count, skews = len(groups), _skews(groups)
    everything = [task for group in groups for task in group]
    return StageRow(
        position=position,
        batches=count,
        tasks=len(everything) / count,
        run_s=sum(t.run_s for t in everything) / count,
        cpu_s=sum(t.cpu_s for t in everything) / count,
        gc_s=sum(t.gc_s for t in everything) / count,
        task_mean_s=float(np.mean([np.mean([t.run_s for t in group]) for group in groups])),
        task_slowest_s=float(np.mean([max(t.run_s for t in group) for group in groups])),
        shuffle_read_bytes=sum(t.shuffle_read_bytes for t in everything) / count,
        shuffle_write_bytes=sum(t.shuffle_write_bytes for t in everything) / count,
        spilled_bytes=sum(t.spilled_bytes for t in everything) / count,
        skew_median=float(np.median(skews)) if skews else None,
        skew_max=max(skews) if skews else None,
    )
