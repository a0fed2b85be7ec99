"""When did results change? Steps in a sequence of results over time, one value per run or set of runs.

The clearest step between two neighbouring stretches is tested against random orders of the same results; when it
is real, the parts before and after it are searched in turn. Stretches of all lengths are tried (seeded binary
segmentation; Kovács, Bühlmann, Li and Munk 2023), so a fault that was soon repaired is found as two changes.
Wild results are first drawn in to Tukey's fences, so that a single one does not make a step and seldom hides one.
"""

import math
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

import numpy as np

from streamgauge.measure.statistics import Values, smallest_p
from streamgauge.measure.trend import Floats

# A step needs this many results on either side.
MIN_SIDE = 3
# Tukey's fences, in interquartile ranges beyond the quartiles.
FENCE = 1.5
SHRINK = math.sqrt(0.5)
MAX_ORDERS = 1000
BLOCK = 100
SEED = 20_190_612


@dataclass(frozen=True)
class Change:
    """A step: `position` is the index of the first result after it, `before` and `after` the medians around it.

    The medians reach back and ahead to the neighbouring changes. `p` is the chance of as clear a step in results
    that come in random order.
    """

    position: int
    before: float
    after: float
    p: float


@lru_cache(maxsize=64)
def _stretches(points: int) -> tuple[tuple[int, int], ...]:
    """Return overlapping stretches of all lengths, each layer shorter than the last by a factor."""
    found = {(0, points)}
    length = points * SHRINK
    while length >= 2 * MIN_SIDE:
        size = math.ceil(length)
        count = max(2, math.ceil(2 * (points - size) / size) + 1)
        found.update((start, start + size) for start in np.linspace(0, points - size, count).astype(int).tolist())
        length *= SHRINK
    return tuple(sorted(found))


@lru_cache(maxsize=512)
def _shares_and_weights(size: int) -> tuple[Floats, Floats]:
    """Return for each split the share before it, and the weight of a difference of sums."""
    before = np.arange(MIN_SIDE, size - MIN_SIDE + 1)
    return before / size, np.sqrt(size / (before * (size - before)))


def _steps(sums: Floats, start: int, stop: int) -> Floats:
    """Return the size of each step in a stretch, in standard errors up to a factor, for each row of running sums.

    It is the difference of means times the root of before * after / (before + after).
    """
    shares, weights = _shares_and_weights(stop - start)
    first, last = sums[:, start, np.newaxis], sums[:, stop, np.newaxis]
    sizes = sums[:, start + MIN_SIDE : stop - MIN_SIDE + 1] - first
    sizes -= (last - first) * shares
    sizes *= weights
    return np.abs(sizes, out=sizes)


def _running_sums(rows: Floats) -> Floats:
    return np.concatenate([np.zeros((len(rows), 1)), np.cumsum(rows, axis=1)], axis=1)


def _clearest(values: Floats) -> tuple[int, float]:
    """Return the position and size of the clearest step in any stretch."""
    sums = _running_sums(values[np.newaxis, :])
    best, position = -1.0, 0
    for start, stop in _stretches(len(values)):
        sizes = _steps(sums, start, stop)[0]
        k = int(np.argmax(sizes))
        if sizes[k] > best:
            best, position = float(sizes[k]), start + MIN_SIDE + k
    return position, best


def _clearest_sizes(rows: Floats) -> Floats:
    sums = _running_sums(rows)
    sizes: Floats = np.max([_steps(sums, start, stop).max(axis=1) for start, stop in _stretches(rows.shape[1])], axis=0)
    return sizes


def _tamed(values: Floats) -> Floats:
    """Draw in what lies outside of Tukey's fences; a set in which half of the results are equal has none."""
    quarter, middle, three_quarters = np.quantile(values, [0.25, 0.5, 0.75])
    reach = FENCE * (three_quarters - quarter)
    tamed: Floats = (np.clip(values, quarter - reach, three_quarters + reach) if reach > 0 else values) - middle
    return tamed


