"""Robust regression of costs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls

from streamgauge.model.regression import (
    combined,
    fit_costs,
    nonnegative,
    persistent_slope,
    resampled_counts,
    slope_between,
)

NOTHING = np.array([np.inf, np.inf])


@given(st.integers(0, 300))
def test_the_solution_is_that_of_nonnegative_least_squares(seed):
    rng = np.random.default_rng(seed)
    design, y = rng.normal(size=(20, 4)), rng.normal(size=20)
    expected, _ = nnls(design, y)
    assert nonnegative(design.T @ design, design.T @ y) == pytest.approx(expected, abs=1e-8)


def test_columns_without_content_get_nothing():
    design = np.stack([np.arange(1.0, 9.0), np.zeros(8)], axis=1)
    assert nonnegative(design.T @ design, design.T @ np.arange(1.0, 9.0)).tolist() == [pytest.approx(1.0), 0.0]


def made(rng, rows, *, cv=0.1, fixed=0.01, per_row=2e-6):
    return (fixed + per_row * rows) * np.exp(cv * rng.standard_normal(len(rows)))


def test_m5_costs_are_found_again_over_four_orders_of_magnitude():
    rng = np.random.default_rng(1)
    rows = np.exp(rng.uniform(np.log(1e2), np.log(1e6), 400))
    design = np.stack([np.ones_like(rows), rows], axis=1)
    fit = fit_costs(design, made(rng, rows), np.ones(400), prior=np.zeros(2), prior_sd=NOTHING)
    assert fit.coefficients == pytest.approx([0.01, 2e-6], rel=0.04)
    assert fit.scatter == pytest.approx(0.1, rel=0.2)


def test_stalls_hardly_move_a_cost():
    rng = np.random.default_rng(2)
    rows = rng.uniform(1e4, 1e5, 200)
    seconds = made(rng, rows)
    seconds[::10] *= 20
    design = np.stack([np.ones_like(rows), rows], axis=1)
    fit = fit_costs(design, seconds, np.ones(200), prior=np.zeros(2), prior_sd=NOTHING)
    plain = np.linalg.lstsq(design, seconds, rcond=None)[0]
    assert fit.coefficients[1] == pytest.approx(2e-6, rel=0.15)
    assert abs(plain[1] - 2e-6) > abs(fit.coefficients[1] - 2e-6)


def test_where_rows_do_not_vary_the_prior_decides():
    rows = np.full(50, 1e5)
    design = np.stack([np.ones_like(rows), rows], axis=1)
    seconds = np.full(50, 0.21)
    fit = fit_costs(design, seconds, np.ones(50), prior=np.array([0.01, 0.0]), prior_sd=np.array([0.01, np.inf]))
    assert fit.coefficients == pytest.approx([0.01, 2e-6], rel=0.01)


def lagged(seed, *, persistence, points=400, per_row=1e-6):
    """Micro-batches whose size is the time that the one before took, and whose slowness lasts."""
    rng = np.random.default_rng(seed)
    level, seconds, x, y = 0.0, 0.5, [], []
    for _ in range(points):
        rows = 1e5 * seconds * np.exp(0.1 * rng.standard_normal())
        level = persistence * level + 0.05 * rng.standard_normal()
        seconds = 0.4 + per_row * rows + level
        x.append(rows)
        y.append(seconds)
    return np.array(x), np.array(y)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_slow_times_do_not_pass_for_the_cost_of_rows(seed):
    x, y = lagged(seed, persistence=0.9)
    new = np.append(1.0, np.zeros(len(x) - 1))
    naive = np.polyfit(x, y, 1)[0]
    slope, error = persistent_slope(x, y, new)
    assert naive > 2e-6
    assert abs(slope - 1e-6) < 3 * error
    assert error < 0.5e-6


def test_rows_that_come_every_second_time_have_a_slope():
    rng = np.random.default_rng(4)
    x = np.tile([0.0, 1e4], 40)
    y = 0.1 + 2e-6 * x + 0.002 * rng.standard_normal(80)
    y[7] = 3.0
    slope, error = persistent_slope(x, y, np.append(1.0, np.zeros(79)))
    assert slope == pytest.approx(2e-6, rel=0.05)
    assert error < 0.4e-6


def test_slopes_between_runs_and_inside_them_are_weighed_by_their_errors():
    x, run = np.repeat([1.0, 3.0], 10), np.repeat([0, 1], 10)
    slope, error = slope_between(x, 5 + 2 * x, run, 0.1)
    assert slope == pytest.approx(2.0)
    # The means are 7 and 11, each known to a tenth.
    assert error == pytest.approx(np.hypot(0.7, 1.1) / 2, rel=1e-6)
    assert combined([(1.0, 0.1), (2.0, 0.1), (9.0, np.inf)]) == pytest.approx((1.5, 0.1 / np.sqrt(2)))
    assert combined([])[1] == np.inf
    assert slope_between(x[:10], x[:10], run[:10], 0.1)[1] == np.inf


def test_a_slope_without_variation_is_unknown():
    assert persistent_slope(np.ones(50), np.arange(50.0), np.zeros(50))[1] == np.inf
    assert persistent_slope(np.arange(5.0), np.arange(5.0), np.zeros(5))[1] == np.inf


def test_runs_are_drawn_again_each_with_as_many_micro_batches():
    run = np.repeat([0, 1, 2], [30, 7, 3])
    counts = np.array([resampled_counts(run, np.random.default_rng(seed)) for seed in range(300)])
    for number, size in enumerate([30, 7, 3]):
        assert (counts[:, run == number].sum(axis=1) == size).all()
    assert counts.mean(axis=0) == pytest.approx(np.ones(40), abs=0.3)
