import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from streamgauge.measure import slope_interval, theil_sen
from streamgauge.measure.trend import (
    RESAMPLES,
    _autocorrelation,
    _effective_points,
    _group_means,
    _resampled,
    _standard_error,
    level_shift,
    student_quantile,
)


def autoregression(rng, points, phi):
    """Return a stationary AR(1) series with variance 1."""
    values = np.empty(points)
    values[0] = rng.standard_normal()
    for k, noise in enumerate(rng.standard_normal(points - 1), start=1):
        values[k] = phi * values[k - 1] + np.sqrt(1 - phi**2) * noise
    return values


@given(st.lists(st.integers(-1000, 1000), min_size=2, max_size=30))
def test_c1_the_slope_is_the_median_over_all_pairs(values):
    pairs = [(values[j] - values[i]) / (j - i) for i in range(len(values)) for j in range(i + 1, len(values))]
    assert theil_sen(range(len(values)), values) == pytest.approx(float(np.median(pairs)))


def test_c1_a_quarter_of_wild_points_does_not_move_the_slope_far():
    t = np.arange(40.0)
    y = 3 * t
    y[5:15] += 1e6
    assert theil_sen(t, y) == pytest.approx(3.0, abs=0.5)


def test_equal_times_are_left_out_of_the_pairs():
    assert theil_sen([0, 0, 1, 2], [0, 0, 2, 4]) == 2.0
    with pytest.raises(ValueError, match="two different times"):
        theil_sen([1, 1], [0, 5])


@pytest.mark.parametrize("points", [2, 9, 40, 300])
def test_s7_the_slope_equals_scipy(points):
    rng = np.random.default_rng(points)
    t = np.cumsum(rng.uniform(0.1, 2.0, points))
    y = 3.0 * t + 10 * rng.standard_cauchy(points)
    assert theil_sen(t, y) == pytest.approx(stats.theilslopes(y, t).slope, rel=1e-9)


def test_long_series_keep_their_slope():
    t = np.arange(20_000) * 0.1
    assert theil_sen(t, 7 * t + 1) == pytest.approx(7.0)


@pytest.mark.parametrize(
    ("p", "degrees", "published", "error"),
    [
        (0.975, 2, 4.303, 0.04),
        (0.975, 3, 3.182, 0.01),
        (0.975, 5, 2.571, 0.002),
        (0.975, 30, 2.042, 0.001),
        (0.975, 1e9, 1.960, 0.001),
        (0.995, 3, 5.841, 0.05),
        (0.995, 10, 3.169, 0.002),
    ],
)
def test_student_quantiles_match_published_tables(p, degrees, published, error):
    assert student_quantile(p, degrees) == pytest.approx(published, rel=error)


@pytest.mark.parametrize(("points", "phi"), [(20, 0.0), (40, 0.5), (120, 0.8)])
def test_the_interval_covers_the_true_slope_nearly_as_often_as_it_says(points, phi):
    rng = np.random.default_rng(points)
    t = np.arange(points)
    intervals = [slope_interval(t, 0.3 * t + autoregression(rng, points, phi), rng=rng) for _ in range(300)]
    covered = np.mean([interval.low <= 0.3 <= interval.high for interval in intervals])
    assert covered >= 0.925


def test_the_error_of_a_slope_is_its_scatter_over_resamples_and_what_two_points_of_the_line_hide():
    t, residuals = np.cumsum([0.5, 1.0, 2.0] * 4), np.random.default_rng(3).standard_normal(12)
    rows = _resampled(residuals, 0.4, np.random.default_rng(5))
    slopes = [stats.theilslopes(row, t).slope for row in rows]
    found = _standard_error(t, residuals, 0.4, np.random.default_rng(5))
    assert found == pytest.approx(np.std(slopes) * np.sqrt(12 / 10), rel=1e-9)


