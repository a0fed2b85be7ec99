"""Parameters from the tables of runs: those that are known are found again, and what cannot be used is refused."""

import json
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from streamgauge.clock import ManualClock
from streamgauge.errors import InvalidExperimentError, UsageError
from streamgauge.model import OutputCurve, Stage, TaskCost, fit_model, fit_runs, make_sample, sample_of
from streamgauge.model.calibration import RUN_CV
from streamgauge.model.query import PHASES
from streamgauge.model.sample import with_explored
from streamgauge.store import RunWriter, open_run

from .made_up import CHANCE, PHASES_S, run_of, sample_of_run, samples, three_stages, windowed
from .plain_simulator import ORIGIN_US, Chance

RATES = ({"rate_per_s": 50_000.0}, {"rate_per_s": 300_000.0})


def cost(model, stage, name):
    return model.interval(lambda query: float(getattr(query.stages[stage].cost, name)))


@pytest.fixture(scope="module")
def model():
    return fit_model(samples(three_stages(), *RATES), draws=60)


@pytest.mark.parametrize("stage", [0, 1, 2])
def test_m5_the_costs_of_every_stage_are_found_again(model, stage):
    true = three_stages().stages[stage].cost
    assert cost(model, stage, "per_row_s")[0] == pytest.approx(true.per_row_s, rel=0.05)
    assert cost(model, stage, "fixed_s")[0] == pytest.approx(true.fixed_s, rel=0.1)
    assert cost(model, stage, "wait_s")[0] == pytest.approx(true.wait_s, abs=0.004)


def test_m5_structure_and_driver_are_found_again(model):
    query, true = model.query, three_stages()
    assert [stage.name for stage in query.stages] == [stage.name for stage in true.stages]
    assert [stage.tasks for stage in query.stages] == ["source", "shuffle", "shuffle"]
    assert [stage.reads for stage in query.stages] == [(), (0,), (1,)]
    assert [stage.after for stage in query.stages] == [(), (0,), (0, 1)]
    assert query.is_chain
    assert query.stages[1].shares == pytest.approx([0.54, 0.46], abs=0.001)
    assert query.stages[0].output.most == pytest.approx(10_000, rel=0.05)
    assert query.stages[1].output.per_row == pytest.approx(0.5, rel=0.01)
    assert query.dispatch_s == pytest.approx(0.001, abs=3e-4)
    phases = dict(zip(PHASES, query.noise.phases_s.mean(axis=0), strict=True))
    assert phases == pytest.approx(PHASES_S, abs=0.0015)
    assert query.noise.gaps_s.mean(axis=0) == pytest.approx([0.030, 0.008, 0.008], abs=0.0015)
    assert [run.rate_per_s for run in model.ranges.runs] == pytest.approx([50_000, 300_000], rel=0.02)
    assert model.concerns == ()


def test_m5_noise_is_found_again(model):
    noise = model.query.noise
    assert noise.task_cv == pytest.approx([0.06] * 3, abs=0.012)
    assert noise.factors.std(axis=0) == pytest.approx([0.1] * 3, abs=0.04)
    for run in (0, 1):
        assert noise.factors[noise.run == run].mean(axis=0) == pytest.approx([1.0] * 3, abs=0.03)
    # Slow times last.
    factor = noise.factors[noise.run == 0][:, 0]
    assert np.corrcoef(factor[1:], factor[:-1])[0, 1] > 0.35


def test_m5_intervals_of_costs_hold_the_truth_mostly():
    query, hits = three_stages(), []
    for seed in range(8):
        fitted = fit_model(
            [sample_of_run(run_of(query, 10 * seed + k, duration_s=30.0, **r)) for k, r in enumerate(RATES)], draws=30
        )
        for stage in range(3):
            true = query.stages[stage].cost.per_row_s
            _, low, high = cost(fitted, stage, "per_row_s")
            hits.append(low <= true <= high)
    assert np.mean(hits) > 0.7


