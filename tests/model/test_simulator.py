"""The simulator against closed forms and against a second one that knows no arrays."""

from dataclasses import replace

import numpy as np
import pytest

from streamgauge.model import (
    ArrivalCurve,
    BatchLine,
    Noise,
    OutputCurve,
    QueryModel,
    Settings,
    StageModel,
    TaskCost,
    simulate,
)
from streamgauge.model.cost import contention
from streamgauge.model.practice import practice
from streamgauge.model.query import PHASES
from streamgauge.model.simulator import NoiseWalk, SimulatedMachine, Simulation

from .made_up import run_of, three_stages, windowed
from .plain_simulator import Chance


def rng(seed=1):
    return np.random.default_rng(seed)


def line_query(fixed_s=0.2, row_s=5e-5):
    noise = Noise.none({"query_planning": fixed_s}, (0.0,))
    return QueryModel(
        (StageModel("s", 1, TaskCost(per_row_s=row_s)),), noise, processors=1, dispatch_s=0.0, return_s=0.0
    )


def many_rows(query, rows, cv=0.2, seed=7):
    """The same query whose factors scatter."""
    noise = query.noise
    sigma = np.sqrt(np.log1p(cv**2))
    factors = np.exp(sigma * rng(seed).standard_normal((rows, len(query.stages))) - sigma**2 / 2)
    return replace(
        query,
        noise=Noise(
            np.repeat(noise.phases_s, rows, axis=0),
            np.repeat(noise.gaps_s, rows, axis=0),
            factors / factors.mean(axis=0),
            np.zeros(rows, dtype=np.int64),
            noise.task_cv,
        ),
    )


@pytest.mark.parametrize(
    ("trigger_s", "rate"), [(0.0, 10_000), (1.0, 10_000), (0.5, 15_000), (0.0, 500), (3.0, 15_000)]
)
def test_m2_a_line_has_the_period_duration_and_latency_of_the_formula(trigger_s, rate):
    line = BatchLine(0.2, 5e-5)
    settings = Settings(float(rate), 1, trigger_s=trigger_s, duration_s=120.0, warmup_s=30.0)
    done = simulate([line_query()], settings, replications=8, rng=rng())
    mean, _ = done.latency_s((0.5,))
    assert done.batch_duration_s() == pytest.approx(line.duration_s(rate, trigger_s), rel=0.003)
    assert mean == pytest.approx(line.mean_latency_s(rate, trigger_s), rel=0.01)
    assert done.processed_rate_per_s() == pytest.approx(rate, rel=0.005)


def test_the_quantiles_of_a_line_are_those_of_events_that_wait_evenly():
    done = simulate([line_query()], Settings(10_000.0, 1, duration_s=100.0), replications=3, rng=rng())
    _, (p50, p95) = done.latency_s((0.5, 0.95))
    # Latencies lie evenly between the duration, 0.4 s, and a period more.
    assert p50 == pytest.approx(0.6, rel=0.03)
    assert p95 == pytest.approx(0.78, rel=0.03)


@pytest.mark.parametrize(
    "settings",
    [
        {},
        {"rate_per_s": 300_000.0},
        {"trigger_s": 1.0},
        {"trigger_s": 0.4},
        {"shuffle_partitions": 8},
        {"shuffle_partitions": 3, "source_partitions": 5},
        {"cores": 1, "machine_cores": 2},
        {"cores": 4},
        {"max_rows_per_batch": 30_000},
    ],
    ids=str,
)
def test_m2_arrays_simulate_what_plain_loops_simulate(settings):
    query = three_stages()
    plain = run_of(query, 1, chance=Chance(), **settings)
    chosen = Settings(**({"rate_per_s": 100_000.0, "cores": 2, "duration_s": 60.0} | settings))
    done = simulate([query], chosen, replications=6, rng=rng())
    mean, (p95,) = done.latency_s((0.95,))
    assert np.median(done.batch_duration_s()) == pytest.approx(plain.mean_duration_s, rel=0.01)
    assert np.median(mean) == pytest.approx(plain.mean_latency_s, rel=0.015)
    assert np.median(p95) == pytest.approx(plain.latency_quantile_s(0.95), rel=0.03)


