"""What a run with other settings would measure, with 90 % intervals.

Every replication of the simulation has parameters of its own, drawn as the data allow, a level of its own, as runs
differ, and its own noise. So the spread over replications is that of what one new run would show. Outside of what
was measured the parameters are drawn from further apart.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from html import escape
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from streamgauge.arrivals.law import Floats
from streamgauge.model.cost import TaskCost
from streamgauge.model.fitted_query import FittedModel
from streamgauge.model.query import PHASES, QUIET_SLOWDOWN, QueryModel, Settings
from streamgauge.model.rows import is_exact_fold
from streamgauge.model.simulator import Simulation, simulate
from streamgauge.model.stability import CapacityModel
from streamgauge.units import format_count, format_duration, format_rate
from streamgauge.verdict import Verdict

if TYPE_CHECKING:
    import pandas as pd

REPLICATIONS = 200
# As many more have the likeliest parameters; their median is the value.
LIKELIEST = 40
CAPACITY_QUERIES = 60
SEED = 20_261_116
# How much less certain costs are per factor e of rows beyond the measured ones, per doubling of cores or partitions.
PER_FACTOR_OF_ROWS = 0.10
PER_DOUBLING_OF_CORES = 0.08
PER_DOUBLING_OF_PARTITIONS = 0.05
MOST_WIDENING = 0.3
# This far beyond the measured rows counts as inside.
MARGIN = 1.25
# Runs whose rate, rows, cores and partitions are this far away, by logarithms, still count.
NEAR = 0.5
_LOW, _HIGH = 0.05, 0.95
_SKEWED = 1.2


@dataclass(frozen=True)
class Estimate:
    """A predicted value and its 90 % interval."""

    value: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Floats, likeliest: int) -> Self:
        """Return the median of the first replications, which have the likeliest parameters, and 90 % of the others."""
        first, others = (part[np.isfinite(part)] for part in (values[:likeliest], values[likeliest:]))
        if not len(first) or not len(others):
            return cls(math.nan, math.nan, math.nan)
        value = float(np.median(first))
        # These order statistics hold one more draw with just that probability, however few there are.
        low, high = np.quantile(others, [_LOW, _HIGH], method="weibull")
        return cls(value, min(value, float(low)), max(value, float(high)))

    def text(self, form: Callable[[float], str]) -> str:
        """Write the value and its interval.

        >>> Estimate(1.0, 0.8, 1.5).text("{:.1f} s".format)
        '1.0 s (0.8 s to 1.5 s)'
        """
        if not math.isfinite(self.value):
            return "unknown"
        return f"{form(self.value)} ({form(self.low)} to {form(self.high)})"


@dataclass(frozen=True)
class Prediction:
    """The prediction for one set of settings.

    `utilisation` is the share of the slots' time in which tasks run, `load` the rate by the sustainable one. An
    unstable query has no lasting latency; the one given is that of a run as long as the settings say. The verdict is
    pass when the load is sustained, fail when it is not, and unknown, with reasons, when the evidence does not show
    which.
    """

    settings: Settings
    calibrated_from: tuple[str, ...]
    latency_mean_s: Estimate
    latency_p50_s: Estimate
    latency_p95_s: Estimate
    batch_duration_s: Estimate
    batch_events: Estimate
    processed_rate_per_s: Estimate
    utilisation: Estimate
    sustainable_rate_per_s: Estimate
    load: Estimate
    stable: bool
    bottleneck: str
    bottleneck_share: float
    inside: bool
    verdict: Verdict
    reasons: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def document(self) -> dict[str, Any]:
        """Return the prediction as JSON; what is not known is null."""
        mean = self.latency_mean_s
        latency = {
            "mean": mean.value, "p50": self.latency_p50_s.value, "p95": self.latency_p95_s.value, "low": mean.low,
            "high": mean.high, "p50_interval": _interval(self.latency_p50_s),
            "p95_interval": _interval(self.latency_p95_s),
        }  # fmt: skip
        plain = (
            "batch_duration_s",
            "batch_events",
            "processed_rate_per_s",
            "utilisation",
            "sustainable_rate_per_s",
            "load",
        )
        values = {name: getattr(self, name) for name in plain}
        document = {
            "predicted": {
                "end_to_end_latency_s": latency,
                **{name: estimate.value for name, estimate in values.items()},
                "intervals": {name: _interval(estimate) for name, estimate in values.items()},
                "stable": self.stable,
                "bottleneck": self.bottleneck,
                "bottleneck_share": self.bottleneck_share,
            },
            "verdict": str(self.verdict),
            "reasons": list(self.reasons),
            "notes": list(self.notes),
            "inside_calibrated_range": self.inside,
            "calibrated_from": list(self.calibrated_from),
            "settings": asdict(self.settings),
        }
        cleaned = _without_nan(document)
        assert isinstance(cleaned, dict)
        return cleaned

    def to_pandas(self) -> "pd.DataFrame":
        """Return one row: the settings, then every value with the ends of its interval."""
        import pandas as pd

        estimates = {name: value for name, value in vars(self).items() if isinstance(value, Estimate)}
        values = {
            f"{name}{end}": getattr(estimate, attribute)
            for name, estimate in estimates.items()
            for end, attribute in (("", "value"), ("_low", "low"), ("_high", "high"))
        }
        answer = {"stable": self.stable, "bottleneck": self.bottleneck, "verdict": self.verdict.value}
        return pd.DataFrame([asdict(self.settings) | values | answer])

    def rows(self) -> list[tuple[str, str]]:
        """Return what is predicted, as names and texts with intervals."""
        lines: tuple[tuple[str, Estimate, Callable[[float], str]], ...] = (
            ("latency mean", self.latency_mean_s, format_duration),
            ("latency p50", self.latency_p50_s, format_duration),
            ("latency p95", self.latency_p95_s, format_duration),
            ("batch duration", self.batch_duration_s, format_duration),
            ("events per batch", self.batch_events, format_count),
            ("processed rate", self.processed_rate_per_s, format_rate),
            ("utilisation", self.utilisation, "{:.0%}".format),
            ("sustainable rate", self.sustainable_rate_per_s, format_rate),
        )
        return [(name, estimate.text(form)) for name, estimate, form in lines]

    def _repr_html_(self) -> str:
        rows = [*self.rows(), ("bottleneck", self.bottleneck), ("verdict", self.verdict.value)]
        rows += [("why", text) for text in self.reasons] + [("note", text) for text in self.notes]
        cells = "".join(f"<tr><th>{escape(name)}</th><td>{escape(text)}</td></tr>" for name, text in rows)
        return f"<table>{cells}</table>"


def _interval(estimate: Estimate) -> list[float]:
    return [estimate.low, estimate.high]


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_nan(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def predict(
    model: FittedModel, settings: Settings, *, replications: int = REPLICATIONS, rng: np.random.Generator | None = None
) -> Prediction:
    """Predict what a run with these settings would measure; the same call gives the same answer."""
    drawing = rng or np.random.default_rng(SEED)
    model, settings = _slowed(model, settings), _with_limit(model, settings)
    rows = _likely_rows(model, settings)
    weights = _run_weights(model, settings, rows)
    outside = _outside(model, settings, rows)
    queries = _drawn_queries(_levelled(model, weights), weights, outside.spread, replications, drawing)
    simulation = simulate(queries, settings, replications=len(queries), rng=drawing, run_weights=weights)
    capacity = _capacity(model, settings, outside.settings_spread, np.random.default_rng(SEED))
    return _prediction(model, settings, simulation, capacity, outside)


def likeliest_latency_s(model: FittedModel, settings: Settings) -> float:
    """Return the mean latency alone: what `predict` has without its interval, but for chance, and sooner."""
    model, settings = _slowed(model, settings), _with_limit(model, settings)
    weights = _run_weights(model, settings, _likely_rows(model, settings))
    drawing = np.random.default_rng(SEED)
    likeliest = _levelled(model, weights).query
    simulation = simulate([likeliest], settings, replications=LIKELIEST, rng=drawing, run_weights=weights)
    mean, _ = simulation.latency_s(())
    known = mean[np.isfinite(mean)]
    return float(np.median(known)) if len(known) else math.nan


def _slowed(model: FittedModel, settings: Settings) -> FittedModel:
    """Return the model on a processor that is slowed as the settings say; its runs count as if nothing had."""
    factor = settings.slowdown / QUIET_SLOWDOWN
    return model.changed(lambda query: replace(query, pace=factor * query.pace))


def _with_limit(model: FittedModel, settings: Settings) -> Settings:
    """Leave the admission limit out where the source of the query has none that adapts."""
    if settings.admission_target_s is None and not model.adapts:
        return replace(settings, admission_target_s=math.inf)
    return settings


@dataclass(frozen=True)
class _Outside:
    """How far settings are from what was measured: the scatter of costs that it adds, and the words for it."""

    spread: float
    settings_spread: float
    notes: tuple[str, ...]


def _likely_rows(model: FittedModel, settings: Settings) -> float:
    """Return about how many rows a task of the source would read in a micro-batch."""
    short = replace(settings, duration_s=min(settings.duration_s, 20.0), warmup_s=min(settings.warmup_s, 5.0))
    tried = simulate([model.query], short, replications=16, rng=np.random.default_rng(SEED)).batch_events()
    known = tried[np.isfinite(tried)]
    events = float(np.median(known)) if len(known) else settings.rate_per_s * max(settings.trigger_s, 1.0)
    return events / settings.tasks("source")


def _outside(model: FittedModel, settings: Settings, rows: float) -> _Outside:
    ranges, notes = model.ranges, []
    low, high = ranges.task_rows
    beyond = max(rows / (high * MARGIN), low / MARGIN / max(rows, 1e-9), 1.0)
    if beyond > 1:
        measured = f"{format_count(low)} to {format_count(high)}"
        notes.append(f"about {format_count(rows)} rows per source task; measured were {measured}")
    cores = min(abs(math.log2(settings.cores / known)) for known in ranges.cores)
    if cores:
        notes.append(f"{settings.cores} cores were not measured, only {_listed(ranges.cores)}")
    partitions = _partition_distance(model, settings)
    if partitions:
        wanted = settings.tasks("shuffle")
        notes.append(f"how rows spread over {wanted} partitions is assumed from {_listed(ranges.shuffle_partitions)}")
    chosen = PER_DOUBLING_OF_CORES * cores + PER_DOUBLING_OF_PARTITIONS * partitions
    return _Outside(
        min(MOST_WIDENING, PER_FACTOR_OF_ROWS * math.log(beyond) + chosen), min(MOST_WIDENING, chosen), tuple(notes)
    )


def _listed(values: Sequence[int]) -> str:
    return ", ".join(map(str, values))


def _partition_distance(model: FittedModel, settings: Settings) -> float:
    """Return by how many doublings the partitions differ from measured ones that determine them."""
    if all(stage.keys is not None for stage in model.query.stages if stage.tasks == "shuffle"):
        return 0.0
    wanted = settings.tasks("shuffle")
    if any(is_exact_fold(known, wanted) for known in model.ranges.shuffle_partitions):
        return 0.0
    return min(abs(math.log2(wanted / known)) for known in model.ranges.shuffle_partitions)


def _run_weights(model: FittedModel, settings: Settings, rows: float) -> Floats:
    """Return how much the noise and the level of each run count: most those of the run that is closest."""
    return _weights_at(model, settings, settings.law.mean_rate_per_s(settings.load_s), rows)


def _weights_at(model: FittedModel, settings: Settings, rate_per_s: float, rows: float) -> Floats:
    wanted = (rate_per_s, rows, settings.cores, settings.tasks("shuffle"))
    points = [(run.rate_per_s, run.task_rows, run.cores, run.shuffle_partitions) for run in model.ranges.runs]
    apart = np.log(np.maximum(points, 1e-9)) - np.log(np.maximum(wanted, 1e-9))
    distance = np.nan_to_num((apart**2).sum(axis=1), nan=100.0)
    return np.asarray(np.exp(-(distance - distance.min()) / (2 * NEAR**2)))


def _levelled(model: FittedModel, weights: Floats) -> FittedModel:
    """Return the model with the noise of every run at the level that its runs have together, those that count most.

    Otherwise a replication would have the level of one measured run, and its own on top.
    """
    logs, noise = np.log(model.levels), model.query.noise
    ratio = np.exp(weights @ logs / weights.sum() - logs)[noise.run, np.newaxis]
    level = replace(noise, phases_s=noise.phases_s * ratio, gaps_s=noise.gaps_s * ratio, factors=noise.factors * ratio)
    return model.changed(lambda query: replace(query, noise=level))


def _level_scatter(model: FittedModel, weights: Floats) -> float:
    """Return how far a new run is from the prediction: by its own level, and by those of the runs that were measured.

    Where k runs count alike this is 1 + 1/k of the variance between runs; runs that count little hardly help.
    """
    shares = weights / weights.sum()
    return model.run_cv * math.sqrt(1 + float(shares @ shares))


def _drawn_queries(
    model: FittedModel, weights: Floats, spread: float, number: int, rng: np.random.Generator
) -> list[QueryModel]:
    """Return the likeliest query some times, then as many draws as asked for.

    How far runs differ is known from few of them, so their levels have Student's distribution.
    """
    paces = np.exp(_level_scatter(model, weights) * rng.standard_t(model.run_freedom, number))
    scales = np.exp(spread * rng.standard_normal(number) - spread**2 / 2)
    draws = model.draws or (model.query,)
    drawn = [
        _scaled(draws[k % len(draws)], float(scale), float(pace))
        for k, (scale, pace) in enumerate(zip(scales, paces, strict=True))
    ]
    return [model.query] * LIKELIEST + drawn


def _scaled(query: QueryModel, scale: float, pace: float) -> QueryModel:
    """Return the query with other costs per row, and faster or slower than it is."""
    pace *= query.pace
    if scale == 1.0:
        return replace(query, pace=pace)
    stages = tuple(replace(stage, cost=_scaled_cost(stage.cost, scale)) for stage in query.stages)
    return replace(query, stages=stages, pace=pace)


def _scaled_cost(cost: TaskCost, scale: float) -> TaskCost:
    return replace(
        cost,
        per_row_s=cost.per_row_s * scale,
        per_written_row_s=cost.per_written_row_s * scale,
        per_state_row_s=cost.per_state_row_s * scale,
    )


def _capacity(model: FittedModel, settings: Settings, spread: float, rng: np.random.Generator) -> Floats:
    """Return the sustainable rate for some draws; its micro-batches are larger than those that were measured.

    It does not depend on the rate that is asked for: the runs that count are those closest to the limit.
    """
    weights = np.ones(len(model.ranges.runs))
    likely = CapacityModel([model.query], settings, run_weights=weights).sustainable_rate_per_s()
    rows = _limit_rows(settings, float(likely[0]))
    weights = _weights_at(model, settings, float(likely[0]), rows)
    queries = _drawn_queries(_levelled(model, weights), weights, spread, CAPACITY_QUERIES, rng)
    found = CapacityModel(queries, settings, run_weights=weights).sustainable_rate_per_s()
    if settings.max_rows_per_batch is None:
        beyond = max(1.0, _limit_rows(settings, float(np.median(found))) / (model.ranges.task_rows[1] * MARGIN))
        more = min(MOST_WIDENING, PER_FACTOR_OF_ROWS * math.log(beyond))
        found[LIKELIEST:] *= np.exp(more * rng.standard_normal(len(found) - LIKELIEST))
    return found


def _limit_rows(settings: Settings, rate_per_s: float) -> float:
    """Return the rows of a source task in the largest micro-batches."""
    events = settings.max_rows_per_batch or rate_per_s * min(settings.target_s, 60.0)
    return events / settings.tasks("source")


def _prediction(
    model: FittedModel, settings: Settings, simulation: Simulation, capacity: Floats, outside: _Outside
) -> Prediction:
    mean, (p50, p95) = simulation.latency_s((0.5, 0.95))
    sustainable = Estimate.of(capacity, LIKELIEST)
    rate = settings.law.mean_rate_per_s(settings.load_s)
    stable = rate < sustainable.value
    bottleneck, share = _bottleneck(model, settings, simulation)
    reasons = list(model.concerns)
    if sustainable.low <= rate <= sustainable.high:
        limits = f"{format_rate(sustainable.low)} and {format_rate(sustainable.high)}"
        reasons.append(f"the limit lies between {limits}, and so does the rate")
    notes = [*model.notes, *outside.notes]
    if not stable:
        notes.append("the backlog grows: latencies are those of a load as long as this one")
    if model.is_stateful and settings.tasks("shuffle") not in model.ranges.shuffle_partitions:
        notes.append("a stateful query keeps the partitions of its checkpoint: this is for a fresh start")
    verdict = Verdict.UNKNOWN if reasons else Verdict.PASS if stable else Verdict.FAIL
    return Prediction(
        settings=settings,
        calibrated_from=model.run_ids,
        latency_mean_s=Estimate.of(mean, LIKELIEST),
        latency_p50_s=Estimate.of(p50, LIKELIEST),
        latency_p95_s=Estimate.of(p95, LIKELIEST),
        batch_duration_s=Estimate.of(simulation.batch_duration_s(), LIKELIEST),
        batch_events=Estimate.of(simulation.batch_events(), LIKELIEST),
        processed_rate_per_s=Estimate.of(simulation.processed_rate_per_s(), LIKELIEST),
        utilisation=Estimate.of(simulation.utilisation(), LIKELIEST),
        sustainable_rate_per_s=sustainable,
        load=Estimate.of(rate / capacity, LIKELIEST),
        stable=stable,
        bottleneck=bottleneck,
        bottleneck_share=share,
        inside=not outside.notes,
        verdict=verdict,
        reasons=tuple(reasons),
        notes=tuple(notes),
    )


def _bottleneck(model: FittedModel, settings: Settings, simulation: Simulation) -> tuple[str, float]:
    """Return what takes the largest part of a micro-batch, and that part; an own limit that binds comes first."""
    measured = simulation.measured
    if settings.max_rows_per_batch is not None and measured.any():
        full = simulation.events >= settings.max_rows_per_batch
        if float(np.mean(full[measured])) > 0.5:
            return "admission limit", float(np.mean(full[measured]))
    phases_s = model.query.noise.phases_s.mean(axis=0)
    parts = {
        name.replace("_", " "): float(value) for name, value in zip(PHASES, phases_s, strict=True) if name != "between"
    }
    stages_s = np.median(simulation.stage_seconds(), axis=1)
    for stage, seconds in zip(model.query.stages, stages_s, strict=True):
        shares = stage.shares_for(settings.tasks(stage.tasks))
        skew = ", skewed" if float(shares.max()) * len(shares) > _SKEWED else ""
        parts[stage.name.replace(")", f"{skew})")] = float(seconds)
    name = max(parts, key=lambda part: parts[part])
    total = sum(parts.values())
    return name, parts[name] / total if total > 0 else 0.0