def test_the_contention_of_a_busy_machine_is_found_by_rates_and_core_counts():
    runs = (
        {"rate_per_s": 400_000.0, "cores": 2},
        {"rate_per_s": 100_000.0, "cores": 2},
        {"rate_per_s": 300_000.0, "cores": 1, "machine_cores": 2},
    )
    quiet, busy = (fit_model(samples(three_stages(background=b), *runs), draws=40) for b in (0.0, 0.8))
    assert busy.query.background > quiet.query.background + 0.25
    for true, fitted in ((0.0, quiet), (0.8, busy)):
        # What is usual counts as well, so extremes are believed only in part.
        spread = np.std([query.background for query in fitted.draws])
        assert abs(fitted.query.background - true) < 3.5 * spread


def test_work_of_other_processes_is_told_from_contention():
    query = three_stages()
    first = replace(query.stages[0], cost=replace(query.stages[0].cost, outside=4.0))
    fitted = fit_model(samples(replace(query, stages=(first, *query.stages[1:])), *RATES), draws=5)
    assert fitted.query.stages[0].cost.outside == pytest.approx(4.0, rel=0.25)
    assert abs(fitted.query.stages[1].cost.outside) < 0.25


def test_slow_times_of_one_run_do_not_pass_for_the_cost_of_rows():
    chance = Chance(batch_cv=0.4, persistence=0.95, task_cv=0.05, phase_cv=0.1, cpu_cv=0.1)
    (sample,) = samples(three_stages(), {"rate_per_s": 20_000.0, "duration_s": 90.0}, chance=chance)
    naive = np.polyfit(sample.events / 2, sample.stages[0].wall_s.mean(axis=1), 1)[0]
    fitted = fit_model([sample], draws=20)
    assert naive > 3 * 1.2e-6
    assert cost(fitted, 0, "per_row_s")[0] == pytest.approx(1.2e-6, rel=0.25)


def test_micro_batches_of_one_size_leave_the_split_to_an_assumption():
    (sample,) = samples(three_stages(), {"trigger_s": 1.0})
    fitted = fit_model([sample], draws=80)
    value, low, high = cost(fitted, 0, "per_row_s")
    # All that is known is the sum: 8 ms + 50,000 rows of 1.2 microseconds, and that 0 to 30 ms of it are fixed.
    assert value == pytest.approx(1.2e-6, rel=0.1)
    assert high - low > 0.15e-6
    fixed = cost(fitted, 0, "fixed_s")[0]
    assert fixed + 50_000 * value == pytest.approx(0.008 + 0.060, rel=0.02)


def test_m5_where_a_stage_has_much_work_its_time_beyond_that_is_no_wait():
    # Micro-batches of one size: nothing in them tells a slow-down from a wait, but no task waits for so long.
    first, *others = three_stages(background=0.8).stages
    true = three_stages(background=0.8, stages=(replace(first, output=OutputCurve(0.8)), *others))
    run = run_of(true, 9, rate_per_s=60_000.0, trigger_s=2.0, duration_s=120.0)
    fitted = fit_model([sample_of_run(run)], draws=5).query
    cost = fitted.stages[1].cost
    assert cost.wait_s == pytest.approx(0.020, abs=0.01)
    assert (1 + fitted.background / 2) * (1 + cost.outside) == pytest.approx(1.4, rel=0.1)


def explored(query, *rates):
    """Return the columns of three micro-batches at each rate, as if they had come after a load."""
    parts = []
    for seed, rate_per_s in enumerate(rates, 50):
        batches, tasks = run_of(query, seed, rate_per_s=rate_per_s, trigger_s=1.0, duration_s=20.0).columns()
        chosen = batches["batch_id"][10:13]
        inside = np.isin(tasks["batch_id"], chosen)
        batches = {name: column[10:13] for name, column in batches.items()}
        tasks = {name: column[inside] for name, column in tasks.items()}
        batches["batch_id"], tasks["batch_id"] = batches["batch_id"] + 1000 * seed, tasks["batch_id"] + 1000 * seed
        parts.append((batches, tasks))
    return [{name: np.concatenate([part[k][name] for part in parts]) for name in parts[0][k]} for k in (0, 1)]


