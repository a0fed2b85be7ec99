"""List scheduling: the tasks of a stage take free slots in the order of their partitions.

The driver hands out tasks one after the other, `dispatch_s` apart, and a slot is free again `return_s` after a task.
Arrays have one column per replication, so that a loop over tasks serves all of them.
"""

import numpy as np
import numpy.typing as npt

from streamgauge.arrivals.law import Floats

# Up to this many slots are kept sorted by comparing neighbours; for more, searching is faster.
_SORTED_SLOTS = 8


def run_stage(
    free_s: Floats, ready_s: Floats, durations_s: Floats, *, dispatch_s: float = 0.0, return_s: float = 0.0
) -> Floats:
    """Return when the last task of a stage has finished, and keep in `free_s` when each slot is free again.

    `durations_s` has a row per task, `free_s` a row per slot and is changed in place; `ready_s` is when
    the stage may start. Rows of up to eight slots must be in ascending order, and are kept so.
    """
    ended_s = np.full_like(ready_s, -np.inf)
    for number, duration_s in enumerate(durations_s, 1):
        handed_out_s = ready_s + number * dispatch_s
        if len(free_s) <= _SORTED_SLOTS:
            finished_s = np.maximum(handed_out_s, free_s[0])
            finished_s += duration_s
            finished_s += return_s
            _insert(free_s, finished_s)
        else:
            slot, column = free_s.argmin(axis=0), np.arange(free_s.shape[1])
            finished_s = np.maximum(handed_out_s, free_s[slot, column]) + duration_s + return_s
            free_s[slot, column] = finished_s
        np.maximum(ended_s, finished_s, out=ended_s)
    return ended_s


def _insert(free_s: Floats, finished_s: Floats) -> None:
    """Replace the earliest slot and keep the rows sorted."""
    carried = finished_s
    for slot in range(len(free_s) - 1):
        later = free_s[slot + 1]
        np.minimum(carried, later, out=free_s[slot])
        carried = np.maximum(carried, later)
    free_s[-1] = carried


def makespan(durations_s: npt.ArrayLike, slots: int, *, dispatch_s: float = 0.0, return_s: float = 0.0) -> Floats:
    """Return how long a stage takes when all slots are free: tasks in rows, replications in columns.

    >>> makespan([5, 3, 3, 2, 2, 1], 2).item()
    8.0
    """
    tasks = np.asarray(durations_s, dtype=np.float64)
    columns = tasks.reshape(len(tasks), -1)
    if len(tasks) <= slots:
        steps = dispatch_s * np.arange(1, len(tasks) + 1)
        ended_s: Floats = (columns + steps[:, np.newaxis]).max(axis=0) + return_s
    else:
        free_s = np.zeros((slots, columns.shape[1]))
        ended_s = run_stage(free_s, np.zeros(columns.shape[1]), columns, dispatch_s=dispatch_s, return_s=return_s)
    return ended_s.reshape(tasks.shape[1:])
