from types import SimpleNamespace

import numpy as np
import pytest

from streamgauge.model import Settings, fit_model, predict
from streamgauge.model.baselines import (
    ABLATIONS,
    BASELINES,
    ideal_speed_up,
    linear_regression,
    markov_queues,
    regression_line,
    without_contention,
    without_driver,
    without_skew,
)
from streamgauge.model.stability import BatchLine

from .made_up import run_of, sample_of_run, three_stages
from .plain_simulator import Chance

CALM = Chance(batch_cv=0.0, persistence=0.0, task_cv=0.0, phase_cv=0.0, cpu_cv=0.0)


@pytest.fixture(scope="module")
def sample():
    return sample_of_run(run_of(three_stages(), 3, rate_per_s=150_000.0))


@pytest.fixture(scope="module")
def model(sample):
    return fit_model([sample], draws=5)


def mean_s(model, **settings):
    chosen = Settings(**{"rate_per_s": 150_000.0, "cores": 2, "duration_s": 30.0} | settings)
    return predict(model, chosen, replications=10).latency_mean_s.value


def test_the_regression_finds_a_straight_line_and_no_slope_in_equal_micro_batches(sample):
    line = regression_line(sample)
    at_mean = line.fixed_s + line.per_row_s * sample.events.mean()
    assert at_mean == pytest.approx(sample.duration_s.mean())
    level = regression_line(sample_of_run(run_of(three_stages(), 3, chance=CALM, trigger_s=1.0)))
    assert level.per_row_s == 0.0


def test_simpler_models_give_a_number_for_other_settings(sample):
    other = Settings(rate_per_s=100_000.0, cores=1, trigger_s=1.0)
    values = {name: guess(sample, other) for name, guess in BASELINES.items()}
    assert all(value > 0 for value in values.values())
    assert values["ideal speed-up"] > values["linear regression"]
    assert linear_regression(sample, other) == linear_regression(sample, Settings(100_000.0, 2, trigger_s=1.0))


def straight(fixed_s, per_row_s, sizes=(100.0, 200.0, 600.0)):
    """Micro-batches on two cores that take just this long, of which 10 ms after the commit."""
    events = np.array(sizes)
    phases_s = {"commit_log": np.full(len(sizes), 0.01)}
    facts = SimpleNamespace(cores=2)
    return SimpleNamespace(events=events, duration_s=fixed_s + per_row_s * events, phases_s=phases_s, facts=facts)


def test_the_line_of_the_regression_is_the_planted_one_or_goes_through_zero():
    assert regression_line(straight(0.2, 1e-3)) == BatchLine(
        pytest.approx(0.2), pytest.approx(1e-3), pytest.approx(0.01)
    )
    assert regression_line(straight(0.9, -1e-3)) == BatchLine(pytest.approx(0.6), 0.0, pytest.approx(0.01))
    below = regression_line(straight(-0.05, 1e-3))
    # The sum of n (n - 50) / 1000 by that of n squared.
    assert (below.fixed_s, below.per_row_s) == (0.0, pytest.approx(1e-3 * (410_000 - 50 * 900) / 410_000))


def test_the_ideal_speed_up_divides_all_times_by_the_ratio_of_the_cores():
    settings = Settings(rate_per_s=100.0, cores=4, trigger_s=1.0)
    expected = BatchLine(0.1, 5e-4, 0.005).mean_latency_s(100.0, 1.0)
    assert ideal_speed_up(straight(0.2, 1e-3), settings) == pytest.approx(expected)


def test_the_queues_of_stages_add_up():
    def stage(first_s, second_s):
        launched = np.array([[0.1, 0.0], [0.0, 0.2]])
        return SimpleNamespace(launched_s=launched, finished_s=np.array([[0.3, first_s], [second_s, 0.25]]))

    sample = SimpleNamespace(
        stages=[stage(0.5, 1.5), stage(1.0, 3.0)], events=np.array([600.0, 400.0]), facts=SimpleNamespace(cores=2)
    )
    # 1,000 events in 2 and in 4 s on two cores, so half as many on one.
    found = markov_queues(sample, Settings(rate_per_s=100.0, cores=1))
    assert found == pytest.approx(1 / (250 - 100) + 1 / (125 - 100))
    assert markov_queues(sample, Settings(rate_per_s=125.0, cores=1)) == np.inf


def test_a_queue_that_overflows_has_no_latency(sample):
    assert markov_queues(sample, Settings(rate_per_s=1e9, cores=2)) == np.inf
    assert markov_queues(sample, Settings(rate_per_s=1e3, cores=2)) < 0.001


def test_without_the_driver_latency_is_shorter(model):
    assert mean_s(without_driver(model)) < 0.8 * mean_s(model)


def test_without_contention_nothing_changes_where_it_was_measured_but_fewer_cores_are_slower(model):
    assert mean_s(without_contention(model)) == pytest.approx(mean_s(model), rel=0.02)
    one = {"cores": 1, "machine_cores": 2}
    assert mean_s(without_contention(model), **one) > mean_s(model, **one)


def test_without_skew_partitions_are_all_alike(model):
    plain = without_skew(model)
    assert plain.query.stages[1].shares_for(8) == pytest.approx(np.full(8, 1 / 8))
    assert mean_s(plain) <= mean_s(model) * 1.005


def test_every_ablation_leaves_the_model_as_it_was(model):
    before = mean_s(model)
    for change in ABLATIONS.values():
        change(model)
    assert mean_s(model) == before