def test_m5_micro_batches_of_other_sizes_after_the_load_tell_what_a_row_costs():
    # The first stage has far more fixed work than is usual, so the assumption is wrong.
    true = three_stages()
    first = replace(true.stages[0], cost=TaskCost(wait_s=0.030, fixed_s=0.040, per_row_s=0.8e-6))
    true = replace(true, stages=(first, *true.stages[1:]))
    run = run_of(true, 7, trigger_s=1.0)
    alone = make_sample(run.facts, *run.columns())
    helped = with_explored(alone, run.columns()[0], *explored(true, 25_000.0, 200_000.0, 400_000.0))
    assert helped.explored is not None
    assert helped.explored.batches == 9
    assert cost(fit_model([alone], draws=5), 0, "per_row_s")[0] > 1.1e-6
    fitted = fit_model([helped], draws=20)
    assert cost(fitted, 0, "per_row_s")[0] == pytest.approx(0.8e-6, rel=0.08)
    assert cost(fitted, 0, "fixed_s")[0] == pytest.approx(0.040, rel=0.1)
    # They are no part of the load: noise, levels and rates are those of the run.
    assert len(fitted.query.noise.factors) == alone.batches
    assert [point.rate_per_s for point in fitted.ranges.runs] == pytest.approx([100_000], rel=0.02)
    assert fitted.ranges.task_rows[1] > 150_000


def test_explored_micro_batches_with_other_stages_are_left_out():
    run = run_of(three_stages(), 7, trigger_s=1.0)
    sample = make_sample(run.facts, *run.columns())
    batches, tasks = explored(three_stages(), 25_000.0)
    torn = {name: column[tasks["partition"] == 0] for name, column in tasks.items()}
    assert with_explored(sample, run.columns()[0], batches, torn) == sample


def test_odd_micro_batches_of_a_run_of_one_size_do_not_decide_what_a_row_costs():
    run = run_of(three_stages(), 3, trigger_s=1.0)
    batches, tasks = run.columns()
    # Two of them are smaller and slower, as the first ones after a start are.
    odd = batches["batch_id"][15:17]
    batches["events"] = np.where(np.isin(batches["batch_id"], odd), 85_000, batches["events"])
    tasks["cpu_s"] = tasks["cpu_s"] * np.where(np.isin(tasks["batch_id"], odd), 2.0, 1.0)
    fitted = fit_model([make_sample(run.facts, batches, tasks)], draws=5)
    assert cost(fitted, 0, "per_row_s")[0] == pytest.approx(1.2e-6, rel=0.15)


def test_a_static_table_is_not_taken_for_the_source():
    query = three_stages()
    table = Stage("table", "cores", TaskCost(wait_s=0.005, fixed_s=0.001), per_event=0.0)
    moved = [
        replace(s, reads=tuple(r + 1 for r in s.reads), after=tuple(range(k + 1))) for k, s in enumerate(query.stages)
    ]
    noise = replace(
        query.noise, gaps_s=np.array([[0.03, 0.008, 0.008, 0.008]]), factors=np.ones((1, 4)), task_cv=(0.0,) * 4
    )
    with_table = replace(query, stages=(table, *moved), noise=noise)
    for settings in ({"rate_per_s": 100_000.0}, {"rate_per_s": 1000.0}):
        fitted = fit_model(samples(with_table, settings), draws=3)
        assert [stage.name.split("(")[1] for stage in fitted.query.stages] == [
            "table)",
            "source)",
            "shuffle)",
            "shuffle)",
        ]
        assert fitted.query.stages[0].per_event == 0
        assert fitted.query.stages[0].tasks == "cores"
        assert fitted.query.stages[2].reads == (1,)


def test_windows_are_found_by_when_rows_go_on():
    fitted = fit_model(samples(windowed(2.0), {"rate_per_s": 100_000.0}, {"rate_per_s": 200_000.0}), draws=20)
    query = fitted.query
    assert query.slide_s == 2.0
    assert query.stages[1].closing is not None
    pane = query.stages[1].closing(2 * 150_000.0)
    assert pane == pytest.approx(0.05 * 300_000, rel=0.05)
    assert cost(fitted, 1, "per_written_row_s")[0] == pytest.approx(2.0e-6, rel=0.25)
    assert query.stages[2].closing is None


def test_a_slide_that_is_given_is_not_looked_for():
    both = samples(windowed(2.0), {"rate_per_s": 100_000.0})
    assert fit_model(both, slide_s=1.0, draws=2).query.slide_s in (1.0, None)


def test_a_query_without_windows_has_no_slide(model):
    assert model.query.slide_s is None


