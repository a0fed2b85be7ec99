"""The steps of a calibration, by closed forms; whole fits are tested with `fit_model`."""

from types import SimpleNamespace

import numpy as np
import pytest

from streamgauge.model import OutputCurve
from streamgauge.model.cost import TaskCost, contention
from streamgauge.model.cost_fit import (
    RUN_CV,
    SLOWDOWN,
    SLOWDOWN_SD,
    STAGE_SD,
    USUAL_S,
    USUAL_SOURCE_WAIT_S,
    USUAL_WAIT_S,
    CostFit,
    _apart,
    _doubt,
    _inner,
    _varies,
)
from streamgauge.model.fitted_query import FittedModel
from streamgauge.model.structure import Structure

from .test_structure import EVENTS, run, source, stage


def test_doubt_is_a_square_and_beyond_two_errors_a_line():
    assert _doubt(np.array([0.0, -1.0, 2.0, 3.0, -5.0])).tolist() == [0, 1, 4, 8, 16]


def test_what_varies_does_so_by_a_share_of_its_mean():
    assert _varies(np.array([8.0, 12.0]), 0.19)
    assert not _varies(np.array([8.0, 12.0]), 0.2)
    assert not _varies(np.array([-1.0, 1.0]), 0.2)


def test_columns_are_apart_unless_one_follows_from_the_other():
    x = np.array([1.0, 2.0, 3.0, 4.0])
    assert not _apart(x, -2 * x)
    assert _apart(x, np.ones(4))
    assert _apart(np.ones(4), x)
    assert _apart(x, np.array([1.0, -1.0, 1.0, -1.0]))


def test_single_micro_batches_of_another_size_hardly_count_in_a_run_of_one_size():
    run = np.repeat([0, 1], [9, 4])
    found = _inner(np.array([100.0] * 8 + [200.0, 10.0, 20.0, 30.0, 40.0]), run)
    # Three thousandths of the middle are a usual distance; the second run has sizes of all kinds.
    assert found == pytest.approx([1] * 8 + [(0.3 / 100) ** 2] + [1] * 4)
    some = _inner(np.array([99.0, 100.0, 100.0, 101.0, 101.0, 110.0]), np.zeros(6))
    low, high = np.quantile([99.0, 100.0, 100.0, 101.0, 101.0, 110.0], [0.25, 0.75])
    assert some == pytest.approx([1, 1, 1, 1, 1, (3 * (high - low) / 9.5) ** 2])


def tasks_of(left_s, *, tasks=(1, 2, 2)):
    """A stage of two micro-batches with one and two tasks that take longer than expected by `left_s`."""
    data = SimpleNamespace(batch=np.array([0, 1, 1]), tasks=np.array(tasks), wall_s=1.0 + np.array(left_s))
    structure = SimpleNamespace(data=[data], batches=2, stages=1, run=np.array([0, 1]))
    return SimpleNamespace(structure=structure, expected_s=lambda *_: np.ones(3))


def test_what_tasks_take_beyond_their_work_is_waiting_and_what_they_lack_is_no_fixed_work():
    counts, costs = np.array([1.0, 3.0]), {"fixed_s": 0.3, "per_row_s": 1e-6}
    longer = CostFit.task_cost(tasks_of([0.3, 0.1, 0.2]), 0, costs, 0.5, 0.0, counts)
    # Micro-batches count alike, and the second was drawn three times.
    assert longer == TaskCost(wait_s=pytest.approx(0.75 / 4), fixed_s=0.3, per_row_s=1e-6, outside=0.5)
    shorter = CostFit.task_cost(tasks_of([-0.3, -0.1, -0.2]), 0, costs, 0.5, 0.0, counts)
    assert shorter == TaskCost(fixed_s=pytest.approx(0.3 - 0.75 / 4 / 1.5), per_row_s=1e-6, outside=0.5)
    assert CostFit.task_cost(tasks_of([-0.9] * 3), 0, costs, 0.5, 0.0, counts).fixed_s == 0


def test_runs_disagree_by_the_squares_of_the_logarithms_of_their_levels():
    stub = tasks_of([np.exp(0.1) - 1, np.exp(-0.2) - 1, np.exp(-0.2) - 1])
    stub.task_cost = lambda *_: None
    assert CostFit._disagreement(stub, [{}], 0.0) == pytest.approx((0.1**2 + 0.2**2) / RUN_CV**2)


