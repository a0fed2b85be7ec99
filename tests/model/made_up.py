"""Queries whose parameters are known, and samples of runs of them."""

from dataclasses import replace

from streamgauge.measure import find_steady_state
from streamgauge.model import Noise, OutputCurve, QueryModel, Settings, StageModel, TaskCost, make_sample

from .plain_simulator import Chance, PlainSimulator

PHASES_S = {
    "source_offsets": 0.002, "offset_log": 0.015, "source_plan": 0.001, "query_planning": 0.040, "sink_commit": 0.010,
    "other": 0.003, "commit_log": 0.015, "between": 0.006,
}  # fmt: skip
# Folded to two partitions, 54 % and 46 %.
SKEWED = (0.20, 0.14, 0.12, 0.12, 0.12, 0.10, 0.10, 0.10)
# Moderate noise: micro-batches scatter by 10 %, slow times last, and so do fast ones.
CHANCE = Chance(batch_cv=0.10, persistence=0.7, task_cv=0.06, phase_cv=0.15, cpu_cv=0.05)


def three_stages(**changes) -> QueryModel:
    """Source with partial aggregation, aggregation behind an exchange, and one more exchange."""
    stages = (
        StageModel(
            "stage 1 (source)",
            "source",
            TaskCost(wait_s=0.030, fixed_s=0.008, per_row_s=1.2e-6),
            output=OutputCurve(0.8, 10_000),
        ),
        StageModel(
            "stage 2 (shuffle)",
            "shuffle",
            TaskCost(wait_s=0.020, fixed_s=0.006, per_row_s=3.0e-6),
            reads=(0,),
            after=(0,),
            output=OutputCurve(0.5),
            shares=SKEWED,
        ),
        StageModel(
            "stage 3 (shuffle)",
            "shuffle",
            TaskCost(wait_s=0.015, fixed_s=0.005, per_row_s=4.0e-6),
            reads=(1,),
            after=(0, 1),
        ),
    )
    noise = Noise.none(PHASES_S, (0.030, 0.008, 0.008))
    return replace(QueryModel(stages, noise, processors=2, background=0.2, dispatch_s=0.001, return_s=0.001), **changes)


def windowed(slide_s=2.0) -> QueryModel:
    """An aggregation in append mode: its rows go on only when the watermark closes a window."""
    query = three_stages()
    first, second, third = query.stages
    second = replace(
        second,
        output=OutputCurve(0.0),
        closing=OutputCurve(0.05),
        cost=replace(second.cost, per_written_row_s=2.0e-6),
    )
    return replace(query, stages=(replace(first, output=OutputCurve(0.05)), second, third), slide_s=slide_s)


def run_of(query: QueryModel, seed: int, *, chance: Chance = CHANCE, workload: str = "made-up", **settings):
    """Simulate one run plainly."""
    chosen = Settings(**({"rate_per_s": 100_000.0, "cores": 2, "duration_s": 60.0} | settings))
    return PlainSimulator(query, chosen, chance, seed, workload).run()


def sample_of_run(run, **changed):
    """Read a plain run as the fit reads a stored one; `changed` are tables instead of its own."""
    batches, tasks = run.columns()
    batches, tasks = changed.get("batches", batches), changed.get("tasks", tasks)
    inside = run.is_measured() & (batches["events"] > 0)
    steady = find_steady_state(batches["duration_s"][inside])
    return make_sample(run.facts, batches, tasks, batches["batch_id"][inside][steady.cut :], steady=steady)


def samples(query: QueryModel, *settings, **more):
    """Return one sample for each of some settings."""
    return [sample_of_run(run_of(query, 100 + k, **each, **more)) for k, each in enumerate(settings)]