def test_keys_that_are_all_met_write_a_level_number_of_rows():
    query = three_stages()
    few = replace(query.stages[0], output=OutputCurve(0.8, 100))
    fitted = fit_model(samples(replace(query, stages=(few, *query.stages[1:])), {"rate_per_s": 100_000.0}), draws=2)
    assert fitted.query.stages[0].output([20_000, 500_000]) == pytest.approx([100, 100], rel=0.02)


def test_partitions_are_taken_from_the_run_that_has_most():
    fitted = fit_model(samples(three_stages(), {"shuffle_partitions": 8}, {"shuffle_partitions": 2}), draws=2)
    assert fitted.query.stages[1].shares == pytest.approx([0.20, 0.14, 0.12, 0.12, 0.12, 0.10, 0.10, 0.10], abs=0.001)
    assert fitted.query.stages[1].tasks == "shuffle"
    assert fitted.query.return_s == pytest.approx(0.001, abs=0.001)


def test_a_stage_with_a_number_of_tasks_of_its_own_keeps_it():
    query = three_stages()
    last = replace(query.stages[2], tasks=3)
    fitted = fit_model(samples(replace(query, stages=(*query.stages[:2], last)), {}), draws=2)
    assert fitted.query.stages[2].tasks == 3


def test_runs_that_repeat_tell_how_far_runs_differ():
    query = three_stages()
    paces = (0.8, 1.0, 1.25, 1.0)
    runs = [
        sample_of_run(run_of(scaled(query, pace), 40 + k, chance=replace(CHANCE, persistence=0.0)))
        for k, pace in enumerate(paces)
    ]
    # What is usual counts as much as five runs do.
    together = np.sqrt((4 * RUN_CV**2 + np.var(np.log(paces)) * 4) / 7)
    assert fit_model(runs, draws=2).run_cv == pytest.approx(together, rel=0.2)
    assert fit_model(runs[:1], draws=2).run_cv == pytest.approx(RUN_CV)


def scaled(query, pace):
    """A machine on which every task takes longer, also by its CPU time."""
    stages = [
        replace(
            s,
            cost=replace(
                s.cost, wait_s=s.cost.wait_s * pace, fixed_s=s.cost.fixed_s * pace, per_row_s=s.cost.per_row_s * pace
            ),
        )
        for s in query.stages
    ]
    return replace(query, stages=tuple(stages))


def test_the_same_data_give_the_same_model():
    both = samples(three_stages(), {"duration_s": 20.0})
    first, second = (fit_model(both, draws=5) for _ in range(2))
    assert first.document() == second.document()
    assert [d.background for d in first.draws] == [d.background for d in second.draws]


def test_the_document_of_a_model_is_json(model):
    document = json.loads(json.dumps(model.document()))
    stage = document["stages"][0]
    assert document["runs"] == list(model.run_ids)
    assert stage["per_row_s"]["low"] <= stage["per_row_s"]["value"] <= stage["per_row_s"]["high"]


# What cannot be used.


def test_runs_of_different_queries_are_refused():
    one, other = samples(three_stages(), {}), samples(three_stages(), {}, workload="another")
    with pytest.raises(InvalidExperimentError, match=r"not of one query.*another"):
        fit_model([*one, *other])


def test_runs_with_different_stages_are_refused():
    query = three_stages()
    short = replace(query, stages=query.stages[:2], noise=replace(query.noise, gaps_s=np.zeros((1, 2))))
    with pytest.raises(InvalidExperimentError, match=r"3 stages.*2"):
        fit_model([*samples(query, {}), *samples(short, {})])


def test_no_runs_are_refused():
    with pytest.raises(UsageError, match="nothing to fit"):
        fit_model([])


def test_a_run_that_is_too_short_is_refused_and_a_short_one_is_a_concern():
    with pytest.raises(InvalidExperimentError, match="micro-batches of the measured time"):
        sample_of_run(run_of(three_stages(), 1, duration_s=1.0))
    (few,) = samples(three_stages(), {"duration_s": 4.0})
    assert any("micro-batches were measured" in concern for concern in fit_model([few], draws=2).concerns)


