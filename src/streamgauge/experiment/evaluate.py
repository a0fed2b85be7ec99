"""How far predictions are from what is then measured: every configuration predicts every other.

The protocol is that of Cooper (2020): for every ordered pair of configurations the second is predicted from a run of
the first, and the signed relative error (P - A) / A is noted. Repetitions tell how far a run is from its own
repetition, which no prediction can beat for long. Simpler models, and this one without its parts, stand beside it.
Runs in which something else slowed the processor are made again, and do not count where others of them do.
"""

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np

from streamgauge.clock import SystemClock
from streamgauge.errors import InvalidExperimentError, UsageError
from streamgauge.experiment.monitor import Monitor, NoMonitor
from streamgauge.experiment.parts import MIN_OFFLINE_S
from streamgauge.experiment.predict import base_settings
from streamgauge.experiment.run import prepare, run
from streamgauge.experiment.suite import Measure, run_planned
from streamgauge.experiment.undisturbed import AGAIN, counted_runs, runs_again, slowdown_of
from streamgauge.model import (
    FittedModel,
    Keys,
    RunSample,
    Settings,
    explained_stages,
    fit_model,
    sample_of,
    with_keys,
)
from streamgauge.model import predict as predict_settings
from streamgauge.model.baselines import ABLATIONS, BASELINES
from streamgauge.model.prediction import likeliest_latency_s
from streamgauge.model.rows import is_exact_fold
from streamgauge.model.sample import WARM_BATCHES
from streamgauge.prototype.document import load_application
from streamgauge.prototype.values import values_of
from streamgauge.store import SetWriter, default_root, open_run, open_set
from streamgauge.suite import Configuration, PlannedRun, RunResult
from streamgauge.suite.matrix import code_digest, interleave
from streamgauge.verdict import Verdict
from streamgauge.workloads import is_prototype

TOPOLOGIES = Path("examples/topologies")
CATALOGUE = ("ysb", "nexmark-q5", "streambench-wordcount")
QUICK = ("nexmark-q5",)
# An offline run tells the highest rate; the rates of the steps are shares of it.
OFFLINE = {"load": "offline", "rate": 400_000.0, "warmup": 5.0, "duration": 10.0}
# With a trigger, as many micro-batches as Java needs take longer than the warm-up of the protocol; this is the longest.
MAX_WARMUP_S = 120.0
# Starting Spark, verifying the answer, which also lets Java compile the query, and ending a run.
OVERHEAD_S = 30.0
# Processing the events of the offline run, and one prediction.
OFFLINE_S, PREDICT_S = 10.0, 0.25
LIMIT_REPLICATIONS = 10

METRICS = ("latency_mean_s", "latency_p95_s", "batch_duration_s")
Case = Literal["itself", "rate or trigger", "adjacent", "other"]


@dataclass(frozen=True)
class Step:
    """One configuration: its name, its rate as a share of the offline maximum, and what else it changes.

    `zipf` is another law of the keys: the exponent of Zipf's, or 0 for all alike. One that is measured `once` has no
    repetitions.
    """

    name: str
    share: float
    changes: Mapping[str, Any] = field(default_factory=dict)
    once: bool = False
    zipf: float | None = None


@dataclass(frozen=True)
class Protocol:
    """The steps, how long each is measured, and how often."""

    steps: tuple[Step, ...]
    duration_s: float
    warmup_s: float
    repetitions: int

    def times(self, step: Step) -> int:
        """Return how often a step is measured."""
        return 1 if step.once else self.repetitions

    def warmup_of(self, step: Step) -> float:
        """Return how long the load of a step runs before it is measured."""
        return max(self.warmup_s, min(MAX_WARMUP_S, WARM_BATCHES * float(step.changes.get("trigger", 0.0))))

    def of(self, workload: str) -> Self:
        """Return the protocol with the steps that change anything in a workload."""
        return replace(self, steps=tuple(step for step in self.steps if _has_effect(workload, step)))

    @property
    def runs(self) -> int:
        """How many runs a workload takes, the offline one included."""
        return 1 + sum(self.times(step) for step in self.steps)

    @property
    def takes_s(self) -> float:
        """About how long a workload takes."""
        of_runs = sum(self.times(s) * (OVERHEAD_S + self.warmup_of(s) + self.duration_s) for s in self.steps)
        predictions = (self.runs - 1) * len(self.steps) * (1 + len(ABLATIONS))
        return of_runs + OVERHEAD_S + OFFLINE_S + predictions * PREDICT_S


