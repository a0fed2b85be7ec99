"""What a task costs: time that it waits, and time of a processor that others want as well."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamgauge.arrivals.law import Floats

Number = float | Floats


@dataclass(frozen=True)
class TaskCost:
    """The cost of a task of one stage, in seconds.

    `wait_s` passes whatever the load of the processors is: starting, fetching, a Python worker that answers. The rest
    is time of a processor, per task and per row read, written and held in state. `outside` is the time of
    other processors per time of the task's own thread: Python workers do work that the task waits for.
    """

    wait_s: Number = 0.0
    fixed_s: Number = 0.0
    per_row_s: Number = 0.0
    per_written_row_s: Number = 0.0
    per_state_row_s: Number = 0.0
    outside: Number = 0.0

    def seconds(
        self, rows: npt.ArrayLike, *, written: npt.ArrayLike = 0.0, state: npt.ArrayLike = 0.0, slowdown: Number = 1.0
    ) -> Floats:
        """Return the times of tasks; `slowdown` is what `contention` says.

        >>> TaskCost(wait_s=0.05, per_row_s=1e-6).seconds([0, 100_000], slowdown=1.5).round(3).tolist()
        [0.05, 0.2]
        """
        work = self.fixed_s + self.per_row_s * np.asarray(rows, dtype=np.float64)
        work = work + self.per_written_row_s * np.asarray(written) + self.per_state_row_s * np.asarray(state)
        return np.asarray(self.wait_s + slowdown * (1.0 + self.outside) * work)


def contention(running: npt.ArrayLike, *, background: npt.ArrayLike, processors: int) -> Floats:
    """Return by how much tasks are slower than alone: what is busy by what there is, at least 1.

    `background` is how many processors are busy on average with anything but tasks: driver, garbage collection,
    generator, the system.

    >>> contention([1, 2], background=0.5, processors=2).tolist()
    [1.0, 1.25]
    """
    return np.asarray(np.maximum(1.0, (np.asarray(running) + np.asarray(background)) / processors))
