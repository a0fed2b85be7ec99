"""Times of the driver that fall with the number of the micro-batch."""

from dataclasses import replace

import numpy as np
import pytest

from streamgauge.model import Noise, QueryModel, Settings, StageModel, TaskCost, simulate
from streamgauge.model.practice import USUAL_POWER, find_power, practice


def times_s(power, numbers, *, scatter, seed=3):
    """Driver's times that fall with a power, and slow times that last."""
    rng, noise = np.random.default_rng(seed), np.zeros(len(numbers))
    for k in range(1, len(numbers)):
        noise[k] = 0.6 * noise[k - 1] + scatter * rng.standard_normal()
    return 0.15 * numbers**-power * np.exp(noise)


def follows(numbers):
    return np.append(1.0, np.zeros(len(numbers) - 1))


@pytest.mark.parametrize("power", [0.0, 0.1, 0.3])
def test_a_power_that_the_times_show_is_found_again(power):
    numbers = np.arange(30.0, 330.0)
    found = find_power(numbers, times_s(power, numbers, scatter=0.02), follows(numbers))
    assert found == pytest.approx(power, abs=0.04)


def test_times_that_do_not_tell_leave_the_usual_power():
    few = np.arange(100.0, 105.0)
    assert find_power(few, times_s(0.3, few, scatter=0.02), follows(few)) == pytest.approx(USUAL_POWER[0])
    noisy = np.arange(100.0, 120.0)
    found = find_power(noisy, times_s(0.0, noisy, scatter=0.5), follows(noisy))
    assert found == pytest.approx(USUAL_POWER[0], abs=0.05)


def test_times_never_grow_with_practice():
    numbers = np.arange(30.0, 330.0)
    assert find_power(numbers, times_s(-0.3, numbers, scatter=0.02), follows(numbers)) == 0.0


def test_a_simulated_driver_practises_from_its_first_micro_batch_on():
    noise = replace(Noise.none({"query_planning": 0.2}, (0.0,)), numbers=np.array([150.0]), power=0.2)
    query = QueryModel((StageModel("s", 1, TaskCost()),), noise, processors=1, dispatch_s=0.0, return_s=0.0)
    settings = Settings(1000.0, 1, trigger_s=1.0, duration_s=300.0, warmup_s=10.0)
    done = simulate([query], settings, replications=1, rng=np.random.default_rng(1))
    durations = (done.ended_s - done.started_s)[:, 0]
    for number in (20, 150, 300):
        expected = 0.2 * practice(number, 0.2) / practice(150, 0.2)
        assert durations[number] == pytest.approx(float(expected), rel=1e-3)


def test_a_query_without_numbers_takes_the_same_time_always():
    query = QueryModel((StageModel("s", 1, TaskCost()),), Noise.none({"query_planning": 0.2}, (0.0,)), processors=1,
                  dispatch_s=0.0, return_s=0.0)  # fmt: skip
    done = simulate([query], Settings(1000.0, 1, trigger_s=1.0), replications=1, rng=np.random.default_rng(1))
    durations = (done.ended_s - done.started_s)[done.events > 0]
    assert durations == pytest.approx(np.full(len(durations), 0.2))
