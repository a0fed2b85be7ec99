"""Parameters from the tables of runs: those that are known are found again, and what cannot be used is refused."""

import json
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from streamgauge.errors import InvalidExperimentError, UsageError
from streamgauge.model import OutputCurve, StageModel, TaskCost, fit_model
from streamgauge.model.cost import contention
from streamgauge.model.cost_fit import RUN_CV
from streamgauge.model.fit import _factors, _Fit, _run_cv, _task_cv
from streamgauge.model.query import PHASES
from streamgauge.model.sample import with_explored
from streamgauge.model.structure import Structure

from .made_up import CHANCE, PHASES_S, run_of, sample_of_run, samples, three_stages, windowed
from .new_runs import explored
from .plain_simulator import Chance
from .test_structure import EVENTS
from .test_structure import run as table_run
from .test_structure import stage as table_stage

RATES = ({"rate_per_s": 50_000.0}, {"rate_per_s": 300_000.0})


def cost(model, stage, name):
    return model.interval(lambda query: float(getattr(query.stages[stage].cost, name)))


@pytest.fixture(scope="module")
def model():
    return fit_model(samples(three_stages(), *RATES), draws=60)


@pytest.mark.parametrize("stage", [0, 1, 2])
def test_m5_the_costs_of_every_stage_are_found_again(model, stage):
    true = three_stages().stages[stage].cost
    # Two runs may differ by their levels, not only by their rates: the last stage, whose rows hardly vary, shows it.
    assert cost(model, stage, "per_row_s")[0] == pytest.approx(true.per_row_s, rel=0.05 if stage < 2 else 0.08)
    assert cost(model, stage, "fixed_s")[0] == pytest.approx(true.fixed_s, rel=0.1 if stage < 2 else 0.2)
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


def test_two_runs_have_one_degree_of_freedom_more_than_what_is_usual(model):
    assert model.run_freedom == 8 + 1


@pytest.mark.parametrize("second", [True, False])
def test_the_admission_limit_adapts_where_that_of_all_runs_did(second):
    made = samples(three_stages(), *({**rate, "duration_s": 20.0} for rate in RATES))
    adapting = [replace(s, facts=replace(s.facts, adapts=a)) for s, a in zip(made, (True, second), strict=True)]
    assert fit_model(adapting, draws=2).adapts is second


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


def test_m5_micro_batches_of_other_sizes_after_the_load_tell_what_a_row_costs():
    # The first stage has far more fixed work than is usual, so the assumption is wrong.
    true = three_stages()
    first = replace(true.stages[0], cost=TaskCost(wait_s=0.030, fixed_s=0.040, per_row_s=0.8e-6))
    true = replace(true, stages=(first, *true.stages[1:]))
    run = run_of(true, 7, trigger_s=1.0)
    alone = sample_of_run(run)
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
    sample = sample_of_run(run)
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
    fitted = fit_model([sample_of_run(run, batches=batches, tasks=tasks)], draws=5)
    assert cost(fitted, 0, "per_row_s")[0] == pytest.approx(1.2e-6, rel=0.15)


def test_a_static_table_is_not_taken_for_the_source():
    query = three_stages()
    table = StageModel("table", "cores", TaskCost(wait_s=0.005, fixed_s=0.001), per_event=0.0)
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
    # What is usual counts as much as nine runs do.
    together = np.sqrt((8 * RUN_CV**2 + np.var(np.log(paces)) * 4) / 11)
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
    sample = sample_of_run(run, batches=batches, tasks=tasks)
    assert any("no steady state" in concern for concern in fit_model([sample], draws=2).concerns)


