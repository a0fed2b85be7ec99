"""Robust regression of costs."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import nnls
from scipy.stats import linregress

from streamgauge.model.regression import (
    combined,
    fit_costs,
    level_columns,
    nonnegative,
    persistent_slope,
    resampled_counts,
    slope_between,
    solve_costs,
)

NOTHING = np.array([np.inf, np.inf])


def one_run(points):
    return {"run": np.zeros(points, dtype=int), "run_cv": 0.06}


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
    fit = fit_costs(design, made(rng, rows), np.ones(400), prior=np.zeros(2), prior_sd=NOTHING, **one_run(400))
    assert fit.coefficients == pytest.approx([0.01, 2e-6], rel=0.04)
    assert fit.scatter == pytest.approx(0.1, rel=0.2)


def test_stalls_hardly_move_a_cost():
    rng = np.random.default_rng(2)
    rows = rng.uniform(1e4, 1e5, 200)
    seconds = made(rng, rows)
    seconds[::10] *= 20
    design = np.stack([np.ones_like(rows), rows], axis=1)
    fit = fit_costs(design, seconds, np.ones(200), prior=np.zeros(2), prior_sd=NOTHING, **one_run(200))
    plain = np.linalg.lstsq(design, seconds, rcond=None)[0]
    assert fit.coefficients[1] == pytest.approx(2e-6, rel=0.15)
    assert abs(plain[1] - 2e-6) > abs(fit.coefficients[1] - 2e-6)


def test_where_rows_do_not_vary_the_prior_decides():
    rows = np.full(50, 1e5)
    design = np.stack([np.ones_like(rows), rows], axis=1)
    seconds = np.full(50, 0.21)
    prior = {"prior": np.array([0.01, 0.0]), "prior_sd": np.array([0.01, np.inf])}
    fit = fit_costs(design, seconds, np.ones(50), **prior, **one_run(50))
    assert fit.coefficients == pytest.approx([0.01, 2e-6], rel=0.01)


def test_levels_of_runs_are_random_effects():
    # The same by the covariance of the observations, without any shortcut.
    rng = np.random.default_rng(4)
    rows, run = rng.uniform(1e3, 1e5, 60), np.repeat([0, 1, 2], 20)
    design = np.stack([np.ones(60), rows], axis=1)
    seconds, weights = made(rng, rows), rng.uniform(0.5, 2.0, 60) * 1e4
    levels = level_columns(seconds, run, 0.06)
    inverse = np.linalg.inv(np.diag(1 / weights) + levels @ levels.T)
    expected = np.linalg.solve(design.T @ inverse @ design, design.T @ inverse @ seconds)
    found = solve_costs(design, seconds, weights, np.zeros(2), np.zeros(2), levels)
    assert found == pytest.approx(expected, rel=1e-9)


def test_a_level_that_all_runs_share_is_none():
    run, expected = np.repeat([0, 1], 5), np.arange(1.0, 11.0)
    assert level_columns(expected, run, 0.06).sum(axis=1) == pytest.approx(np.zeros(10))
    assert level_columns(expected, run, 0.06)[:, 0] == pytest.approx(0.03 * expected * np.where(run == 0, 1, -1))
    assert not level_columns(expected, np.zeros(10), 0.06).any()


def test_a_slow_run_with_large_micro_batches_does_not_make_rows_dear():
    # Without an interval a run that is slower by a tenth has larger micro-batches.
    rng, run = np.random.default_rng(5), np.repeat([0, 1], 100)
    level = np.where(run == 0, 1.0, 1.2)
    rows = 1e4 * level**2 * np.exp(0.1 * rng.standard_normal(200))
    seconds = level * made(rng, rows, cv=0.02)
    design = np.stack([np.ones(200), rows], axis=1)
    usual = {"prior": np.zeros(2), "prior_sd": NOTHING}
    found = fit_costs(design, seconds, np.ones(200), **usual, run=run, run_cv=0.06).coefficients[1]
    alone = fit_costs(design, seconds, np.ones(200), **usual, run=np.zeros(200), run_cv=0.06).coefficients[1]
    assert found == pytest.approx(2.2e-6, rel=0.12)
    assert alone > 2.8e-6


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


def test_the_scatter_is_that_around_the_levels_of_the_runs():
    rows, run = np.tile(np.linspace(1e3, 1e5, 50), 2), np.repeat([0, 1], 50)
    design = np.stack([np.ones(100), rows], axis=1)
    seconds = (0.01 + 2e-6 * rows) * np.where(run == 0, 1.1, 0.9)
    usual = {"prior": np.zeros(2), "prior_sd": NOTHING}
    apart = fit_costs(design, seconds, np.ones(100), **usual, run=run, run_cv=0.5)
    assert apart.scatter == pytest.approx(0.01, abs=0.002)
    together = fit_costs(design, seconds, np.ones(100), **usual, run=np.zeros(100), run_cv=0.5)
    assert together.scatter == pytest.approx(0.1 * 1.4826, rel=0.1)
    # All count alike, but for what they take.
    expected_s = design @ apart.coefficients
    assert apart.weights * expected_s**2 == pytest.approx(1 / apart.scatter**2, rel=0.2)
    assert apart.levels == pytest.approx(level_columns(expected_s, run, 0.5))


def test_a_run_without_any_time_tells_no_slope():
    x, run = np.repeat([1.0, 3.0], 5), np.repeat([0, 1], 5)
    assert slope_between(x, np.where(run == 0, 0.0, 2.0), run, 0.1) == (1.0, np.inf)


@pytest.mark.parametrize(("second", "known"), [(1.04, False), (1.07, True)])
def test_runs_of_nearly_the_same_size_tell_no_slope(second, known):
    x, run = np.repeat([1.0, second], 5), np.repeat([0, 1], 5)
    assert bool(np.isfinite(slope_between(x, 2 * x, run, 0.1)[1])) is known


def test_without_persistence_and_stalls_the_slope_and_its_error_are_those_of_a_plain_regression():
    rng = np.random.default_rng(7)
    x = rng.uniform(1e4, 1e5, 400)
    y = 0.1 + 2e-6 * x + 0.01 * rng.standard_normal(400)
    slope, error = persistent_slope(x, y, np.append(1.0, np.zeros(399)))
    plain = linregress(x, y)
    assert slope == pytest.approx(plain.slope, rel=0.02)
    assert error == pytest.approx(plain.stderr, rel=0.15)


def test_points_that_do_not_follow_the_one_before_them_are_not_compared_with_it():
    rng = np.random.default_rng(8)
    # Groups of four with levels far apart: only inside of them slow times last.
    level = np.repeat(rng.uniform(-1.0, 1.0, 60), 4)
    x = rng.uniform(1e4, 1e5, 240)
    y = level + 2e-6 * x
    new = np.tile([1.0, 0.0, 0.0, 0.0], 60)
    slope, error = persistent_slope(x, y, new)
    assert slope == pytest.approx(2e-6, rel=0.05)
    # A tenth of a level is left of neighbours, and of strangers all of it.
    assert error == pytest.approx(0.1 * level.std() / np.sqrt(180) / (np.sqrt(1 + 0.9**2) * x.std()), rel=0.2)
    mixed = persistent_slope(x, y, np.append(1.0, np.zeros(239)))
    assert mixed[1] > 1.5 * error


@pytest.mark.parametrize(("points", "known"), [(9, True), (8, False)])
def test_eight_points_that_follow_others_are_needed_for_a_slope(points, known):
    x = np.arange(1.0, points + 1)
    assert bool(np.isfinite(persistent_slope(x, 2 * x + np.sin(x), np.append(1.0, np.zeros(points - 1)))[1])) is known
