"""Micro-batch after micro-batch of a query, for many replications at once.

A step of the loop is one micro-batch of every replication, so the cost of Python is shared by all of them.
Each replication draws its own noise and may have its own parameters; together they are the distribution of what a
run of the given length would measure.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamgauge.arrivals.law import Floats
from streamgauge.model.cost import contention
from streamgauge.model.practice import practice
from streamgauge.model.query import PHASES, Noise, QueryModel, Settings, StageModel
from streamgauge.model.rows import rows_out
from streamgauge.model.schedule import makespan, run_stage
from streamgauge.model.trigger import POLL_S, AdmissionLimit, ArrivalCurve, Offering, next_start
from streamgauge.model.windows import closings

DRAIN_S = 30.0
MAX_STEPS = 1_000_000
# Points per micro-batch at which latencies are taken, and how many there may be in all.
_POINTS = (2, 16)
_MAX_SAMPLES = 4_000_000
_NEVER_S = 1e12
_BEFORE_EXECUTION = PHASES[1:4]
_AFTER_EXECUTION = ("sink_commit", "other")

Indexes = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Execution:
    """What the stages of one micro-batch took: from the first hand-over to the last finish, and per stage."""

    seconds: Floats
    stages_s: Floats
    tasks_s: Floats


class _StagePlan:
    """A stage with the parameters of all replications, for given settings."""

    def __init__(self, number: int, queries: Sequence[QueryModel], settings: Settings, processors: int) -> None:
        stage = queries[0].stages[number]
        self.number = number
        self.stage: StageModel = stage
        self.tasks = settings.tasks(stage.tasks)
        self.shares = stage.shares_for(self.tasks)[:, np.newaxis]
        stages = [query.stages[number] for query in queries]
        running = min(self.tasks, settings.cores)
        background = np.array([query.background for query in queries])
        pace = np.array([query.pace for query in queries])
        slowdown = contention(running, background=background, processors=processors)
        work = pace * slowdown * (1.0 + np.array([s.cost.outside for s in stages]))
        self.wait_s = pace * np.array([s.cost.wait_s for s in stages])
        self.fixed_s = self.wait_s + work * np.array([s.cost.fixed_s for s in stages])
        self.per_row_s = work * np.array([s.cost.per_row_s for s in stages])
        self.per_written_row_s = work * np.array([s.cost.per_written_row_s for s in stages])
        self.per_state_row_s = work * np.array([s.cost.per_state_row_s for s in stages])
        self.has_state = bool(np.any(self.per_state_row_s))
        curves = [s.output if s.closing is None else s.closing for s in stages]
        self.per_row = np.array([curve.per_row for curve in curves])
        self.most = np.array([curve.most for curve in curves])
        self.cv = queries[0].noise.task_cv[number]
        self.per_event = np.array([s.per_event for s in stages])

    def written(self, rows: Floats, closed: Floats, pane: Floats) -> Floats:
        """Return the rows that each task writes."""
        if self.stage.closing is not None:
            return self.shares * (closed * rows_out(self.per_row, self.most, pane))
        # A task of the first stage can meet every key; one behind an exchange meets its share of them.
        most = self.most * np.maximum(self.shares, 1e-12) if self.stage.reads else self.most
        return rows_out(self.per_row, most, rows)


class SimulatedMachine:
    """Executes micro-batches of given sizes under given settings; a column per replication."""

    def __init__(self, queries: Sequence[QueryModel], settings: Settings, rng: np.random.Generator) -> None:
        first = queries[0]
        processors = settings.machine_cores or max(first.processors, settings.cores)
        self.stages = [_StagePlan(k, queries, settings, processors) for k in range(len(first.stages))]
        self.is_chain = first.is_chain
        self.slots = settings.cores
        self.dispatch_s, self.return_s = first.dispatch_s, first.return_s
        self.rng = rng

    def execute(
        self, events: Floats, gaps_s: Floats, factors: Floats, *, closed: Floats, pane: Floats, state: Floats
    ) -> Execution:
        """Run all stages; gaps and factors have a row per stage, everything else one value per replication."""
        out: list[Floats] = []
        ends: list[Floats] = []
        spans = np.empty_like(gaps_s)
        total_s = np.zeros_like(events)
        free_s = np.zeros((self.slots, len(events)))
        zero = np.zeros_like(events)
        for k, plan in enumerate(self.stages):
            reads = plan.stage.reads
            total = np.add.reduce([out[j] for j in reads]) if reads else events * plan.per_event
            rows = plan.shares * total
            written = plan.written(rows, closed, pane)
            tasks_s = self._task_times(plan, rows, written, state, factors[k])
            total_s += tasks_s.sum(axis=0)
            out.append(written.sum(axis=0))
            ready_s = ends[-1] if self.is_chain and ends else zero
            if not self.is_chain:
                for j in plan.stage.after:
                    ready_s = np.maximum(ready_s, ends[j])
            started_s = ready_s + gaps_s[k]
            driver = {"dispatch_s": self.dispatch_s, "return_s": self.return_s}
            if self.is_chain:
                ends.append(started_s + makespan(tasks_s, self.slots, **driver))
            else:
                ends.append(run_stage(free_s, started_s, tasks_s, **driver))
            spans[k] = ends[-1] - ready_s
        last_s = ends[-1] if self.is_chain else np.maximum.reduce(ends)
        return Execution(last_s, spans, total_s)

    def _task_times(self, plan: _StagePlan, rows: Floats, written: Floats, state: Floats, factor: Floats) -> Floats:
        tasks_s = plan.per_row_s * rows
        tasks_s += plan.fixed_s
        tasks_s += plan.per_written_row_s * written
        if plan.has_state:
            tasks_s += plan.per_state_row_s * (plan.shares * state)
        tasks_s *= factor
        if plan.cv:
            sigma = np.sqrt(np.log1p(plan.cv**2))
            tasks_s *= np.exp(sigma * self.rng.standard_normal(tasks_s.shape) - sigma**2 / 2)
        return np.asarray(tasks_s)


class NoiseWalk:
    """Walks through the rows of the noise: mostly the next one of the same run, sometimes any other of it."""

    def __init__(
        self, noise: Noise, replications: int, rng: np.random.Generator, run_weights: Floats | None = None
    ) -> None:
        order = np.argsort(noise.run, kind="stable")
        counts = np.bincount(noise.run, minlength=noise.runs)
        weights = np.ones(noise.runs) if run_weights is None else run_weights
        chosen = rng.choice(noise.runs, replications, p=weights / weights.sum())
        self._first = (np.cumsum(counts) - counts)[chosen]
        self._length = counts[chosen]
        self._place = rng.integers(self._length)
        self._rng = rng
        self._jump = 1.0 / max(1.0, noise.block)
        self.phases_s = np.ascontiguousarray(noise.phases_s[order].T)
        self.gaps_s = np.ascontiguousarray(noise.gaps_s[order].T)
        self.factors = np.ascontiguousarray(noise.factors[order].T)
        self._power = noise.power
        numbers = np.ones(len(order)) if noise.numbers is None else noise.numbers[order]
        self._practice = practice(numbers, noise.power)

    def practised(self, row: Indexes, number: int) -> Floats:
        """Return the driver's times in the micro-batch of this number by those in the rows."""
        return practice(number, self._power) / self._practice[row]

    def step(self) -> Indexes:
        """Return the row of each replication's next micro-batch."""
        if len(self.phases_s[0]) > 1:
            jumps = self._rng.random(len(self._place)) < self._jump
            anywhere = self._rng.integers(self._length)
            self._place = np.where(jumps, anywhere, (self._place + 1) % self._length)
        return self._first + self._place


