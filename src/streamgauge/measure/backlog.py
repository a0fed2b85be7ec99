"""Does the backlog grow? A robust slope, its interval, and a verdict."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from streamgauge.measure.capacity import Capacity
from streamgauge.measure.trend import Floats, Slope, slope_interval, theil_sen
from streamgauge.units import format_count
from streamgauge.verdict import Verdict

MIN_POINTS = 10
MAX_GAP_SHARE = 0.25
MIN_LEFT_POINTS = 4
MAX_GROWTH_OF_EMPTIED = 1.5
MIN_BEHIND_SHARE = 0.5
# How much of the lower half of its interval must be above the offered rate where the capacity is needed for a pass.
NEEDED_SHARE = 0.5


@dataclass(frozen=True)
class BacklogTrend:
    """Slope of the backlog in events per second, with a 95 % interval; None where nothing can be said."""

    slope_per_s: float | None
    low_per_s: float | None
    high_per_s: float | None
    verdict: Verdict
    reason: str


def _missing_evidence(t: Floats, y: Floats) -> str | None:
    """Say why no slope can be judged, if so."""
    if len(t) < MIN_POINTS:
        return f"backlog was seen {len(t)} times, and a trend needs {MIN_POINTS}"
    if not (np.all(np.isfinite(t)) and np.all(np.isfinite(y))):
        return "backlog holds values that are not finite"
    steps, span_s = np.diff(t), float(t[-1] - t[0])
    if np.any(steps < 0) or span_s <= 0:
        return "times of the backlog do not increase"
    if steps.max() > MAX_GAP_SHARE * span_s:
        return f"backlog was not seen for {steps.max():.3g} s of {span_s:.3g} s"
    return None


def _decide(slope: Slope, rate_per_s: float, tolerance: float) -> tuple[Verdict, str]:
    if slope.low > tolerance * rate_per_s:
        share = f"{100 * slope.value / rate_per_s:.2g} % of the offered rate"
        return Verdict.FAIL, f"backlog grows by {format_count(slope.value)} events/s ({share})"
    limit = f"the limit of {format_count(2 * tolerance * rate_per_s)} events/s"
    interval = f"between {format_count(slope.low)} and {format_count(slope.high)} events/s"
    if slope.high < 2 * tolerance * rate_per_s:
        return Verdict.PASS, f"backlog changes by {interval}, below {limit}"
    return Verdict.UNKNOWN, f"backlog changes by {interval}, too uncertain for {limit}"


def _growth(y: Floats) -> float:
    """Return the level of a backlog in the last third of the time by that in the first."""
    third = len(y) // 3
    before, after = float(np.median(y[:third])), float(np.median(y[-third:]))
    return after / before if before > 0 else float("inf")


def _level(growth: float) -> str:
    return f"the backlog of the last third of the time is {growth:.2f} times that of the first"


def _behind(rest: Floats) -> int:
    """Return how many micro-batches in a row left something behind, counted from the last one."""
    emptied = np.flatnonzero(rest == 0)
    return len(rest) - 1 - int(emptied[-1]) if len(emptied) else len(rest)


def _is_emptied(rest: Floats) -> bool:
    """Return whether the query caught up whenever it fell behind.

    Between two micro-batches that took all there was, everything that was offered was processed. So it is enough that
    one is in the first third and one in the last, or that all of the last third are such: then it even made up for
    what it lacked before. In the end the query must not have been behind for longer than it was before.
    """
    emptied, third = np.flatnonzero(rest == 0), math.ceil(len(rest) / 3)
    if np.all(rest[-max(MIN_LEFT_POINTS, third) :] == 0):
        return True
    if not len(emptied) or emptied[0] >= third or emptied[-1] < len(rest) - third:
        return False
    longest = int(np.diff(emptied).max(initial=1)) - 1
    return _behind(rest) <= longest


def _judge_emptied(y: Floats, rest: Floats, trend: BacklogTrend) -> BacklogTrend:
    """Judge a noisy backlog that the micro-batches emptied, except for some after which others did.

    A batch of b events takes a + c b seconds, and at the offered rate r the next one holds r (a + c b) of them.
    At capacity, c r = 1, each batch is therefore longer than the last by the fixed cost a, and above capacity by
    more: within some ten batches the backlog has doubled, or an admission limit is reached and no batch empties it
    any more. One that has not was below capacity.
    """
    growth = _growth(y)
    if growth > MAX_GROWTH_OF_EMPTIED:
        return trend
    times = int(np.count_nonzero(rest))
    who = f"all but {times} of {len(y)} micro-batches" if times else "every micro-batch"
    return replace(trend, verdict=Verdict.PASS, reason=f"{who} took all there was, and {_level(growth)}")


def _judge_left(t: Floats, y: Floats, rest: Floats, trend: BacklogTrend, limit_per_s: float) -> BacklogTrend:
    """Judge a backlog that micro-batches could not take whole.

    Where none could, it must not have grown with every one of them. Where those of at least the last half could not,
    and there are enough of them, it must not have grown at all: the query was behind, and not on the way back.
    """
    slope_per_s, behind = theil_sen(t, y), _behind(rest)
    if behind == len(rest) and np.all(np.diff(y) > 0) and slope_per_s > limit_per_s:
        reason = f"no micro-batch took all there was, and the backlog grows by {format_count(slope_per_s)} events/s"
        return replace(trend, slope_per_s=slope_per_s, verdict=Verdict.FAIL, reason=reason)
    growth = _growth(y) if len(y) >= MIN_POINTS and behind >= MIN_BEHIND_SHARE * len(rest) else 0.0
    if growth <= 1:
        return trend
    reason = f"none of the last {behind} of {len(rest)} micro-batches took all there was, and {_level(growth)}"
    return replace(trend, verdict=Verdict.FAIL, reason=reason)


def judge_backlog(
    times_s: Sequence[float] | Floats,
    backlog: Sequence[float] | Floats,
    *,
    rate_per_s: float,
    left: Sequence[float] | Floats | None = None,
    capacity: Capacity | None = None,
    tolerance: float = 0.005,
    rng: np.random.Generator | None = None,
) -> BacklogTrend:
    """Judge whether the backlog has stopped growing, at an offered rate of `rate_per_s`.

    Fail when the slope's interval lies above `tolerance` times the rate, pass when it lies below twice that,
    else unknown. Fewer than ten points, or none for a quarter of the time, are unknown: silence is not success.
    `left` is what each micro-batch left behind because an admission limit cut it short. Where the slope alone
    decides nothing it may: a backlog that batches of the first and of the last third took whole, or all of the last
    third, passes as long as its level stays. One that none of at least four took whole fails when it grew with each of
    them, and one of at least ten batches that none of the last half took whole when its level has risen.
    A backlog that every batch took whole passes in spite of its slope, as long as its level stays: it is what came
    during one batch, and it rises while the next batches find their length.
    `capacity` is what micro-batches show by their length. Where nothing else decides and the level has risen, it does:
    a backlog that was worked off passes below it, and any fails above it. Where the slope alone does not decide, no
    backlog passes unless the capacity is above the offered rate by half of its interval.
    """
    t, y = np.asarray(times_s, dtype=float), np.asarray(backlog, dtype=float)
    if t.shape != y.shape or t.ndim != 1:
        raise ValueError("every time needs one backlog")
    if not rate_per_s > 0:
        raise ValueError(f"the offered rate must be above 0, not {rate_per_s}")
    trend = _judge_slope(t, y, rate_per_s, tolerance, rng)
    if left is None or trend.verdict is Verdict.PASS or len(t) < MIN_LEFT_POINTS:
        return _beside_capacity(trend, capacity, rate_per_s, needed=False) if capacity else trend
    rest = np.asarray(left, dtype=float)
    found = _judge_rest(t, y, rest, trend, tolerance * rate_per_s)
    if capacity is None:
        return found
    found = _beside_capacity(found, capacity, rate_per_s, needed=True)
    # Where the slope is unknown because points are missing, a capacity is no substitute for them.
    if found.verdict is Verdict.UNKNOWN and capacity.per_s is not None and found.slope_per_s is not None:
        return _judge_capacity(y, rest, found, capacity, rate_per_s)
    return found


def _judge_rest(t: Floats, y: Floats, rest: Floats, trend: BacklogTrend, limit_per_s: float) -> BacklogTrend:
    """Judge by what micro-batches left behind, where the slope alone decides nothing."""
    is_unknown = trend.verdict is Verdict.UNKNOWN
    is_emptied = _is_emptied(rest) if is_unknown else not np.any(rest)
    if is_emptied:
        return _judge_emptied(y, rest, trend) if len(t) >= MIN_POINTS else trend
    return _judge_left(t, y, rest, trend, limit_per_s) if is_unknown else trend


def _judge_capacity(
    y: Floats, rest: Floats, trend: BacklogTrend, capacity: Capacity, rate_per_s: float
) -> BacklogTrend:
    """Judge a backlog whose level has risen: on its way to a higher level that it will keep, or without end.

    Both look alike for a while. How long micro-batches of that many events take separates them.
    """
    growth, is_below = _growth(y), capacity.per_s is not None and capacity.per_s < rate_per_s
    shown = f"{_level(growth)}, and by their length micro-batches can process {capacity.text()}"
    if growth > MAX_GROWTH_OF_EMPTIED and is_below:
        return replace(trend, verdict=Verdict.FAIL, reason=f"{shown}, less than is offered")
    if _is_emptied(rest) and capacity.is_above(rate_per_s, share=NEEDED_SHARE):
        return replace(trend, verdict=Verdict.PASS, reason=f"the queue was emptied again and again; {shown}")
    return trend


def _beside_capacity(trend: BacklogTrend, capacity: Capacity, rate_per_s: float, *, needed: bool) -> BacklogTrend:
    """Say beside a pass how far the capacity is from the offered rate; where it is needed, it must be above it.

    Half of its interval is what keeps passes at 1.1 times the capacity below 1 % in `benchmarks/verdicts.py`.
    """
    if trend.verdict is not Verdict.PASS or capacity.per_s is None:
        return trend
    share = capacity.per_s / rate_per_s - 1
    compared = f"{abs(share):.0%} {'more' if share >= 0 else 'less'} than is offered"
    reason = f"{trend.reason}; by their length micro-batches can process {capacity.text()}, {compared}"
    if needed and not capacity.is_above(rate_per_s, share=NEEDED_SHARE):
        return replace(trend, verdict=Verdict.UNKNOWN, reason=f"{reason}: too close to be sure")
    return replace(trend, reason=reason)


def _judge_slope(
    t: Floats, y: Floats, rate_per_s: float, tolerance: float, rng: np.random.Generator | None
) -> BacklogTrend:
    missing = _missing_evidence(t, y)
    if missing:
        return BacklogTrend(None, None, None, Verdict.UNKNOWN, missing)
    slope = slope_interval(t, y, rng=rng)
    verdict, reason = _decide(slope, rate_per_s, tolerance)
    return BacklogTrend(slope.value, slope.low, slope.high, verdict, reason)