def test_without_data_the_background_is_what_is_usual():
    samples = [SimpleNamespace(facts=SimpleNamespace(cores=2))]
    stub = SimpleNamespace(structure=SimpleNamespace(processors=2, samples=samples, stages=0))
    grid, likely = CostFit.background(stub, [])
    assert (grid[0], grid[-1], len(grid)) == (0, 2, 101)
    assert likely.sum() == pytest.approx(1)
    assert 1 + grid[likely.argmax()] / 2 == pytest.approx(SLOWDOWN)
    # One scatter of 0.15 away it is exp(-1 / 2) as likely.
    assert likely[25] / likely[10] == pytest.approx(np.exp(-1 / 2))


@pytest.mark.parametrize(("source", "unit"), [(True, "rows"), (False, "bytes"), (False, "rows")])
def test_nothing_is_usual_for_the_cost_of_events_and_of_bytes(source, unit):
    stub = SimpleNamespace(structure=SimpleNamespace(sources=[source], units=[unit]))
    usual, scatter = CostFit._usual(stub, 0, ["fixed_s", "per_row_s"])
    known = not source and unit == "rows"
    assert usual.tolist() == [USUAL_S["fixed_s"][0], USUAL_S["per_row_s"][0] if known else 0.0]
    assert scatter.tolist() == [USUAL_S["fixed_s"][1], USUAL_S["per_row_s"][1] if known else np.inf]


def test_the_interval_of_a_parameter_holds_nine_of_ten_draws():
    model = SimpleNamespace(query=7, draws=range(101))
    assert FittedModel.interval(model, float) == pytest.approx((7, 5, 95))


def test_what_a_stage_costs_is_told_by_what_it_reads_writes_and_keeps():
    some = np.array([0.0, 50.0, 0.0, 70.0, 30.0, 0.0])
    stages = source(written=some), stage(read=some, written=some), stage(), stage(rows=np.full(6, 9.0))
    plain, stateful = (CostFit(Structure([run(*stages, state=state)], None)) for state in (None, EVENTS))
    # What the source writes varies apart from what it reads; what the second stage writes is what it reads.
    assert plain.features(0, None) == ["fixed_s", "per_row_s", "per_written_row_s"]
    assert plain.features(1, None) == ["fixed_s", "per_row_s"]
    assert plain.features(1, OutputCurve(1.0)) == ["fixed_s", "per_row_s", "per_written_row_s"]
    assert plain.features(2, None) == plain.features(3, None) == ["fixed_s"]
    assert stateful.features(0, None) == ["fixed_s", "per_row_s", "per_written_row_s"]
    assert stateful.features(1, None) == ["fixed_s", "per_row_s", "per_state_row_s"]
    assert stateful.features(2, None) == ["fixed_s"]


COSTS = {"fixed_s": 0.25, "per_row_s": 1e-3, "per_written_row_s": 2e-3, "per_state_row_s": 4e-3}


def test_work_is_what_rows_cost_and_its_mean_is_taken_over_the_tasks_of_a_micro_batch():
    structure = Structure(
        [run(source(), stage(read=EVENTS / 2, written=EVENTS / 4, until_s=3.0), state=EVENTS / 5)], None
    )
    calibration = CostFit(structure)
    work_s, wall_s = calibration._batch_means(1, COSTS)
    assert work_s == pytest.approx((1e-3 * EVENTS / 2 + 2e-3 * EVENTS / 4 + 4e-3 * EVENTS / 5) / 2)
    assert wall_s == pytest.approx([2.0] * 6)
    assert calibration._batch_means(1, {"fixed_s": 0.25})[0].tolist() == [0.0] * 6
    expected_s = calibration.expected_s(1, TaskCost(**COSTS, wait_s=0.5), 0.8)
    slowdown = float(contention(2, background=0.8, processors=2))
    assert expected_s == pytest.approx(0.5 + slowdown * (0.25 + np.repeat(work_s, 2)))


def test_contention_is_that_of_the_tasks_that_run_at_a_time():
    # A single task on two cores, and three tasks on one.
    for tasks, cores, running in ((1, 2, 1), (3, 1, 1), (3, 2, 2)):
        calibration = CostFit(Structure([run(source(tasks=tasks), cores=cores, processors=4)], None))
        slowdown = float(contention(running, background=3.5, processors=4))
        assert calibration.expected_s(0, TaskCost(fixed_s=1.0), 3.5) == pytest.approx(slowdown)


@pytest.mark.parametrize(("is_source", "usual"), [(True, USUAL_SOURCE_WAIT_S), (False, USUAL_WAIT_S)])
def test_much_work_tells_the_ratio_of_wall_to_cpu_time_without_a_usual_wait(is_source, usual):
    alike = np.full(6, 1000.0)
    first = stage(rows=alike, written=alike, until_s=3.0)
    stages = (first,) if is_source else (first, stage(read=alike, until_s=3.0))
    calibration = CostFit(Structure([run(*stages, events=alike)], None))
    # Each task has half a second of work and a quarter that is fixed, and takes two seconds.
    (ratio,) = calibration._ratios(len(stages) - 1, {"fixed_s": 0.25, "per_row_s": 1e-3}, 2)
    assert ratio == pytest.approx(((2.0 - usual[0]) / 0.75, usual[1] / 0.75))


