"""A streaming query as the model sees it: stages, what their tasks cost, and how micro-batches vary.

Everything here is plain numbers, so a query can be written down by hand as well as fitted from runs.
"""

import math
from dataclasses import dataclass, field
from typing import Literal, Self

import numpy as np
import numpy.typing as npt

from streamgauge.arrivals import parse_law
from streamgauge.arrivals.admission import admission_target_s
from streamgauge.arrivals.law import BaseLaw, Floats
from streamgauge.errors import UsageError
from streamgauge.model.cost import TaskCost
from streamgauge.model.rows import Keys, OutputCurve, fold
from streamgauge.model.state import StateGrowth
from streamgauge.units import MAX_CORES, MAX_PARTITIONS

# How much longer work takes on average than at best on a processor that nothing else slows: caches are cold.
QUIET_SLOWDOWN = 1.08
MAX_SLOWDOWN = 10.0
MAX_ROWS = 10**12
# What the driver does in a micro-batch, beside running its stages; `between` is the time until the next trigger.
PHASES = (
    "source_offsets", "offset_log", "source_plan", "query_planning", "sink_commit", "other", "commit_log", "between",
)  # fmt: skip

NO_OUTPUT = OutputCurve(0.0)

Tasks = Literal["source", "shuffle", "cores"] | int


@dataclass(frozen=True)
class Settings:
    """For what a prediction is made. Partitions that are not given are as many as there are cores.

    `machine_cores` are the processors of the machine, by default as many as were measured, or `cores` if that is more.
    An admission limit that is not given adapts, as that of the embedded source does, so that a micro-batch takes about
    `admission_target_s`: by default 3 s, or two triggers if that is longer; infinity is a source without a limit.
    `slowdown` is by how much something else slows the processor, as runs measure it; by default nothing does.
    """

    rate_per_s: float
    cores: int
    trigger_s: float = 0.0
    shuffle_partitions: int | None = None
    source_partitions: int | None = None
    max_rows_per_batch: int | None = None
    arrivals: str = "constant"
    duration_s: float = 60.0
    warmup_s: float = 10.0
    machine_cores: int | None = None
    admission_target_s: float | None = None
    slowdown: float = QUIET_SLOWDOWN

    def __post_init__(self) -> None:
        _check_number("--rate", self.rate_per_s, "events per second", minimum=0.0, is_open=True)
        _check_number("--trigger", self.trigger_s, "seconds", minimum=0.0)
        _check_number("--duration", self.duration_s, "seconds", minimum=1.0)
        _check_number("--warmup", self.warmup_s, "seconds", minimum=0.0)
        _check_count("--cores", self.cores, "cores", MAX_CORES)
        _check_count("--shuffle-partitions", self.shuffle_partitions, "partitions", MAX_PARTITIONS)
        _check_count("--source-partitions", self.source_partitions, "partitions", MAX_PARTITIONS)
        _check_count("--max-rows-per-batch", self.max_rows_per_batch, "rows", MAX_ROWS)
        if not 1 <= self.slowdown <= MAX_SLOWDOWN:
            remedy = f"use 1 to {MAX_SLOWDOWN:g}; {QUIET_SLOWDOWN} is a processor that nothing else slows"
            raise UsageError(f"{self.slowdown:g} is no slowdown", where="--slowdown", remedy=remedy)
        _ = self.law

    @property
    def law(self) -> BaseLaw:
        """The arrival law."""
        return parse_law(self.arrivals, rate_per_s=self.rate_per_s)

    @property
    def load_s(self) -> float:
        """How long events are offered: warm-up and measurement."""
        return self.warmup_s + self.duration_s

    @property
    def target_s(self) -> float:
        """How long a micro-batch may take, about, when more events wait than it can hold."""
        if self.admission_target_s is not None:
            return self.admission_target_s
        return admission_target_s(self.trigger_s)

    def tasks(self, tasks: Tasks) -> int:
        """Return how many tasks a stage has."""
        if isinstance(tasks, int):
            return tasks
        chosen = {"source": self.source_partitions, "shuffle": self.shuffle_partitions, "cores": None}[tasks]
        return chosen or self.cores