@pytest.mark.parametrize("trigger_s", [0.0, 1.0, 5.0])
def test_windows_close_in_arrays_as_in_plain_loops(trigger_s):
    query = windowed()
    plain = run_of(query, 1, chance=Chance(), trigger_s=trigger_s, duration_s=90.0)
    settings = Settings(100_000.0, 2, trigger_s=trigger_s, duration_s=90.0)
    done = simulate([query], settings, replications=12, rng=rng())
    assert np.mean(done.batch_duration_s()) == pytest.approx(plain.mean_duration_s, rel=0.02)
    assert np.mean(done.latency_s((0.5,))[0]) == pytest.approx(plain.mean_latency_s, rel=0.03)


def test_noise_of_single_micro_batches_has_the_same_effect_in_both():
    query = three_stages()
    chance = Chance(batch_cv=0.3)
    plain = [run_of(query, seed, chance=chance) for seed in range(8)]
    done = simulate([many_rows(query, 400, cv=0.3)], Settings(100_000.0, 2), replications=30, rng=rng())
    # Stages draw their factors one by one here, so only means can be compared.
    assert done.batch_duration_s().mean() == pytest.approx(np.mean([run.mean_duration_s for run in plain]), rel=0.03)


def test_noise_makes_the_mean_latency_longer():
    query = three_stages()
    settings = Settings(100_000.0, 2)
    calm = simulate([query], settings, replications=4, rng=rng()).latency_s((0.5,))[0].mean()
    wild = simulate([many_rows(query, 300, cv=0.8)], settings, replications=30, rng=rng()).latency_s((0.5,))[0].mean()
    assert wild > 1.015 * calm


def test_tasks_scatter_around_their_mean():
    query = three_stages()
    scattered = replace(query, noise=replace(query.noise, task_cv=(0.3, 0.3, 0.3)))
    settings = Settings(100_000.0, 1, machine_cores=2, trigger_s=2.0)
    calm = simulate([query], settings, replications=10, rng=rng())
    wild = simulate([scattered], settings, replications=60, rng=rng())
    # On one slot tasks follow each other, so scatter leaves the mean alone.
    assert wild.batch_duration_s().mean() == pytest.approx(calm.batch_duration_s().mean(), rel=0.01)
    assert wild.batch_duration_s().std() > 5 * calm.batch_duration_s().std()


def test_slow_times_last_as_long_as_the_blocks():
    rows = 200
    noise = Noise(
        np.zeros((rows, len(PHASES))), np.zeros((rows, 1)), np.ones((rows, 1)), np.zeros(rows, np.int64), (0.0,), 10.0
    )
    walk = NoiseWalk(noise, 500, rng())
    steps = np.array([walk.step() for _ in range(100)])
    goes_on = (steps[1:] == (steps[:-1] + 1) % rows).mean()
    assert goes_on == pytest.approx(0.9, abs=0.01)
    assert np.bincount(steps.ravel(), minlength=rows).std() < 0.2 * steps.size / rows


def test_a_replication_stays_in_its_run_and_runs_are_taken_by_weight():
    noise = Noise(
        np.zeros((30, len(PHASES))),
        np.zeros((30, 1)),
        np.ones((30, 1)),
        np.repeat([0, 1, 0], 10).astype(np.int64),
        (0.0,),
    )
    walk = NoiseWalk(noise, 4000, rng(), np.array([3.0, 1.0]))
    seen = np.array([walk.step() for _ in range(50)])
    # Rows are sorted by run: the first twenty belong to run 0.
    of_run_0 = seen < 20
    assert np.all(of_run_0.all(axis=0) | (~of_run_0).all(axis=0))
    assert of_run_0[0].mean() == pytest.approx(0.75, abs=0.03)


def test_each_replication_has_its_own_parameters():
    slow, fast = (
        replace(line_query(0.0), stages=(StageModel("s", 1, TaskCost(wait_s=wait_s, per_row_s=5e-5)),))
        for wait_s in (0.4, 0.1)
    )
    done = simulate([slow, fast], Settings(1000.0, 1), replications=4, rng=rng())
    assert done.batch_duration_s() == pytest.approx([0.4 / 0.95, 0.1 / 0.95] * 2, rel=0.01)