def test_micro_batches_with_missing_or_failed_tasks_are_left_out():
    run = run_of(three_stages(), 1, duration_s=20.0)
    batches, tasks = run.columns()
    whole = sample_of_run(run, batches=batches, tasks=tasks)
    hit = int(batches["batch_id"][len(batches["batch_id"]) // 2])
    failed = dict(tasks)
    failed["is_ok"] = tasks["is_ok"] & ~((tasks["batch_id"] == hit) & (tasks["partition"] == 0))
    assert sample_of_run(run, tasks=failed).batches == whole.batches - 1
    kept = ~((tasks["batch_id"] == hit) & (tasks["partition"] == 0))
    cut = {name: column[kept] for name, column in tasks.items()}
    assert sample_of_run(run, tasks=cut).batches == whole.batches - 1


def test_micro_batches_with_other_stages_than_most_are_left_out_and_told():
    run = run_of(three_stages(), 1, duration_s=20.0)
    batches, tasks = run.columns()
    ids = batches["batch_id"]
    odd = np.isin(tasks["batch_id"], ids[::5]) & (tasks["stage_id"] % 3 == 2)
    cut = {name: column[~odd] for name, column in tasks.items()}
    assert len(sample_of_run(run, tasks=cut).stages) == 3
    some = np.isin(tasks["batch_id"], ids[::3]) & (tasks["stage_id"] % 3 == 2)
    more = np.isin(tasks["batch_id"], ids[1::3]) & (tasks["stage_id"] % 3 >= 1)
    sample = sample_of_run(run, tasks={n: c[~(some | more)] for n, c in tasks.items()})
    assert any("have the same stages" in concern for concern in sample.concerns)


def test_contention_and_work_outside_of_tasks_are_known_better_together_than_alone():
    query = three_stages()
    first = replace(query.stages[0], cost=replace(query.stages[0].cost, outside=4.0))
    fitted = fit_model(samples(replace(query, stages=(first, *query.stages[1:])), *RATES), draws=80)

    def slowdown(each):
        return float(contention(2, background=each.background, processors=2)) * (1 + each.stages[0].cost.outside)

    together = np.array([slowdown(each) for each in fitted.draws]) / slowdown(fitted.query)
    alone = np.array([each.background for each in fitted.draws])
    assert together.mean() == pytest.approx(1.0, abs=0.03)
    # A background that is drawn high comes with little work outside.
    assert abs(np.corrcoef(together, alone)[0, 1]) < 0.35


def test_what_a_driver_takes_is_found_where_stages_have_more_tasks_than_cores():
    true = three_stages(dispatch_s=0.004, return_s=0.007)
    fitted = fit_model(samples(true, {"shuffle_partitions": 8, "source_partitions": 8}, chance=Chance()), draws=2).query
    assert fitted.dispatch_s == pytest.approx(0.004, abs=0.001)
    assert fitted.return_s == pytest.approx(0.007, abs=0.001)
    assert fitted.noise.gaps_s.mean(axis=0) == pytest.approx([0.030, 0.008, 0.008], abs=0.002)


def test_noise_of_tasks_is_taken_off_that_of_micro_batches():
    chance = Chance(task_cv=0.2)
    noise = fit_model(samples(three_stages(), {"duration_s": 120.0}, chance=chance), draws=2).query.noise
    assert noise.task_cv == pytest.approx([0.2] * 3, rel=0.15)
    # Micro-batches have no noise of their own: two tasks alone would make them scatter by 14 %.
    assert noise.factors.std(axis=0).max() < 0.06


def test_what_is_usual_counts_as_eight_degrees_of_freedom_in_the_scatter_of_runs():
    assert _run_cv(np.ones(2)) == pytest.approx(RUN_CV * np.sqrt(8 / 9))
    assert _run_cv(np.exp([0.3, -0.3, 0.0])) == pytest.approx(np.sqrt((8 * RUN_CV**2 + 0.18) / 10))


def test_tasks_scatter_around_the_factor_that_they_share():
    # Expected are 2 s; the second micro-batch is three times slower as a whole.
    data = SimpleNamespace(wall_s=np.array([1.8, 2.2, 5.4, 6.6]), batch=np.array([0, 0, 1, 1]), tasks=np.array([2, 2]))
    assert _task_cv(data, np.full(4, 2.0), np.array([1.0, 3.0])) == pytest.approx(0.1 * np.sqrt(2))
    data.tasks = np.array([1, 1])
    assert _task_cv(data, np.full(4, 2.0), np.array([1.0, 3.0])) == 0.0


def test_factors_of_micro_batches_lose_what_single_tasks_explain_and_keep_the_level_of_their_run():
    run = np.array([0, 0, 1, 1])
    wall, expected = np.array([1.6, 2.4, 9.0, 3.0]), np.array([2.0, 2.0, 3.0, 1.0])
    # Half of the variance of 0.04 is that of two tasks of 0.2; the second run has a level of 3 and no scatter.
    left = 0.2 * np.sqrt(0.5)
    assert _factors(wall, expected, run, 0.2, 2.0) == pytest.approx([1 - left, 1 + left, 3, 3])
    assert _factors(wall, expected, run, 0.0, 2.0) == pytest.approx([0.8, 1.2, 3, 3])
    assert _factors(wall, expected, run, 0.9, 2.0) == pytest.approx([1, 1, 3, 3])
    assert _factors(np.array([0.02, 3.98]), np.full(2, 2.0), np.zeros(2), 0.0, 1.0) == pytest.approx([0.05, 1.99])


def stage_times(launched_s, finished_s):
    launched, finished = np.array([launched_s]), np.array([finished_s])
    return SimpleNamespace(launched_s=launched, finished_s=finished, tasks=len(launched_s))


def test_the_driver_hands_over_one_task_after_the_other_and_again_when_one_ends():
    four = stage_times([0.6, 0.001, 0.0, 0.5], [1.0, 0.58, 0.49, 0.9])
    one = stage_times([0.0], [1.0])
    sample = SimpleNamespace(facts=SimpleNamespace(cores=2), stages=[four, one])
    assert _Fit._driver_times(SimpleNamespace(samples=[sample])) == pytest.approx((0.001, 0.015))
    sample.stages = [one]
    assert _Fit._driver_times(SimpleNamespace(samples=[sample])) == (0.001, 0.001)


def test_the_parts_of_a_micro_batch_add_up_to_its_duration():
    before_s = {"source_offsets": 0.01, "offset_log": 0.02, "source_plan": 0.03, "query_planning": 0.04}
    phases_s = {name: np.array([s]) for name, s in (before_s | {"execution": 0.9, "commit_log": 0.05}).items()}
    stages = [stage_times([0.13, 0.12], [0.4, 0.5]), stage_times([0.6], [0.8])]
    sample = SimpleNamespace(stages=stages, phases_s=phases_s, duration_s=np.array([1.1]), between_s=np.array([0.007]))
    phases, gaps = _Fit._gaps(SimpleNamespace(samples=[sample]), [(), (0,)], 0.002, 0.005)
    # The first stage waits for the phases, the second for the end of the first and the way back.
    assert gaps[0] == pytest.approx([0.12 - 0.1 - 0.002, 0.6 - 0.505 - 0.002])
    found = dict(zip(PHASES, phases[0], strict=True))
    assert {name: found[name] for name in before_s} == pytest.approx(before_s)
    assert found["sink_commit"] == pytest.approx(0.1 + 0.9 - 0.805)
    assert found["other"] == pytest.approx(1.1 - 0.05 - 1.0)
    assert found["between"] == pytest.approx(0.007)


@pytest.mark.parametrize("value", [0.0, 0.3, -0.9])
def test_what_contention_and_other_work_make_together_stays_in_every_draw(value):
    query, shares = replace(three_stages(), background=0.4), []

    def task_cost(k, costs, share, background, counts):
        shares.append(share)
        return query.stages[k].cost

    fit = SimpleNamespace(
        varied=SimpleNamespace(run=np.zeros(30, dtype=int), processes=2),
        structure=SimpleNamespace(processors=2),
        rng=np.random.default_rng(1),
        samples=[SimpleNamespace(facts=SimpleNamespace(cores=cores)) for cores in (1, 2)],
        cost_fit=SimpleNamespace(task_cost=task_cost),
    )
    drawn = _Fit._draw(fit, query, [lambda *_: None] * 3, [(value, 0.0)] * 3, 0.8)
    known, other = (float(contention(2, background=load, processors=2)) for load in (0.4, 0.8))
    assert drawn.background == 0.8
    assert known != other
    assert [(1 + share) * other for share in shares] == pytest.approx([max((1 + value) * known, 1.0)] * 3)


@pytest.mark.parametrize(("batches", "levels", "said"), [(20, 1.59, 0), (19, 1.0, 1), (20, 1.61, 1), (20, 1 / 1.61, 1)])
def test_few_micro_batches_and_runs_that_contradict_each_other_are_concerns(batches, levels, said):
    samples = [SimpleNamespace(concerns=(), facts=SimpleNamespace(run_id=name)) for name in "abc"]
    fit = SimpleNamespace(samples=samples, structure=SimpleNamespace(batches=batches))
    found = _Fit._concerns(fit, 2 * np.array([1.0, levels, 1.0]))
    assert len(found) == said
    assert all("tasks of b took" in concern for concern in found if "contradict" in concern)


def stage_of(structure, k):
    return _Fit._stage(SimpleNamespace(structure=structure), k, (OutputCurve(0.0), None), (), TaskCost())


def test_a_stage_reads_all_events_none_or_as_many_as_it_did_when_nobody_wrote_them():
    stages = table_stage(rows=EVENTS, written=EVENTS / 2), table_stage(read=EVENTS / 2), table_stage(read=EVENTS / 4)
    structure = Structure([table_run(*stages, table_stage())], None)
    found = [stage_of(structure, k) for k in range(4)]
    assert [stage.name for stage in found] == [
        "stage 1 (source)", "stage 2 (shuffle)", "stage 3 (shuffle)", "stage 4 (table)",
    ]  # fmt: skip
    assert [stage.reads for stage in found] == [(), (0,), (), ()]
    assert [stage.per_event for stage in found] == pytest.approx([1.0, 0.0, 0.25, 0.0])


def test_ranges_are_those_of_nearly_all_tasks_of_the_source_and_of_every_run():
    events = np.linspace(0.0, 2000.0, 101)
    runs = [
        table_run(table_stage(rows=events, many=101), events=events, run_id=name, cores=c)
        for name, c in (("a", 2), ("b", 4))
    ]
    structure = Structure(runs, None)
    found = _Fit._ranges(SimpleNamespace(samples=runs, structure=structure, varied=structure))
    # Two tasks share the events; the outer fiftieths are left out.
    assert found.task_rows == pytest.approx((20.0, 980.0), rel=0.05)
    assert [(point.task_rows, point.cores, point.shuffle_partitions) for point in found.runs] == [
        (500, 2, 2),
        (500, 4, 2),
    ]
    assert (found.cores, found.shuffle_partitions) == ((2, 4), (2,))
