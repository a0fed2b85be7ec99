"""What a prototype is fitted to: runs of one query, their stages, and what rows cost in each of them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from streamgauge.arrivals.law import Floats
from streamgauge.conclude.evidence import Evidence
from streamgauge.conclude.sample import sample_of
from streamgauge.conclude.stored_run import evidence_of, refuse_other_queries
from streamgauge.conclude.window import measured_part
from streamgauge.errors import InvalidExperimentError, UsageError
from streamgauge.measure.trend import theil_sen
from streamgauge.model.sample import RunSample
from streamgauge.model.structure import Structure
from streamgauge.prototype.fit import Cost, MeasuredQuery, MeasuredStage, StageKind, flow_of
from streamgauge.prototype.graph.application import Flow
from streamgauge.settings.run_settings import RunSettings
from streamgauge.store import StoredRun, list_runs, open_run, resolve_groups
from streamgauge.store.references import names_of
from streamgauge.summary import Summary
from streamgauge.workloads import catalogue

# Rows of tasks that differ by less than this factor show no slope.
VARIED = 1.2
# An offline run may have few micro-batches, which are long.
MIN_BATCHES = 3
AGGREGATIONS = ("stateStoreSave", "sessionWindowStateStoreSave")


@dataclass(frozen=True)
class Measurement:
    """A run as it is fitted to."""

    stored: StoredRun
    sample: RunSample
    evidence: Evidence

    @property
    def settings(self) -> RunSettings:
        """The settings of the run."""
        return self.evidence.settings

    @property
    def summary(self) -> Summary:
        """Its stored summary."""
        return self.stored.summary

    @property
    def inside(self) -> npt.NDArray[np.bool_]:
        """Which micro-batches of the sample belong to the measured time: of an offline load, all but the warm-up."""
        every = np.ones(self.sample.batches, dtype=np.bool_)
        if not self.settings.is_offline:
            return every
        found = np.isin(self.sample.numbers, [batch.batch_id for batch in measured_part(self.evidence).batches])
        return found if found.any() else every

    def repeats(self, other: "Measurement") -> bool:
        """Return whether this is a repetition of another run; what comes after the load does not matter."""
        return replace(self.settings, explore=False) == replace(other.settings, explore=False)


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
    refuse_other_queries(found)
    return found


def _parameters(stored: StoredRun) -> Any:
    return stored.configuration.get("parameters")


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
    if workload is not None and workload.sink.each_batch is not None:
        raise InvalidExperimentError(
            f"{workload.name} is iterative: its micro-batches depend on each other, and tasks of prototypes do not",
            where=where,
            remedy="choose a run of a query that is a dataflow",
        )


def measurement_of(stored: StoredRun) -> Measurement:
    """Read what a fit needs of a run."""
    evidence = evidence_of(stored)
    sample = sample_of(stored, least=MIN_BATCHES, with_warmup=evidence.is_offline)
    return Measurement(stored, sample, evidence)


def common_structure(measurements: Sequence[Measurement]) -> Structure:
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


def measured_query(measurement: Measurement, structure: Structure) -> tuple[MeasuredQuery, tuple[str, ...]]:
    """Return the query as one of its runs shows it, and what of its arrivals a prototype cannot have."""
    sample, settings = measurement.sample, measurement.settings
    operators = _state_operators(measurement.stored)
    aggregations = [one for one in operators if one["operatorName"] in AGGREGATIONS]
    stages = [_stage(structure, sample, k) for k in range(structure.stages)]
    notes = []
    others = {str(one["operatorName"]) for one in operators} - set(AGGREGATIONS)
    if others:
        notes.append("the prototype keeps no state but that of aggregations; the cost of other state is CPU work")
    for k in _aggregated(stages, len(aggregations)):
        stages[k] = replace(stages[k], is_aggregated=True)
    if (settings.source, settings.sink) != ("embedded", "noop"):
        notes.append("source and sink of the prototype are the embedded ones; what those of the run cost is CPU work")
    flow = Flow("uniform", 0.0) if settings.is_offline else flow_of(settings.law)
    if flow is None:
        flow = Flow("uniform", settings.law.mean_rate_per_s(settings.load_s))
        notes.append("a prototype has no flow with this arrival law, so it has its mean rate; add --arrivals")
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
    reports = [_operators(report.get("stateOperators")) for report in stored.progress()]
    count = max((len(report) for report in reports), default=0)
    whole = [report for report in reports if len(report) == count and any(rows for _, rows in report)]
    if not whole:
        return []
    return [
        {
            "operatorName": whole[-1][k][0],
            "numRowsUpdated": float(np.median([report[k][1] for report in whole])),
        }
        for k in range(count)
    ]


def _operators(reported: Any) -> list[tuple[str, float]]:
    """Return name and changed rows of the operators in a report; those of others may lack either."""
    operators = [one for one in reported if isinstance(one, Mapping)] if isinstance(reported, list) else []
    rows = [one.get("numRowsUpdated") for one in operators]
    return [
        (str(one.get("operatorName")), float(count) if isinstance(count, int) and abs(count) < 2**53 else 0.0)
        for one, count in zip(operators, rows, strict=True)
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
    """Return length and slide of the windows, in whole seconds; those of the workload, or as tables show."""
    workload = catalogue().get(str(stored.document["workload"]))
    window = None
    if workload is not None and workload.window is not None:
        window = workload.window(workload.parameters(**(_parameters(stored) or {})))
    length_s, slide_s = (window.length_s, window.slide_s) if window else (structure.slide_s, structure.slide_s)
    if not length_s or not slide_s:
        return None
    return max(1, round(length_s)), max(1, round(slide_s))


def cost_of(measurements: Sequence[Measurement], structure: Structure, batch_s: float | None) -> Cost:
    """Return the time per row that tasks of every stage take, over some runs.

    With all events at once, micro-batches are as large as they can be: what every task costs hardly counts there, and
    the slope over the few sizes that there are is that of Java's compiler.
    """
    is_offline = all(one.settings.is_offline for one in measurements)
    time_us = _whole_us_per_row if is_offline else time_us_per_row
    return Cost({k: time_us(*task_times(measurements, structure, k)) for k in range(structure.stages)}, batch_s)


def offline_or_all(measurements: Sequence[Measurement]) -> list[Measurement]:
    """Return the measurements that show what rows cost: those of all events at once, if there are any.

    A query that waits for arrivals is compiled later and shares its cores less, so a row of it costs something else.
    What that amounts to in a micro-batch is time besides.
    """
    offline = [one for one in measurements if one.settings.is_offline]
    return offline or list(measurements)


def task_times(measurements: Sequence[Measurement], structure: Structure, k: int) -> tuple[Floats, Floats]:
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
