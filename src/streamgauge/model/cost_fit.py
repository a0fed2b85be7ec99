"""What tasks cost, from their CPU and wall times: work by regression, then contention, then what is left as waiting."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from streamgauge.arrivals.law import Floats
from streamgauge.model.cost import TaskCost, contention
from streamgauge.model.regression import combined, fit_costs, persistent_slope, slope_between, solve_costs
from streamgauge.model.rows import OutputCurve
from streamgauge.model.structure import Structure

# What is usual, and how far it scatters: CPU times of tasks of the catalogue on the machine on which this was written.
# Data that show it, as with several rates, outweigh it; micro-batches that are all alike do not.
USUAL_S = {
    "fixed_s": (0.006, 0.010),
    "per_row_s": (3e-6, 3e-6),
    "per_written_row_s": (0.5e-6, 0.5e-6),
    "per_state_row_s": (0.2e-6, 0.2e-6),
}
# How long tasks wait, behind an exchange and with the Python worker of a source, and how far that scatters.
USUAL_WAIT_S, USUAL_SOURCE_WAIT_S = (0.015, 0.015), (0.055, 0.03)
# Wall time by CPU time of the work of tasks on all processors, and how far single stages are from it.
SLOWDOWN, SLOWDOWN_SD = 1.1, 0.15
STAGE_SD = 0.15
# A ratio this many errors away is believed as it is, and one that is clearly above 2 is not contention: other
# processes do the work.
CLEAR_ERRORS, MOST_SLOWDOWN = 3.0, 2.0
# How far the level of one run is from that of another with the same settings, while no repetitions show it: latencies
# of repeated runs of eight queries had a standard deviation of 5.3 % when what slowed the processor was taken off.
RUN_CV = 0.06
# Doubt grows slower beyond this many errors, and work hardly exceeds the time of its task.
HUBER_ERRORS, EXCESS = 2.0, 0.02

# The middle half of the micro-batches of a run differs by less than this when they are all of one size.
_ALIKE = 0.05

Costs = dict[str, float]
Solver = Callable[[Floats, Floats, Floats], Costs]


class CostFit:
    """Finds the costs of the stages of one query."""

    def __init__(self, structure: Structure) -> None:
        self.structure = structure

    def features(self, k: int, closing: OutputCurve | None) -> list[str]:
        """Return which costs of stage k the data show."""
        data = self.structure.data[k]
        features = ["fixed_s"]
        if self.structure.sources[k] or data.size.any():
            features.append("per_row_s")
        if closing is not None or (_varies(data.written, 0.2) and _apart(data.size, data.written)):
            features.append("per_written_row_s")
        if self.structure.is_stateful and self.structure.reads[k] and data.size.any():
            features.append("per_state_row_s")
        return features

    def _design(self, k: int, features: Sequence[str]) -> Floats:
        data = self.structure.data[k]
        columns = {
            "fixed_s": np.ones_like(data.size),
            "per_row_s": data.size,
            "per_written_row_s": data.written,
            "per_state_row_s": data.state,
        }
        return np.stack([columns[name] for name in features], axis=1)

    def _usual(self, k: int, features: Sequence[str]) -> tuple[Floats, Floats]:
        """Return usual costs and how far they scatter; nothing is usual for events and for bytes."""
        unknown = self.structure.sources[k] or self.structure.units[k] == "bytes"
        pairs = [(0.0, np.inf) if name == "per_row_s" and unknown else USUAL_S[name] for name in features]
        return np.array([value for value, _ in pairs]), np.array([scatter for _, scatter in pairs])

    def solver(self, k: int, features: Sequence[str]) -> Solver:
        """Fit the CPU time of stage k once, and return what solves it for other draws.

        A draw has counts of micro-batches, and how many standard deviations usual costs and levels of runs are off.
        """
        data, design = self.structure.data[k], self._design(k, features)
        usual, scatter = self._usual(k, features)
        worth = 1.0 / data.tasks
        if self.structure.sources[k]:
            worth = worth * _inner(data.size, self.structure.run[data.batch])
        fit = fit_costs(
            design,
            data.cpu_s,
            worth,
            prior=usual,
            prior_sd=scatter,
            run=self.structure.process[data.batch],
            run_cv=RUN_CV,
        )
        prior_weights = np.where(np.isfinite(scatter), 1.0 / scatter**2, 0.0)
        reach = np.where(np.isfinite(scatter), scatter, 0.0)

        def solve(counts: Floats, chance: Floats, level: Floats) -> Costs:
            prior = np.maximum(usual + chance[: len(features)] * reach, 0.0)
            weights = fit.weights * counts[data.batch]
            seconds = data.cpu_s + fit.levels @ level
            found = solve_costs(design, seconds, weights, prior, prior_weights, fit.levels)
            return {name: float(value) for name, value in zip(features, found, strict=True)}

        return solve

    def _varying_s(self, k: int, costs: Costs) -> Floats:
        """Return the CPU time of every task of stage k that depends on rows."""
        data = self.structure.data[k]
        varying = costs.get("per_row_s", 0.0) * data.size + costs.get("per_written_row_s", 0.0) * data.written
        return np.asarray(varying + costs.get("per_state_row_s", 0.0) * data.state)

    def _batch_means(self, k: int, costs: Costs) -> tuple[Floats, Floats]:
        """Return the mean CPU time of the tasks of stage k that depends on rows, and their mean wall time."""
        data = self.structure.data[k]
        work = data.sums(self._varying_s(k, costs) / data.tasks, self.structure.batches)
        return work, data.sums(data.wall_s / data.tasks, self.structure.batches)

    def _of_cores(self, cores: int) -> npt.NDArray[np.bool_]:
        return np.asarray(self.structure.cores == cores)

    def _ratios(self, k: int, costs: Costs, cores: int) -> list[tuple[float, float]]:
        """Return wall time by CPU time of the work of stage k on some cores, with errors.

        Micro-batches of different sizes show it, inside a run and between runs. Where there is much work, so does what
        is left of the time when the usual wait is taken off.
        """
        chosen = self._of_cores(cores)
        work, wall = (values[chosen] for values in self._batch_means(k, costs))
        within = persistent_slope(work, wall, self.structure.is_new[chosen])
        wait_s, scatter_s = USUAL_SOURCE_WAIT_S if self.structure.sources[k] else USUAL_WAIT_S
        busy_s = max(float(work.mean()) + costs["fixed_s"], 1e-9)
        without_wait = max(float(wall.mean()) - wait_s, 0.0) / busy_s, scatter_s / busy_s
        found = [within, slope_between(work, wall, self.structure.run[chosen], RUN_CV), without_wait]
        return [(ratio, error) for ratio, error in found if np.isfinite(error)]

    def outside(self, costs: Sequence[Costs], background: float) -> list[tuple[float, float]]:
        """Return the work outside of the tasks of each stage, and its error.

        It is what is left of the ratio of wall to CPU time after contention: at most some, unless data are clear.
        """
        cores = max(s.facts.cores for s in self.structure.samples)
        found = []
        for k in range(self.structure.stages):
            running = min(cores, int(self.structure.data[k].tasks.max()))
            slowdown = float(contention(running, background=background, processors=self.structure.processors))
            ratio, error = combined(self._ratios(k, costs[k], cores))
            if not ratio - slowdown > CLEAR_ERRORS * np.hypot(error, STAGE_SD):
                ratio, error = combined([(slowdown, STAGE_SD), (ratio, error)])
            work, wall = (values[self._of_cores(cores)].mean() for values in self._batch_means(k, costs[k]))
            # Neither is a task faster than its own CPU time, nor does its work take longer than the task.
            most = max(1.0, wall / max(work + costs[k]["fixed_s"], 1e-9))
            found.append((min(max(ratio, 1.0), most) / slowdown - 1, error / slowdown))
        return found

    def background(self, costs: Sequence[Costs]) -> tuple[Floats, Floats]:
        """Return possible background loads and how likely each is.

        Three things decide: what is usual, how much faster wall time grows with rows than CPU time, and which
        background makes runs of other rates and core counts agree.
        """
        grid = np.linspace(0.0, float(self.structure.processors), 50 * self.structure.processors + 1)
        doubt = _doubt((1 + grid / self.structure.processors - SLOWDOWN) / SLOWDOWN_SD)
        for cores in sorted({s.facts.cores for s in self.structure.samples}):
            for k in range(self.structure.stages):
                running = min(cores, int(self.structure.data[k].tasks.max()))
                slowdown = contention(running, background=grid, processors=self.structure.processors)
                for ratio, error in self._ratios(k, costs[k], cores):
                    if ratio - CLEAR_ERRORS * error < MOST_SLOWDOWN:
                        doubt += _doubt((slowdown - ratio) / np.hypot(error, STAGE_SD))
                work, wall = (values[self._of_cores(cores)].mean() for values in self._batch_means(k, costs[k]))
                excess = slowdown * (work + costs[k]["fixed_s"]) / wall - 1
                doubt += (np.maximum(excess, 0.0) / EXCESS) ** 2
        if len({s.facts.cores for s in self.structure.samples}) > 1:
            doubt += np.array([self._disagreement(costs, float(value)) for value in grid])
        likely = np.exp(-(doubt - doubt.min()) / 2)
        return grid, likely / likely.sum()

    def _disagreement(self, costs: Sequence[Costs], background: float) -> float:
        """Return by how much the levels of runs differ, in squares of what is usual."""
        every = np.ones(self.structure.batches)
        total, parts = 0.0, 0.0
        for k in range(self.structure.stages):
            data, cost = self.structure.data[k], self.task_cost(k, costs[k], 0.0, background, every)
            expected = self.expected_s(k, cost, background)
            runs = self.structure.run[data.batch]
            of_run, wall = np.bincount(runs, expected), np.bincount(runs, data.wall_s)
            total += float(wall.sum()) * float((np.log(wall / of_run) ** 2).sum())
            parts += float(wall.sum())
        return total / parts / RUN_CV**2

    def expected_s(self, k: int, cost: TaskCost, background: float) -> Floats:
        """Return the time that each measured task of stage k should have taken."""
        data = self.structure.data[k]
        cores = self.structure.cores[data.batch]
        slowdown = contention(
            np.minimum(cores, data.tasks), background=background, processors=self.structure.processors
        )
        return cost.seconds(data.size, written=data.written, state=data.state, slowdown=slowdown)

    def task_cost(self, k: int, costs: Costs, outside: float, background: float, counts: Floats) -> TaskCost:
        """Add to the CPU costs of stage k what its tasks take beyond them."""
        data = self.structure.data[k]
        cost = TaskCost(outside=outside, **costs)
        weights = counts[data.batch] / data.tasks
        left_s = float(weights @ (data.wall_s - self.expected_s(k, cost, background)) / weights.sum())
        if left_s >= 0:
            return replace(cost, wait_s=left_s)
        return replace(cost, fixed_s=max(0.0, float(cost.fixed_s) + left_s / (1 + outside)))


def _inner(rows: Floats, run: npt.NDArray[Any]) -> Floats:
    """Return weights that keep single micro-batches of another size than all others of a run from deciding a slope.

    They are special in other ways as well: the first ones, or one after a stall.
    """
    weights = np.ones_like(rows)
    for number in np.unique(run):
        own = rows[run == number]
        low, middle, high = np.quantile(own, [0.25, 0.5, 0.75])
        if high - low < _ALIKE * middle:
            reach = 3 * max(float(high - low), 1e-3 * float(middle))
            weights[run == number] = np.minimum(1.0, (reach / np.maximum(np.abs(own - middle), 1e-9)) ** 2)
    return weights


def _doubt(errors: Floats) -> Floats:
    """Return the square of errors, beyond two of them the straight line that goes on from it (Huber 1964)."""
    size = np.abs(errors)
    return np.where(size <= HUBER_ERRORS, size**2, HUBER_ERRORS * (2 * size - HUBER_ERRORS))


def _varies(values: Floats, cv: float) -> bool:
    mean = float(values.mean())
    return mean > 0 and float(values.std()) > cv * mean


def _apart(x: Floats, y: Floats) -> bool:
    return np.ptp(x) == 0 or np.ptp(y) == 0 or abs(float(np.corrcoef(x, y)[0, 1])) < 0.9
