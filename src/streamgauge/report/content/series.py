"""A stored run as series over time, ready to be drawn; what a run lacks comes with the reason."""

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt

from streamgauge.conclude.stored_run import evidence_of, summary_of
from streamgauge.conclude.tables import batches_table
from streamgauge.conclude.window import measured_part
from streamgauge.errors import StreamgaugeError
from streamgauge.machine.process import ROLES
from streamgauge.measure.records import TaskRecord
from streamgauge.store import StoredRun
from streamgauge.store.run_data import number_columns
from streamgauge.summary import Summary

if TYPE_CHECKING:
    from streamgauge.arrivals import Schedule

Floats = npt.NDArray[np.float64]
Columns = Mapping[str, Floats]
T = TypeVar("T")

# More points than this cannot be distinguished on a screen.
MAX_POINTS = 240
_FIRST, _LAST = ("started_us", "first", "batch_id"), ("emitted_us", "finished_us", "last")
_SUMS = ("events", "output_rows", "late_rows")
_PEAKS = ("end_to_end_latency_max_s", "backlog_events", "duration_s", "state_rows", "state_bytes")


@dataclass(frozen=True)
class Mark:
    """A span of the load that has a name; seconds from the start of the load."""

    name: str
    start_s: float
    end_s: float


@dataclass(frozen=True)
class Moment:
    """Something that happened at one time of the load, and what is known about it; None for what is not."""

    name: str
    at_s: float
    detail: str = ""
    recovery_s: float | None = None
    peak_latency_s: float | None = None


@dataclass(frozen=True)
class Rates:
    """Rates in events per second, each over its own span of time."""

    start_s: Floats
    end_s: Floats
    rate_per_s: Floats