@dataclass(frozen=True)
class Simulation:
    """Micro-batches in rows, replications in columns; where `events` is 0 there was none.

    Times count from the start of the load. `first` is the number of the first event, `shift` what its
    number lacks to the expected one. `stages_s` and `tasks_s` are sums over the measured micro-batches.
    """

    settings: Settings
    curve: ArrivalCurve
    started_s: Floats
    emitted_s: Floats
    ended_s: Floats
    first: Floats
    events: Floats
    shift: Floats
    limit: Floats
    stages_s: Floats
    tasks_s: Floats

    @property
    def measured(self) -> npt.NDArray[np.bool_]:
        """Which micro-batches are emitted under load after the warm-up."""
        load_s, warmup_s = self.curve.end_s, self.settings.warmup_s
        return (self.events > 0) & (self.emitted_s >= warmup_s) & (self.emitted_s <= load_s)

    @property
    def batches(self) -> int:
        """How many micro-batches were simulated in all replications."""
        return int(np.count_nonzero(self.events))

    def batch_duration_s(self) -> Floats:
        """Return the mean duration of the measured micro-batches of each replication."""
        return self._mean(self.ended_s - self.started_s)

    def batch_events(self) -> Floats:
        """Return the mean number of events of the measured micro-batches of each replication."""
        return self._mean(self.events)

    def stage_seconds(self) -> Floats:
        """Return the mean time of each stage, in rows."""
        return np.asarray(self.stages_s / np.maximum(1, self.measured.sum(axis=0)))

    def utilisation(self) -> Floats:
        """Return the share of the slots' time in which tasks run."""
        return self.tasks_s / (self.settings.cores * (self.curve.end_s - self.settings.warmup_s))

    def processed_rate_per_s(self) -> Floats:
        """Return the events processed between the first and the last measured emission, by the time between them."""
        measured = self.measured
        last = np.where(measured, self.first + self.events, -np.inf).max(axis=0)
        first = np.where(measured, self.first + self.events, np.inf).min(axis=0)
        until_s = np.where(measured, self.emitted_s, -np.inf).max(axis=0)
        from_s = np.where(measured, self.emitted_s, np.inf).min(axis=0)
        known = measured.sum(axis=0) >= 2
        with np.errstate(invalid="ignore"):
            return np.where(known, (last - first) / np.where(known, until_s - from_s, 1.0), np.nan)

    def _mean(self, values: Floats) -> Floats:
        measured = self.measured
        number = measured.sum(axis=0)
        return np.where(number > 0, np.where(measured, values, 0.0).sum(axis=0) / np.maximum(number, 1), np.nan)

    def latencies(self) -> tuple[Floats, Floats]:
        """Return latencies at some points of every micro-batch and how many events each stands for.

        They are those of all events due after the warm-up, whenever they are emitted; replications in rows.
        """
        points = int(np.clip(_MAX_SAMPLES // max(1, self.events.size), *_POINTS))
        inside = (np.arange(points) + 0.5) / points
        number = self.first[..., np.newaxis] + np.floor(self.events[..., np.newaxis] * inside)
        due_s = self.curve.time_of(number + self.shift[..., np.newaxis])
        latency_s = np.maximum(self.emitted_s[..., np.newaxis] - due_s, 0.0)
        weight = np.where(due_s >= self.settings.warmup_s, self.events[..., np.newaxis] / points, 0.0)
        replications = self.events.shape[1]
        return (
            np.moveaxis(latency_s, 1, 0).reshape(replications, -1),
            np.moveaxis(weight, 1, 0).reshape(replications, -1),
        )

    def latency_s(self, quantiles: Sequence[float]) -> tuple[Floats, Floats]:
        """Return the mean latency of each replication, and a row for each quantile."""
        values, weights = self.latencies()
        total = weights.sum(axis=1)
        with np.errstate(invalid="ignore", divide="ignore"):
            mean = (values * weights).sum(axis=1) / total
        order = np.argsort(values, axis=1)
        sorted_values = np.take_along_axis(values, order, axis=1)
        reached = np.cumsum(np.take_along_axis(weights, order, axis=1), axis=1)
        rows = np.arange(len(values))
        found = []
        for quantile in quantiles:
            place = np.minimum((reached < quantile * total[:, np.newaxis]).sum(axis=1), values.shape[1] - 1)
            found.append(np.where(total > 0, sorted_values[rows, place], np.nan))
        return mean, np.array(found)


def simulate(
    queries: Sequence[QueryModel],
    settings: Settings,
    *,
    replications: int,
    rng: np.random.Generator,
    curve: ArrivalCurve | None = None,
    run_weights: Floats | None = None,
) -> Simulation:
    """Simulate a load and its drain.

    Replication k has the parameters of query k, modulo their number; all share the structure and the noise of
    the first. `curve` takes the place of the settings' arrival law. `run_weights` says how likely each run of the noise
    is to be taken.
    """
    offered = ArrivalCurve.from_law(settings.law, settings.load_s) if curve is None else curve
    lanes = [queries[k % len(queries)] for k in range(replications)]
    return _Loop(lanes, settings, offered, rng, run_weights).run()


class _Loop:
    """The trigger loop of all replications."""

    def __init__(
        self,
        queries: Sequence[QueryModel],
        settings: Settings,
        curve: ArrivalCurve,
        rng: np.random.Generator,
        run_weights: Floats | None,
    ) -> None:
        lanes = len(queries)
        self.query, self.settings, self.curve, self.rng = queries[0], settings, curve, rng
        self.machine = SimulatedMachine(queries, settings, rng)
        self.walk = NoiseWalk(queries[0].noise, lanes, rng, run_weights)
        self.offering = Offering.start(curve, lanes, rng)
        self.admission = AdmissionLimit(lanes, fixed=settings.max_rows_per_batch, target_s=settings.target_s)
        self.pace = np.array([query.pace for query in queries])
        # Multiples of the trigger are those of the wall clock, which knows nothing of the load's start.
        self.phase_s = rng.random(lanes) * (settings.trigger_s or POLL_S)
        self.started_s = (settings.trigger_s or POLL_S) - self.phase_s
        self.consumed = np.zeros(lanes)
        slide_s = self.query.slide_s
        self.window_phase_s = rng.random(lanes) * (slide_s or 0.0)
        # How far the watermark is behind the latest event shifts when windows close, not how many do.
        self.watermark_s = self.window_phase_s
        self.before_s = self.watermark_s
        self.zero = np.zeros(lanes)
        self.stages_s = np.zeros((len(self.query.stages), lanes))
        self.tasks_s = np.zeros(lanes)
        self.state_rates = np.full(lanes, curve.mean_rate_per_s)
        self.rows: list[tuple[Floats, ...]] = []

    def run(self) -> Simulation:
        """Go on until every event is processed, or until a drain would be given up."""
        stop_s = self.curve.end_s + DRAIN_S
        for _ in range(MAX_STEPS):
            if np.all(self.started_s > stop_s):
                break
            self._step(stop_s)
        names = ("started_s", "emitted_s", "ended_s", "first", "events", "shift", "limit")
        columns = {name: np.array([row[k] for row in self.rows]) for k, name in enumerate(names)}
        return Simulation(
            settings=self.settings, curve=self.curve, stages_s=self.stages_s, tasks_s=self.tasks_s, **columns
        )

    def _step(self, stop_s: float) -> None:
        row = self.walk.step()
        driver = self.pace * self.walk.practised(row, len(self.rows))
        phase = dict(zip(PHASES, self.walk.phases_s[:, row] * driver, strict=True))
        looked_s = self.started_s + phase["source_offsets"]
        waiting = self.offering.look(looked_s) - self.consumed
        limit = self.admission.allow(self.consumed, looked_s, waiting > 0)
        events = np.where((waiting >= 1) & (self.started_s <= stop_s), np.minimum(waiting, limit), 0.0)
        closed, pane = self._windows()
        state = self.query.state.held(self.started_s, self.state_rates)
        execution = self.machine.execute(
            events,
            self.walk.gaps_s[:, row] * driver,
            self.walk.factors[:, row],
            closed=closed,
            pane=pane,
            state=state,
        )
        executed_s = looked_s + sum(phase[name] for name in _BEFORE_EXECUTION) + execution.seconds
        emitted_s = executed_s + sum(phase[name] for name in _AFTER_EXECUTION)
        ended_s = emitted_s + phase["commit_log"]
        self.rows.append(
            (self.started_s, emitted_s, ended_s, self.consumed, events, self.offering.shift(), limit.copy())
        )
        busy = events > 0
        counted = busy & (emitted_s >= self.settings.warmup_s) & (emitted_s <= self.curve.end_s)
        self.stages_s += np.where(counted, execution.stages_s, 0.0)
        self.tasks_s += np.where(counted, execution.tasks_s, 0.0)
        self._advance(busy, events, ended_s, phase["between"])

    def _advance(self, busy: npt.NDArray[np.bool_], events: Floats, ended_s: Floats, between_s: Floats) -> None:
        due_s = next_start(self.started_s + self.phase_s, ended_s + self.phase_s, self.settings.trigger_s)
        self.consumed = self.consumed + events
        if self.query.slide_s:
            latest_s = self.curve.time_of(self.consumed - 1 + self.offering.shift()) + self.window_phase_s
            self.before_s = np.where(busy, self.watermark_s, self.before_s)
            self.watermark_s = np.where(busy, latest_s, self.watermark_s)
        following_s = due_s - self.phase_s + between_s
        if not busy.all():
            following_s = np.where(busy, following_s, self._idle_until())
        self.started_s = np.minimum(following_s, _NEVER_S)

    def _idle_until(self) -> Floats:
        """Return the first look after the next event comes, by polls or by triggers."""
        every_s = self.settings.trigger_s or POLL_S
        arrives_s = np.minimum(self.offering.next_s(), _NEVER_S)
        looks = np.ceil((arrives_s - self.started_s) / every_s)
        return self.started_s + np.maximum(looks, 1.0) * every_s

    def _windows(self) -> tuple[Floats, Floats]:
        """Return the window ends that the watermark has passed since the last look, and the events of a slide."""
        slide_s = self.query.slide_s
        if not slide_s:
            return self.zero, self.zero
        until_s = self.watermark_s - self.window_phase_s
        pane = self.curve.expected(until_s) - self.curve.expected(until_s - slide_s)
        return closings(self.watermark_s, self.before_s, slide_s), pane
