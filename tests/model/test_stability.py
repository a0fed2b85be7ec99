"""Which load is sustained."""

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.model import (
    BatchLine,
    CapacityModel,
    Noise,
    OutputCurve,
    QueryModel,
    Settings,
    StageModel,
    TaskCost,
    simulate,
)
from streamgauge.model.stability import per_row_s
from streamgauge.model.state import StateGrowth

from .made_up import three_stages


def line_query(fixed_s, row_s):
    """A query whose micro-batches are a straight line."""
    noise = Noise.none({"query_planning": fixed_s}, (0.0,))
    stage = StageModel("stage 1 (source)", 1, TaskCost(per_row_s=row_s))
    return QueryModel((stage,), noise, processors=1, dispatch_s=0.0, return_s=0.0)


def test_the_example_without_an_interval_settles_at_400_ms():
    line = BatchLine(0.200, 0.05e-3)
    assert line.period_s(10_000) == pytest.approx(0.400)
    assert 10_000 * line.period_s(10_000) == pytest.approx(4000)
    assert line.mean_latency_s(10_000) == pytest.approx(0.600)


def test_the_example_with_an_interval_takes_700_ms_of_it():
    line = BatchLine(0.200, 0.05e-3)
    assert line.duration_s(10_000, 1.0) == pytest.approx(0.700)
    assert line.mean_latency_s(10_000, 1.0) == pytest.approx(1.200)


@given(st.floats(0.01, 2.0), st.floats(1e-7, 1e-3), st.floats(0.01, 0.99), st.sampled_from([0.0, 0.5, 3.0]))
def test_m3_a_period_holds_its_own_work_or_the_interval(fixed, row, load, interval):
    line, rate = BatchLine(fixed, row), load / row
    period = line.period_s(rate, interval)
    assert period == pytest.approx(max(interval, line.duration_s(rate, interval)))


@pytest.mark.parametrize("trigger_s", [0.0, 0.3, 2.0])
def test_m3_a_line_is_stable_below_one_row_per_its_cost(trigger_s):
    line = BatchLine(0.2, 1e-5)
    assert line.is_stable(99_999)
    assert not line.is_stable(100_000)
    assert math.isinf(line.period_s(100_001, trigger_s))
    assert line.sustainable_rate_per_s() == pytest.approx(100_000)
    assert line.sustainable_rate_per_s(2.0) == pytest.approx(90_000)
    assert line.sustainable_rate_per_s(0.1) == 0


def test_what_comes_after_the_commit_is_no_latency():
    assert BatchLine(0.2, 5e-5, after_s=0.05).mean_latency_s(10_000) == pytest.approx(0.55)


def test_the_largest_partition_bounds_a_stage():
    assert per_row_s([4e-6], [0.25], 4) == pytest.approx(1e-6)
    assert per_row_s([4e-6], [0.9], 4) == pytest.approx(3.6e-6)


@pytest.mark.parametrize("trigger_s", [0.0, 1.0, 2.0])
def test_the_capacity_of_a_line_is_that_of_the_formula(trigger_s):
    settings = Settings(1.0, 1, trigger_s=trigger_s)
    found = CapacityModel([line_query(0.2, 1e-5)], settings).sustainable_rate_per_s()
    assert found == pytest.approx([BatchLine(0.2, 1e-5).sustainable_rate_per_s(max(3.0, 2 * trigger_s))])


def test_a_limit_of_rows_bounds_the_rate():
    query = line_query(0.2, 1e-5)
    fast = CapacityModel([query], Settings(1.0, 1, max_rows_per_batch=1000)).sustainable_rate_per_s()
    assert fast == pytest.approx([1000 / 0.21])
    slow = CapacityModel([query], Settings(1.0, 1, trigger_s=1.0, max_rows_per_batch=1000)).sustainable_rate_per_s()
    assert slow == pytest.approx([1000.0])


def test_without_any_limit_the_fixed_cost_does_not_count():
    settings = Settings(1.0, 1, admission_target_s=math.inf)
    assert CapacityModel([line_query(0.2, 1e-5)], settings).sustainable_rate_per_s() == pytest.approx([1e5], rel=1e-3)


def test_queries_are_solved_together_as_alone():
    queries = [line_query(0.1, 1e-5), line_query(0.1, 2e-5)]
    together = CapacityModel(queries, Settings(1.0, 1)).sustainable_rate_per_s()
    alone = [CapacityModel([query], Settings(1.0, 1)).sustainable_rate_per_s()[0] for query in queries]
    assert together == pytest.approx(alone)


def test_a_fixed_cost_above_the_target_leaves_the_smallest_limit():
    assert CapacityModel([line_query(5.0, 1e-5)], Settings(1.0, 1)).sustainable_rate_per_s() == pytest.approx(
        [1000 / 5.01]
    )


