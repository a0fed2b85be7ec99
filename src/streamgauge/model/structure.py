"""What the stages of a query are: which read the events, which read each other, what they write, and when.

Runs of one query are taken together: every stage has one entry per task of every micro-batch of every run.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np
import numpy.typing as npt

from streamgauge.arrivals.law import Floats
from streamgauge.model.query import Tasks
from streamgauge.model.rows import OutputCurve, rows_out
from streamgauge.model.sample import RunSample, StageSample
from streamgauge.model.state import StateGrowth
from streamgauge.model.windows import closings

# Rows larger than this many bytes are counted by their bytes.
FAT_ROW_BYTES = 4096
SLIDES_S = (0.1, 0.2, 0.25, 0.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 10.0, 12.0, 15.0, 20.0, 30.0, 60.0)
# A slide is believed when it explains this share of what a stage writes.
EXPLAINED = 0.8
# Counts that differ by less are the same.
_SAME = 0.01
_CURVE_POINTS = 300
# Rows that vary by less than this factor show no bend, and rows out that vary this much less than rows in are level.
_BEND = 1.2
_LEVEL = 0.2


@dataclass
class StageData:
    """One stage over all runs: an entry per task. `size` is what the task reads, in the stage's unit."""

    size: Floats
    written: Floats
    state: Floats
    cpu_s: Floats
    wall_s: Floats
    batch: npt.NDArray[np.int64]
    tasks: Floats

    def sums(self, values: Floats, batches: int) -> Floats:
        """Return the sums over the tasks of each micro-batch."""
        return np.asarray(np.bincount(self.batch, values, batches), dtype=np.float64)