def test_a_run_that_never_settles_is_a_concern():
    run = run_of(three_stages(), 1, chance=Chance())
    batches, tasks = run.columns()
    batches["duration_s"] = batches["duration_s"] * np.linspace(1.0, 4.0, len(batches["duration_s"]))
    sample = make_sample(run.facts, batches, tasks)
    assert any("no steady state" in concern for concern in fit_model([sample], draws=2).concerns)
    varying = make_sample(replace(run.facts, level=False), batches, tasks)
    assert varying.concerns == ()


def test_micro_batches_with_missing_or_failed_tasks_are_left_out():
    run = run_of(three_stages(), 1, duration_s=20.0)
    batches, tasks = run.columns()
    whole = make_sample(run.facts, batches, tasks)
    hit = int(batches["batch_id"][len(batches["batch_id"]) // 2])
    failed = dict(tasks)
    failed["is_ok"] = tasks["is_ok"] & ~((tasks["batch_id"] == hit) & (tasks["partition"] == 0))
    assert make_sample(run.facts, batches, failed).batches == whole.batches - 1
    kept = ~((tasks["batch_id"] == hit) & (tasks["partition"] == 0))
    cut = {name: column[kept] for name, column in tasks.items()}
    assert make_sample(run.facts, batches, cut).batches == whole.batches - 1


def test_micro_batches_with_other_stages_than_most_are_left_out_and_told():
    run = run_of(three_stages(), 1, duration_s=20.0)
    batches, tasks = run.columns()
    ids = batches["batch_id"]
    odd = np.isin(tasks["batch_id"], ids[::5]) & (tasks["stage_id"] % 3 == 2)
    cut = {name: column[~odd] for name, column in tasks.items()}
    assert len(make_sample(run.facts, batches, cut).stages) == 3
    some = np.isin(tasks["batch_id"], ids[::3]) & (tasks["stage_id"] % 3 == 2)
    more = np.isin(tasks["batch_id"], ids[1::3]) & (tasks["stage_id"] % 3 >= 1)
    sample = make_sample(run.facts, batches, {n: c[~(some | more)] for n, c in tasks.items()})
    assert any("have the same stages" in concern for concern in sample.concerns)


# From run directories.


def stored(tmp_path, run, *, tasks=True, load=True, drop=()):
    """Write a plain run as a run directory."""
    clock = ManualClock(wall_offset_s=ORIGIN_US / 1e6)
    facts = run.facts
    configuration = {"warmup_s": 10.0, "trigger_s": facts.trigger_s, "shuffle_partitions": None, "load": "open"}
    writer = RunWriter.create(
        tmp_path,
        workload=facts.workload,
        document={"configuration": configuration, "environment": {"cores": 2}},
        clock=clock,
    )
    batches = pa.table({name: values for name, values in run.batches.items() if name not in drop})
    writer.write_table("batches", batches)
    if tasks:
        writer.write_table("tasks", pa.table(run.tasks))
    origin = {"origin_us": ORIGIN_US, "closed_us": facts.until_us, "cores": facts.cores}
    writer.update(load=origin if load else None)
    writer.finish("finished", summary={}, verdict="pass", reasons=[])
    return open_run(tmp_path, writer.run_id)


def test_a_stored_run_is_read_as_it_was_made(tmp_path):
    run = run_of(three_stages(), 5, duration_s=20.0)
    sample = sample_of(stored(tmp_path, run))
    expected = sample_of_run(run)
    assert (sample.facts.cores, sample.facts.shuffle_partitions, sample.facts.processors) == (2, 2, 2)
    assert sample.events.tolist() == expected.events.tolist()
    assert sample.stages[1].wall_s == pytest.approx(expected.stages[1].wall_s)
    assert fit_runs([stored(tmp_path, run)]).query.stages[1].reads == (0,)


@pytest.mark.parametrize(
    ("broken", "message"),
    [({"tasks": False}, "no tasks"), ({"load": False}, "before any event"), ({"drop": ("events",)}, "lacks.*events")],
)
def test_a_run_without_what_is_needed_is_refused(tmp_path, broken, message):
    run = run_of(three_stages(), 5, duration_s=20.0)
    with pytest.raises(InvalidExperimentError, match=message) as caught:
        sample_of(stored(tmp_path, run, **broken))
    assert caught.value.remedy