def quick_protocol(repetitions: int = 2) -> Protocol:
    """Return six configurations, each one setting away from the first."""
    steps = (
        Step("25%", 0.25),
        Step("50%", 0.5, once=True),
        Step("25%, trigger 1 s", 0.25, {"trigger": 1.0}, once=True),
        Step("25%, 1 core", 0.25, {"cores": 1}, once=True),
        Step("25%, 8 partitions", 0.25, {"shuffle_partitions": 8}, once=True),
        Step("25%, keys alike", 0.25, once=True, zipf=0.0),
    )
    return Protocol(steps, 30.0, 35.0, repetitions)


def full_protocol(repetitions: int = 3) -> Protocol:
    """Return the steps over rate, trigger, cores, partitions and skew."""
    steps = [Step(f"{share:.0%}", share) for share in (0.1, 0.3, 0.5, 0.7, 0.9)]
    steps += [Step(f"30%, trigger {t:g} s", 0.3, {"trigger": t}) for t in (0.5, 1.0, 2.0, 5.0)]
    steps += [Step(f"30%, {p} partitions", 0.3, {"shuffle_partitions": p}) for p in (1, 4, 8, 16)]
    steps += [Step("10%, 1 core", 0.1, {"cores": 1}), Step("30%, 1 core", 0.3, {"cores": 1})]
    steps += [Step("30%, keys alike", 0.3, zipf=0.0), Step("30%, Zipf 1", 0.3, zipf=1.0)]
    return Protocol(tuple(steps), 60.0, 40.0, repetitions)


@dataclass(frozen=True)
class Measured:
    """One run of a step, and what it measured."""

    workload: str
    step: str
    run_id: str
    settings: Settings
    sample: RunSample
    values: Mapping[str, float]
    keys: Keys | None = None


@dataclass(frozen=True)
class Pair:
    """A step predicted from a run of another: signed relative errors, by metric, by simpler model, by ablation.

    `covered` are the runs of the target whose mean latency the interval holds, `rows` the median absolute error of
    rows per partition, None where the partitions do not fold.
    """

    workload: str
    source: str
    target: str
    run_id: str
    case: Case
    measured: Mapping[str, float]
    predicted: Mapping[str, float]
    baselines: Mapping[str, float]
    ablations: Mapping[str, float]
    covered: tuple[bool, ...]
    rows: float | None = None

    def error(self, metric: str) -> float:
        """Return the signed relative error of a metric."""
        return self.predicted[metric] / self.measured[metric] - 1

    def document(self) -> dict[str, Any]:
        """Return the pair as JSON."""
        return {
            "workload": self.workload, "source": self.source, "target": self.target, "run_id": self.run_id,
            "case": self.case, "measured": dict(self.measured),
            "predicted": {name: _finite(value) for name, value in self.predicted.items()},
            "errors": {name: _finite(self.error(name)) for name in METRICS},
            "baselines": {name: _finite(value) for name, value in self.baselines.items()},
            "ablations": {name: _finite(value) for name, value in self.ablations.items()},
            "covered": list(self.covered), "rows_per_partition": self.rows,
        }  # fmt: skip


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


@dataclass(frozen=True)
class Line:
    """One line of the table of errors: absolute ones unless it says otherwise; `limit` is what was aimed at."""

    name: str
    pairs: int
    median: float | None
    p90: float | None = None
    most: float | None = None
    limit: float | None = None
    p90_limit: float | None = None
    text: str = ""

    @property
    def verdict(self) -> Verdict | None:
        """Whether the aim is met; None where there is none."""
        if self.limit is None:
            return None
        if self.median is None:
            return Verdict.UNKNOWN
        is_met = self.median <= self.limit and (self.p90_limit is None or (self.p90 or 0.0) <= self.p90_limit)
        return Verdict.PASS if is_met else Verdict.FAIL

    def document(self) -> dict[str, Any]:
        """Return the line as JSON."""
        verdict = None if self.verdict is None else self.verdict.value
        return {**{k: _finite(v) if isinstance(v, float) else v for k, v in vars(self).items()}, "verdict": verdict}