@dataclass(frozen=True)
class RunSeries:
    """One run: its summary, and its tables as columns. An empty mapping or list means that the run has none."""

    stored: StoredRun
    summary: Summary
    start_us: float | None = None
    closed_us: float | None = None
    schedule: "Schedule | None" = None
    batches: Columns = field(default_factory=dict)
    resources: Columns = field(default_factory=dict)
    tasks: Collection[TaskRecord] = ()
    # The numbers of the micro-batches that count.
    measured: frozenset[int] = frozenset()
    latency: list[tuple[int, int, int]] = field(default_factory=list)
    # How many micro-batches each point stands for.
    batches_per_point: int = 1
    points: Columns = field(default_factory=dict)
    damage: tuple[str, ...] = ()
    # What happened to the run besides its load, such as the spike of a surge.
    spans: tuple[Mark, ...] = ()

    @property
    def configuration(self) -> Mapping[str, Any]:
        """The settings, as far as they are stored."""
        return self.stored.configuration

    @property
    def is_offline(self) -> bool:
        """All events were there before the query started."""
        return bool(self.summary.get("load") == "offline" or self.configuration.get("load") == "offline")

    def seconds(self, times_us: Floats) -> Floats:
        """Return times since the start of the load."""
        return (times_us - (self.start_us or 0.0)) / 1e6

    @property
    def end_s(self) -> float:
        """When the load, or the last micro-batch after it, ended."""
        ends = [0.0 if self.is_offline or self.closed_us is None else float(self.seconds(np.array(self.closed_us)))]
        if self.batches:
            ends.append(float(self.seconds(self.batches["finished_us"]).max()))
        return max(ends)

    def marks(self) -> list[Mark]:
        """Return what is not measured: warm-up, cut and drain."""
        steady = self.summary.get("steady_state")
        from_s, until_s = (steady["from_s"], steady["until_s"]) if steady else (None, None)
        if self.is_offline:
            return [Mark("warm-up", 0.0, from_s)] if from_s else []
        warmup_s = self.configuration.get("warmup_s")
        if warmup_s is None:
            warmup_s = from_s if from_s is not None and steady and not steady.get("cut_batches") else 0.0
        found = [Mark("warm-up", 0.0, warmup_s), Mark("cut", warmup_s, from_s or 0.0)]
        if until_s is not None:
            found.append(Mark("drain", until_s, self.end_s))
        return [mark for mark in found if mark.end_s > mark.start_s]

    def episodes(self) -> list[Mark]:
        """Return the times in which the query was behind; older runs do not have them."""
        pressure = self.summary.get("back_pressure")
        episodes = (pressure.get("episodes") if pressure else None) or ()
        return [Mark("behind", episode["start_s"], episode["end_s"]) for episode in episodes]

    def faults(self) -> list[Moment]:
        """Return the faults that were made or suffered during the run, in the order of their times."""
        faults = self.summary.get("faults")
        entries = [entry for entry in faults if isinstance(entry, Mapping)] if isinstance(faults, list) else []
        found = [
            Moment(
                str(entry.get("name") or "fault"),
                at_s,
                _proof(entry),
                _finite(entry.get("recovery_s")),
                _finite(entry.get("peak_latency_s")),
            )
            for entry in entries
            if (at_s := _finite(entry.get("at_s"))) is not None
        ]
        return sorted(found, key=lambda moment: moment.at_s)

    def offered(self) -> Rates | None:
        """Return the rate of the law; None when it is not stored, and when all events were there at once."""
        if self.schedule is None or self.is_offline or self.start_us is None or self.closed_us is None:
            return None
        end_us = min(self.schedule.end_us, self.closed_us - self.start_us)
        times_us = np.append(self.schedule.time_us[self.schedule.time_us < end_us], end_us).astype(float)
        if len(times_us) > MAX_POINTS:
            times_us = np.linspace(0.0, end_us, MAX_POINTS + 1)
        # By the knots and not by whole events: those of short spans would make a constant rate look ragged.
        counts = np.interp(times_us, self.schedule.time_us, self.schedule.count)
        if len(times_us) < 2:
            return None
        return Rates(times_us[:-1] / 1e6, times_us[1:] / 1e6, np.diff(counts) / np.diff(times_us) * 1e6)

    def processed(self) -> Rates | None:
        """Return the events of each micro-batch by the time since the emission before it."""
        if not self.points or self.start_us is None:
            return None
        emitted_s = self.seconds(self.points["emitted_us"])
        before_s = np.maximum(np.append(-math.inf, emitted_s[:-1]), 0.0)
        chosen = (self.points["events"] > 0) & (emitted_s > before_s)
        start_s, end_s = before_s[chosen], emitted_s[chosen]
        return Rates(start_s, end_s, self.points["events"][chosen] / (end_s - start_s)) if chosen.any() else None

    def cores_used(self) -> tuple[Floats, dict[str, Floats]] | None:
        """Return the times of samples, from the second on, and the cores that each role used up to each of them."""
        if len(self.resources.get("at_us", ())) < 2 or self.start_us is None:
            return None
        at_us = self.resources["at_us"]
        elapsed_s = np.maximum(np.diff(at_us) / 1e6, 1e-9)
        used = {role: np.diff(self.resources[f"{role}_cpu_s"]) / elapsed_s for role in ROLES}
        return self.seconds(at_us[1:]), used


def _proof(entry: Mapping[str, Any]) -> str:
    """Return what shows a fault, and its point of a micro-batch where that had to be proven."""
    doubt = "point not proven: " if entry.get("point_is_proven") is False else ""
    point = f"{doubt}{entry['point_detail']}" if entry.get("point_detail") else ""
    return "; ".join(filter(None, (str(entry.get("detail") or ""), point)))


def _finite(value: Any) -> float | None:
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if is_number else None


def _groups(count: int) -> list[slice]:
    """Cut a number of rows into at most `MAX_POINTS` parts of the same size, but for the last."""
    size = max(1, math.ceil(count / MAX_POINTS))
    return [slice(start, start + size) for start in range(0, count, size)]


def _mean(values: Floats, weights: Floats | None = None) -> float:
    known = np.isfinite(values)
    if not known.any():
        return math.nan
    if weights is None or not weights[known].sum():
        return float(values[known].mean())
    return float(np.average(values[known], weights=weights[known]))


