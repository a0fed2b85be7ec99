"""From samples of runs to the parameters of the model, with their uncertainty.

Costs per row come from CPU times, which waiting does not disturb; what a task takes beyond them, by the
wall clock, is waiting and contention. The uncertainty comes from drawing micro-batches again, in blocks.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from streamgauge.arrivals.law import Floats
from streamgauge.errors import InvalidExperimentError, UsageError
from streamgauge.model.cost import TaskCost, contention
from streamgauge.model.cost_fit import RUN_CV, USUAL_S, CostFit, Solver
from streamgauge.model.fitted_query import FittedModel, Ranges, RunPoint
from streamgauge.model.practice import find_power
from streamgauge.model.query import PHASES, Noise, QueryModel, StageModel
from streamgauge.model.regression import resampled_counts
from streamgauge.model.rows import OutputCurve
from streamgauge.model.sample import RunSample
from streamgauge.model.structure import StageData, Structure

DRAWS = 100
SEED = 20_201_109
# Repeated runs of eight queries gave what is usual, so it counts as a scatter with eight degrees of freedom.
USUAL_RUNS = 8
ENOUGH_BATCHES = 20
# Runs whose tasks differ by more than this factor from those of the others are not of the same query on one machine.
CONTRADICTION = 1.6
DEFAULT_DISPATCH_S = 0.001


def fit_model(
    samples: Sequence[RunSample],
    *,
    slide_s: float | None = None,
    draws: int = DRAWS,
    rng: np.random.Generator | None = None,
) -> FittedModel:
    """Fit the model to samples of one query.

    `slide_s` is that of its event-time windows, by default the one of the workload; where that is not known, a slide
    that explains when rows are written is looked for.
    """
    if not samples:
        raise UsageError("there is nothing to fit", remedy="name at least one run")
    _check_same_query(samples)
    return _Fit(samples, slide_s, rng or np.random.default_rng(SEED)).model(draws)


def _check_same_query(samples: Sequence[RunSample]) -> None:
    first = samples[0]
    for other in samples[1:]:
        if other.facts.workload != first.facts.workload:
            what = f"{first.facts.run_id} measured {first.facts.workload}, {other.facts.run_id} {other.facts.workload}"
        elif len(other.stages) != len(first.stages):
            what = f"{first.facts.run_id} has {len(first.stages)} stages, {other.facts.run_id} {len(other.stages)}"
        else:
            continue
        raise InvalidExperimentError(
            f"these runs are not of one query: {what}", remedy="predict from runs of the same query"
        )


class _Fit:
    """The steps of a fit, in their order."""

    def __init__(self, samples: Sequence[RunSample], slide_s: float | None, rng: np.random.Generator) -> None:
        self.samples, self.rng = samples, rng
        self.structure = Structure(samples, slide_s)
        explored = [sample.explored for sample in samples if sample.explored is not None]
        # What rows cost, and how many come out, is seen best where micro-batches differ most.
        self.varied = Structure([*samples, *explored], slide_s) if explored else self.structure
        self.cost_fit = CostFit(self.varied)

    def model(self, draws: int) -> FittedModel:
        """Fit everything, then the costs again for other draws of micro-batches."""
        structure, cost_fit, samples = self.structure, self.cost_fit, self.samples
        stages = range(structure.stages)
        outputs = [self._output(k) for k in stages]
        solvers = [cost_fit.solver(k, cost_fit.features(k, outputs[k][1])) for k in stages]
        every = np.ones(self.varied.batches)
        costs = [solve(every, np.zeros(len(USUAL_S)), np.zeros(self.varied.processes)) for solve in solvers]
        grid, likely = cost_fit.background(costs)
        background = float(grid @ likely)
        outside = cost_fit.outside(costs, background)
        afters = [structure.after(k) for k in stages]
        dispatch_s, return_s = self._driver_times()
        fitted = [cost_fit.task_cost(k, costs[k], outside[k][0], background, every) for k in stages]
        plain = tuple(self._stage(k, outputs[k], afters[k], fitted[k]) for k in stages)
        noise, levels = self._noise(plain, background, *self._gaps(afters, dispatch_s, return_s))
        query = QueryModel(
            stages=plain,
            noise=noise,
            processors=structure.processors,
            background=background,
            dispatch_s=dispatch_s,
            return_s=return_s,
            slide_s=structure.slide_s if any(closing for _, closing in outputs) else None,
            state=structure.state(),
        )
        backgrounds = self.rng.choice(grid, draws, p=likely)
        return FittedModel(
            workload=samples[0].facts.workload,
            run_ids=tuple(sample.facts.run_id for sample in samples),
            query=query,
            draws=tuple(self._draw(query, solvers, outside, float(value)) for value in backgrounds),
            ranges=self._ranges(),
            run_cv=_run_cv(levels),
            run_freedom=USUAL_RUNS + len(levels) - 1,
            levels=tuple(levels.tolist()),
            is_stateful=structure.is_stateful,
            adapts=all(sample.facts.adapts for sample in samples),
            concerns=self._concerns(levels),
            notes=tuple(structure.notes),
        )

    def _output(self, k: int) -> tuple[OutputCurve, OutputCurve | None]:
        """Return what stage k writes: by what it reads, or by the windows that close under the load."""
        by_rows, closing = self.structure.output(k)
        return (by_rows, closing) if closing is not None else (self.varied.curves[k], None)

    def _driver_times(self) -> tuple[float, float]:
        """Return the time between two hand-overs of tasks, and that from a finish to the next hand-over."""
        dispatch_s, return_s = [], []
        for sample in self.samples:
            for stage in sample.stages:
                cores = sample.facts.cores
                launched = np.sort(stage.launched_s, axis=1)
                wave = min(cores, stage.tasks)
                if wave > 1:
                    dispatch_s.append(float(np.mean((launched[:, wave - 1] - launched[:, 0]) / (wave - 1))))
                if stage.tasks > cores:
                    finished = np.sort(stage.finished_s, axis=1)[:, : stage.tasks - cores]
                    return_s.append(float(np.mean(np.clip(launched[:, cores:] - finished, 0.0, 0.05))))
        usual = DEFAULT_DISPATCH_S
        return float(np.mean(dispatch_s or [usual])), float(np.mean(return_s or [usual]))

    def _gaps(self, afters: Sequence[tuple[int, ...]], dispatch_s: float, return_s: float) -> tuple[Floats, Floats]:
        """Return the driver's phases and the gaps before stages of every micro-batch."""
        phases, gaps = [], []
        for sample in self.samples:
            before = ("source_offsets", "offset_log", "source_plan", "query_planning")
            begin = np.add.reduce([sample.phases_s[name] for name in before])
            ends = [stage.finished_s.max(axis=1) for stage in sample.stages]
            own = []
            for k, stage in enumerate(sample.stages):
                ready = np.maximum.reduce([ends[j] + return_s for j in afters[k]] or [begin])
                own.append(np.maximum(stage.launched_s.min(axis=1) - ready - dispatch_s, 0.0))
            gaps.append(np.stack(own, axis=1))
            last = np.maximum.reduce(ends) + return_s
            sink = np.maximum(begin + sample.phases_s["execution"] - last, 0.0)
            # What is left over closes the account, so that the parts of a micro-batch add up to its duration.
            other = np.maximum(sample.duration_s - sample.phases_s["commit_log"] - last - sink, 0.0)
            known = {**sample.phases_s} | {"sink_commit": sink, "other": other, "between": sample.between_s}
            phases.append(np.stack([known[name] for name in PHASES], axis=1))
        return np.concatenate(phases), np.concatenate(gaps)

    def _noise(
        self, stages: Sequence[StageModel], background: float, phases: Floats, gaps: Floats
    ) -> tuple[Noise, Floats]:
        """Return how micro-batches differ from the fit, and the level of each run: its times by those of the fit."""
        factors, cvs = [], []
        measured = CostFit(self.structure)
        expected_all, wall_all = np.zeros(self.structure.batches), np.zeros(self.structure.batches)
        for k, stage in enumerate(stages):
            data = self.structure.data[k]
            expected = np.maximum(measured.expected_s(k, stage.cost, background), 1e-4)
            of_batch, wall = data.sums(expected, self.structure.batches), data.sums(data.wall_s, self.structure.batches)
            cv = _task_cv(data, expected, wall / of_batch)
            factors.append(_factors(wall, of_batch, self.structure.run, cv, float(data.tasks.mean())))
            cvs.append(cv)
            expected_all += of_batch
            wall_all += wall
        runs = range(len(self.samples))
        levels = [wall_all[self.structure.run == r].sum() / expected_all[self.structure.run == r].sum() for r in runs]
        numbers = np.concatenate([sample.numbers for sample in self.samples])
        noise = Noise(
            phases_s=phases,
            gaps_s=gaps,
            factors=np.stack(factors, axis=1),
            run=self.structure.run.astype(np.int64),
            task_cv=tuple(cvs),
            numbers=numbers,
            power=find_power(numbers, phases.sum(axis=1) + gaps.sum(axis=1), self.structure.is_new),
        )
        return noise, np.array(levels)

    def _draw(
        self,
        query: QueryModel,
        solvers: Sequence[Solver],
        outside: Sequence[tuple[float, float]],
        background: float,
    ) -> QueryModel:
        """Return the query with the costs that another draw of the micro-batches gives.

        What contention and work outside of tasks make together is known better than each of them.
        """
        counts = resampled_counts(self.varied.run, self.rng)
        most = max(s.facts.cores for s in self.samples)
        known, drawn = (
            float(contention(most, background=load, processors=self.structure.processors))
            for load in (query.background, background)
        )
        stages, level = [], self.rng.standard_normal(self.varied.processes)
        for k, solve in enumerate(solvers):
            costs = solve(counts, self.rng.standard_normal(len(USUAL_S)), level)
            value, error = outside[k]
            share = max((1 + value + error * self.rng.standard_normal()) * known / drawn, 1 / drawn) - 1
            stages.append(replace(query.stages[k], cost=self.cost_fit.task_cost(k, costs, share, background, counts)))
        return replace(query, stages=tuple(stages), background=background)

    def _stage(
        self, k: int, output: tuple[OutputCurve, OutputCurve | None], after: tuple[int, ...], cost: TaskCost
    ) -> StageModel:
        structure, kind = self.structure, self.structure.kind(k)
        is_direct = kind == "shuffle" and not structure.reads[k]
        per_event = float(structure.data[k].size.sum() / structure.events.sum())
        return StageModel(
            name=f"stage {k + 1} ({kind})",
            tasks=structure.tasks(k),
            cost=cost,
            reads=structure.reads[k],
            after=after,
            per_event=per_event if is_direct else float(structure.sources[k]),
            shares=structure.shares(k),
            output=output[0],
            closing=output[1],
        )

    def _ranges(self) -> Ranges:
        low, high = np.quantile(np.concatenate(self.varied.source_rows()), [0.02, 0.98])
        points = [
            RunPoint(sample.rate_per_s, float(own.mean()), sample.facts.cores, sample.facts.shuffle_partitions)
            for sample, own in zip(self.samples, self.structure.source_rows(), strict=True)
        ]
        return Ranges((float(low), float(high)), tuple(points))

    def _concerns(self, levels: Floats) -> tuple[str, ...]:
        concerns = [concern for sample in self.samples for concern in sample.concerns]
        middle = float(np.median(levels))
        for sample, level in zip(self.samples, levels, strict=True):
            if not 1 / CONTRADICTION < level / middle < CONTRADICTION:
                times = f"{level / middle:.2g} times as long as the model of all runs says"
                concerns.append(f"the runs contradict each other: tasks of {sample.facts.run_id} took {times}")
        if self.structure.batches < ENOUGH_BATCHES:
            concerns.append(f"only {self.structure.batches} micro-batches were measured, of at least {ENOUGH_BATCHES}")
        return tuple(concerns)


