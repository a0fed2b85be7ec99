"""What the model takes from a run: its measured micro-batches, and the tasks of each stage as a table.

Only micro-batches that have the stages and tasks that most have are taken; so every stage has one row per micro-batch
and one column per task. Times are those of a processor that nothing else slows.
"""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from streamgauge.arrivals.law import Floats
from streamgauge.errors import InvalidExperimentError
from streamgauge.measure import SteadyState
from streamgauge.model.query import QUIET_SLOWDOWN

Columns = Mapping[str, npt.NDArray[Any]]

PHASE_COLUMNS = ("source_offsets", "offset_log", "source_plan", "query_planning", "execution", "commit_log", "other")
TASK_COLUMNS = (
    "batch_id", "stage_id", "stage_tasks", "partition", "launched_us", "finished_us", "is_ok", "cpu_s", "input_rows",
    "shuffle_read_rows", "shuffle_read_bytes", "shuffle_write_rows", "shuffle_write_bytes",
)  # fmt: skip
BATCH_COLUMNS = (
    "batch_id", "started_us", "emitted_us", "finished_us", "events", "duration_s", "watermark_us", "state_rows",
    *(f"{name}_s" for name in PHASE_COLUMNS),
)  # fmt: skip
MIN_BATCHES = 8
# Java counts how often something is done: until it has compiled what the driver does in every micro-batch, about this
# many of them have passed, however long each is.
WARM_BATCHES = 100
# A series that still moves by more than this share of its mean has no steady state.
MAX_CHANGE = 0.25
# A pause this long between two micro-batches is a wait for events, not the driver's.
MAX_PAUSE_S = 0.25


@dataclass(frozen=True)
class RunFacts:
    """What was chosen for a run.

    `slide_s` is that of event-time windows whose rows are written when they close. `adapts` says that the source has
    an admission limit that adapts, as the embedded one has. `slowdown` is by how much something else slowed the
    processor, None where it was not measured.
    """

    run_id: str
    workload: str
    cores: int
    processors: int
    trigger_s: float
    source_partitions: int
    shuffle_partitions: int
    slide_s: float | None = None
    adapts: bool = True
    slowdown: float | None = None


@dataclass(frozen=True)
class StageSample:
    """The tasks of one stage: micro-batches in rows, partitions in columns. Times count from the trigger's start."""

    launched_s: Floats
    finished_s: Floats
    cpu_s: Floats
    input_rows: Floats
    read_rows: Floats
    read_bytes: Floats
    written_rows: Floats
    written_bytes: Floats

    @property
    def tasks(self) -> int:
        """How many tasks the stage has."""
        return int(self.launched_s.shape[1])

    @property
    def wall_s(self) -> Floats:
        """How long each task took, from hand-over to finish."""
        return self.finished_s - self.launched_s


@dataclass(frozen=True)
class RunSample:
    """The measured micro-batches of one run.

    `between_s` is how much later than it could the next trigger starts; `watermark_s` and `watermark_before_s` are
    those of the micro-batch and of the one before it, not a number where there is none. `concerns` say why the sample
    may not stand for the query. `explored` are micro-batches of other sizes after the load: they show what rows cost,
    and nothing of how the query behaves under the load. `numbers` are Spark's numbers of the micro-batches, from 0 on.
    """

    facts: RunFacts
    numbers: Floats
    started_s: Floats
    events: Floats
    duration_s: Floats
    phases_s: Mapping[str, Floats]
    between_s: Floats
    watermark_s: Floats
    watermark_before_s: Floats
    state_rows: Floats
    stages: tuple[StageSample, ...]
    concerns: tuple[str, ...] = ()
    explored: "RunSample | None" = None

    @property
    def batches(self) -> int:
        """How many micro-batches there are."""
        return len(self.events)

    @property
    def before(self) -> int:
        """How many micro-batches the query had before."""
        return int(self.numbers[0])

    @property
    def rate_per_s(self) -> float:
        """The events that micro-batches took in per second."""
        span_s = float(self.started_s[-1] - self.started_s[0])
        return float(self.events[1:].sum()) / span_s if span_s > 0 else float("nan")