def test_pace_stretches_everything():
    query = three_stages()
    settings = Settings(100_000.0, 2, trigger_s=2.0)
    plain, slow = (
        simulate([each], settings, replications=2, rng=rng()).batch_duration_s().mean()
        for each in (query, replace(query, pace=1.2, dispatch_s=0.0, return_s=0.0))
    )
    assert slow == pytest.approx(1.2 * (plain - 0.009), rel=0.02)


def test_a_quiet_source_is_polled_until_an_event_comes():
    done = simulate([line_query(0.05)], Settings(2.0, 1, duration_s=100.0), replications=20, rng=rng())
    mean, _ = done.latency_s((0.5,))
    assert done.events.max() == 1
    # On average half a poll passes until the event is seen.
    assert mean.mean() == pytest.approx(0.055, abs=0.002)


def test_triggers_without_events_run_nothing():
    done = simulate([line_query(0.05)], Settings(0.5, 1, trigger_s=1.0, duration_s=200.0), replications=10, rng=rng())
    mean, _ = done.latency_s((0.5,))
    assert done.measured.sum(axis=0) == pytest.approx(100, abs=2)
    assert mean.mean() == pytest.approx(0.55, abs=0.1)


def test_poisson_arrivals_scatter_the_size_of_micro_batches():
    settings = Settings(1000.0, 1, trigger_s=1.0, arrivals="poisson", duration_s=200.0)
    done = simulate([line_query(0.01, 1e-6)], settings, replications=10, rng=rng())
    sizes = done.events[done.measured]
    assert sizes.mean() == pytest.approx(1000, rel=0.01)
    assert sizes.var() == pytest.approx(1000, rel=0.15)
    assert done.latency_s((0.5,))[0].mean() == pytest.approx(0.5 + 0.011, rel=0.02)


def test_a_load_that_varies_is_followed():
    settings = Settings(1000.0, 1, arrivals="sine(peak=2k, phase=20s)", duration_s=60.0, trigger_s=1.0)
    done = simulate([line_query(0.05, 1e-5)], settings, replications=4, rng=rng())
    assert done.events[done.measured].max() == pytest.approx(2000, rel=0.05)
    assert done.events.sum(axis=0) == pytest.approx(ArrivalCurve.from_law(settings.law, settings.load_s).total, abs=2)


def test_every_event_is_processed_once_and_in_order():
    done = simulate([three_stages()], Settings(50_000.0, 2, duration_s=20.0), replications=5, rng=rng())
    for column in range(5):
        held = done.events[:, column] > 0
        first, events = done.first[held, column], done.events[held, column]
        assert first[0] == 0
        assert (first[1:] == (first + events)[:-1]).all()
        assert (first + events)[-1] == 50_000 * 30
        assert (np.diff(done.started_s[held, column]) > 0).all()


def test_under_overload_micro_batches_settle_at_the_target():
    settings = Settings(1_000_000.0, 1, duration_s=120.0, warmup_s=40.0)
    done = simulate([line_query(0.2, 5e-6)], settings, replications=3, rng=rng())
    assert done.batch_duration_s() == pytest.approx(3.0, rel=0.02)
    assert done.processed_rate_per_s() == pytest.approx(2.8 / 5e-6 / 3.0, rel=0.02)


def test_a_fixed_limit_holds_every_micro_batch():
    settings = Settings(10_000.0, 1, max_rows_per_batch=2000, duration_s=30.0)
    done = simulate([line_query(0.2, 1e-6)], settings, replications=2, rng=rng())
    assert done.events.max() == 2000
    assert done.processed_rate_per_s() == pytest.approx(2000 / 0.202, rel=0.01)


def test_independent_stages_run_side_by_side():
    stage = StageModel("s", 1, TaskCost(wait_s=1.0))
    noise = Noise.none({}, (0.0, 0.0))
    for after, duration in (((), 1.0), ((0,), 2.0)):
        query = QueryModel((stage, replace(stage, after=after)), noise, 2, dispatch_s=0.0, return_s=0.0)
        done = simulate([query], Settings(10.0, 2), replications=1, rng=rng())
        assert done.batch_duration_s() == pytest.approx(duration)


