"""Where does the warm-up end, and does the rest stand still?"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from streamgauge.measure.trend import Floats, level_shift, slope_interval

GROUP = 5

# Five groups leave 15 points or more. With four, a drift of 20 standard deviations passes for steady
# in 18 of 100 series, with five in 4.
MIN_POINTS = 5 * GROUP

CONFIDENCE = 0.99
CONFIDENCE_AT_LIMIT = 0.95
NEGLIGIBLE_CHANGE = 0.05
# Brokers and Spark give times in milliseconds, and a generator sends what is due every two of them.
NEGLIGIBLE_S = 0.005


@dataclass(frozen=True)
class SteadyState:
    """The points before `cut` are warm-up; `settled` says whether the others can be called steady.

    `change` is by how much the others still rise or fall, relative to their mean; None when they do not,
    or when it is unknown.
    """

    cut: int
    settled: bool
    reason: str
    change: float | None = None


def _group_means(values: Floats) -> Floats:
    """Return the means of whole groups, counted from the end so that the latest points are in."""
    means: Floats = values[len(values) % GROUP :].reshape(-1, GROUP).mean(axis=1)
    return means


def _mser_cut(values: Floats) -> tuple[int, bool]:
    """Return the cut of MSER-5 and whether it is the latest one allowed, half of the groups."""
    groups = _group_means(values[: len(values) // GROUP * GROUP])
    limit = len(groups) // 2
    statistics = [float(np.var(groups[d:])) / (len(groups) - d) for d in range(limit + 1)]
    cut = int(np.argmin(statistics))
    return cut * GROUP, cut == limit


def _change(kept: Floats, confidence: float) -> float:
    """Return by how much the kept points rise or fall, by a trend or else by a step; 0 when they do not."""
    slope = slope_interval(np.arange(len(kept)), kept, confidence=confidence)
    if not slope.low <= 0 <= slope.high:
        return slope.value * (len(kept) - 1)
    return level_shift(_group_means(kept)) or 0.0


def _movement(change: float, level: float) -> str | None:
    """Describe a change of the level; None when it is too small to matter."""
    if abs(change) <= max(NEGLIGIBLE_CHANGE * abs(level), NEGLIGIBLE_S):
        return None
    share = f" by {100 * abs(change / level):.2g} % of their mean" if level else ""
    return f"{'rise' if change > 0 else 'fall'}{share}"


def find_steady_state(series: Sequence[float] | Floats) -> SteadyState:
    """Find the warm-up of a series of times in seconds, such as the latencies of successive micro-batches.

    The cut is MSER-5 (White 1997; White, Cobb and Spratt 2000): of means of five points it drops as many as
    minimise the squared standard error of the mean of the rest, never more than half. What is kept is settled
    unless it moves by more than 5 % of its mean and 5 ms, as a trend (99 % confidence) or in one step (1 % false
    alarms). A cut at the limit is itself a sign of a long transient, so there 95 % suffice for a trend; it
    is no proof, because noise alone puts 3 of 10 short series there. Fewer than 25 points are not settled.
    """
    values = np.asarray(series, dtype=float)
    if len(values) < MIN_POINTS:
        return SteadyState(0, False, f"too few points for a steady state: {len(values)} of at least {MIN_POINTS}")
    if not np.all(np.isfinite(values)):
        return SteadyState(0, False, "no steady state: some points are not finite")
    cut, at_limit = _mser_cut(values)
    kept = values[cut:]
    change = _change(kept, CONFIDENCE_AT_LIMIT if at_limit else CONFIDENCE)
    movement = _movement(change, float(kept.mean()))
    if movement is None:
        return SteadyState(cut, True, f"steady after {cut} of {len(values)} points")
    relative = change / abs(float(kept.mean())) if kept.mean() else None
    return SteadyState(cut, False, f"no steady state: the last {len(kept)} points still {movement}", relative)