def as_if_quiet(sample: RunSample) -> RunSample:
    """Return the sample with the times of a processor that nothing else slows.

    All times are longer by the slowdown: those of tasks, and those of the driver. When micro-batches began, and what
    they hold, stays as it was.
    """
    if sample.facts.slowdown is None:
        return sample
    share = QUIET_SLOWDOWN / sample.facts.slowdown
    stages = tuple(
        replace(stage, **{name: share * getattr(stage, name) for name in ("launched_s", "finished_s", "cpu_s")})
        for stage in sample.stages
    )
    return replace(
        sample,
        duration_s=share * sample.duration_s,
        phases_s={name: share * phase_s for name, phase_s in sample.phases_s.items()},
        between_s=share * sample.between_s,
        stages=stages,
        explored=None if sample.explored is None else as_if_quiet(sample.explored),
    )


def make_sample(
    facts: RunFacts,
    batches: Columns,
    tasks: Columns,
    measured: Collection[int],
    *,
    steady: SteadyState | None = None,
    least: int = MIN_BATCHES,
) -> RunSample:
    """Join the tasks to the `measured` micro-batches, given by their numbers.

    Columns are named as in the tables of a run directory. `steady` is the steady state that was found for them, None
    where none was looked for; `least` is how many micro-batches with all their tasks there must be.
    """
    order = np.argsort(batches["batch_id"], kind="stable")
    batches = {name: column[order] for name, column in batches.items()}
    stages_of = _stages_by_batch(tasks)
    rows = np.flatnonzero(np.isin(batches["batch_id"], list(measured)))
    shapes = {int(row): _shape(stages_of.get(int(batches["batch_id"][row]))) for row in rows}
    whole = [row for row, shape in shapes.items() if shape]
    if len(whole) < least:
        raise InvalidExperimentError(
            f"only {len(whole)} micro-batches of the measured time have all their tasks, of at least {least}",
            remedy="measure for longer",
        )
    usual, _ = Counter(shapes[row] for row in whole).most_common(1)[0]
    alike = np.array([row for row in whole if shapes[row] == usual])
    concerns = []
    if len(alike) < len(rows) / 2:
        concerns.append(f"only {len(alike)} of {len(rows)} micro-batches of {facts.run_id} have the same stages")
    if steady is not None and steady.change is not None and abs(steady.change) > MAX_CHANGE:
        concerns.append(f"{facts.run_id} has {steady.reason}")
    return _sample(facts, batches, alike, stages_of, tuple(concerns))


def with_explored(sample: RunSample, batches: Columns, explored: Columns, tasks: Columns) -> RunSample:
    """Add micro-batches after the load that have the stages and tasks of those under it; `batches` came before."""
    before = len(batches["batch_id"])
    joined = {name: np.concatenate([batches[name], explored[name]]) for name in BATCH_COLUMNS}
    stages_of, usual = _stages_by_batch(tasks), tuple(stage.tasks for stage in sample.stages)
    alike = [
        before + row
        for row, number in enumerate(explored["batch_id"])
        if explored["events"][row] > 0 and _shape(stages_of.get(int(number))) == usual
    ]
    if not alike:
        return sample
    return replace(sample, explored=_sample(sample.facts, joined, np.array(alike), stages_of, ()))


Stages = dict[int, dict[str, npt.NDArray[Any]]]


def _stages_by_batch(tasks: Columns) -> dict[int, Stages]:
    """Return the successful tasks of every stage of every micro-batch, in the order of their partitions."""
    chosen = np.flatnonzero(tasks["is_ok"].astype(bool))
    chosen = chosen[np.lexsort([tasks[name][chosen] for name in ("partition", "stage_id", "batch_id")])]
    ordered = {name: column[chosen] for name, column in tasks.items()}
    changes = (np.diff(ordered["batch_id"]) != 0) | (np.diff(ordered["stage_id"]) != 0)
    borders = [0, *(np.flatnonzero(changes) + 1).tolist(), len(chosen)]
    found: dict[int, Stages] = {}
    for start, stop in pairwise(borders):
        if stop > start:
            part = {name: column[start:stop] for name, column in ordered.items()}
            found.setdefault(int(part["batch_id"][0]), {})[int(part["stage_id"][0])] = part
    return found