class Structure:
    """The stages of a query as several runs show them; `notes` say what was assumed."""

    def __init__(self, samples: Sequence[RunSample], slide_s: float | None) -> None:
        self.samples = samples
        self.run = np.concatenate([np.full(s.batches, k) for k, s in enumerate(samples)])
        self.batches = len(self.run)
        # Micro-batches after the load are samples of their own, and have the level of their run.
        names = list(dict.fromkeys(s.facts.run_id for s in samples))
        self.process = np.array([names.index(s.facts.run_id) for s in samples])[self.run]
        self.processes = len(names)
        self.is_new = np.concatenate([np.append(1.0, np.zeros(s.batches - 1)) for s in samples])
        self.events = np.concatenate([s.events for s in samples])
        self.cores = np.concatenate([np.full(s.batches, s.facts.cores) for s in samples])
        self.processors = max(s.facts.processors for s in samples)
        self.is_stateful = any(bool(np.any(s.state_rows > 0)) for s in samples)
        self.stages = len(samples[0].stages)
        self.notes: list[str] = []
        self._watermark_s = np.concatenate([s.watermark_s for s in samples])
        self._before_s = np.concatenate([s.watermark_before_s for s in samples])
        self.sources = self._find_sources()
        self.units = [self._unit(k) for k in range(self.stages)]
        self.reads = [self._find_reads(k) for k in range(self.stages)]
        known = slide_s if slide_s is not None else samples[0].facts.slide_s
        self._knows_slide = known is not None
        self.slide_s = known if known is not None else self._find_slide()
        self.data = [self._stage_data(k) for k in range(self.stages)]
        self.curves = [self._curve(k) for k in range(self.stages)]

    def total(self, k: int, name: str) -> Floats:
        """Return a column of stage k, summed over its tasks, of all micro-batches."""
        return np.concatenate([getattr(s.stages[k], name).sum(axis=1) for s in self.samples])

    def _find_sources(self) -> list[bool]:
        """Return which stages read the events of the micro-batch.

        They read no shuffle, and what they read grows with the events; a static table does not grow. Where
        micro-batches are alike, it is the stage that works most.
        """
        candidates = [k for k in range(self.stages) if not np.any(self.total(k, "read_rows"))]
        found = [False] * self.stages
        for k in candidates:
            rows = self.total(k, "input_rows")
            if np.ptp(rows) > 0 and np.ptp(self.events) > 0:
                found[k] = bool(np.corrcoef(rows, self.events)[0, 1] > 0.3)
        if not any(found) and candidates:
            found[max(candidates, key=lambda k: float(self.total(k, "cpu_s").sum()))] = True
        return found

    def _unit(self, k: int) -> str:
        rows, size = self.total(k, "read_rows").sum(), self.total(k, "read_bytes").sum()
        return "bytes" if rows > 0 and size / rows > FAT_ROW_BYTES else "rows"

    def _find_reads(self, k: int) -> tuple[int, ...]:
        """Return the earlier stages whose output stage k reads: those that wrote as much as it read."""
        unit = self.units[k]
        read = self.total(k, f"read_{unit}")
        if not np.any(read):
            return ()
        written = {j: self.total(j, f"written_{unit}") for j in range(k)}
        for number in (1, 2, 3):
            for chosen in combinations(reversed(range(k)), number):
                missed = np.abs(read - np.add.reduce([written[j] for j in chosen])).sum()
                if missed <= _SAME * read.sum():
                    return tuple(sorted(chosen))
        self.notes.append(f"what stage {k + 1} reads is taken to grow with the events")
        return ()

    def _reader_unit(self, k: int) -> str:
        return next((self.units[j] for j in range(k + 1, self.stages) if k in self.reads[j]), "rows")

    def _closed(self, slide_s: float) -> Floats:
        return np.nan_to_num(closings(self._watermark_s, self._before_s, slide_s))

    def _find_slide(self) -> float | None:
        """Return the slide of windows that best explains which micro-batches write rows, if any does."""
        best: tuple[float, float] | None = None
        for k in range(self.stages):
            written = self.total(k, f"written_{self._reader_unit(k)}")
            if not self.reads[k] or np.ptp(written) == 0:
                continue
            for slide_s in SLIDES_S:
                share = _explained(self._closed(slide_s), written)
                if share > (best[0] if best else EXPLAINED):
                    best = (share, slide_s)
        return best[1] if best else None

    def _stage_data(self, k: int) -> StageData:
        unit, out = self.units[k], self._reader_unit(k)
        parts, first = [], 0
        for sample in self.samples:
            stage = sample.stages[k]
            size = _source_rows(sample, stage) if self.sources[k] else getattr(stage, f"read_{unit}")
            state = np.broadcast_to(sample.state_rows[:, np.newaxis] / stage.tasks, stage.cpu_s.shape)
            batch = np.broadcast_to(np.arange(first, first + sample.batches)[:, np.newaxis], stage.cpu_s.shape)
            tasks = np.full(stage.cpu_s.shape, float(stage.tasks))
            parts.append((size, getattr(stage, f"written_{out}"), state, stage.cpu_s, stage.wall_s, batch, tasks))
            first += sample.batches
        columns = [np.concatenate([part[c].ravel() for part in parts]) for c in range(7)]
        return StageData(*columns)

    def _parts(self, k: int) -> Floats:
        """A task of the source can meet all keys, one behind an exchange only its own."""
        data = self.data[k]
        return np.ones_like(data.tasks) if self.sources[k] else data.tasks

    def _curve(self, k: int) -> OutputCurve:
        """Return what stage k writes by what it reads."""
        data, parts = self.data[k], self._parts(k)
        return _fit_curve(data.size * parts, data.written * parts)

    def output(self, k: int) -> tuple[OutputCurve, OutputCurve | None]:
        """Return what stage k writes by what it reads, or by the windows that close."""
        data, curve = self.data[k], self.curves[k]
        total = data.sums(data.written, self.batches)
        if self.slide_s and self.reads[k] and np.ptp(total) > 0:
            closed = self._closed(self.slide_s)
            by_rows = data.sums(rows_out(curve.per_row, curve.most / self._parts(k), data.size), self.batches)
            missed = float(((total - by_rows) ** 2).sum())
            left = (1 - _explained(closed, total)) * float(((total - total.mean()) ** 2).sum())
            # A slide that is known needs only to explain as much as the rows do.
            if closed.any() and (left < 0.5 * missed or (self._knows_slide and left <= 1.01 * missed)):
                return OutputCurve(0.0), self._closing_curve(closed, total)
        return curve, None

    def _closing_curve(self, closed: Floats, total: Floats) -> OutputCurve:
        """Return the rows of a closing window by the events of its slide."""
        rows, events = [], []
        for number, sample in enumerate(self.samples):
            own = closed * (self.run == number)
            if own.any() and self.slide_s:
                rows.append(float(own @ total) / float(own @ own))
                events.append(self.slide_s * sample.rate_per_s)
        return self._by_events(rows, events)

    def _by_events(self, rows: Sequence[float], events: Sequence[float]) -> OutputCurve:
        """Return a curve through the points of some runs.

        At one rate it is level where the keys of the source are all met, else straight.
        """
        if max(events) >= _BEND * min(events):
            return _fit_curve(np.array(events), np.array(rows))
        value, number = float(np.mean(rows)), max(float(np.mean(events)), 1.0)
        return (
            OutputCurve(10 * value / number, max(value, 1.0)) if self._keys_are_met() else OutputCurve(value / number)
        )

    def _keys_are_met(self) -> bool:
        """Return whether the tasks of the source write no more rows when they read more."""
        return any(
            np.isfinite(curve.most) and float(np.mean(self.data[k].written)) > 0.9 * curve.most
            for k, curve in enumerate(self.curves)
            if self.sources[k]
        )

    def after(self, k: int) -> tuple[int, ...]:
        """Return the stages that have finished whenever stage k starts."""

        def share(j: int) -> float:
            waits = [
                s.stages[k].launched_s.min(axis=1) >= s.stages[j].finished_s.max(axis=1) - 0.002 for s in self.samples
            ]
            return float(np.mean(np.concatenate(waits)))

        return tuple(j for j in range(k) if j in self.reads[k] or share(j) >= 0.9)

    def tasks(self, k: int) -> Tasks:
        """Return by what the number of tasks goes: the setting with which it agrees in every run."""
        counts = [s.stages[k].tasks for s in self.samples]
        settings: dict[Tasks, list[int]] = {
            "source": [s.facts.source_partitions for s in self.samples],
            "shuffle": [s.facts.shuffle_partitions for s in self.samples],
            "cores": [s.facts.cores for s in self.samples],
        }
        kind = self.kind(k)
        likely: Tasks = "source" if kind == "source" else "shuffle" if kind == "shuffle" else "cores"
        others: list[Tasks] = [name for name in settings if name != likely]
        for name in [likely, *others]:
            if settings[name] == counts:
                return name
        if len(set(counts)) > 1:
            self.notes.append(f"the number of tasks of stage {k + 1} follows no setting; that of most runs is kept")
        return max(set(counts), key=counts.count)

    def shares(self, k: int) -> tuple[float, ...]:
        """Return how the input spreads, from the run that has most partitions."""
        finest = max(self.samples, key=lambda sample: sample.stages[k].tasks)
        stage = finest.stages[k]
        rows = _source_rows(finest, stage) if self.sources[k] else getattr(stage, f"read_{self.units[k]}")
        total = rows.sum(axis=0)
        return tuple((total / total.sum()).tolist()) if total.sum() > 0 else ()

    def state(self) -> StateGrowth:
        """Return the rows in state by the rate."""
        if not self.is_stateful:
            return StateGrowth(OutputCurve(0.0))
        # The retention is not known, but only its product with the rate matters once state is level.
        rows = [float(sample.state_rows.mean()) for sample in self.samples]
        return StateGrowth(self._by_events(rows, [sample.rate_per_s for sample in self.samples]), retention_s=1.0)

    def kind(self, k: int) -> str:
        """Return what stage k reads: the source, a shuffle, or a static table."""
        return "source" if self.sources[k] else "shuffle" if self.data[k].size.any() else "table"

    def source_rows(self) -> list[Floats]:
        """Return the events per task of the source, of every run."""
        first = self.sources.index(True) if any(self.sources) else 0
        return [sample.events / sample.stages[first].tasks for sample in self.samples]