def test_state_costs_grow_with_it():
    from streamgauge.model.state import StateGrowth

    stage = StageModel("s", 1, TaskCost(wait_s=0.1, per_state_row_s=1e-6))
    query = QueryModel(
        (stage,), Noise.none({}, (0.0,)), 1, state=StateGrowth(OutputCurve(1.0), 20.0), dispatch_s=0.0, return_s=0.0
    )
    done = simulate([query], Settings(10_000.0, 1, warmup_s=30.0), replications=1, rng=rng())
    assert done.batch_duration_s() == pytest.approx(0.3, rel=0.01)
    early = (done.started_s < 1.0) & (done.events > 0)
    assert (done.ended_s - done.started_s)[early].max() < 0.12


def test_utilisation_is_the_share_of_slots_that_work():
    stage = StageModel("s", 1, TaskCost(wait_s=0.25))
    query = QueryModel((stage,), Noise.none({}, (0.0,)), 2, dispatch_s=0.0, return_s=0.0)
    done = simulate([query], Settings(100.0, 2, trigger_s=1.0), replications=3, rng=rng())
    assert done.utilisation() == pytest.approx(0.125, rel=0.03)
    assert done.stage_seconds() == pytest.approx(np.full((1, 3), 0.25))


def test_the_same_seed_gives_the_same_simulation():
    query = many_rows(three_stages(), 50)
    runs = [simulate([query], Settings(50_000.0, 2, duration_s=10.0), replications=5, rng=rng(3)) for _ in range(2)]
    assert (runs[0].emitted_s == runs[1].emitted_s).all()


def test_a_recorded_curve_takes_the_place_of_the_law():
    curve = ArrivalCurve(np.array([0.0, 10.0, 20.0, 30.0]), np.array([0.0, 1000.0, 1000.0, 3000.0]))
    done = simulate([line_query(0.05, 1e-6)], Settings(1.0, 1), replications=2, rng=rng(), curve=curve)
    assert done.events.sum(axis=0).tolist() == [3000.0, 3000.0]


@pytest.mark.parametrize(
    ("cores", "after", "ends_s"),
    [
        # Two that start together and a third that waits for the second only.
        (3, ((), (), (1,)), (1.0, 0.5, 1.2)),
        (3, ((), (), (0, 1)), (1.0, 0.5, 1.7)),
        (3, ((), (), ()), (1.0, 0.5, 0.7)),
        # On two slots the third waits for a free one.
        (2, ((), (), ()), (1.0, 0.5, 1.2)),
        (1, ((), (), ()), (1.0, 1.5, 2.2)),
        (1, ((), (0,), (0, 1)), (1.0, 1.5, 2.2)),
    ],
)
def test_a_stage_starts_when_those_it_waits_for_have_ended_and_a_slot_is_free(cores, after, ends_s):
    stages = tuple(StageModel("s", 1, TaskCost(wait_s=w), after=a) for w, a in zip((1.0, 0.5, 0.7), after, strict=True))
    query = QueryModel(stages, Noise.none({}, (0.0,) * 3), 3, dispatch_s=0.0, return_s=0.0)
    machine = SimulatedMachine([query], Settings(1.0, cores), rng())
    one = np.ones(1)
    found = machine.execute(one, np.zeros((3, 1)), np.ones((3, 1)), closed=one, pane=one, state=one)
    assert found.seconds == pytest.approx(max(ends_s))
    ready_s = [max((ends_s[j] for j in stage.after), default=0.0) for stage in stages]
    assert found.stages_s[:, 0] == pytest.approx(np.array(ends_s) - ready_s)
    assert found.tasks_s == pytest.approx(2.2)


