"""How far predictions are from what is then measured: every configuration predicts every other.

The protocol is that of Cooper (2020): for every ordered pair of configurations the second is predicted from a run of
the first, and the signed relative error (P - A) / A is noted. Repetitions show how far a run is from its own
repetition, which no prediction can beat for long. Simpler models, and this one without its parts, stand beside it.
Contended runs, in which others took part of the machine, are re-run, and do not count where quiet ones do.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np

from streamgauge.bundle import bundled
from streamgauge.conclude.sample import sample_of
from streamgauge.errors import InvalidExperimentError
from streamgauge.experiments.planned_runs import Measure, run_planned
from streamgauge.experiments.probes import MIN_OFFLINE_S
from streamgauge.experiments.quiet_runs import counted_runs, rerun_contended, slowdown_of
from streamgauge.experiments.resumable import open_resumable
from streamgauge.lookup import is_prototype
from streamgauge.metrics import METRIC
from streamgauge.model import (
    FittedModel,
    Keys,
    RunSample,
    Settings,
    explained_stages,
    fit_model,
    with_keys,
)
from streamgauge.model import predict as predict_settings
from streamgauge.model.baselines import ABLATIONS, BASELINES
from streamgauge.model.prediction import likeliest_latency_s
from streamgauge.model.rows import is_exact_fold
from streamgauge.predicting.evaluation import METRICS, NO_SLOWDOWN, Case, Evaluation, Pair
from streamgauge.predicting.predict import base_settings
from streamgauge.predicting.protocol import EvaluationProtocol, choose_protocol
from streamgauge.prototype.file.document import load_application
from streamgauge.prototype.graph.values import values_of
from streamgauge.running.lifecycle import prepare, run
from streamgauge.running.monitor import Monitor, NoMonitor
from streamgauge.store import SetWriter, open_member, runs_root
from streamgauge.suite import Configuration, PlannedRun, RunResult
from streamgauge.suite.matrix import code_digest, interleave

CATALOGUE = ("ysb", "nexmark-q5", "streambench-wordcount")
QUICK = ("nexmark-q5",)
# An offline run shows the highest rate; the rates of the steps are shares of it.
OFFLINE = {"load": "offline", "rate": 400_000.0, "warmup": 5.0, "duration": 10.0}
LIMIT_REPLICATIONS = 10


@dataclass(frozen=True)
class StepRun:
    """One run of a step, and what it measured."""

    workload: str
    step: str
    run_id: str
    settings: Settings
    sample: RunSample
    values: Mapping[str, float]
    keys: Keys | None = None


def evaluation_workloads(asked: Sequence[str], *, quick: bool) -> tuple[str, ...]:
    """Return what to evaluate: as asked, or the usual ones."""
    if asked:
        return tuple(asked)
    if quick:
        return QUICK
    return (*(f"prototype:{name}" for name in bundled("prototype", "topologies")), *CATALOGUE)


def evaluate(
    workloads: Sequence[str] = (),
    *,
    quick: bool = False,
    repeat: int | None = None,
    resume: str | None = None,
    runs: str | Path | None = None,
    monitor: Monitor | None = None,
) -> Evaluation:
    """Measure all steps of some workloads, and predict each from every other."""
    root = runs_root(runs)
    chosen = evaluation_workloads(workloads, quick=quick)
    protocol = choose_protocol(quick=quick, repeat=repeat)
    return follow(protocol, chosen, root=root, resume=resume, monitor=monitor or NoMonitor())


def follow(
    protocol: EvaluationProtocol,
    workloads: Sequence[str],
    *,
    root: Path,
    resume: str | None = None,
    monitor: Monitor,
    measure: Measure = run,
) -> Evaluation:
    """Follow a protocol; what the set holds already is not re-run."""
    for workload in workloads:
        # Refuse what cannot run before anything is started.
        prepare(workload, {})
    writer = _open_set(root, workloads, protocol, resume)
    run_all = partial(run_planned, writer=writer, root=root, monitor=monitor, run=measure)
    planned = [_offline(workload) for workload in workloads]
    planned = list(_long_enough(planned, run_all(planned), root))
    planned += interleave(_configurations(_maxima(run_all(planned), root), protocol))
    results = rerun_contended(planned, run_all, root)
    found = conclude(writer.set_id, workloads, planned, results, root)
    writer.update(status="finished", result=found.document())
    return found


def _open_set(root: Path, workloads: Sequence[str], protocol: EvaluationProtocol, resume: str | None) -> SetWriter:
    asked = {
        "workloads": list(workloads),
        "steps": [step.name for step in protocol.steps],
        "repetitions": protocol.repetitions,
    }
    title = workloads[0] if len(workloads) == 1 else f"{len(workloads)} workloads"
    return open_resumable(root, resume, kind="evaluate", title=title, document=asked, same=list(asked))


def _offline(workload: str, name: str = "offline", **changes: float) -> PlannedRun:
    settings = OFFLINE | changes
    code = code_digest(workload, Path())
    return PlannedRun(Configuration(f"{workload}[{name}]", workload, settings, {}, code_sha256=code), 1)


def _long_enough(planned: Sequence[PlannedRun], results: Sequence[RunResult], root: Path) -> Iterator[PlannedRun]:
    """Yield offline runs, with more events for queries that were through before Java had compiled them."""
    for one, result in zip(planned, results, strict=True):
        rate_per_s = _offline_rate(result, root)
        measured = open_member(root, str(result.run_id)).summary["steady_state"]
        if measured["until_s"] - measured["from_s"] >= MIN_OFFLINE_S:
            yield one
        else:
            yield _offline(result.workload, "offline, more events", rate=float(f"{rate_per_s:.2g}"))


def _maxima(results: Sequence[RunResult], root: Path) -> dict[str, float]:
    """Return the offline maximum of every workload."""
    return {result.workload: _offline_rate(result, root) for result in results}


def _offline_rate(result: RunResult, root: Path) -> float:
    rate_per_s = open_member(root, result.run_id).summary.get("processed_rate_per_s") if result.run_id else None
    if not rate_per_s:
        what = f"{result.workload} has no offline maximum: {'; '.join(result.reasons) or 'the run failed'}"
        raise InvalidExperimentError(what, remedy=f"see `streamgauge run {result.workload} --load offline`")
    return float(rate_per_s)


def _configurations(maxima: Mapping[str, float], protocol: EvaluationProtocol) -> Iterator[Configuration]:
    for workload, most_per_s in maxima.items():
        for step in protocol.of(workload).steps:
            settings = {
                "rate": float(f"{step.share * most_per_s:.2g}"), "duration": protocol.duration_s,
                "warmup": protocol.warmup_of(step), "explore": True, **step.changes,
            }  # fmt: skip
            name, code = f"{workload}[{step.name}]", code_digest(workload, Path())
            skew = {} if step.zipf is None else {"zipf": step.zipf}
            yield Configuration(name, workload, settings, skew, (), protocol.times(step), code)


def conclude(
    set_id: str, workloads: Sequence[str], planned: Sequence[PlannedRun], results: Sequence[RunResult], root: Path
) -> Evaluation:
    """Predict everything from everything, and add it up."""
    made = list(zip(planned, results, strict=True))
    counted = list(counted_runs(made, root))
    contended = len(made) - len(counted)
    notes = [f"{contended} contended runs were re-run: others took part of the machine"] if contended else []
    measured, offline = [], []
    for one, result in counted:
        if one.configuration.settings.get("load") == "offline":
            offline.append(result)
            continue
        try:
            measured.append(_measured(one, result, root))
        except InvalidExperimentError as error:
            notes.append(f"{one.name} is left out: {error.what}")
    maxima = _maxima(offline, root)
    slowdowns = {result.workload: slowdown_of(result, root) for result in offline}
    pairs: list[Pair] = []
    limits: list[tuple[str, float, float]] = []
    for source in measured:
        own = [other for other in measured if other.workload == source.workload]
        model = fit_model([source.sample])
        pairs += _pairs(source, model, own)
        settings = _at_limit(source, slowdowns[source.workload])
        limit = predict_settings(model, settings, replications=LIMIT_REPLICATIONS)
        limits.append((source.run_id, limit.sustainable_rate_per_s.value, maxima[source.workload]))
    noise = {metric: _noise(measured, metric) for metric in METRICS}
    return Evaluation(set_id, tuple(workloads), tuple(pairs), tuple(limits), noise, tuple(notes))


def _measured(planned: PlannedRun, result: RunResult, root: Path) -> StepRun:
    if result.run_id is None:
        raise InvalidExperimentError("; ".join(result.reasons) or "the run failed")
    stored = open_member(root, result.run_id)
    paths = ("end_to_end_latency_s.mean", "end_to_end_latency_s.p95", "batch_duration_s.mean")
    mean_s, p95_s, duration_s = (METRIC[path].value(stored.summary) for path in paths)
    if not mean_s or not p95_s or not duration_s:
        raise InvalidExperimentError("the run has no latency")
    sample = sample_of(stored)
    values = {"latency_mean_s": mean_s, "latency_p95_s": p95_s, "batch_duration_s": duration_s}
    name = planned.configuration.name
    step = name.removeprefix(planned.configuration.workload).strip("[]")
    settings = Settings(**base_settings(stored, sample))
    workload, zipf = planned.configuration.workload, planned.configuration.parameters.get("zipf")
    return StepRun(workload, step, result.run_id, settings, sample, values, _keys(workload, zipf))


def _keys(workload: str, zipf: float | None) -> Keys | None:
    """Return the keys of a prototype, which are in its file; those of other workloads are not known."""
    if not is_prototype(workload):
        return None
    values = values_of(load_application(workload), zipf)
    return Keys((np.array(list(values)),), np.array(list(values.values())))


def _at_limit(source: StepRun, slowdown: float) -> Settings:
    """Return the settings of the offline run: all cores, one partition for each, no interval."""
    processors, rate_per_s = source.sample.facts.processors, source.settings.rate_per_s
    return Settings(rate_per_s=rate_per_s, cores=processors, duration_s=10.0, warmup_s=1.0, slowdown=slowdown)


def _pairs(source: StepRun, model: FittedModel, others: Sequence[StepRun]) -> Iterator[Pair]:
    stages = explained_stages(model, source.keys) if source.keys else ()
    for step in dict.fromkeys(other.step for other in others):
        targets = [other for other in others if other.step == step]
        if step == source.step:
            # From itself: what is left is what the form of the model gets wrong.
            targets = [source]
        keys = targets[0].keys
        yield _pair(source, with_keys(model, stages, keys) if keys else model, targets)


def _pair(source: StepRun, model: FittedModel, targets: Sequence[StepRun]) -> Pair:
    first = targets[0]
    slowdown = float(np.mean([target.settings.slowdown for target in targets]))
    settings = replace(first.settings, slowdown=slowdown)
    found = predict_settings(model, settings)
    measured = {metric: float(np.mean([t.values[metric] for t in targets])) for metric in METRICS}
    mean_s = measured["latency_mean_s"]
    simpler = {name: guess(source.sample, settings) for name, guess in BASELINES.items()}
    simpler = {"constant": source.values["latency_mean_s"]} | simpler
    without = {name: likeliest_latency_s(change(model), settings) for name, change in ABLATIONS.items()}
    # As if the processor were always as slow as in the run that it is predicted from.
    without[NO_SLOWDOWN] = likeliest_latency_s(model, replace(settings, slowdown=source.settings.slowdown))
    interval = found.latency_mean_s
    return Pair(
        workload=source.workload,
        source=source.step,
        target=first.step,
        run_id=source.run_id,
        case="itself" if first.step == source.step else _case(source, first),
        measured=measured,
        predicted={metric: getattr(found, metric).value for metric in METRICS},
        baselines={name: value / mean_s - 1 for name, value in simpler.items()},
        ablations={name: value / mean_s - 1 for name, value in without.items()},
        covered=tuple(interval.low <= t.values["latency_mean_s"] <= interval.high for t in targets),
        rows=rows_error(model, source.sample, targets),
    )


def _case(source: StepRun, target: StepRun) -> Case:
    same_keys = source.keys is None or target.keys is None or np.array_equal(source.keys.weights, target.keys.weights)
    return case_of(source.settings, target.settings) if same_keys else "other"


def case_of(source: Settings, target: Settings) -> Case:
    """Say what a prediction has to bridge.

    >>> two, one = Settings(rate_per_s=1e5, cores=2), Settings(rate_per_s=1e5, cores=1)
    >>> faster = Settings(rate_per_s=3e5, cores=2)
    >>> case_of(two, one), case_of(two, faster), case_of(one, faster)
    ('adjacent', 'rate or trigger', 'other')
    """
    ratios = [a / b for a, b in _parallelism(source, target) if a != b]
    if not ratios:
        return "rate or trigger"
    same_load = (source.rate_per_s, source.trigger_s) == (target.rate_per_s, target.trigger_s)
    return "adjacent" if same_load and all(ratio in (0.5, 2.0) for ratio in ratios) else "other"


def _parallelism(source: Settings, target: Settings) -> list[tuple[int, int]]:
    return [(source.cores, target.cores), (source.tasks("shuffle"), target.tasks("shuffle"))]


def rows_error(model: FittedModel, source: RunSample, targets: Sequence[StepRun]) -> float | None:
    """Return the median absolute error of rows per partition of all stages behind an exchange of a known spread.

    None if there is no such stage: its keys are not known, and partitions do not fold.
    """
    errors: list[float] = []
    for k, stage in enumerate(model.query.stages):
        if not stage.reads or not stage.shares:
            continue
        read = np.sum([t.sample.stages[k].read_rows.sum(axis=0) for t in targets if k < len(t.sample.stages)], axis=0)
        tasks = source.stages[k].tasks
        is_known = stage.keys is not None or is_exact_fold(tasks, np.size(read))
        if np.ndim(read) == 0 or not is_known or not np.all(read >= 100):
            continue
        measured = read / read.sum()
        errors += np.abs(stage.shares_for(len(read)) / measured - 1).tolist()
    return float(np.median(errors)) if errors else None


def _noise(measured: Sequence[StepRun], metric: str) -> float | None:
    """Return the median of how far a run is from the mean of its repetitions, as a prediction by itself would be."""
    groups: dict[tuple[str, str], list[float]] = {}
    for one in measured:
        groups.setdefault((one.workload, one.step), []).append(one.values[metric])
    errors = []
    for values in groups.values():
        for k, value in enumerate(values):
            others = [*values[:k], *values[k + 1 :]]
            errors += [abs(value / float(np.mean(others)) - 1)] if others else []
    return float(np.median(errors)) if errors else None