def _run_cv(levels: Floats) -> float:
    """Return how far runs differ from each other; what is usual counts as much as nine runs do."""
    squares = float(np.sum((np.log(levels) - np.mean(np.log(levels))) ** 2))
    return float(np.sqrt((USUAL_RUNS * RUN_CV**2 + squares) / (USUAL_RUNS + len(levels) - 1)))


def _task_cv(data: StageData, expected: Floats, factor: Floats) -> float:
    """Return the scatter of the tasks of one stage around their common factor."""
    relative = data.wall_s / expected / factor[data.batch] - 1
    tasks = float(data.tasks.mean())
    if tasks <= 1:
        return 0.0
    return float(np.sqrt(np.mean(relative**2) * tasks / (tasks - 1)))


def _factors(wall: Floats, expected: Floats, run: npt.NDArray[Any], cv: float, tasks: float) -> Floats:
    """Return wall times by expected ones, without the part that single tasks explain; runs keep their levels."""
    factor = wall / expected
    result = np.empty_like(factor)
    for number in np.unique(run):
        rows = run == number
        level = float(wall[rows].sum() / expected[rows].sum())
        variance = float((factor[rows] / level).var())
        kept = np.sqrt(max(0.0, 1 - cv**2 / tasks / variance)) if variance > 0 else 0.0
        result[rows] = level * np.maximum(1 + (factor[rows] / level - 1) * kept, 0.05)
    return result