def test_micro_batches_and_runs_of_other_sizes_tell_the_ratio_as_well():
    rng = np.random.default_rng(1)
    runs = []
    for level in (1000.0, 3000.0):
        events = level * rng.uniform(0.8, 1.2, 40)
        until_s = 1.0 + 0.1 + 1.5 * 1e-3 * events / 2
        runs.append(run(stage(rows=events, until_s=until_s, many=40), events=events, run_id=str(level)))
    other = run(stage(rows=EVENTS, until_s=9.0), cores=1)
    calibration = CostFit(Structure([*runs, other], None))
    within, between, without_wait = calibration._ratios(0, {"fixed_s": 0.0, "per_row_s": 1e-3}, 2)
    assert within[0] == pytest.approx(1.5, rel=1e-3)
    assert between[0] == pytest.approx(1.5, rel=1e-3)
    assert without_wait[0] == pytest.approx(1.5 + (0.1 - USUAL_SOURCE_WAIT_S[0]) / 1.0, rel=0.05)


def told(ratios, *, wall_s=10.0, tasks=2, cores=(2,), stages=1):
    """A calibration of stages with a second of work each, whose ratios of wall to CPU time are given."""
    samples = [SimpleNamespace(facts=SimpleNamespace(cores=n)) for n in cores]
    data = [SimpleNamespace(tasks=np.array([1, tasks]))] * stages
    structure = SimpleNamespace(samples=samples, stages=stages, data=data, processors=2)
    return SimpleNamespace(
        structure=structure,
        _ratios=lambda *_: ratios,
        _batch_means=lambda *_: (np.array([0.75, 0.75]), np.array([wall_s, wall_s])),
        _of_cores=lambda _: np.array([True, True]),
        _disagreement=lambda _costs, background: 100.0 * (background - 1.5) ** 2,
    )


@pytest.mark.parametrize(
    ("ratio", "wall_s", "expected"),
    [
        # Clear: it is believed as it is.
        (3.0, 10.0, 3.0),
        # At most the whole time of the task, 1.2 s for a second of work, and at least its CPU time.
        (3.0, 1.2, 1.2),
        (0.5, 10.0, 1.0),
        # Not clear: halfway to what contention explains, because both err as much.
        (1.6, 10.0, (1.4 + 1.6) / 2),
        (1.6, 0.5, 1.0),
    ],
)
def test_work_outside_of_tasks_is_what_contention_leaves_of_the_ratio(ratio, wall_s, expected):
    stub = told([(ratio, STAGE_SD)], wall_s=wall_s)
    background = 0.8
    slowdown = float(contention(2, background=background, processors=2))
    assert slowdown == pytest.approx(1.4)
    ((found, error),) = CostFit.outside(stub, [{"fixed_s": 0.25}], background)
    assert found == pytest.approx(expected / slowdown - 1)
    assert error == pytest.approx((STAGE_SD if ratio > 2 else STAGE_SD / np.sqrt(2)) / slowdown)


def likeliest(stub):
    grid, likely = CostFit.background(stub, [{"fixed_s": 0.25}] * stub.structure.stages)
    return grid[likely.argmax()]


def test_ratios_pull_the_background_away_from_what_is_usual():
    # What is usual and one stage count alike: halfway between slowdowns of 1.1 and 1.4.
    assert np.hypot(1e-9, STAGE_SD) == pytest.approx(SLOWDOWN_SD)
    assert 1 + likeliest(told([(1.4, 1e-9)])) / 2 == pytest.approx((1.1 + 1.4) / 2, abs=0.011)
    assert 1 + likeliest(told([(1.4, 1e-9)], stages=2)) / 2 == pytest.approx((1.1 + 2 * 1.4) / 3, abs=0.011)


def test_a_ratio_that_is_clearly_above_two_is_the_work_of_others():
    assert likeliest(told([(2.4, 0.1)])) == pytest.approx(0.2)
    assert likeliest(told([(2.2, 0.1)])) > 0.4


def test_work_does_not_take_longer_than_its_task():
    # A second of work in 1.05 s leaves no room for a slowdown of more than 5 %.
    assert 1 + likeliest(told([(1.4, 1e-9)], wall_s=1.05)) / 2 == pytest.approx(1.05, abs=0.015)


def test_runs_with_other_core_counts_must_agree():
    assert likeliest(told([], cores=(1, 2))) > 1.0
    assert likeliest(told([], cores=(2, 2))) == pytest.approx(0.2)