def test_gaps_and_the_driver_delay_stages_and_factors_stretch_their_tasks():
    stages = tuple(StageModel("s", 2, TaskCost(wait_s=1.0), after=tuple(range(k))) for k in range(2))
    for chain, after in ((True, (0,)), (False, ())):
        query = QueryModel(
            (stages[0], replace(stages[1], after=after)), Noise.none({}, (0.0,) * 2), 4, dispatch_s=0.01, return_s=0.02
        )
        machine = SimulatedMachine([query], Settings(1.0, 4), rng())
        one = np.ones(1)
        gaps_s, factors = np.array([[0.1], [0.3]]), np.array([[2.0], [3.0]])
        found = machine.execute(one, gaps_s, factors, closed=one, pane=one, state=one)
        # A gap, the second hand-over, the task and the way back.
        spans_s = [0.1 + 0.02 + 2.0 + 0.02, 0.3 + 0.02 + 3.0 + 0.02]
        assert found.stages_s[:, 0] == pytest.approx(spans_s)
        assert found.seconds == pytest.approx(sum(spans_s) if chain else max(spans_s))
        assert found.tasks_s == pytest.approx(2 * 2.0 + 2 * 3.0)


def test_tasks_cost_what_they_read_write_and_keep_on_a_machine_that_is_busy():
    first = StageModel(
        "a", 1, TaskCost(wait_s=0.5, fixed_s=0.1, per_row_s=1e-3, per_written_row_s=2e-3), output=OutputCurve(0.5)
    )
    second = StageModel(
        "b", 2, TaskCost(per_row_s=1e-3, per_state_row_s=1e-2, outside=0.5), reads=(0,), after=(0,), shares=(0.75, 0.25)
    )
    query = QueryModel(
        (first, second), Noise.none({}, (0.0,) * 2), 2, background=1.0, pace=2.0, dispatch_s=0.0, return_s=0.0
    )
    # The third replication keeps its state for nothing.
    free = replace(query, pace=1.0, stages=(first, replace(second, cost=replace(second.cost, per_state_row_s=0.0))))
    machine = SimulatedMachine([query, replace(query, pace=1.0), free], Settings(1.0, 2), rng())
    zero = np.zeros(3)
    sizes = {"closed": zero, "pane": zero, "state": np.full(3, 20.0)}
    found = machine.execute(np.full(3, 100.0), np.zeros((2, 3)), np.ones((2, 3)), **sizes)
    slow = [float(contention(n, background=1.0, processors=2)) for n in (1, 2)]
    one = 0.5 + slow[0] * (0.1 + 0.1 + 0.1)
    tasks = [1.5 * slow[1] * (1e-3 * 50 * share + 1e-2 * 20 * share) for share in (0.75, 0.25)]
    assert found.stages_s[:, 1] == pytest.approx([one, max(tasks)])
    assert found.stages_s[:, 0] == pytest.approx([2 * one, 2 * max(tasks)])
    assert found.stages_s[1, 2] == pytest.approx(1.5 * slow[1] * 1e-3 * 50 * 0.75)
    assert found.tasks_s[:2] == pytest.approx([2 * (one + sum(tasks)), one + sum(tasks)])


def test_a_window_that_closes_writes_the_rows_of_its_slide_spread_over_the_tasks():
    first = StageModel("a", 1, TaskCost())
    second = StageModel(
        "b", 2, TaskCost(per_written_row_s=1e-2), reads=(0,), after=(0,), shares=(0.75, 0.25), closing=OutputCurve(0.1)
    )
    query = QueryModel((first, second), Noise.none({}, (0.0,) * 2), 2, dispatch_s=0.0, return_s=0.0)
    machine = SimulatedMachine([query], Settings(1.0, 2), rng())
    for closed in (0.0, 1.0, 3.0):
        found = machine.execute(
            np.array([50.0]), np.zeros((2, 1)), np.ones((2, 1)),
            closed=np.array([closed]), pane=np.array([200.0]), state=np.zeros(1),
        )  # fmt: skip
        assert found.tasks_s == pytest.approx(closed * 20 * 1e-2)
        assert found.seconds == pytest.approx(0.75 * closed * 20 * 1e-2)


def by_hand(**columns):
    """Three micro-batches of two replications of a load of 10 s after a warm-up of 2 s."""
    curve = ArrivalCurve(np.array([0.0, 12.0]), np.array([0.0, 120.0]))
    default = {
        "started_s": [[0.0, 0.0], [4.0, 4.0], [9.0, 9.0]],
        "emitted_s": [[1.9, 2.0], [6.0, 7.0], [12.0, 12.1]],
        "ended_s": [[2.5, 2.5], [7.0, 8.0], [12.5, 12.5]],
        "first": [[0.0, 0.0], [20.0, 30.0], [60.0, 80.0]],
        "events": [[20.0, 30.0], [40.0, 50.0], [60.0, 40.0]],
        "shift": [[0.0, 0.0]] * 3,
        "limit": [[99.0, 99.0]] * 3,
    }
    arrays = {name: np.array(values) for name, values in (default | columns).items()}
    settings = Settings(10.0, 2, duration_s=10.0, warmup_s=2.0)
    return Simulation(settings, curve, stages_s=np.array([[3.0, 5.0]]), tasks_s=np.array([4.0, 6.0]), **arrays)