def _reduce(name: str, columns: Columns, part: slice) -> float:
    values = columns[name][part]
    if name in _FIRST:
        return float(values[0])
    if name in _LAST:
        return float(values[-1])
    if name in _SUMS:
        return float(np.nansum(values))
    if name in _PEAKS:
        return float(np.nanmax(values)) if np.isfinite(values).any() else math.nan
    return _mean(values, columns["events"][part] if name == "end_to_end_latency_mean_s" else None)


def thin(columns: Columns) -> dict[str, Floats]:
    """Merge neighbouring micro-batches when there are many: peaks stay, counts add up, the rest is averaged."""
    count = len(columns["events"]) if columns else 0
    if count <= MAX_POINTS:
        return dict(columns)
    parts = _groups(count)
    return {name: np.array([_reduce(name, columns, part) for part in parts]) for name in columns}


def _thin_samples(columns: Columns) -> dict[str, Floats]:
    """Thin out many samples, with the highest memory since the one before."""
    count = len(columns.get("at_us", ()))
    if count <= MAX_POINTS:
        return dict(columns)
    parts = _groups(count)
    return {
        name: np.array([values[part].max() if name.endswith("_memory_bytes") else values[part][-1] for part in parts])
        for name, values in columns.items()
    }


class _Reader:
    """Reads the parts of a run; a damaged part is left out and its damage reported."""

    def __init__(self) -> None:
        self.damage: list[str] = []

    def read(self, part: Callable[[], T], otherwise: T) -> T:
        try:
            return part()
        except StreamgaugeError as error:
            self.damage.append(f"{error.where}: {error.what}" if error.where else error.what)
            return otherwise


def _floats(columns: "Mapping[str, npt.NDArray[Any]]") -> dict[str, Floats]:
    return {name: values.astype(float) for name, values in columns.items()}


def _batches(stored: StoredRun) -> dict[str, Floats]:
    """Return the micro-batches of a run; of one that was killed before it stored them, as its reports have them."""
    columns = stored.columns("batches")
    if not columns and stored.batches():
        columns = number_columns(batches_table(evidence_of(stored)))
    found = _floats(columns)
    return {name: values for name, values in found.items() if not (stored.is_observed and np.isnan(values).all())}


def _measured(stored: StoredRun) -> frozenset[int]:
    return frozenset(batch.batch_id for batch in measured_part(evidence_of(stored)).batches)


def _readable(tasks: Collection[TaskRecord]) -> Collection[TaskRecord]:
    """Find damage now, not where the tasks are shown."""
    return tasks if all(task is not None for task in tasks) else ()


def read_series(stored: StoredRun, spans: Iterable[Mark] = ()) -> RunSeries:
    """Read everything that a report shows of a run; `spans` are shaded in its charts over time."""
    reader = _Reader()
    unreadable: Summary = {
        "verdict": "unknown",
        "workload": stored.document["workload"],
        "reasons": ["the run cannot be read"],
    }
    summary = reader.read(lambda: summary_of(stored), unreadable)
    load = stored.load
    if not load:
        return RunSeries(stored, summary, damage=tuple(dict.fromkeys(reader.damage)), spans=tuple(spans))
    is_offline = summary.get("load") == "offline"
    # When the rows of a query came that was observed is inferred, and not shown as if it were known.
    schedule = None if stored.is_observed else reader.read(stored.schedule, None)
    nothing: dict[str, Floats] = {}
    batches = reader.read(lambda: _batches(stored), nothing)
    points = thin(batches)
    return RunSeries(
        stored,
        summary,
        start_us=float(load["closed_us"] if is_offline else load["origin_us"]),
        closed_us=float(load["closed_us"]),
        schedule=schedule,
        batches=batches,
        resources=_thin_samples(reader.read(lambda: _floats(stored.columns("resources")), nothing)),
        tasks=reader.read(lambda: _readable(stored.tasks()), ()),
        measured=reader.read(lambda: _measured(stored), frozenset()),
        latency=reader.read(stored.latency, []),
        batches_per_point=math.ceil(len(batches["events"]) / MAX_POINTS) if batches else 1,
        points=points,
        damage=tuple(dict.fromkeys(reader.damage)),
        spans=tuple(spans),
    )
