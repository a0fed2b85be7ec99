"""The slope of a noisy series whose points depend on each other.

The slope is the median of pairwise slopes (Theil 1950, Sen 1968), so single stalls do not decide.
Its standard error comes from a bootstrap that keeps the dependence of neighbouring micro-batches: the
residuals are resampled as a first-order autoregression (sieve bootstrap, Bühlmann 1997). Over 600 series each
of white, autoregressive, moving-average and heavy-tailed noise, 95 % intervals missed the true slope in 0 to
7 % with 20 to 120 points, and in 2 to 9 % with 10.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from statistics import NormalDist

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Pairs = tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]

MAX_SLOPE_POINTS = 300
MAX_BOOTSTRAP_POINTS = 40
RESAMPLES = 200
MIN_SHIFT_POINTS = 8
MAX_AUTOCORRELATION = 0.95

# The autocorrelation of a short series is itself uncertain; this many standard errors keep intervals honest.
CARE = 0.75
SEED = 20_180_416


@dataclass(frozen=True)
class Slope:
    """A slope per unit of time and its confidence interval."""

    value: float
    low: float
    high: float


@lru_cache(maxsize=16)
def _pairs(points: int) -> Pairs:
    return np.triu_indices(points, k=1)


def _median_slopes(t: Floats, series: Floats) -> Floats:
    """Return the Theil-Sen slope of each row of `series`."""
    i, j = _pairs(len(t))
    apart = t[j] > t[i]
    if not np.any(apart):
        raise ValueError("a slope needs two different times")
    i, j = i[apart], j[apart]
    slopes = series[:, j]
    slopes -= series[:, i]
    slopes /= t[j] - t[i]
    medians: Floats = np.median(slopes, axis=1, overwrite_input=True)
    return medians


def _group_means(values: Floats, groups: int) -> Floats:
    """Replace neighbouring values by their means so that at most `groups` remain."""
    if len(values) <= groups:
        return values
    starts = np.arange(groups) * len(values) // groups
    means: Floats = np.add.reduceat(values, starts) / np.diff(np.append(starts, len(values)))
    return means


def theil_sen(t: npt.ArrayLike, y: npt.ArrayLike) -> float:
    """Return the median of the slopes of all pairs of points; times must not decrease.

    More than 300 points are first averaged in 300 groups of neighbours.

    >>> theil_sen([0, 1, 2, 3, 4], [0, 2, 4, 600, 8])
    2.0
    """
    times = _group_means(np.asarray(t, dtype=float), MAX_SLOPE_POINTS)
    values = _group_means(np.asarray(y, dtype=float), MAX_SLOPE_POINTS)
    return float(_median_slopes(times, values[np.newaxis, :])[0])


def student_quantile(p: float, degrees: float) -> float:
    """Return a quantile of Student's t by its expansion around the normal (Abramowitz and Stegun 26.7.5).

    Off by 4 % at 2 degrees of freedom, less than 0.2 % from 5 on, at p = 0.975.

    >>> round(student_quantile(0.975, 10), 3)
    2.228
    """
    z = NormalDist().inv_cdf(p)
    terms = (
        (z**3 + z) / 4,
        (5 * z**5 + 16 * z**3 + 3 * z) / 96,
        (3 * z**7 + 19 * z**5 + 17 * z**3 - 15 * z) / 384,
    )
    return z + sum(term / degrees ** (k + 1) for k, term in enumerate(terms))


def _autocorrelation(residuals: Floats) -> float:
    """Return the residuals' correlation with their predecessors, raised by `CARE` standard errors."""
    points, power = len(residuals), float(residuals @ residuals)
    if power == 0:
        return 0.0
    seen = float(residuals[1:] @ residuals[:-1]) / power
    # A fitted line lowers the estimate by about (2 + 4 rho) / n.
    rho = (seen + 2 / points) / (1 - 4 / points)
    margin = CARE * math.sqrt(max(0.0, 1 - rho**2) / points)
    return min(max(rho + margin, 0.0), MAX_AUTOCORRELATION)


def _effective_points(rho: float, points: int) -> float:
    """Return how many independent points an AR(1) series is worth, at least 4 to fit a line."""
    return max(4.0, points * (1 - rho) / (1 + rho))


def _resampled(residuals: Floats, rho: float, rng: np.random.Generator) -> Floats:
    """Return `RESAMPLES` rows as dependent as the residuals: drawn innovations, filtered."""
    points = len(residuals)
    innovations = residuals[1:] - rho * residuals[:-1]
    # The first half of each series only forgets that the filter started at zero.
    drawn = rng.choice(innovations - innovations.mean(), size=(2 * points, RESAMPLES))
    for k in range(1, len(drawn)):
        drawn[k] += rho * drawn[k - 1]
    return np.ascontiguousarray(drawn[points:].T)


def _standard_error(t: Floats, residuals: Floats, rho: float, rng: np.random.Generator) -> float:
    lost_to_line = len(residuals) / (len(residuals) - 2)
    return float(np.std(_median_slopes(t, _resampled(residuals, rho, rng)))) * math.sqrt(lost_to_line)


def slope_interval(
    t: npt.ArrayLike, y: npt.ArrayLike, *, confidence: float = 0.95, rng: np.random.Generator | None = None
) -> Slope:
    """Return the Theil-Sen slope and its interval; the same input gives the same answer unless `rng` differs.

    More than 40 points are first averaged in 40 groups of neighbours, which also lessens their dependence.
    """
    times = _group_means(np.asarray(t, dtype=float), MAX_BOOTSTRAP_POINTS)
    values = _group_means(np.asarray(y, dtype=float), MAX_BOOTSTRAP_POINTS)
    slope = theil_sen(times, values)
    residuals = values - slope * times
    residuals = residuals - residuals.mean()
    rho = _autocorrelation(residuals)
    error = _standard_error(times, residuals, rho, rng or np.random.default_rng(SEED))
    reach = error * student_quantile((1 + confidence) / 2, _effective_points(rho, len(times)) - 2)
    return Slope(slope, slope - reach, slope + reach)


def _best_split(values: Floats) -> tuple[int, float, float]:
    """Return the split that explains most of the variance, each side a fifth or more, and the two means."""
    points = len(values)
    margin = max(2, points // 5)
    splits = np.arange(margin, points - margin + 1)
    before = np.cumsum(values)[splits - 1]
    means_before, means_after = before / splits, (values.sum() - before) / (points - splits)
    best = int(np.argmax((means_after - means_before) ** 2 * splits * (points - splits)))
    return int(splits[best]), float(means_before[best]), float(means_after[best])


def level_shift(values: Floats, *, confidence: float = 0.999) -> float | None:
    """Return the size of the clearest step in a series, None when noise explains it.

    `confidence` is that of a single split; 0.999 makes about one false step in 100 series over all splits.
    Fewer than eight points show none.

    >>> level_shift(np.array([1.0] * 10 + [4.0] * 5))
    3.0
    """
    points = len(values)
    if points < MIN_SHIFT_POINTS:
        return None
    split, mean_before, mean_after = _best_split(values)
    residuals = values - np.where(np.arange(points) < split, mean_before, mean_after)
    rho = _autocorrelation(residuals)
    effective = _effective_points(rho, points)
    variance = float(residuals @ residuals) / points * effective / (effective - 2)
    error = math.sqrt(variance * points / (split * (points - split)) * points / effective)
    size = mean_after - mean_before
    return size if abs(size) > error * student_quantile((1 + confidence) / 2, effective - 2) else None