@dataclass(frozen=True)
class Evaluation:
    """All pairs, and what they add up to."""

    set_id: str
    workloads: tuple[str, ...]
    pairs: tuple[Pair, ...]
    limits: tuple[tuple[str, float, float], ...]
    noise: Mapping[str, float | None]
    notes: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[Line, ...]:
        """The table of errors."""
        return tuple(_lines(self.pairs, self.limits, self.noise.get("latency_mean_s")))

    @property
    def baselines(self) -> tuple[Line, ...]:
        """Mean latency over all pairs, by this model and by simpler ones."""
        return tuple(_compared(self.others, "baselines", BASELINE_NAMES))

    @property
    def ablations(self) -> tuple[Line, ...]:
        """Mean latency over all pairs, by this model and without its parts."""
        return tuple(_compared(self.others, "ablations", (*ABLATIONS, UNTOLD)))

    @property
    def others(self) -> tuple[Pair, ...]:
        """The pairs of different steps."""
        return tuple(pair for pair in self.pairs if pair.case != "itself")

    @property
    def verdict(self) -> Verdict:
        """Whether all aims are met."""
        return Verdict.combine(line.verdict for line in self.lines if line.verdict is not None)

    def document(self) -> dict[str, Any]:
        """Return the answer; the keys are those of `model evaluate --json`."""
        missed = [line.name for line in self.lines if line.verdict is Verdict.FAIL]
        return {
            "set_id": self.set_id,
            "workloads": list(self.workloads),
            "verdict": self.verdict.value,
            "reasons": [f"missed: {', '.join(missed)}"] if missed else [],
            "warnings": list(self.notes),
            "noise": dict(self.noise),
            "errors": [line.document() for line in self.lines],
            "baselines": [line.document() for line in self.baselines],
            "ablations": [line.document() for line in self.ablations],
            "pairs": [pair.document() for pair in self.pairs],
            "limits": [{"run_id": r, "predicted": p, "measured": m} for r, p, m in self.limits],
        }


BASELINE_NAMES = ("constant", *BASELINES)
UNTOLD = "without slowdown"


def evaluation_workloads(asked: Sequence[str], *, quick: bool) -> tuple[str, ...]:
    """Return what to evaluate: as asked, or the usual ones."""
    if asked:
        return tuple(asked)
    if quick:
        return QUICK
    return (*map(str, sorted(TOPOLOGIES.glob("*.yaml"))), *CATALOGUE)


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
    root = Path(runs) if runs is not None else default_root(os.environ)
    chosen = evaluation_workloads(workloads, quick=quick)
    protocol = choose_protocol(quick=quick, repeat=repeat)
    return follow(protocol, chosen, root=root, resume=resume, monitor=monitor or NoMonitor())


def follow(
    protocol: Protocol,
    workloads: Sequence[str],
    *,
    root: Path,
    resume: str | None = None,
    monitor: Monitor,
    measure: Measure = run,
) -> Evaluation:
    """Follow a protocol; what the set holds already is not run again."""
    for workload in workloads:
        # Refuse what cannot run before anything is started.
        prepare(workload, None, None, {})
    writer = _writer(root, workloads, protocol, resume)

    def results() -> list[RunResult]:
        return run_planned(planned, writer, root=root, monitor=monitor, run=measure)

    planned = [_offline(workload) for workload in workloads]
    planned = list(_long_enough(planned, results(), root))
    maxima = _maxima(results(), root)
    planned += list(interleave(_configurations(maxima, protocol)))
    for _ in range(AGAIN):
        planned += list(runs_again(list(zip(planned, results(), strict=True)), root))
    found = conclude(writer.set_id, workloads, planned, results(), root)
    writer.update(status="finished", result=found.document())
    return found


def choose_protocol(*, quick: bool, repeat: int | None) -> Protocol:
    """Return the short or the long protocol."""
    if repeat is not None and not 1 <= repeat <= 20:
        raise UsageError(f"{repeat} repetitions cannot be made", where="--repeat", remedy="use 1 to 20")
    make = quick_protocol if quick else full_protocol
    return make() if repeat is None else make(repeat)


def _writer(root: Path, workloads: Sequence[str], protocol: Protocol, resume: str | None) -> SetWriter:
    asked = {
        "workloads": list(workloads),
        "steps": [step.name for step in protocol.steps],
        "repetitions": protocol.repetitions,
    }
    if resume is None:
        title = workloads[0] if len(workloads) == 1 else f"{len(workloads)} workloads"
        return SetWriter.create(root, kind="evaluate", title=title, document=asked, clock=SystemClock())
    stored = open_set(root, resume)
    if stored.kind != "evaluate" or any(stored.document.get(name) != value for name, value in asked.items()):
        what = f"{stored.set_id} was made with other settings"
        raise UsageError(what, where="--resume", remedy="repeat the options of the evaluation that is to go on")
    return SetWriter.resume(stored)