def _source_rows(sample: RunSample, stage: StageSample) -> Floats:
    """Return the events of each task: its rows if those are events, else an even share of the micro-batch."""
    rows = stage.input_rows.sum(axis=1)
    if np.abs(rows - sample.events).sum() <= _SAME * sample.events.sum():
        return stage.input_rows
    return np.repeat(sample.events[:, np.newaxis] / stage.tasks, stage.tasks, axis=1)


def _explained(x: Floats, y: Floats) -> float:
    """Return the share of the variance of y that a line through the origin along x explains."""
    spread = float(((y - y.mean()) ** 2).sum())
    if spread == 0 or not x.any():
        return 0.0
    slope = float(x @ y) / float(x @ x)
    return 1.0 - float(((y - slope * x) ** 2).sum()) / spread


def _fit_curve(rows: Floats, written: Floats) -> OutputCurve:
    """Return the output curve with the least squares; a straight line unless a bend is clearly better."""
    used = rows > 0
    x, y = rows[used], written[used]
    if not len(x) or not y.any():
        return OutputCurve(0.0)
    straight = OutputCurve(float(x @ y) / float(x @ x))
    if float(np.std(y) / np.mean(y)) < _LEVEL * float(np.std(x) / np.mean(x)):
        # Rows that do not vary with those read say where the curve ends, not how it begins.
        return OutputCurve(10 * straight.per_row, float(np.mean(y)))
    low, high = np.quantile(x, [0.05, 0.95])
    if high < _BEND * low:
        # Where rows hardly vary, a bend cannot be distinguished from chance.
        return straight
    some = slice(None, None, -(-len(x) // _CURVE_POINTS))
    x, y = x[some], y[some]
    most = float(y.max()) * np.geomspace(0.9, 100.0, 60)
    slope = straight.per_row * np.geomspace(0.8, 20.0, 60)
    bent = rows_out(slope[:, np.newaxis, np.newaxis], most[:, np.newaxis], x)
    missed = ((bent - y) ** 2).sum(axis=-1)
    k, j = np.unravel_index(int(missed.argmin()), missed.shape)
    if missed[k, j] < 0.5 * float(((straight(x) - y) ** 2).sum()):
        return OutputCurve(float(slope[k]), float(most[j]))
    return straight