@pytest.mark.parametrize("trigger_s", [0.0, 1.0])
def test_m3_the_simulation_follows_below_the_capacity_and_falls_behind_above(trigger_s):
    query = three_stages()
    limit = float(CapacityModel([query], Settings(1.0, 2, trigger_s=trigger_s)).sustainable_rate_per_s()[0])
    backlog = {}
    for share in (0.9, 1.15):
        settings = Settings(limit * share, 2, trigger_s=trigger_s, duration_s=80.0, warmup_s=20.0)
        done = simulate([query], settings, replications=4, rng=np.random.default_rng(1))
        late = np.where(done.emitted_s <= 100.0, done.first + done.events, 0).max(axis=0)
        backlog[share] = 1 - late / (limit * share * 100.0)
    assert np.all(backlog[0.9] < 0.06)
    assert np.all(backlog[1.15] > 0.10)


def test_latencies_weigh_as_many_events_as_are_due_after_the_warm_up():
    settings = Settings(1000.0, 1, duration_s=20.0, warmup_s=5.0)
    done = simulate([line_query(0.2, 1e-5)], settings, replications=2, rng=np.random.default_rng(1))
    _, weights = done.latencies()
    assert weights.sum(axis=1) == pytest.approx([20_000] * 2, rel=0.02)


def test_more_cores_raise_the_capacity_until_partitions_end_it():
    query = replace(three_stages(), background=0.0)
    found = [
        float(
            CapacityModel(
                [query], Settings(1.0, cores, machine_cores=64, shuffle_partitions=8, source_partitions=8)
            ).sustainable_rate_per_s()[0]
        )
        for cores in (1, 2, 4, 8, 16)
    ]
    assert found == sorted(found)
    # Half of the fixed costs of tasks is saved as well.
    assert 2 * found[0] < found[1] < 3 * found[0]
    assert found[4] == pytest.approx(found[3], rel=1e-6)


def test_everything_takes_longer_on_a_slower_day():
    query = replace(line_query(0.2, 1e-5), pace=2.0)
    assert CapacityModel([query], Settings(1.0, 1)).sustainable_rate_per_s() == pytest.approx([(1.5 - 0.2) / 1e-5 / 3])


def test_gaps_before_stages_are_fixed_costs():
    query = replace(line_query(0.2, 1e-5), noise=Noise.none({"query_planning": 0.2}, (0.3,)), pace=2.0)
    assert CapacityModel([query], Settings(1.0, 1)).sustainable_rate_per_s() == pytest.approx([(1.5 - 0.5) / 1e-5 / 3])


def writing(**stage):
    """A line whose stage also writes rows, at 0.1 ms each, or holds state."""
    query = line_query(0.2, 1e-5)
    return replace(query, stages=(replace(query.stages[0], **stage),))


@pytest.mark.parametrize("slide_s", [0.5, 2.0])
def test_windows_that_close_cost_their_rows(slide_s):
    dear = TaskCost(per_row_s=1e-5, per_written_row_s=1e-4)
    # One row per twenty events, in however many windows: half a cost of a row more.
    query = replace(writing(cost=dear, closing=OutputCurve(0.05)), slide_s=slide_s)
    assert CapacityModel([query], Settings(1.0, 1)).sustainable_rate_per_s() == pytest.approx([2.8 / 1.5e-5 / 3])
    # A hundred keys per window: 3 s hold 3 s / slide windows of 10 ms.
    query = replace(writing(cost=dear, closing=OutputCurve(1.0, 100.0)), slide_s=slide_s)
    expected = (2.8 - 3 / slide_s * 0.01) / 1e-5 / 3
    assert CapacityModel([query], Settings(1.0, 1)).sustainable_rate_per_s() == pytest.approx([expected])


def test_state_that_grows_with_the_rate_costs_as_a_row_does():
    dear = TaskCost(per_row_s=1e-5, per_state_row_s=1e-6)
    # 6 rows of state for every event per second, so two for every event of a micro-batch of 3 s.
    query = replace(writing(cost=dear), state=StateGrowth(OutputCurve(1.0), retention_s=6.0))
    assert CapacityModel([query], Settings(1.0, 1)).sustainable_rate_per_s() == pytest.approx([2.8 / 1.2e-5 / 3])


def test_noise_counts_by_its_mean():
    noise = replace(
        Noise.none({"query_planning": 0.2}, (0.0,)),
        phases_s=np.repeat(Noise.none({"query_planning": 0.2}, (0.0,)).phases_s, 2, axis=0),
        gaps_s=np.zeros((2, 1)),
        factors=np.array([[0.5], [1.5]]),
        run=np.zeros(2, dtype=np.int64),
    )
    found = CapacityModel([replace(line_query(0.2, 1e-5), noise=noise)], Settings(1.0, 1), draws=4000)
    assert found.sustainable_rate_per_s() == pytest.approx([2.8 / 1e-5 / 3], rel=0.02)
