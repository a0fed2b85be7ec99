"""The simulator against closed forms and against a second one that knows no arrays."""

from dataclasses import replace

import numpy as np
import pytest

from streamgauge.model import ArrivalCurve, Line, Noise, OutputCurve, Query, Settings, Stage, TaskCost, simulate
from streamgauge.model.query import PHASES
from streamgauge.model.simulator import NoiseWalk

from .made_up import run_of, three_stages, windowed
from .plain_simulator import Chance


def rng(seed=1):
    return np.random.default_rng(seed)


def line_query(fixed_s=0.2, row_s=5e-5):
    noise = Noise.none({"query_planning": fixed_s}, (0.0,))
    return Query((Stage("s", 1, TaskCost(per_row_s=row_s)),), noise, processors=1, dispatch_s=0.0, return_s=0.0)


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
    line = Line(0.2, 5e-5)
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
        replace(line_query(0.0), stages=(Stage("s", 1, TaskCost(wait_s=wait_s, per_row_s=5e-5)),))
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
    stage = Stage("s", 1, TaskCost(wait_s=1.0))
    noise = Noise.none({}, (0.0, 0.0))
    for after, duration in (((), 1.0), ((0,), 2.0)):
        query = Query((stage, replace(stage, after=after)), noise, 2, dispatch_s=0.0, return_s=0.0)
        done = simulate([query], Settings(10.0, 2), replications=1, rng=rng())
        assert done.batch_duration_s() == pytest.approx(duration)


def test_state_costs_grow_with_it():
    from streamgauge.model.state import StateGrowth

    stage = Stage("s", 1, TaskCost(wait_s=0.1, per_state_row_s=1e-6))
    query = Query(
        (stage,), Noise.none({}, (0.0,)), 1, state=StateGrowth(OutputCurve(1.0), 20.0), dispatch_s=0.0, return_s=0.0
    )
    done = simulate([query], Settings(10_000.0, 1, warmup_s=30.0), replications=1, rng=rng())
    assert done.batch_duration_s() == pytest.approx(0.3, rel=0.01)
    early = (done.started_s < 1.0) & (done.events > 0)
    assert (done.ended_s - done.started_s)[early].max() < 0.12


def test_utilisation_is_the_share_of_slots_that_work():
    stage = Stage("s", 1, TaskCost(wait_s=0.25))
    query = Query((stage,), Noise.none({}, (0.0,)), 2, dispatch_s=0.0, return_s=0.0)
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