def _shape(stages: Stages | None) -> tuple[int, ...]:
    """Return the number of tasks of each stage; nothing when a task is missing or ran twice."""
    if not stages:
        return ()
    sizes = [len(part["partition"]) for _, part in sorted(stages.items())]
    expected = [int(part["stage_tasks"][0]) for _, part in sorted(stages.items())]
    return tuple(sizes) if sizes == expected else ()


def _sample(
    facts: RunFacts,
    batches: Columns,
    rows: npt.NDArray[np.int64],
    stages_of: Mapping[int, Stages],
    concerns: tuple[str, ...],
) -> RunSample:
    watermark_s = _watermarks_s(batches["watermark_us"])
    stages = [sorted(stages_of[int(batches["batch_id"][row])].items()) for row in rows]
    started_us = batches["started_us"][rows]
    samples = [_stage_sample([parts[k][1] for parts in stages], started_us) for k in range(len(stages[0]))]
    return RunSample(
        facts=facts,
        numbers=batches["batch_id"][rows].astype(np.float64),
        started_s=(started_us - batches["started_us"][0]) / 1e6,
        events=batches["events"][rows].astype(np.float64),
        duration_s=batches["duration_s"][rows].astype(np.float64),
        phases_s={name: batches[f"{name}_s"][rows].astype(np.float64) for name in PHASE_COLUMNS},
        between_s=_between_s(facts, batches)[rows],
        watermark_s=watermark_s[rows],
        watermark_before_s=np.append(np.nan, watermark_s[:-1])[rows],
        state_rows=batches["state_rows"][rows].astype(np.float64),
        stages=tuple(samples),
        concerns=concerns,
    )


def _stage_sample(parts: list[dict[str, npt.NDArray[Any]]], started_us: npt.NDArray[np.int64]) -> StageSample:
    def stacked(name: str) -> Floats:
        return np.array([part[name] for part in parts], dtype=np.float64)

    start_us = started_us[:, np.newaxis]
    return StageSample(
        launched_s=(stacked("launched_us") - start_us) / 1e6,
        finished_s=(stacked("finished_us") - start_us) / 1e6,
        cpu_s=stacked("cpu_s"),
        input_rows=stacked("input_rows"),
        read_rows=stacked("shuffle_read_rows"),
        read_bytes=stacked("shuffle_read_bytes"),
        written_rows=stacked("shuffle_write_rows"),
        written_bytes=stacked("shuffle_write_bytes"),
    )


def _watermarks_s(watermark_us: npt.NDArray[Any]) -> Floats:
    values = watermark_us.astype(np.float64) / 1e6
    # Before the first event Spark reports the beginning of time.
    return np.where(values > 0, values, np.nan)


def _between_s(facts: RunFacts, batches: Columns) -> Floats:
    """Return how long after it could the next trigger starts; where that is not known, what is usual."""
    started_us, finished_us = batches["started_us"], batches["finished_us"]
    interval_us = round(facts.trigger_s * 1e6)
    due_us = finished_us
    if interval_us:
        due_us = np.maximum(finished_us, (started_us // interval_us + 1) * interval_us)
    late_s = np.append((started_us[1:] - due_us[:-1]) / 1e6, np.nan)
    # Triggers without events in between leave no trace but the time they took.
    follows = np.append(np.diff(batches["batch_id"]) == 1, False)
    known = follows & (late_s >= -1e-3) & (late_s <= MAX_PAUSE_S)
    usual_s = float(np.median(late_s[known])) if known.any() else 0.005
    return np.where(known, np.maximum(late_s, 0.0), max(usual_s, 0.0))
