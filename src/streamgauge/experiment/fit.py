"""A prototype of a query that was measured: its shape from the tables of runs, its loads by probes of the prototype.

What a prototype costs by itself is only known when it runs. So it is run without loads first, with the settings of the
runs that it is fitted to, and gets what it lacks; further probes correct what is still missing. The last probe tells
how close it is, and is not followed by a correction: the error is that of the loads in the file.
"""

import math
import os
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from streamgauge.arrivals.law import Floats
from streamgauge.clock import Clock, SystemClock
from streamgauge.errors import InvalidExperimentError, UsageError
from streamgauge.experiment.evidence import Evidence
from streamgauge.experiment.findings import MOST_SLOWDOWN
from streamgauge.experiment.measured import mean_latency_s, measured_part
from streamgauge.experiment.monitor import Monitor, NoMonitor, Prefixed
from streamgauge.experiment.run import Experiment, Run
from streamgauge.experiment.settings import RunSettings
from streamgauge.experiment.stored import evidence_of, names_of, resolve_groups
from streamgauge.experiment.undisturbed import least_slowed, slowdown_in
from streamgauge.measure.statistics import interval_of_mean
from streamgauge.measure.trend import theil_sen
from streamgauge.model.sample import RunSample, sample_of
from streamgauge.model.structure import Structure
from streamgauge.prototype.application import Application, Flow
from streamgauge.prototype.calibration import need_calibration
from streamgauge.prototype.document import read_application
from streamgauge.prototype.fit import (
    Cost,
    Draft,
    MeasuredQuery,
    MeasuredStage,
    StageKind,
    corrected,
    draft,
    flow_of,
    uncorrected,
)
from streamgauge.prototype.writing import write_application
from streamgauge.store import StoredRun, default_root, list_runs, open_run
from streamgauge.units import format_count, format_duration, format_rate
from streamgauge.verdict import Verdict
from streamgauge.workloads import catalogue

if TYPE_CHECKING:
    from streamgauge.engine.session import Session

# A probe is as long as the run whose settings it has, but not longer than these; Java compiles for as long as it runs.
WARMUP_S, PROBE_S, OFFLINE_S = 60.0, 30.0, 40.0
# What a run has to answer with pass, or a prototype of it stands for a query that was still finding its pace.
SETTLED = ("sustained", "steady", "maximum")
# The loads of the first probe, as a share of what tasks take for a row.
FIRST_SHARE = 0.9
# Rows of tasks that differ by less than this factor tell no slope.
VARIED = 1.2
# Neighbours depend on each other, so an interval is that of the means of so many groups of them.
GROUPS = 5
# An offline run may have few micro-batches, which are long.
MIN_BATCHES = 3
AGGREGATIONS = ("stateStoreSave", "sessionWindowStateStoreSave")


@dataclass(frozen=True)
class Error:
    """How far the prototype is from the query, as a share of it; the interval is None where there is too little."""

    metric: str
    query: float
    prototype: float
    low: float | None = None
    high: float | None = None

    @property
    def change(self) -> float:
        """The difference as a share of what the query does."""
        return self.prototype / self.query - 1

    def __str__(self) -> str:
        write = format_rate if self.metric.endswith("rate_per_s") else format_duration
        interval = "" if self.low is None or self.high is None else f" ({self.low:+.1%} to {self.high:+.1%})"
        return f"{write(self.prototype)} instead of {write(self.query)}, {self.change:+.1%}{interval}"


