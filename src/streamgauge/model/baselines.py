"""What a simpler model would have said, and what this one says without one of its parts.

A prediction is worth its trouble only if it beats these.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace

import numpy as np

from streamgauge.model.fitted_query import FittedModel
from streamgauge.model.query import Noise, QueryModel, Settings
from streamgauge.model.sample import RunSample
from streamgauge.model.stability import BatchLine

# Sizes of micro-batches that differ by less than this show no slope.
_ALIKE = 0.02


def regression_line(sample: RunSample) -> BatchLine:
    """Return the straight line of batch duration over events, by least squares; no negative part.

    Where all micro-batches have one size, nothing shows the slope, and the duration is taken as fixed.
    """
    events, seconds = sample.events, sample.duration_s
    after_s = float(np.mean(sample.phases_s["commit_log"]))
    if float(events.std()) <= _ALIKE * float(events.mean()):
        return BatchLine(float(seconds.mean()), 0.0, after_s)
    slope = max(0.0, float(np.cov(events, seconds, bias=True)[0, 1] / events.var()))
    fixed_s = float(seconds.mean()) - slope * float(events.mean())
    if fixed_s < 0:
        return BatchLine(0.0, float(events @ seconds) / float(events @ events), after_s)
    return BatchLine(fixed_s, slope, after_s)


def linear_regression(sample: RunSample, settings: Settings) -> float:
    """Regress batch durations on events, and take the trigger into account; cores and partitions have no effect."""
    return regression_line(sample).mean_latency_s(settings.rate_per_s, settings.trigger_s)


def ideal_speed_up(sample: RunSample, settings: Settings) -> float:
    """Regress as above, and divide all times by the ratio of the cores."""
    line, ratio = regression_line(sample), sample.facts.cores / settings.cores
    faster = BatchLine(line.fixed_s * ratio, line.per_row_s * ratio, line.after_s * ratio)
    return faster.mean_latency_s(settings.rate_per_s, settings.trigger_s)


def markov_queues(sample: RunSample, settings: Settings) -> float:
    """Take every stage for an M/M/1 queue of events, as models of record-at-a-time engines do: W = 1 / (μ - λ)."""
    total_s = 0.0
    for stage in sample.stages:
        busy_s = float((stage.finished_s.max(axis=1) - stage.launched_s.min(axis=1)).sum())
        service_per_s = float(sample.events.sum()) / max(busy_s, 1e-9) * settings.cores / sample.facts.cores
        if service_per_s <= settings.rate_per_s:
            return float("inf")
        total_s += 1.0 / (service_per_s - settings.rate_per_s)
    return total_s


BASELINES: Mapping[str, Callable[[RunSample, Settings], float]] = {
    "linear regression": linear_regression,
    "ideal speed-up": ideal_speed_up,
    "M/M/1 per stage": markov_queues,
}


def without_skew(model: FittedModel) -> FittedModel:
    """Spread rows evenly over partitions."""

    def change(query: QueryModel) -> QueryModel:
        return replace(query, stages=tuple(replace(stage, shares=(), keys=None) for stage in query.stages))

    return model.changed(change)


def without_contention(model: FittedModel) -> FittedModel:
    """Let tasks have a processor each, whatever else is busy, and cost what they did where they were measured."""
    cores = max(run.cores for run in model.ranges.runs)

    def change(query: QueryModel) -> QueryModel:
        slowdown = max(1.0, (cores + query.background) / query.processors)
        stages = tuple(
            replace(stage, cost=replace(stage.cost, outside=(1 + stage.cost.outside) * slowdown - 1))
            for stage in query.stages
        )
        return replace(query, stages=stages, background=0.0)

    return model.changed(change)


def without_driver(model: FittedModel) -> FittedModel:
    """Let the driver's phases, gaps between stages and hand-overs take no time."""

    def idle(noise: Noise) -> Noise:
        return replace(noise, phases_s=np.zeros_like(noise.phases_s), gaps_s=np.zeros_like(noise.gaps_s))

    def change(query: QueryModel) -> QueryModel:
        return replace(query, noise=idle(query.noise), dispatch_s=0.0, return_s=0.0)

    return model.changed(change)


ABLATIONS: Mapping[str, Callable[[FittedModel], FittedModel]] = {
    "without skew": without_skew,
    "without contention": without_contention,
    "without driver overhead": without_driver,
}
