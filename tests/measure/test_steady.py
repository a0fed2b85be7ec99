import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.measure import find_steady_state

from .test_trend import autoregression

SERIES = 100


def brute_force_cut(values):
    groups = [np.mean(values[k : k + 5]) for k in range(0, len(values) - 4, 5)]

    def squared_error(d):
        rest = groups[d:]
        return sum((x - np.mean(rest)) ** 2 for x in rest) / len(rest) ** 2

    return 5 * min(range(len(groups) // 2 + 1), key=squared_error)


@given(st.integers(0, 10_000), st.integers(25, 120))
def test_c4_the_cut_minimises_the_squared_standard_error_of_group_means(seed, points):
    values = np.random.default_rng(seed).standard_normal(points)
    assert find_steady_state(values).cut == brute_force_cut(values)


@given(st.lists(st.floats(-1e6, 1e6), min_size=25, max_size=100))
def test_c4_the_cut_never_drops_more_than_half(values):
    assert 0 <= find_steady_state(values).cut <= len(values) / 2


def test_white_noise_is_settled_in_95_of_100_series():
    settled = [find_steady_state(10 + np.random.default_rng(s).standard_normal(100)).settled for s in range(500)]
    assert np.mean(settled) >= 0.95


@pytest.mark.parametrize("phi", [0.5, 0.8])
def test_dependent_noise_is_settled_in_95_of_100_series(phi):
    rng = np.random.default_rng(7)
    settled = [find_steady_state(10 + autoregression(rng, 120, phi)).settled for _ in range(SERIES)]
    assert np.mean(settled) >= 0.95


def test_c4_the_cut_lies_where_a_decaying_transient_has_ended():
    rng = np.random.default_rng(11)
    transient = 10 * np.exp(-np.arange(300) / 15)
    found = [find_steady_state(10 + autoregression(rng, 300, 0.5) + transient) for _ in range(SERIES)]
    # After 20 points the transient is 2.6 standard deviations, after 60 it is 0.2.
    assert np.mean([20 <= state.cut <= 100 for state in found]) >= 0.9
    assert np.mean([state.settled for state in found]) >= 0.95


def test_c4_a_linear_drift_never_settles():
    rng = np.random.default_rng(13)
    found = [find_steady_state(10 + rng.standard_normal(60) + np.arange(60) / 3) for _ in range(SERIES)]
    assert np.mean([state.settled for state in found]) <= 0.01
    assert "points still rise by" in found[0].reason


def test_c4_a_transient_longer_than_the_run_is_not_settled():
    rng = np.random.default_rng(17)
    transient = 20 * np.exp(-np.arange(300) / 150)
    found = [find_steady_state(10 + autoregression(rng, 300, 0.5) + transient) for _ in range(SERIES)]
    assert np.mean([state.settled for state in found]) <= 0.05
    assert "still fall by" in found[0].reason


def test_a_step_in_the_second_half_is_not_settled():
    values = 10 + np.random.default_rng(19).standard_normal(200)
    values[150:] += 8
    assert not find_steady_state(values).settled


def test_a_single_stall_does_not_unsettle():
    values = 10 + np.random.default_rng(23).standard_normal(200)
    values[180] += 200
    assert find_steady_state(values).settled


def test_a_drift_below_five_percent_is_called_steady():
    assert find_steady_state(100 + np.linspace(0, 3, 100)).settled


def test_a_constant_series_is_steady_from_the_start():
    state = find_steady_state([2.0] * 50)
    assert (state.cut, state.settled, state.reason) == (0, True, "steady after 0 of 50 points")


def test_a_drift_around_zero_is_reported_without_a_share():
    state = find_steady_state(np.arange(-50.0, 51.0))
    assert not state.settled


@pytest.mark.parametrize("points", [0, 1, 24])
def test_c4_too_few_points_are_not_settled(points):
    state = find_steady_state([1.0] * points)
    assert (state.cut, state.settled) == (0, False)
    assert state.reason == f"too few points for a steady state: {points} of at least 25"


def test_points_that_are_not_finite_are_not_settled():
    state = find_steady_state([1.0] * 40 + [float("nan")])
    assert (state.cut, state.settled, state.reason) == (0, False, "no steady state: some points are not finite")


@pytest.mark.parametrize("slope", [0.02, -0.02])
def test_a_movement_is_told_as_a_share_of_the_mean(slope):
    series = 3 + slope * np.arange(100.0)
    state = find_steady_state(series)
    kept = series[state.cut :]
    assert state.change == pytest.approx((kept[-1] - kept[0]) / kept.mean())


def test_c4_a_movement_of_a_few_milliseconds_is_settled():
    rising_s = np.linspace(0.008, 0.0115, 60)
    assert find_steady_state(rising_s).settled
    assert not find_steady_state(10 * rising_s).settled
