"""Costs by regression: none is negative, outliers count little, and large values are worth no more than small ones."""

import itertools
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from streamgauge.arrivals.law import Floats

# Huber's bound for 95 % efficiency under normal noise.
_HUBER = 1.345
_ROUNDS = 6
_NORMAL_MAD = 1.4826
_PERSISTENCE = np.arange(0.0, 0.96, 0.1)


@dataclass(frozen=True)
class RegressionFit:
    """Coefficients, the weight that each observation ended with, and the relative scatter around the fit.

    `levels` is what a standard deviation of the level of each run adds to each observation.
    """

    coefficients: Floats
    weights: Floats
    scatter: float
    levels: Floats


def nonnegative(gram: Floats, moment: Floats) -> Floats:
    """Return the b >= 0 that minimises b'Gb - 2 b'm, by trying which coefficients are zero.

    >>> nonnegative(np.eye(2), np.array([3.0, -1.0])).tolist()
    [3.0, 0.0]
    """
    size = len(moment)
    best, best_value = np.zeros(size), 0.0
    for kept in range(size, 0, -1):
        for chosen in itertools.combinations(range(size), kept):
            part = np.ix_(chosen, chosen)
            try:
                solution = np.linalg.solve(gram[part], moment[list(chosen)])
            except np.linalg.LinAlgError:
                continue
            value = float(solution @ gram[part] @ solution - 2 * solution @ moment[list(chosen)])
            if np.all(solution >= 0) and value < best_value:
                best = np.zeros(size)
                best[list(chosen)] = solution
                best_value = value
        if kept == size and best_value < 0:
            break
    return best


def level_columns(expected: Floats, run: npt.NDArray[Any], cv: float) -> Floats:
    """Return what one standard deviation of the level of each run adds to the expected values.

    All runs together are as fast as they are, so only differences between their levels count; one run has none.
    """
    member = run[:, np.newaxis] == np.unique(run)
    return np.asarray(cv * expected[:, np.newaxis] * (member - 1.0 / member.shape[1]))


def solve_costs(
    design: Floats, seconds: Floats, weights: Floats, prior: Floats, prior_weights: Floats, levels: Floats | None = None
) -> Floats:
    """Return the non-negative coefficients of a weighted regression with prior values of the coefficients.

    `levels` are columns whose coefficients are normal with the standard deviation 1: this is the generalised least
    squares of a model with random effects (Henderson 1975).
    """
    # Columns of very different size are brought to one scale first.
    scale = np.maximum(np.abs(design).max(axis=0), 1e-300)
    scaled = design / scale
    weighted = scaled * weights[:, np.newaxis]
    own = prior_weights / scale**2
    gram, moment = scaled.T @ weighted, weighted.T @ seconds
    if levels is not None:
        gram = gram - (weighted.T @ levels) @ found_levels(levels, weights, scaled)
        moment = moment - (weighted.T @ levels) @ found_levels(levels, weights, seconds)
    return np.asarray(nonnegative(gram + np.diag(own), moment + own * prior * scale) / scale)


def found_levels(levels: Floats, weights: Floats, left: Floats) -> Floats:
    """Return the likeliest coefficients of the levels for what is left of the observations."""
    weighted = levels * weights[:, np.newaxis]
    return np.asarray(np.linalg.solve(np.eye(levels.shape[1]) + levels.T @ weighted, weighted.T @ left))


def fit_costs(
    design: Floats,
    seconds: Floats,
    counts: Floats,
    *,
    prior: Floats,
    prior_sd: Floats,
    run: npt.NDArray[Any],
    run_cv: float,
    floor_s: float = 1e-3,
) -> RegressionFit:
    """Fit seconds = design @ coefficients by Huber's regression of relative residuals.

    `counts` says how much an observation is worth before its residual is known. A prior with an infinite standard
    deviation says nothing. All observations of a run are slower or faster together, by `run_cv`: without that, a slow
    run whose micro-batches are large because it is slow would pass for the cost of rows.
    """
    prior_weights = np.where(np.isfinite(prior_sd), 1.0 / prior_sd**2, 0.0)
    expected = np.maximum(seconds, floor_s)
    scatter, robust = 0.3, np.ones_like(seconds)
    coefficients = np.zeros(design.shape[1])
    for _ in range(_ROUNDS):
        weights = counts * robust / (scatter * expected) ** 2
        levels = level_columns(expected, run, run_cv)
        coefficients = solve_costs(design, seconds, weights, prior, prior_weights, levels)
        expected = np.maximum(design @ coefficients, floor_s)
        own = levels @ found_levels(levels, weights, seconds - expected)
        residuals = (seconds - own - expected) / expected
        scatter = max(_NORMAL_MAD * float(np.median(np.abs(residuals))), 0.01)
        robust = np.minimum(1.0, _HUBER * scatter / np.maximum(np.abs(residuals), 1e-12))
    return RegressionFit(
        coefficients, counts * robust / (scatter * expected) ** 2, scatter, level_columns(expected, run, run_cv)
    )


