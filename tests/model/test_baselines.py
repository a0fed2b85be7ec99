import numpy as np
import pytest

from streamgauge.model import Settings, fit_model, predict
from streamgauge.model.baselines import (
    ABLATIONS,
    BASELINES,
    linear_regression,
    markov_queues,
    regression_line,
    without_contention,
    without_driver,
    without_skew,
)

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
