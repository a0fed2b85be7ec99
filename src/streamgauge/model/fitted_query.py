"""A fitted model: the query with its parameters, how uncertain they are, and where it was measured."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np

from streamgauge.model.query import PHASES, QueryModel


@dataclass(frozen=True)
class RunPoint:
    """Where in the space of settings a run was: `task_rows` is the mean number of events of a task of the source."""

    rate_per_s: float
    task_rows: float
    cores: int
    shuffle_partitions: int


@dataclass(frozen=True)
class Ranges:
    """What was measured: between which numbers events of a task of the source lay, and the runs."""

    task_rows: tuple[float, float]
    runs: tuple[RunPoint, ...]

    @property
    def cores(self) -> tuple[int, ...]:
        """Core counts that were measured."""
        return tuple(sorted({run.cores for run in self.runs}))

    @property
    def shuffle_partitions(self) -> tuple[int, ...]:
        """Numbers of partitions that were measured."""
        return tuple(sorted({run.shuffle_partitions for run in self.runs}))


@dataclass(frozen=True)
class FittedModel:
    """A query with its parameters, and other draws of them that the data allow as well.

    `run_cv` is how far runs differ from each other, known with `run_freedom` degrees of freedom, and `levels` are the
    times of each measured run by those of the query. `adapts` says that the source has an admission limit that adapts.
    `concerns` say why predictions cannot be trusted, `notes` what was assumed.
    """

    workload: str
    run_ids: tuple[str, ...]
    query: QueryModel
    draws: tuple[QueryModel, ...]
    ranges: Ranges
    run_cv: float
    is_stateful: bool
    run_freedom: int
    levels: tuple[float, ...]
    adapts: bool = True
    concerns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def changed(self, change: Callable[[QueryModel], QueryModel]) -> Self:
        """Return the model with another query, in all draws alike."""
        return replace(self, query=change(self.query), draws=tuple(change(query) for query in self.draws))

    def interval(self, parameter: Callable[[QueryModel], float]) -> tuple[float, float, float]:
        """Return a parameter and its 90 % interval."""
        low, high = np.quantile([parameter(query) for query in self.draws], [0.05, 0.95])
        return parameter(self.query), float(low), float(high)

    def document(self) -> dict[str, Any]:
        """Return the parameters as JSON."""
        names = ("wait_s", "fixed_s", "per_row_s", "per_written_row_s", "per_state_row_s", "outside")

        def cost(stage: int, name: str) -> dict[str, float]:
            value, low, high = self.interval(lambda query: float(getattr(query.stages[stage].cost, name)))
            return {"value": value, "low": low, "high": high}

        phases_s = dict(zip(PHASES, self.query.noise.phases_s.mean(axis=0).tolist(), strict=True))
        return {
            "workload": self.workload,
            "runs": list(self.run_ids),
            "processors": self.query.processors,
            "background": self.query.background,
            "phases_s": phases_s,
            "stages": [
                {"name": stage.name, "tasks": stage.tasks, "gap_s": float(self.query.noise.gaps_s[:, k].mean())}
                | {name: cost(k, name) for name in names}
                for k, stage in enumerate(self.query.stages)
            ],
            "run_cv": self.run_cv,
            "concerns": list(self.concerns),
            "notes": list(self.notes),
        }