def test_measured_are_emissions_from_the_end_of_the_warm_up_to_that_of_the_load():
    done = by_hand()
    assert done.measured.tolist() == [[False, True], [True, True], [True, False]]
    assert done.batches == 6
    assert done.batch_duration_s() == pytest.approx([(3.0 + 3.5) / 2, (2.5 + 4.0) / 2])
    assert done.batch_events().tolist() == [50.0, 40.0]
    assert done.stage_seconds().tolist() == [[1.5, 2.5]]
    assert done.utilisation().tolist() == [4.0 / 20, 6.0 / 20]
    assert done.processed_rate_per_s().tolist() == [60.0 / 6.0, 50.0 / 5.0]


def test_micro_batches_without_events_are_none_and_a_replication_without_any_has_no_means():
    done = by_hand(events=np.array([[20.0, 0.0], [0.0, 0.0], [60.0, 40.0]]))
    assert done.measured.tolist() == [[False, False], [False, False], [True, False]]
    assert done.batches == 3
    np.testing.assert_array_equal(done.batch_events(), [60.0, np.nan])
    np.testing.assert_array_equal(done.batch_duration_s(), [3.5, np.nan])
    assert np.isnan(done.processed_rate_per_s()).all()


def test_latencies_are_those_of_events_that_are_due_after_the_warm_up():
    done = by_hand()
    values, weights = done.latencies()
    # Ten events a second: those of 20 to 120 count.
    assert weights.sum(axis=1) == pytest.approx([100.0, 100.0], abs=1.0)
    for column in range(2):
        due_s = np.arange(20, 120) / 10.0
        held = [np.repeat(done.emitted_s[k, column], int(done.events[k, column])) for k in range(3)]
        latency_s = np.maximum(np.concatenate(held)[20:] - due_s, 0.0)
        mean, (p50, p95) = (part[..., column] for part in done.latency_s((0.5, 0.95)))
        assert mean == pytest.approx(latency_s.mean(), rel=0.03)
        assert p50 == pytest.approx(np.quantile(latency_s, 0.5), abs=0.3)
        assert p95 == pytest.approx(np.quantile(latency_s, 0.95), abs=0.3)
    assert values.min() >= 0.0
    later = by_hand(shift=[[10.0, 10.0]] * 3).latency_s((0.5,))[0]
    assert (later < done.latency_s((0.5,))[0]).all()


def test_without_events_after_the_warm_up_there_is_no_latency():
    done = by_hand(events=np.zeros((3, 2)))
    mean, quantiles = done.latency_s((0.5,))
    assert np.isnan(mean).all()
    assert np.isnan(quantiles).all()


def test_rows_of_noise_are_walked_in_the_order_of_their_run_and_begin_again():
    run = np.array([1, 0, 1, 0, 1])
    numbered = np.arange(5.0)[:, np.newaxis]
    noise = Noise(numbered * np.ones(len(PHASES)), 10 + numbered, 20 + numbered, run, (0.0,), block=1e12)
    walk = NoiseWalk(noise, 200, rng())
    steps = np.array([walk.step() for _ in range(7)])
    seen = walk.phases_s[0][steps]
    assert (walk.gaps_s[0][steps] == 10 + seen).all()
    assert (walk.factors[0][steps] == 20 + seen).all()
    following = {0.0: 2.0, 2.0: 4.0, 4.0: 0.0, 1.0: 3.0, 3.0: 1.0}
    assert [[following[row] for row in rows] for rows in seen[:-1].tolist()] == seen[1:].tolist()
    # Without weights both runs are as likely, and so is every row to begin with.
    assert np.isin(seen[0], [1.0, 3.0]).mean() == pytest.approx(0.5, abs=0.1)
    assert set(seen[0].tolist()) == set(range(5))