def slope_between(x: Floats, y: Floats, run: npt.NDArray[Any], cv: float) -> tuple[float, float]:
    """Return the slope through the means of runs and its standard error, when the level of a run scatters by `cv`."""
    runs = np.unique(run)
    mean_x = np.array([x[run == number].mean() for number in runs])
    mean_y = np.array([y[run == number].mean() for number in runs])
    if float(np.ptp(mean_x)) <= 0.05 * float(mean_x.mean()) or not np.all(mean_y > 0):
        return 1.0, float("inf")
    weights = 1.0 / (cv * mean_y) ** 2
    centred = mean_x - float(weights @ mean_x) / float(weights.sum())
    spread = float(weights @ centred**2)
    return float(weights @ (centred * mean_y)) / spread, 1.0 / float(np.sqrt(spread))


def combined(estimates: Sequence[tuple[float, float]]) -> tuple[float, float]:
    """Return the mean of estimates by their standard errors, and its own."""
    known = [(value, error) for value, error in estimates if np.isfinite(error) and error > 0]
    if not known:
        return 1.0, float("inf")
    weights = np.array([1.0 / error**2 for _, error in known])
    return float(weights @ [value for value, _ in known]) / float(weights.sum()), 1.0 / float(np.sqrt(weights.sum()))


def persistent_slope(x: Floats, y: Floats, new: Floats) -> tuple[float, float]:
    """Return the slope of y on x and its standard error when slow times last.

    Micro-batches of slow times are slow and large, because the time before was slow. So noise is taken as a first-order
    autoregression, and the slope is that of what is new in each point (Hildreth and Lu 1960): its size was decided
    before. `new` marks the points that do not follow the one before them. Outliers count little.
    """
    follows = np.flatnonzero(new[1:] == 0) + 1
    unit = float(np.abs(x).max())
    if len(follows) < 8 or unit <= 0 or float(np.std(x[follows])) <= 1e-9 * unit:
        return 1.0, float("inf")
    best = (np.inf, 0.0, np.inf)
    for persistence in _PERSISTENCE:
        innovation = [(values[follows] - persistence * values[follows - 1]) for values in (x / unit, y)]
        best = min(best, _robust_slope(*innovation))
    _, slope, error = best
    return slope / unit, error / unit


def _robust_slope(x: Floats, y: Floats) -> tuple[float, float, float]:
    """Return how much is left unexplained, the slope of y on x and its standard error, by Huber's weights."""
    weights = np.ones_like(x)
    slope, left, spread = 0.0, y, 1.0
    for _ in range(_ROUNDS):
        mean_x, mean_y = float(np.average(x, weights=weights)), float(np.average(y, weights=weights))
        spread = max(float(weights @ (x - mean_x) ** 2), 1e-300)
        slope = float(weights @ ((x - mean_x) * (y - mean_y))) / spread
        left = y - mean_y - slope * (x - mean_x)
        scale = max(_NORMAL_MAD * float(np.median(np.abs(left))), 1e-12)
        weights = np.minimum(1.0, _HUBER * scale / np.maximum(np.abs(left), 1e-300))
    unexplained = float(weights @ left**2)
    return unexplained, slope, float(np.sqrt(unexplained / max(1.0, float(weights.sum()) - 3) / spread))


def resampled_counts(run: npt.NDArray[Any], rng: np.random.Generator, *, block: int = 10) -> Floats:
    """Return how often each micro-batch is drawn when each run is drawn again in blocks of neighbours."""
    counts = np.zeros(len(run))
    for number in np.unique(run):
        rows = np.flatnonzero(run == number)
        length = min(block, len(rows))
        starts = rng.integers(len(rows), size=-(-len(rows) // length))
        drawn = (starts[:, np.newaxis] + np.arange(length)).ravel()[: len(rows)] % len(rows)
        np.add.at(counts, rows[drawn], 1.0)
    return counts