def _offline(workload: str, name: str = "offline", **changes: float) -> PlannedRun:
    settings = OFFLINE | changes
    code = code_digest(workload, Path())
    return PlannedRun(Configuration(f"{workload}[{name}]", workload, settings, {}, code_sha256=code), 1)


def _long_enough(planned: Sequence[PlannedRun], results: Sequence[RunResult], root: Path) -> Iterator[PlannedRun]:
    """Yield offline runs, with more events for queries that were through before Java had compiled them."""
    for one, result in zip(planned, results, strict=True):
        rate_per_s = _offline_rate(result, root)
        measured = open_run(root, str(result.run_id)).document["summary"]["steady_state"]
        if measured["until_s"] - measured["from_s"] >= MIN_OFFLINE_S:
            yield one
        else:
            yield _offline(result.workload, "offline, more events", rate=float(f"{rate_per_s:.2g}"))


def _maxima(results: Sequence[RunResult], root: Path) -> dict[str, float]:
    """Return the offline maximum of every workload."""
    return {result.workload: _offline_rate(result, root) for result in results}


def _offline_rate(result: RunResult, root: Path) -> float:
    summary = open_run(root, result.run_id).document.get("summary") or {} if result.run_id else {}
    rate_per_s = summary.get("processed_rate_per_s")
    if not rate_per_s:
        what = f"{result.workload} has no offline maximum: {'; '.join(result.reasons) or 'the run broke'}"
        raise InvalidExperimentError(what, remedy=f"see `streamgauge run {result.workload} --load offline`")
    return float(rate_per_s)


def _configurations(maxima: Mapping[str, float], protocol: Protocol) -> Iterator[Configuration]:
    for workload, most_per_s in maxima.items():
        for step in protocol.of(workload).steps:
            settings = {
                "rate": float(f"{step.share * most_per_s:.2g}"), "duration": protocol.duration_s,
                "warmup": protocol.warmup_of(step), "explore": True, **step.changes,
            }  # fmt: skip
            name, code = f"{workload}[{step.name}]", code_digest(workload, Path())
            skew = {} if step.zipf is None else {"zipf": step.zipf}
            yield Configuration(name, workload, settings, skew, (), protocol.times(step), code)


def _has_effect(workload: str, step: Step) -> bool:
    """Tell whether a step changes anything.

    The partitions of a prototype are those of its file. Only prototypes have other keys: those of the catalogue have
    either one law, or so many keys that every task gets as many rows as the others.
    """
    return "shuffle_partitions" not in step.changes if is_prototype(workload) else step.zipf is None


def conclude(
    set_id: str, workloads: Sequence[str], planned: Sequence[PlannedRun], results: Sequence[RunResult], root: Path
) -> Evaluation:
    """Predict everything from everything, and add it up."""
    made = list(zip(planned, results, strict=True))
    counted = list(counted_runs(made, root))
    slowed = len(made) - len(counted)
    notes = [f"{slowed} runs in which something else slowed the processor were made again"] if slowed else []
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


def _measured(planned: PlannedRun, result: RunResult, root: Path) -> Measured:
    if result.run_id is None:
        raise InvalidExperimentError("; ".join(result.reasons) or "it broke")
    stored = open_run(root, result.run_id)
    summary = stored.document.get("summary") or {}
    latency, duration = summary.get("end_to_end_latency_s") or {}, summary.get("batch_duration_s") or {}
    if not latency.get("mean") or not duration.get("mean"):
        raise InvalidExperimentError("the run has no latency")
    sample = sample_of(stored)
    values = {
        "latency_mean_s": float(latency["mean"]), "latency_p95_s": float(latency["p95"]),
        "batch_duration_s": float(duration["mean"]),
    }  # fmt: skip
    name = planned.configuration.name
    step = name.removeprefix(planned.configuration.workload).strip("[]")
    settings = Settings(**base_settings(stored, sample))
    workload, zipf = planned.configuration.workload, planned.configuration.parameters.get("zipf")
    return Measured(workload, step, result.run_id, settings, sample, values, _keys(workload, zipf))


def _keys(workload: str, zipf: float | None) -> Keys | None:
    """Return the keys of a prototype, which its file tells; those of other workloads are not known."""
    if not is_prototype(workload):
        return None
    values = values_of(load_application(Path(workload)), zipf)
    return Keys((np.array(list(values)),), np.array(list(values.values())))