def test_the_driver_gets_faster_with_practice():
    noise = Noise(
        np.ones((2, len(PHASES))), np.ones((2, 1)), np.ones((2, 1)), np.zeros(2, np.int64), (0.0,),
        numbers=np.array([10.0, 1000.0]), power=0.2,
    )  # fmt: skip
    walk = NoiseWalk(noise, 1, rng())
    found = walk.practised(np.array([0, 1]), 100)
    assert found == pytest.approx(practice(100, 0.2) / practice(np.array([10.0, 1000.0]), 0.2))
    assert found[0] < 1 < found[1]
    assert NoiseWalk(replace(noise, power=0.0), 1, rng()).practised(np.array([0, 1]), 100).tolist() == [1.0, 1.0]


def test_a_load_that_is_not_processed_is_given_up_half_a_minute_after_its_end():
    settings = Settings(10_000.0, 1, max_rows_per_batch=1000, duration_s=5.0, warmup_s=0.0)
    done = simulate([line_query(0.9, 1e-4)], settings, replications=2, rng=rng())
    held = done.events > 0
    assert done.started_s[held].max() == pytest.approx(35.0, abs=1.0)
    assert done.started_s[held].max() <= 35.0
    assert (done.events.sum(axis=0) < 50_000).all()


def test_replications_look_at_different_phases_of_the_trigger():
    settings = Settings(10.0, 1, trigger_s=2.0, duration_s=20.0, warmup_s=0.0)
    done = simulate([line_query(0.1, 0.0)], settings, replications=200, rng=rng())
    first_s = done.started_s[0]
    assert (first_s.min() >= 0.0) and (first_s.max() <= 2.0)
    assert first_s.mean() == pytest.approx(1.0, abs=0.1)
    # Triggers are multiples of two seconds of one clock.
    assert np.diff(done.started_s, axis=0)[:5] == pytest.approx(np.full((5, 200), 2.0))


def test_all_replications_have_the_structure_and_the_noise_of_the_first_query():
    calm = line_query(0.0, 1e-5)
    wild = replace(calm, noise=replace(calm.noise, task_cv=(0.5,), phases_s=calm.noise.phases_s + 1.0))
    settings = Settings(1000.0, 1, trigger_s=1.0, duration_s=20.0)
    first, both = (simulate(queries, settings, replications=4, rng=rng()) for queries in ([calm], [calm, wild]))
    assert (first.ended_s == both.ended_s).all()


def test_the_limit_is_renewed_by_the_time_until_there_is_something_to_admit_again():
    # The first micro-batch is full and leaves nothing; the next events come 20 s later.
    curve = ArrivalCurve(np.array([0.0, 1e-3, 20.0, 30.0]), np.array([0.0, 499_999.0, 499_999.0, 1_500_000.0]))
    done = simulate([line_query(0.5, 1e-6)], Settings(1.0, 1, trigger_s=1.0), replications=3, rng=rng(), curve=curve)
    for column in range(3):
        limits = done.limit[done.events[:, column] > 0, column]
        assert limits[:2].tolist() == [500_000, 250_000]


def test_looks_that_find_nothing_are_skipped():
    done = simulate([line_query(0.05)], Settings(2.0, 1, duration_s=100.0), replications=1, rng=rng())
    # 220 events come one by one: a micro-batch and a look for each.
    assert done.batches == 220
    assert len(done.started_s) <= 2 * 220 + 5


def test_tasks_scatter_by_their_coefficient_of_variation():
    query = replace(line_query(0.0), stages=(StageModel("s", 1, TaskCost(wait_s=2.0)),))
    scattered = replace(query, noise=replace(query.noise, task_cv=(0.3,)))
    machine, one = SimulatedMachine([scattered] * 20_000, Settings(1.0, 1), rng()), np.ones(20_000)
    found = machine.execute(one, np.zeros((1, 20_000)), np.ones((1, 20_000)), closed=one, pane=one, state=one).tasks_s
    assert found.mean() == pytest.approx(2.0, rel=0.01)
    assert found.std() / found.mean() == pytest.approx(0.3, rel=0.03)
