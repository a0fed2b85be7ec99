"""Machines on which runs differ: calibrate, predict, make a new run, and see whether the interval holds it."""

from dataclasses import dataclass, replace

import numpy as np

from streamgauge.model import CapacityModel, Estimate, QueryModel, Settings, fit_model, predict
from streamgauge.model.sample import RunSample, with_explored

from .made_up import run_of, sample_of_run, three_stages
from .plain_simulator import PlainRun

# By how many times micro-batches after the load are larger than those under it, as `streamgauge run` makes them.
EXPLORED = (0.25, 4.0)


def at_pace(query: QueryModel, pace: float) -> QueryModel:
    """Return the query on a day on which everything takes longer, by CPU and wall time."""

    def slower(cost):
        return replace(cost, wait_s=cost.wait_s * pace, fixed_s=cost.fixed_s * pace, per_row_s=cost.per_row_s * pace)

    noise = replace(query.noise, phases_s=query.noise.phases_s * pace, gaps_s=query.noise.gaps_s * pace)
    stages = tuple(replace(stage, cost=slower(stage.cost)) for stage in query.stages)
    return replace(query, stages=stages, noise=noise)


def explored(query: QueryModel, *rates: float, each: int = 3):
    """Return the columns of some micro-batches at each rate, as if they had come after a load."""
    parts, first = [], 2
    for seed, rate_per_s in enumerate(rates, 50):
        settings = {"trigger_s": 1.0, "duration_s": first + each + 2.0, "warmup_s": 0.0}
        batches, tasks = run_of(query, seed, rate_per_s=rate_per_s, **settings).columns()
        chosen = batches["batch_id"][first : first + each]
        inside = np.isin(tasks["batch_id"], chosen)
        batches = {name: column[first : first + each] for name, column in batches.items()}
        tasks = {name: column[inside] for name, column in tasks.items()}
        batches["batch_id"], tasks["batch_id"] = batches["batch_id"] + 1000 * seed, tasks["batch_id"] + 1000 * seed
        parts.append((batches, tasks))
    return [{name: np.concatenate([part[k][name] for part in parts]) for name in parts[0][k]} for k in (0, 1)]


def measured(query: QueryModel, seed: int, **settings) -> RunSample:
    """Make a run as `streamgauge run` does: a load, then micro-batches of other sizes."""
    run = run_of(query, seed, **settings)
    sample = sample_of_run(run)
    usual = float(sample.events.mean())
    return with_explored(sample, run.columns()[0], *explored(query, *(usual * size for size in EXPLORED), each=2))


@dataclass(frozen=True)
class NewRun:
    """What was predicted for a run, and what it then showed."""

    predicted: dict[str, Estimate]
    shown: dict[str, float]

    def holds(self, name: str, *, width: float = 1.0) -> bool:
        """Return whether the interval holds the value, also when both of its ends come closer."""
        found, value = self.predicted[name], self.shown[name]
        low = found.value + width * (found.low - found.value)
        high = found.value + width * (found.high - found.value)
        return low <= value <= high


def new_run(seed: int, *, runs: int, scatter: float, known: dict, asked: dict, draws=40, replications=100) -> NewRun:
    """Calibrate from some runs with the settings `known`, each with a level of its own, and predict one more."""
    rng, query = np.random.default_rng(seed), three_stages()
    paces = np.exp(scatter * rng.standard_normal(runs + 1))
    samples = [measured(at_pace(query, paces[k]), 100 * seed + k, **known) for k in range(runs)]
    settings = Settings(**{"cores": 2} | asked)
    found = predict(fit_model(samples, draws=draws), settings, replications=replications)
    day = at_pace(query, paces[runs])
    run = run_of(day, 100 * seed + 99, **asked)
    shown = {
        "latency mean": run.mean_latency_s,
        "latency p95": run.latency_quantile_s(0.95),
        "batch duration": run.mean_duration_s,
        "processed rate": processed_rate_per_s(run),
        "sustainable rate": float(CapacityModel([day], settings).sustainable_rate_per_s()[0]),
    }
    predicted = {
        "latency mean": found.latency_mean_s,
        "latency p95": found.latency_p95_s,
        "batch duration": found.batch_duration_s,
        "processed rate": found.processed_rate_per_s,
        "sustainable rate": found.sustainable_rate_per_s,
    }
    return NewRun(predicted, shown)


def processed_rate_per_s(run: PlainRun) -> float:
    """Return the events between the first and the last measured emission, by the time between them."""
    emitted_us, events = (np.array(run.batches[name]) for name in ("emitted_us", "events"))
    inside = np.flatnonzero(run.is_measured())
    return float(events[inside[1:]].sum() * 1e6 / (emitted_us[inside[-1]] - emitted_us[inside[0]]))