def _at_limit(source: Measured, slowdown: float) -> Settings:
    """Return the settings of the offline run: all cores, one partition for each, no interval."""
    processors, rate_per_s = source.sample.facts.processors, source.settings.rate_per_s
    return Settings(rate_per_s=rate_per_s, cores=processors, duration_s=10.0, warmup_s=1.0, slowdown=slowdown)


def _pairs(source: Measured, model: FittedModel, others: Sequence[Measured]) -> Iterator[Pair]:
    stages = explained_stages(model, source.keys) if source.keys else ()
    for step in dict.fromkeys(other.step for other in others):
        targets = [other for other in others if other.step == step]
        if step == source.step:
            # From itself: what is left is what the form of the model gets wrong.
            targets = [source]
        keys = targets[0].keys
        yield _pair(source, with_keys(model, stages, keys) if keys else model, targets)


def _pair(source: Measured, model: FittedModel, targets: Sequence[Measured]) -> Pair:
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
    without[UNTOLD] = likeliest_latency_s(model, replace(settings, slowdown=source.settings.slowdown))
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


def _case(source: Measured, target: Measured) -> Case:
    same_keys = source.keys is None or target.keys is None or np.array_equal(source.keys.weights, target.keys.weights)
    return case_of(source.settings, target.settings) if same_keys else "other"


def case_of(source: Settings, target: Settings) -> Case:
    """Tell what a prediction has to bridge.

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


def rows_error(model: FittedModel, source: RunSample, targets: Sequence[Measured]) -> float | None:
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


def _noise(measured: Sequence[Measured], metric: str) -> float | None:
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


def _line(name: str, errors: Iterable[float], **more: Any) -> Line:
    size = np.abs([error for error in errors if not np.isnan(error)])
    if not len(size):
        return Line(name, 0, None, **more)
    # Errors without end, as of a queue that overflows, count as the largest.
    p90 = float(np.quantile(size, 0.9, method="higher"))
    return Line(name, len(size), float(np.median(size)), p90, float(size.max()), **more)


def _lines(pairs: Sequence[Pair], limits: Sequence[tuple[str, float, float]], noise: float | None) -> Iterator[Line]:
    def latencies(cases: Sequence[str], metric: str = "latency_mean_s") -> list[float]:
        return [pair.error(metric) for pair in pairs if pair.case in cases]

    others = ("rate or trigger", "adjacent", "other")
    # Where repetitions differ by more than 4 %, errors are related to that.
    is_noisy = noise is not None and noise > 0.04
    related = max(0.05, 1.5 * (noise or 0.0)) if is_noisy else 0.05
    said = f"1.5 times the {noise:.1%} between repetitions" if is_noisy and related > 0.05 else ""
    yield _line("mean latency, from itself", latencies(["itself"]))
    yield _line("mean latency, other rate or trigger", latencies(["rate or trigger"]), limit=related, text=said)
    yield _line("mean latency, cores or partitions doubled or halved", latencies(["adjacent"]), limit=0.08)
    yield _line("mean latency, all pairs", latencies(others), limit=0.10, p90_limit=0.20)
    yield _line("p95 latency, all pairs", latencies(others, "latency_p95_s"), limit=0.15)
    yield _line("batch duration, all pairs", latencies(others, "batch_duration_s"))
    rows = [pair.rows for pair in pairs if pair.case != "itself" and pair.rows is not None]
    yield _line("rows per partition, by folding or keys", rows, limit=0.01)
    yield _line("sustainable rate against the offline maximum", [p / m - 1 for _, p, m in limits], limit=0.10)
    covered = [hit for pair in pairs if pair.case != "itself" for hit in pair.covered]
    share = float(np.mean(covered)) if covered else None
    miss = None if share is None else max(0.0, 0.80 - share, share - 0.95)
    text = "" if share is None else f"{share:.1%} of the runs lie in the 90 % interval; 80 to 95 % should"
    yield Line("coverage outside of 80 to 95 %", len(covered), miss, limit=0.0, text=text)


def _compared(pairs: Sequence[Pair], kind: Literal["baselines", "ablations"], names: Sequence[str]) -> Iterator[Line]:
    yield _line("this model", [pair.error("latency_mean_s") for pair in pairs])
    for name in names:
        yield _line(name, [getattr(pair, kind)[name] for pair in pairs])