def _p_value(values: Floats, size: float, level: float, rng: np.random.Generator) -> float:
    """Return the share of random orders with as clear a step; stops early when it is clearly above the level."""
    as_clear, orders = 1, 1
    while orders < MAX_ORDERS and as_clear <= level * MAX_ORDERS:
        drawn = rng.permuted(np.tile(values, (min(BLOCK, MAX_ORDERS - orders), 1)), axis=1)
        as_clear += int(np.sum(_clearest_sizes(drawn) >= size * (1 - 1e-9)))
        orders += len(drawn)
    return as_clear / orders


def _can_show(points: int, level: float) -> bool:
    """Tell whether the clearest possible step is far enough below the level for the drawn orders to show it."""
    return 3 * smallest_p(points // 2, points - points // 2) <= level


def _search(values: Floats, offset: int, level: float, rng: np.random.Generator) -> list[tuple[int, float]]:
    """Return positions and p-values of all steps."""
    points = len(values)
    if points < 2 * MIN_SIDE or not _can_show(points, level):
        return []
    tamed = _tamed(values)
    position, size = _clearest(tamed)
    if size <= 1e-12 * float(np.max(np.abs(values))):
        return []
    p = _p_value(tamed, size, level, rng)
    if p > level:
        return []
    before = _search(values[:position], offset, level, rng)
    after = _search(values[position:], offset + position, level, rng)
    return [*before, (offset + position, p), *after]


def _moved(values: Floats, positions: list[int]) -> list[int]:
    """Move each position to the clearest step between its neighbours, now that these are known."""
    edges = [0, *positions, len(values)]
    for k in range(1, len(edges) - 1):
        start, stop = edges[k - 1], edges[k + 1]
        sizes = _steps(_running_sums(_tamed(values[start:stop])[np.newaxis, :]), 0, stop - start)[0]
        edges[k] = start + MIN_SIDE + int(np.argmax(sizes))
    return edges[1:-1]


def results_needed(confidence: float = 0.99) -> int:
    """Return how many results a sequence needs before any step in it can be shown.

    >>> results_needed(), results_needed(0.95)
    (12, 9)
    """
    points = 2 * MIN_SIDE
    while not _can_show(points, 1 - confidence):
        points += 1
    return points


def find_changes(results: Values, *, confidence: float = 0.99, rng: np.random.Generator | None = None) -> list[Change]:
    """Find the steps in results that are in order of time, earliest first.

    In results that only scatter, independent of each other, a step is seen in 1 of 100 sequences with a confidence
    of 0.99. Both sides of a step hold three results or more. The same results give the same answer unless `rng`
    differs. Too few results are an error, because finding nothing in them would say nothing.

    >>> [change.position for change in find_changes([5.0, 5.1, 4.9, 5.2, 5.0, 5.1, 7.0, 7.1, 6.9, 7.2, 7.0, 7.1])]
    [6]
    """
    if not 0 < confidence <= 1 - 2 / MAX_ORDERS:
        raise ValueError(f"confidence must lie between 0 and {1 - 2 / MAX_ORDERS}, not {confidence}")
    values = np.asarray(results, dtype=float)
    needed = results_needed(confidence)
    if values.ndim != 1 or len(values) < needed:
        raise ValueError(
            f"{values.size} results cannot show a change at {100 * confidence:g} % confidence; {needed} can"
        )
    if not np.all(np.isfinite(values)):
        raise ValueError("some results are missing or not finite; leave them out")
    found = _search(values, 0, 1 - confidence, rng or np.random.default_rng(SEED))
    positions = _moved(values, [position for position, _ in found])
    edges = [0, *positions, len(values)]
    levels = [float(np.median(values[start:stop])) for start, stop in pairwise(edges)]
    return [
        Change(position, levels[k], levels[k + 1], p)
        for k, (position, (_, p)) in enumerate(zip(positions, found, strict=True))
    ]
