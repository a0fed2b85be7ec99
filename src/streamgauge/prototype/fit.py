"""From a measured query to an application of the same shape, which holds nothing of the query but numbers.

Every stage of Spark that works on tuples becomes a task. What a stage adds up before it hands it on becomes a task with
windows, whose state is kept in the stage that follows. CPU work comes later: a prototype costs something by itself,
which only a measurement shows, so `corrected` puts in what is missing between the two.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal

from streamgauge.prototype.file.vocabulary import MAX_COPIES, MAX_PARALLELISM, MAX_SIZE, MAX_WAIT_MS, MAX_ZIPF_VALUES
from streamgauge.prototype.graph.application import (
    Application,
    Data,
    Flow,
    FlowShape,
    PrototypeTask,
    Routing,
    Source,
    TaskWindow,
)
from streamgauge.prototype.graph.chaining import executed_tasks

if TYPE_CHECKING:
    from streamgauge.arrivals import Law

StageKind = Literal["source", "shuffle", "table"]

SOURCE = "source"
# Longer than any run, for state that is never dropped.
FOREVER_S = 86_400
LETTERS = 26
DEFAULT_SIZE = 8
# Rows whose numbers differ by less are spread evenly, as only turns do.
_EVEN = 0.01
# Shares that hashed values have by chance are within that many standard deviations.
_CHANCE = 3.0
# An aggregation that leaves more than this share of its rows has to be paid for row by row.
_MANY = 0.05
# Work in smaller steps than this, in microseconds and milliseconds, are below what can be measured.
_STEP_US, _STEP_MS = 1e-3, 1.0


@dataclass(frozen=True)
class MeasuredStage:
    """One stage of a query in its usual micro-batch, all its tasks together.

    `rows` are read: events, or what comes through a shuffle; `rows_out` are written to shuffles. `shares` are
    how rows spread over tasks. `is_aggregated` says that it ends an aggregation, whose state it keeps.
    """

    kind: StageKind
    tasks: int
    rows: float
    reads: tuple[int, ...] = ()
    rows_out: float = 0.0
    bytes_out: float = 0.0
    shares: tuple[float, ...] = ()
    is_aggregated: bool = False


@dataclass(frozen=True)
class MeasuredQuery:
    """A query as runs show it, in its usual micro-batch of `events`, of whose state it changes `updated` rows.

    `window_s` is the length and the slide of its windows; None for state that is never dropped. `is_triggered` says
    that micro-batches start at intervals, and not as soon as they can.
    """

    stages: tuple[MeasuredStage, ...]
    flow: Flow
    events: float
    rate_per_s: float
    cores: int
    updated: float = 0.0
    window_s: tuple[int, int] | None = None
    is_triggered: bool = False

    def at_once(self, tasks: int) -> int:
        """Return how many of these tasks run at the same time."""
        return max(1, min(tasks, self.cores))

    @property
    def waves(self) -> int:
        """How many tasks of the source run one after the other."""
        tasks = next(stage.tasks for stage in self.stages if stage.kind == "source")
        return math.ceil(tasks / self.at_once(tasks))


@dataclass(frozen=True)
class Draft:
    """A prototype of a query: the stage that each of its tasks stands for, and in words what it leaves out."""

    query: MeasuredQuery
    application: Application
    stage_of: Mapping[str, int]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Cost:
    """What was measured of a query or its prototype: time of tasks by stage, and the length of micro-batches.

    `time_us` is per row that the stage reads, by the number of the stage of the query; `batch_s` that of a mean
    micro-batch, None where their sizes are not comparable.
    """

    time_us: Mapping[int, float]
    batch_s: float | None


@dataclass(frozen=True)
class Correction:
    """A draft with other CPU work, and in words where the query is cheaper than the prototype can be."""

    draft: Draft
    cheaper: tuple[str, ...] = ()

    @property
    def application(self) -> Application:
        """The prototype."""
        return self.draft.application


def draft(query: MeasuredQuery, *, name: str = "fitted") -> Draft:
    """Return an application with the stages, rows, selectivities, skew and state of a query, and no CPU work."""
    return _Drafting(query).draft(name)


class _Drafting:
    def __init__(self, query: MeasuredQuery) -> None:
        self.query = query
        self.notes: list[str] = []
        self.worked = [k for k, stage in enumerate(query.stages) if stage.kind != "table"]
        self.names = {k: f"stage_{number}" for number, k in enumerate(self.worked, 1)}

    def draft(self, name: str) -> Draft:
        tasks = [self._task(k) for k in self.worked if self._is_needed(k)]
        source = Source(SOURCE, self._source_tasks(), self._data(), self.query.flow)
        executed, changes = executed_tasks((source,), tasks)
        self.notes += [
            f"{change.task.name} has {change.executed} instances, and its windows as many partitions; the run had "
            f"{change.declared}"
            for change in changes
        ]
        tables = len(self.query.stages) - len(self.worked)
        if tables:
            what = "one stage reads" if tables == 1 else f"{tables} stages read"
            self.notes.append(f"{what} no tuples in every micro-batch, such as a table; it is part of batch_ms")
        application = Application(name, "pipeline", (source,), _leveled(executed))
        stage_of = {self.names[k]: k for k in self.worked if self._is_needed(k)}
        return Draft(self.query, application, stage_of, tuple(self.notes))

    def _readers(self, k: int) -> list[int]:
        return [j for j in self.worked if k in self.query.stages[j].reads]

    def _is_needed(self, k: int) -> bool:
        """Where windows end and nothing follows, there is nothing left to do but to keep their state."""
        return not self.query.stages[k].is_aggregated or bool(self._readers(k))

    def _source_tasks(self) -> int:
        return next(stage.tasks for stage in self.query.stages if stage.kind == "source")

    def _task(self, k: int) -> PrototypeTask:
        stage, readers = self.query.stages[k], [self.query.stages[j] for j in self._readers(k)]
        window = self._window() if any(reader.is_aggregated for reader in readers) else None
        parents = tuple(self.names[j] for j in stage.reads if j in self.names) or (SOURCE,)
        ratio = stage.rows_out / stage.rows if readers and stage.rows and window is None else 1.0
        # What comes out of windows is not what the stage has read.
        ratio = 1.0 if stage.is_aggregated else ratio
        return PrototypeTask(
            name=self.names[k],
            parallelism=min(readers[0].tasks if window else stage.tasks, MAX_PARALLELISM),
            parents=parents,
            routing=self._routing(stage),
            processing=0.0,
            processing_us=0.0,
            filtering=_rounded(ratio) if 0 < ratio < 1 - _EVEN else 0.0,
            selectivity=min(_rounded(ratio), MAX_COPIES) if ratio > 1 + _EVEN else 1.0,
            window=window,
        )

    def _routing(self, stage: MeasuredStage) -> Routing:
        if stage.kind == "source" or stage.is_aggregated:
            return "none"
        is_even = stage.tasks == 1 or max(stage.shares, default=1.0) * stage.tasks < 1 + _EVEN
        return "balanced" if is_even else "hash"

    def _window(self) -> TaskWindow:
        length_s, slide_s = self.query.window_s or (FOREVER_S, FOREVER_S)
        return TaskWindow("sliding" if slide_s < length_s else "tumbling", length_s, slide_s, "value")

    def _data(self) -> Data:
        values = self._values()
        least = max(1, math.ceil(math.log(max(values, 2), LETTERS) - 1e-9))
        written = [stage for stage in self.query.stages if stage.kind == "source" and stage.rows_out >= 1]
        size = round(written[0].bytes_out / written[0].rows_out) if written else DEFAULT_SIZE
        exponent = self._exponent(values)
        size = min(max(size, least), MAX_SIZE)
        return Data(size, values) if exponent is None else Data(size, values, "zipf", exponent)

    def _values(self) -> int:
        """Return how many keys there are: those of state, or as many as are needed so that rows spread as they did."""
        if not self.query.updated:
            return 1000
        length_s, slide_s = self.query.window_s or (1, 1)
        return min(keys_of(self.query.updated / (length_s / slide_s), self.query.events), MAX_ZIPF_VALUES)

    def _exponent(self, values: int) -> float | None:
        """Return the exponent with which the first value fills the fullest task; None where chance explains it."""
        hashed = [
            stage
            for stage in self.query.stages
            if stage.kind == "shuffle" and not stage.is_aggregated and self._routing(stage) == "hash"
        ]
        if not hashed:
            return None
        most, tasks = max(hashed[0].shares), hashed[0].tasks
        chance = math.sqrt((1 - 1 / tasks) / tasks / values)
        if most - 1 / tasks < _CHANCE * chance:
            return None
        return zipf_exponent((most - 1 / tasks) / (1 - 1 / tasks), values)


def flow_of(law: "Law") -> Flow | None:
    """Return the flow that has this arrival law; None where there is none.

    >>> from streamgauge.arrivals import parse_law
    >>> flow_of(parse_law("sine(phase=20s)", rate_per_s=500.0)) == Flow("sin", 500.0, phase_s=20.0)
    True
    """
    from streamgauge.arrivals import Burst, Constant, ReverseSawtooth, Sawtooth, Sine

    if isinstance(law, Constant):
        return Flow("uniform", law.rate_per_s)
    if isinstance(law, Burst):
        return Flow(
            "burst",
            law.rate_per_s,
            interval_s=law.interval_s,
            duration_s=law.duration_s,
            offset_s=law.offset_s,
            burst_rate_per_s=law.burst_rate_per_s,
        )
    shapes: dict[type, FlowShape] = {Sine: "sin", Sawtooth: "sawtooth", ReverseSawtooth: "revsawtooth"}
    shape = shapes.get(type(law))
    if shape is None or not isinstance(law, Sine | Sawtooth):
        return None
    return Flow(shape, law.peak_per_s, phase_s=law.phase_s, offset_s=law.offset_s)


def keys_of(distinct: float, rows: float) -> int:
    """Return how many keys there are when that many rows, each with any of them, have that many distinct ones.

    >>> keys_of(100, 50_000), keys_of(632.12, 1000)
    (100, 1000)
    """
    if distinct <= 1 or rows <= 0:
        return 1
    if distinct >= 0.999 * rows:
        return round(500 * rows)
    low, high = distinct, 1000.0 * rows
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if -middle * math.expm1(-rows / middle) < distinct else (low, middle)
    return max(1, round(high))


def zipf_exponent(share: float, values: int) -> float:
    """Return the exponent with which the most frequent of that many values has this share.

    >>> zipf_exponent(1 / (1 + 1 / 2 + 1 / 3), 3)
    1.0
    """
    low, high = 0.0, 20.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if 1 / _harmonic(values, middle) < share else (low, middle)
    return _rounded(max(high, 1e-3))


def _harmonic(values: int, exponent: float) -> float:
    """Return the sum of k^-exponent; behind the first thousand, that of the integral."""
    head = min(values, 1000)
    total = math.fsum(k**-exponent for k in range(1, head + 1))
    if values == head:
        return total
    low, high = head + 0.5, values + 0.5
    tail = math.log(high / low) if exponent == 1 else (high ** (1 - exponent) - low ** (1 - exponent)) / (1 - exponent)
    return total + tail


def _rounded(value: float) -> float:
    return float(f"{value:.3g}")


def _leveled(tasks: Sequence[PrototypeTask]) -> tuple[PrototypeTask, ...]:
    levels = {SOURCE: 1}
    for task in tasks:
        levels[task.name] = 1 + max(levels[parent] for parent in task.parents)
    return tuple(replace(task, level=levels[task.name]) for task in tasks)


def uncorrected(found: Draft, measured: Cost) -> Application:
    """Put the whole time of each stage in as CPU work, as if the prototype cost nothing by itself."""
    nothing = Cost(dict.fromkeys(measured.time_us, 0.0), None)
    return corrected(found, measured, nothing).application


def corrected(found: Draft, measured: Cost, probed: Cost, *, share: float = 1.0) -> Correction:
    """Add to the CPU work of a prototype what its probe lacks, and take off what it has too much, or a share of it.

    The work of a task goes by the time that tasks of its stage take for a row. What micro-batches take longer besides
    goes to the first task, as a wait once in a micro-batch.
    """
    tasks, cheaper, added_us = [], [], 0.0
    for task in found.application.tasks:
        stage = found.query.stages[found.stage_of[task.name]]
        missing_us = share * _missing_us(found, task, measured, probed)
        load_us = _stepped((task.processing_us or 0.0) + missing_us, _STEP_US)
        if (task.processing_us or 0.0) + missing_us < -_STEP_US:
            cheaper.append(
                f"{task.name} has no CPU work, and takes {-missing_us - (task.processing_us or 0.0):.3g} µs more"
            )
        per_event = stage.rows / found.query.events * _windows_of(task)
        added_us += (load_us - (task.processing_us or 0.0)) * per_event / found.query.at_once(stage.tasks)
        tasks.append(replace(task, processing_us=load_us))
    if measured.batch_s is not None and probed.batch_s is not None:
        grown_s = share * (measured.batch_s - probed.batch_s)
        wait_s = grown_s * (1 - _use(found, probed)) - added_us * 1e-6 * found.query.events
        wait_ms = tasks[0].batch_ms + 1000 * wait_s / found.query.waves
        if wait_ms < -_STEP_MS:
            cheaper.append(f"{tasks[0].name} has no wait, and a micro-batch takes {-wait_ms:.3g} ms more")
        tasks[0] = replace(tasks[0], batch_ms=min(_stepped(wait_ms, _STEP_MS), float(MAX_WAIT_MS)))
    return Correction(replace(found, application=replace(found.application, tasks=tuple(tasks))), tuple(cheaper))


def _windows_of(task: PrototypeTask) -> float:
    """Return how often a task does its work for one row: once in each window."""
    return task.window.duration_s / task.window.slide_s if task.window else 1.0


def _missing_us(found: Draft, task: PrototypeTask, measured: Cost, probed: Cost) -> float:
    """Return the time per row, and window, by which the stage of a task is cheaper than that of the query.

    What a stage that ends an aggregation spends on rows, where these are many, is paid before it: there is no task
    in it.
    """
    own = found.stage_of[task.name]
    stages = found.query.stages
    ends = [k for k, stage in enumerate(stages) if own in stage.reads and stage.is_aggregated]
    total = 0.0
    for k in (own, *ends):
        share = stages[k].rows / stages[own].rows if stages[own].rows else 0.0
        if k == own or share > _MANY:
            total += (measured.time_us.get(k, 0.0) - probed.time_us.get(k, 0.0)) * share
    return total / _windows_of(task)


def _use(found: Draft, probed: Cost) -> float:
    """Return the share of a micro-batch that grows with its length: longer ones have more rows, without a trigger."""
    query = found.query
    if query.is_triggered or not probed.batch_s:
        return 0.0
    per_event_us = sum(
        probed.time_us.get(k, 0.0) * stage.rows / query.events / query.at_once(stage.tasks)
        for k, stage in enumerate(query.stages)
        if not stage.is_aggregated
    )
    return min(0.95, per_event_us * 1e-6 * query.rate_per_s)


def _stepped(value: float, step: float) -> float:
    return max(0.0, round(round(value / step) * step, 6))