def _check_number(where: str, value: float, unit: str, *, minimum: float, is_open: bool = False) -> None:
    if not (math.isfinite(value) and (value > minimum or (value == minimum and not is_open))):
        least = f"more than {minimum:g}" if is_open else f"{minimum:g} or more"
        raise UsageError(f"{value:g} {unit} cannot be predicted", where=where, remedy=f"use {least}")


def _check_count(where: str, value: int | None, unit: str, most: int) -> None:
    if value is not None and not 1 <= value <= most:
        raise UsageError(f"{value} {unit} cannot be predicted", where=where, remedy=f"use 1 to {most:,}")


@dataclass(frozen=True)
class StageModel:
    """One stage of the query.

    It reads the outputs of the stages in `reads`; without any, `per_event` rows for each event of the micro-batch,
    which is 0 for a static table. It starts when the stages in `after` have finished. `shares` say how its
    input is spread over the partitions that were measured; none means evenly, and `keys`, where they are known, decide
    it for any number of partitions. `output` is what a task writes by what it reads; a stage that writes the rows of a
    window when the watermark closes it has `closing` instead: rows of all its tasks by the events of the window's
    slide.
    """

    name: str
    tasks: Tasks
    cost: TaskCost
    reads: tuple[int, ...] = ()
    after: tuple[int, ...] = ()
    per_event: float = 1.0
    shares: tuple[float, ...] = ()
    keys: Keys | None = None
    output: OutputCurve = NO_OUTPUT
    closing: OutputCurve | None = None

    def shares_for(self, tasks: int) -> Floats:
        """Return how the input spreads over a number of tasks."""
        if self.keys is not None:
            return self.keys.shares(tasks)
        return fold(self.shares, tasks) if self.shares else np.full(tasks, 1.0 / tasks)


@dataclass(frozen=True)
class Noise:
    """How micro-batches differ from their mean, as a table of measured or made-up micro-batches.

    `phases_s` has a column per entry of `PHASES`, `gaps_s` one per stage: the time from when it could start until its
    first task is handed out. `factors` multiply the times of all tasks of a stage, and are about 1.
    `run` says which rows belong together; a simulation takes blocks of about `block` rows that follow each other,
    so slow times stay slow times. `task_cv` is how far tasks of one stage and micro-batch scatter. `numbers` are those
    of the micro-batches in their runs, and `power` is that of their number with which phases and gaps fall.
    """

    phases_s: Floats
    gaps_s: Floats
    factors: Floats
    run: npt.NDArray[np.int64]
    task_cv: tuple[float, ...]
    block: float = 10.0
    numbers: Floats | None = None
    power: float = 0.0

    @property
    def runs(self) -> int:
        """How many runs the rows come from."""
        return int(self.run.max()) + 1

    @classmethod
    def none(cls, phases_s: dict[str, float], gaps_s: tuple[float, ...]) -> Self:
        """Return the noise of a query whose micro-batches are all alike."""
        row = np.array([[phases_s.get(name, 0.0) for name in PHASES]])
        ones, zero = np.ones((1, len(gaps_s))), np.zeros(1, dtype=np.int64)
        return cls(row, np.array([gaps_s], dtype=np.float64), ones, zero, (0.0,) * len(gaps_s))


@dataclass(frozen=True)
class QueryModel:
    """A query and the machine that runs it.

    `background` is the number of processors that are busy beside tasks, `slide_s` that of event-time windows. All
    times are multiplied by `pace`: one run is a little slower or faster than another.
    """

    stages: tuple[StageModel, ...]
    noise: Noise
    processors: int
    background: float = 0.0
    pace: float = 1.0
    dispatch_s: float = 0.001
    return_s: float = 0.001
    slide_s: float | None = None
    state: StateGrowth = field(default_factory=lambda: StateGrowth(OutputCurve(0.0)))

    @property
    def is_chain(self) -> bool:
        """Whether every stage waits for all before it, so that slots are free when one starts."""
        return all(set(stage.after) >= set(range(k)) for k, stage in enumerate(self.stages))