@dataclass(frozen=True)
class Fitted:
    """A prototype of a query, as a file, and how close it is; no errors without a probe of just these loads."""

    application: Application
    text: str
    errors: tuple[Error, ...] = ()
    cheaper: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    probes: int = 0

    def document(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        return {
            "prototype": self.text,
            "probes": self.probes,
            "errors": [asdict(error) | {"change": error.change} for error in self.errors],
            "cheaper": list(self.cheaper),
            "notes": list(self.notes),
        }


@dataclass(frozen=True)
class _Measurement:
    """A run as it is fitted to."""

    stored: StoredRun
    sample: RunSample
    evidence: Evidence

    @property
    def settings(self) -> RunSettings:
        return self.evidence.settings

    @property
    def summary(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = self.stored.document["summary"]
        return found

    @property
    def inside(self) -> npt.NDArray[np.bool_]:
        """Which micro-batches of the sample belong to the measured time: of an offline load, all but the warm-up."""
        every = np.ones(self.sample.batches, dtype=np.bool_)
        if not self.settings.is_offline:
            return every
        found = np.isin(self.sample.numbers, [batch.batch_id for batch in measured_part(self.evidence).batches])
        return found if found.any() else every

    def repeats(self, other: "_Measurement") -> bool:
        """Tell whether this is a repetition of another run; what comes after the load does not matter."""
        return replace(self.settings, explore=False) == replace(other.settings, explore=False)


def fit(
    reference: str,
    *,
    runs: str | Path | None = None,
    probes: int = 3,
    monitor: Monitor | None = None,
    clock: Clock | None = None,
    session: "Session | None" = None,
) -> Fitted:
    """Fit a prototype to a run, or to several runs of the same query, with commas between them.

    The offline part of an online run counts as a run of its own. Costs per row are best known from an offline run, and
    what every micro-batch costs from one with arrivals, so a prototype of both is right at more rates. Every probe has
    a Java process of its own, as the runs had, unless a session is handed in.
    """
    if probes < 0:
        raise UsageError(f"{probes} probes cannot be made", where="--probes", remedy="use 0 or more")
    root = Path(runs) if runs is not None else default_root(os.environ)
    measurements = [_measurement(stored) for stored in runs_of(root, reference)]
    structure = _structure(measurements)
    if probes:
        need_calibration("prototype fit")
    fitting = _Fitting(measurements, structure)
    if not probes:
        return fitting.unprobed()
    with tempfile.TemporaryDirectory() as folder:
        return fitting.probed(probes, session, Path(folder), monitor or NoMonitor(), clock or SystemClock())


def runs_of(root: Path, reference: str) -> list[StoredRun]:
    """Return the runs that a reference means; those that nothing can be fitted to are refused."""
    groups = resolve_groups(root, reference)
    if len(groups) > 1:
        what = f'"{reference}" has {len(groups)} configurations: {names_of(groups)}'
        raise UsageError(what, remedy="name one of them as SET:NAME, or one run")
    found: list[StoredRun] = []
    for stored in groups[0].runs:
        _refuse(stored)
        inner = [open_run(stored.path / "offline", run.run_id) for run in list_runs(stored.path / "offline")]
        found += [stored, *(run for run in inner if run.status == "finished")]
    if not found:
        raise UsageError(f'"{reference}" names no run that is still there', remedy="see `streamgauge runs list`")
    first = found[0]
    for other in found[1:]:
        if other.document["workload"] != first.document["workload"]:
            raise InvalidExperimentError(
                f"these are runs of several queries: {first.document['workload']} and {other.document['workload']}",
                where=reference,
                remedy="fit a prototype to runs of one query",
            )
        if _parameters(other) != _parameters(first):
            raise InvalidExperimentError(
                f"{first.run_id} and {other.run_id} have different parameters",
                where=reference,
                remedy="fit a prototype to runs with the same --set",
            )
    return found


def _parameters(stored: StoredRun) -> Any:
    return (stored.document.get("configuration") or {}).get("parameters")


def _refuse(stored: StoredRun) -> None:
    """Refuse a run that does not show how the query behaves."""
    where, remedy = str(stored.path), "choose a run that was measured to its end; `streamgauge runs list` shows them"
    if stored.status != "finished":
        what = {"running": "the run is still going on", "failed": "the run failed"}
        raise InvalidExperimentError(what.get(stored.status, "the run was interrupted"), where=where, remedy=remedy)
    if stored.is_observed:
        raise InvalidExperimentError(
            "the run was observed, so the rate at which its events arrive is not known",
            where=where,
            remedy="measure the query with `streamgauge run file.py:function`, and fit a prototype to that run",
        )
    workload = catalogue().get(str(stored.document["workload"]))
    if workload is not None and workload.each_batch is not None:
        raise InvalidExperimentError(
            f"{workload.name} is iterative: its micro-batches depend on each other, and tasks of prototypes do not",
            where=where,
            remedy="choose a run of a query that is a dataflow",
        )


def _measurement(stored: StoredRun) -> _Measurement:
    return _Measurement(stored, sample_of(stored, least=MIN_BATCHES), evidence_of(stored))


def _structure(measurements: Sequence[_Measurement]) -> Structure:
    """Return the stages that all runs have."""
    first = measurements[0].sample
    for other in measurements[1:]:
        if len(other.sample.stages) != len(first.stages):
            raise InvalidExperimentError(
                f"{first.facts.run_id} has {len(first.stages)} stages, and {other.sample.facts.run_id} "
                f"{len(other.sample.stages)}",
                remedy="fit a prototype to runs with the same settings but rate and load",
            )
    return Structure([measurement.sample for measurement in measurements], None)


def measured_query(measurement: _Measurement, structure: Structure) -> tuple[MeasuredQuery, tuple[str, ...]]:
    """Return the query as one of its runs shows it, and what of its arrivals a prototype cannot have."""
    sample, settings = measurement.sample, measurement.settings
    operators = _state_operators(measurement.stored)
    aggregations = [one for one in operators if one["operatorName"] in AGGREGATIONS]
    stages = [_stage(structure, sample, k) for k in range(structure.stages)]
    notes = []
    others = {str(one["operatorName"]) for one in operators} - set(AGGREGATIONS)
    if others:
        notes.append("state other than that of aggregations is not kept by the prototype; its cost is part of the load")
    for k in _aggregated(stages, len(aggregations)):
        stages[k] = replace(stages[k], is_aggregated=True)
    if (settings.source, settings.sink) != ("embedded", "noop"):
        notes.append("source and sink of the prototype are the embedded ones; what those of the run cost is load")
    flow = Flow("uniform", 0.0) if settings.is_offline else flow_of(settings.law)
    if flow is None:
        flow = Flow("uniform", settings.law.mean_rate_per_s(settings.load_s))
        notes.append("arrivals of this law are no flow of a prototype, which has their mean rate; add --arrivals")
    query = MeasuredQuery(
        stages=tuple(stages),
        flow=flow,
        events=float(np.median(sample.events)),
        rate_per_s=0.0 if settings.is_offline else settings.law.mean_rate_per_s(settings.load_s),
        cores=sample.facts.cores,
        updated=float(np.median([one["numRowsUpdated"] for one in aggregations])) if aggregations else 0.0,
        window_s=_window_s(measurement.stored, structure) if aggregations else None,
        is_triggered=settings.trigger_s > 0,
    )
    return query, tuple(notes)


def _state_operators(stored: StoredRun) -> list[Mapping[str, Any]]:
    """Return the stateful operators of the usual micro-batch, each with the median of the rows that it changes."""
    reports = [report.get("stateOperators") or [] for report in stored.progress()]
    count = max((len(report) for report in reports), default=0)
    whole = [report for report in reports if len(report) == count and any(one["numRowsUpdated"] for one in report)]
    if not whole:
        return []
    return [
        {
            "operatorName": whole[-1][k]["operatorName"],
            "numRowsUpdated": float(np.median([report[k]["numRowsUpdated"] for report in whole])),
        }
        for k in range(count)
    ]


def _stage(structure: Structure, sample: RunSample, k: int) -> MeasuredStage:
    stage = sample.stages[k]
    kinds: dict[str, StageKind] = {"source": "source", "shuffle": "shuffle", "table": "table"}
    kind = kinds[structure.kind(k)]
    rows = sample.events if kind == "source" else stage.read_rows.sum(axis=1)
    return MeasuredStage(
        kind=kind,
        tasks=stage.tasks,
        rows=float(np.median(rows)),
        reads=structure.reads[k],
        rows_out=float(np.median(stage.written_rows.sum(axis=1))),
        bytes_out=float(np.median(stage.written_bytes.sum(axis=1))),
        shares=structure.shares(k),
    )


def _aggregated(stages: Sequence[MeasuredStage], count: int) -> list[int]:
    """Return the stages that end aggregations: those before which rows become fewest."""

    def kept(k: int) -> float:
        before = [stages[j] for j in stages[k].reads]
        read = sum(stage.rows for stage in before)
        return stages[k].rows / read if read else 1.0

    shuffled = [k for k, stage in enumerate(stages) if stage.kind == "shuffle" and stage.reads]
    return sorted(sorted(shuffled, key=kept)[:count])


def _window_s(stored: StoredRun, structure: Structure) -> tuple[int, int] | None:
    """Return length and slide of the windows, in whole seconds; those of the workload, or as tables tell."""
    workload = catalogue().get(str(stored.document["workload"]))
    window = None
    if workload is not None and workload.window is not None:
        window = workload.window(workload.parameters(**(_parameters(stored) or {})))
    length_s, slide_s = (window.length_s, window.slide_s) if window else (structure.slide_s, structure.slide_s)
    if not length_s or not slide_s:
        return None
    return max(1, round(length_s)), max(1, round(slide_s))


def cost_of(measurements: Sequence[_Measurement], structure: Structure, batch_s: float | None) -> Cost:
    """Return the time per row that tasks of every stage take, over some runs.

    With all events at once, micro-batches are as large as they can be: what every task costs hardly counts there, and
    the slope over the few sizes that there are is that of Java's compiler.
    """
    is_offline = all(one.settings.is_offline for one in measurements)
    time_us = _whole_us_per_row if is_offline else time_us_per_row
    return Cost({k: time_us(*_tasks(measurements, structure, k)) for k in range(structure.stages)}, batch_s)


def _telling(measurements: Sequence[_Measurement]) -> list[_Measurement]:
    """Return the measurements that tell what rows cost: those of all events at once, if there are any.

    A query that waits for arrivals is compiled later and shares its cores less, so a row of it costs something else.
    What that amounts to in a micro-batch is time besides.
    """
    offline = [one for one in measurements if one.settings.is_offline]
    return offline or list(measurements)


def _tasks(measurements: Sequence[_Measurement], structure: Structure, k: int) -> tuple[Floats, Floats]:
    """Return rows and seconds of the tasks of a stage, as means over the tasks of each measured micro-batch.

    It is the time on the clock: CPU time has neither garbage collection nor Python workers in it.
    """
    rows, taken_s = [], []
    for one in measurements:
        stage, inside = one.sample.stages[k], one.inside
        read = one.sample.events if structure.sources[k] else stage.read_rows.sum(axis=1)
        rows.append(read[inside] / stage.tasks)
        taken_s.append(stage.wall_s.mean(axis=1)[inside])
    return np.concatenate(rows), np.concatenate(taken_s)


def doubts(stored: StoredRun) -> Iterator[str]:
    """Yield why a run may show less than how the query behaves for long."""
    slowdown = slowdown_in(stored.document["summary"])
    if slowdown > MOST_SLOWDOWN:
        yield f"something else slowed the processor in {anonymous_id(stored.run_id)}, by a factor of {slowdown:.3g}"
    for finding in stored.document["summary"].get("findings", ()):
        if finding["question"] in SETTLED and finding["verdict"] != Verdict.PASS:
            yield f"the query may not have been settled in {anonymous_id(stored.run_id)}: {finding['reason']}"


def _slowed(made: Sequence[Run]) -> Iterator[str]:
    for run in made:
        slowdown = slowdown_in(run.summary)
        if slowdown > MOST_SLOWDOWN:
            load = run.stored().document["configuration"]["load"]
            which = "the last offline probe" if load == "offline" else "the last probe with arrivals"
            yield f"something else slowed the processor in {which}, by a factor of {slowdown:.3g}"


def _whole_us_per_row(rows: Floats, taken_s: Floats) -> float:
    return 1e6 * float(np.sum(taken_s) / np.sum(rows)) if np.any(rows > 0) else 0.0


def time_us_per_row(rows: Floats, taken_s: Floats) -> float:
    """Return the time per row by the median of pairwise slopes, which leaves out what every task costs.

    Where all micro-batches are of one size there is no slope to see, and all time goes by rows.

    >>> rows = np.array([1000.0, 2000.0, 4000.0])
    >>> round(time_us_per_row(rows, 0.010 + 2e-6 * rows), 6), time_us_per_row(np.full(3, 1000.0), np.full(3, 0.002))
    (2.0, 2.0)
    """
    used = rows > 0
    if not np.any(used):
        return 0.0
    rows, taken_s = rows[used], taken_s[used]
    low, high = np.quantile(rows, [0.05, 0.95])
    if high >= VARIED * low and len(rows) >= 3:
        order = np.argsort(rows, kind="stable")
        slope = theil_sen(rows[order], taken_s[order])
        if slope > 0:
            return 1e6 * slope
    return _whole_us_per_row(rows, taken_s)


class _Fitting:
    """The steps of a fit."""

    def __init__(self, measurements: Sequence[_Measurement], structure: Structure) -> None:
        self.measurements, self.structure = measurements, structure
        paced = [one for one in measurements if not one.settings.is_offline]
        self.main = paced[0] if paced else measurements[0]
        # Runs with the same settings are repetitions of one: their means are what is to be met.
        self.repeated = [one for one in measurements if one.repeats(self.main)]
        query, notes = measured_query(self.main, structure)
        self.notes = (*notes, *(text for one in measurements for text in doubts(one.stored)))
        self.batch_s = float(np.mean([one.sample.duration_s.mean() for one in self.repeated])) if paced else None
        self.measured = cost_of(_telling(measurements), structure, self.batch_s)
        self.draft = draft(query)

    def unprobed(self) -> Fitted:
        cost = cost_of(self.measurements, self.structure, self.batch_s)
        found = replace(self.draft, application=uncorrected(self.draft, cost))
        notes = ("loads are the whole time of the stages: no probe told what the prototype costs by itself",)
        return self._fitted(found, (), (), notes, 0)

    def probed(self, probes: int, session: "Session | None", root: Path, monitor: Monitor, clock: Clock) -> Fitted:
        """Probe and correct in turns; the last probe is not followed by a correction, unless it is the only one."""
        found = replace(self.draft, application=uncorrected(self.draft, self._begin()))
        cheaper: tuple[str, ...] = ()
        for number in range(1, probes + 1):
            told = Prefixed(monitor, f"probe {number} of {probes}: ")
            made = [
                least_slowed(partial(self._probe, found, one, session, root, told, clock))
                for one in self._probed_measurements()
            ]
            if number == probes and probes > 1:
                return self._fitted(found, self._errors(made), cheaper, tuple(_slowed(made)), probes)
            # The first probe tells most; of what later ones show, more and more is chance.
            correction = corrected(found, *self._costs(made), share=1 / number)
            found, cheaper = correction.draft, correction.cheaper
        return self._fitted(found, (), cheaper, ("no probe was made with these loads",), probes)

    def _begin(self) -> Cost:
        """Return most of what the query costs: with loads of about the right size, their own error matters less."""
        return Cost({k: FIRST_SHARE * time_us for k, time_us in self.measured.time_us.items()}, None)

    def _probed_measurements(self) -> list[_Measurement]:
        """Return one run of each kind: with arrivals, and with all events at once."""
        offline = [one for one in self.measurements if one.settings.is_offline and one is not self.main]
        return [self.main, *offline[:1]]

    def _probe(
        self, found: Draft, one: _Measurement, session: "Session | None", root: Path, monitor: Monitor, clock: Clock
    ) -> Run:
        from streamgauge.prototype.workload import application_workload

        application = self._readable(found.application)
        workload = application_workload(application, name="prototype")
        settings = probe_settings(one.settings, workload.defaults, one.summary["processed_rate_per_s"])
        made = Experiment(workload, workload.parameters(), settings, root, monitor, clock, session).execute()
        if made.stored().status == "interrupted":
            raise KeyboardInterrupt
        return made

    @staticmethod
    def _readable(application: Application) -> Application:
        """Return the application as its file is read, so that a probe runs what users will run."""
        return read_application(write_application(application), name=application.name)

    def _costs(self, made: Sequence[Run]) -> tuple[Cost, Cost]:
        """Return what the query and its probes cost, by the stages of the query.

        Where Spark makes other stages of the prototype, what all of them take is put down to the first, in both.
        """
        probes = [_measurement(run.stored()) for run in made]
        structure = Structure([probe.sample for probe in probes], None)
        own = [k for k in range(structure.stages) if structure.kind(k) != "table"]
        worked = [k for k, stage in enumerate(self.draft.query.stages) if stage.kind != "table"]
        batch_s = float(np.mean(probes[0].sample.duration_s)) if self.batch_s is not None else None
        telling = _telling(probes)
        costs = cost_of(telling, structure, batch_s)
        if len(own) == len(worked):
            return self.measured, Cost(dict(zip(worked, (costs.time_us[k] for k in own), strict=True)), batch_s)
        wholes = []
        for every, of, cost, shape in (
            (_telling(self._probed_measurements()), worked, self.measured, self.structure),
            (telling, own, costs, structure),
        ):
            rows = [float(np.sum(_tasks(every, shape, k)[0])) for k in of]
            total = math.fsum(cost.time_us[k] * size / rows[0] for k, size in zip(of, rows, strict=True))
            wholes.append(Cost({worked[0]: total}, cost.batch_s))
        return wholes[0], wholes[1]

    def _errors(self, made: Sequence[Run]) -> tuple[Error, ...]:
        found: list[Error] = []
        for one, run in zip(self._probed_measurements(), made, strict=True):
            alike = [other.stored for other in self.measurements if other.repeats(one)]
            found += errors_between(alike, run.stored())
        return tuple(found)

    def _fitted(
        self, found: Draft, errors: tuple[Error, ...], cheaper: tuple[str, ...], notes: tuple[str, ...], probes: int
    ) -> Fitted:
        told = (*self.notes, *found.notes, *notes)
        if self.batch_s is None:
            told = (*told, "only runs without arrivals were given, so what a micro-batch costs besides is not fitted")
        head = tuple(self._head(errors, cheaper, told, probes))
        text = write_application(found.application, head=head, comments=self._comments(found))
        return Fitted(read_application(text, name="fitted"), text, errors, cheaper, told, probes)

    def _head(
        self, errors: Sequence[Error], cheaper: Sequence[str], notes: Sequence[str], probes: int
    ) -> Iterator[str]:
        names = " and ".join(anonymous_id(one.stored.run_id) for one in self.measurements)
        sample = self.main.sample
        yield f"A prototype fitted to a measured query by `streamgauge prototype fit`, from {names}."
        yield (
            f"Measured on {sample.facts.cores} cores: {_load_in_words(self.main)}, micro-batches of "
            f"{format_count(float(np.mean(sample.events)))} events in "
            f"{format_duration(float(np.mean(sample.duration_s)))} on average."
        )
        for error in errors:
            yield f"Last of {probes} probes, {error.metric}: {error}."
        for text in cheaper:
            yield f"The query is cheaper than this prototype can be: {text}."
        for text in notes:
            yield f"Note: {text}."

    def _comments(self, found: Draft) -> dict[str, list[str]]:
        stages, data = self.draft.query.stages, found.application.sources[0].data
        comments = {
            "source": [
                f"Partitions and arrivals of the run; {data.values:,} values are the keys that its state shows, of "
                "about the bytes of a row in its shuffles."
                if self.draft.query.updated
                else "Partitions and arrivals of the run; its tables do not show the values."
            ]
        }
        for task in found.application.tasks:
            stage = stages[found.stage_of[task.name]]
            measured = self.measured.time_us[found.stage_of[task.name]]
            lines = [
                f"{format_count(stage.rows)} rows in a micro-batch, {measured:.3g} µs of a task each; processing_us "
                "is what the prototype lacks of it."
            ]
            if task.window:
                lines.append("Rows are added up by key before they leave the stage; the state is kept behind it.")
            if task.batch_ms:
                lines.append("batch_ms is what a micro-batch of the query takes longer than one of the prototype.")
            comments[task.name] = lines
        return comments


def probe_settings(original: RunSettings, defaults: Mapping[str, Any], rate_per_s: float | None) -> RunSettings:
    """Return the settings of a run for a probe of its prototype: not too long, with the partitions of the prototype.

    Where all events are there at once, they are fewer if the query took long for them at its `rate_per_s`. Source and
    sink are the embedded ones, whatever those of the run are.
    """
    settings = RunSettings(
        rate_per_s=original.rate_per_s,
        duration_s=min(PROBE_S, original.duration_s),
        arrivals=original.arrivals,
        warmup_s=min(WARMUP_S, original.warmup_s),
        drain_s=original.drain_s,
        trigger_s=original.trigger_s,
        master=original.master,
        shuffle_partitions=defaults.get("shuffle_partitions", original.shuffle_partitions),
        source_partitions=defaults["source_partitions"],
        max_rows_per_batch=original.max_rows_per_batch,
        seed=original.seed,
        # It lets Java compile the query before the load begins.
        verify=original.verify,
        conf=original.conf,
    )
    if not original.is_offline:
        return settings
    seconds = original.load_s * original.rate_per_s / rate_per_s if rate_per_s else 0.0
    share = min(1.0, OFFLINE_S / seconds) if seconds else 1.0
    return replace(
        settings,
        load="offline",
        arrivals="constant",
        rate_per_s=share * original.rate_per_s,
        warmup_s=original.warmup_s,
        duration_s=original.duration_s,
    )


def errors_between(query: Sequence[StoredRun], prototype: StoredRun) -> Iterator[Error]:
    """Compare a probe with the runs whose settings it has: throughput, and mean latency where there is one."""
    ours, theirs = prototype.document["summary"], [run.document["summary"] for run in query]
    is_offline = query[0].document["configuration"]["load"] == "offline"
    rates = [summary["processed_rate_per_s"] for summary in (ours, *theirs)]
    if all(rates):
        metric = "offline processed_rate_per_s" if is_offline else "processed_rate_per_s"
        yield Error(metric, float(np.mean(rates[1:])), rates[0])
    latencies = [summary["end_to_end_latency_s"]["mean"] for summary in (ours, *theirs)]
    if all(latencies):
        mean_s = float(np.mean(latencies[1:]))
        series = np.concatenate([latency_series(run) for run in query])
        low, high = _interval(series, latency_series(prototype), mean_s, latencies[0])
        yield Error("end_to_end_latency_s.mean", mean_s, latencies[0], low, high)


def latency_series(stored: StoredRun) -> Floats:
    """Return the mean latency of each micro-batch of the measured time."""
    evidence = evidence_of(stored)
    return np.array([mean_latency_s(evidence, batch) for batch in measured_part(evidence).batches])


def _interval(a: Floats, b: Floats, mean_a: float, mean_b: float) -> tuple[float | None, float | None]:
    """Return the 95 % interval of b / a - 1, of two means over micro-batches that follow each other."""
    if min(len(a), len(b)) < 2 * GROUPS:
        return None, None
    parts = []
    for series, mean in ((a, mean_a), (b, mean_b)):
        found = interval_of_mean([float(part.mean()) for part in np.array_split(series, GROUPS)])
        parts.append((found.high - found.low) / 2 / mean)
    reach = math.hypot(*parts) * mean_b / mean_a
    change = mean_b / mean_a - 1
    return change - reach, change + reach


def anonymous_id(run_id: str) -> str:
    """Return a run id without the name of its workload, by which those who have the run still find it.

    >>> anonymous_id("20261116T044039-my-secret-py-build-effa")
    'run 20261116T044039-…-effa'
    """
    return re.sub(r"^(run )?(\d{8}T\d{6})-.*-(\w+)$", r"run \2-…-\3", run_id)


def _load_in_words(measurement: _Measurement) -> str:
    settings = measurement.settings
    if settings.is_offline:
        return "all events at once"
    trigger = f" every {format_duration(settings.trigger_s)}" if settings.trigger_s else ""
    return f"{format_rate(settings.law.mean_rate_per_s(settings.load_s))}{trigger}"