def test_resamples_scatter_and_depend_as_the_residuals_do():
    rng = np.random.default_rng(11)
    residuals = autoregression(rng, 4000, 0.6)
    rows = _resampled(residuals, 0.6, rng)
    assert rows.shape == (RESAMPLES, 4000)
    assert rows.std() == pytest.approx(1, abs=0.05)
    assert rows[:, 0].std() == pytest.approx(1, abs=0.15)
    assert np.mean(rows[:, 1:] * rows[:, :-1]) / rows.var() == pytest.approx(0.6, abs=0.01)
    assert np.mean(rows) == pytest.approx(0, abs=0.02)


def test_dependence_is_estimated_with_the_bias_of_a_line_and_a_margin():
    # 39 neighbours, of which 9 differ in sign: 21 / 40.
    blocks = np.array(([1.0] * 4 + [-1.0] * 4) * 5)
    rho = (21 / 40 + 2 / 40) / (1 - 4 / 40)
    assert _autocorrelation(blocks) == pytest.approx(rho + 0.75 * np.sqrt((1 - rho**2) / 40))
    assert _autocorrelation(np.array([1.0, -1.0] * 10)) == 0.0
    assert _autocorrelation(np.arange(-50.0, 51.0)) == 0.95
    assert _autocorrelation(np.zeros(9)) == 0.0


def test_dependent_points_are_worth_fewer_but_four():
    assert _effective_points(0.0, 30) == 30
    assert _effective_points(0.5, 30) == pytest.approx(10)
    assert _effective_points(0.9, 20) == 4


def test_neighbours_are_averaged_in_groups_that_hold_every_point_once():
    assert _group_means(np.arange(4.0), 4).tolist() == [0, 1, 2, 3]
    assert _group_means(np.array([1.0, 3.0, 5.0, 7.0, 9.0]), 2).tolist() == [2.0, 7.0]


def test_a_straight_line_has_no_uncertainty():
    slope = slope_interval(range(30), [2 * k for k in range(30)])
    assert (slope.low, slope.value, slope.high) == pytest.approx((2.0, 2.0, 2.0))


def test_the_same_series_gets_the_same_interval():
    values = np.random.default_rng(1).standard_normal(50)
    assert slope_interval(range(50), values) == slope_interval(range(50), values)


@pytest.mark.parametrize("phi", [0.0, 0.5, 0.8])
def test_noise_seldom_looks_like_a_step(phi):
    rng = np.random.default_rng(29)
    found = [level_shift(autoregression(rng, 40, phi)) for _ in range(300)]
    assert np.mean([size is not None for size in found]) <= 0.03


def test_a_planted_step_is_found_with_its_size_and_sign():
    rng = np.random.default_rng(31)
    step = np.repeat([0.0, -4.0], [30, 10])
    found = [level_shift(step + rng.standard_normal(40)) for _ in range(100)]
    assert np.mean([size is not None for size in found]) >= 0.95
    assert np.mean([size for size in found if size is not None]) == pytest.approx(-4, abs=0.3)


@pytest.mark.parametrize(("share", "found"), [(0.99, False), (1.01, True)])
def test_a_step_must_exceed_its_error_times_the_quantile(share, found):
    # Residuals of 1 and -1 in turn depend on nothing: their variance is 20 / 18, and that of the step 1 / 5 of it.
    least = np.sqrt(20 / 18 / 5) * student_quantile(0.9995, 18)
    size = level_shift(np.repeat([0.0, share * least], 10) + np.tile([1.0, -1.0], 10))
    assert (size == pytest.approx(share * least)) if found else size is None


@pytest.mark.parametrize(("before", "size"), [(4, 6.0), (16, 6.0), (3, 4.5), (17, 4.5)])
def test_a_step_is_found_whole_where_a_fifth_of_the_points_is_on_either_side(before, size):
    assert level_shift(np.repeat([0.0, 6.0], [before, 20 - before])) == pytest.approx(size)


def test_short_or_constant_series_have_no_step():
    assert level_shift(np.array([0.0] * 4 + [9.0] * 3)) is None
    assert level_shift(np.full(20, 3.0)) is None
