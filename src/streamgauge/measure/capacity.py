"""How many events per second a query could process, from how long its micro-batches take, and how sure that is.

A micro-batch of b events takes about a + c b seconds. Under a load of one rate all have about one size, and the time
without tasks separates a from c. Under a load that varies, sizes differ enough to fit both by least squares; what
disturbs a micro-batch does so in proportion to its length, so each counts by one over the square of it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from streamgauge.measure.batch import Batch
from streamgauge.measure.trend import Floats, student_quantile
from streamgauge.units import format_rate

MIN_BATCHES = 6
CONFIDENCE = 0.98
ROUNDS = 4


@dataclass(frozen=True)
class Capacity:
    """Events per second with a 98 % interval; `per_s` and `high_per_s` are None where no size makes batches longer."""

    per_s: float | None
    low_per_s: float
    high_per_s: float | None

    def is_above(self, rate_per_s: float, *, share: float = 1.0) -> bool:
        """Return whether the whole interval is above a rate, or one that is reduced to a share below its middle."""
        low_per_s = self.low_per_s if self.per_s is None else self.per_s - share * (self.per_s - self.low_per_s)
        return low_per_s > rate_per_s

    def is_below(self, rate_per_s: float) -> bool:
        """Return whether the whole interval is below a rate."""
        return self.high_per_s is not None and self.high_per_s < rate_per_s

    def text(self) -> str:
        """Say the rate and its interval.

        >>> Capacity(2000.0, 1800.0, 2200.0).text()
        '2k/s (1.8k/s to 2.2k/s)'
        >>> Capacity(None, 1800.0, None).text()
        'at least 1.8k/s'
        """
        if self.per_s is None:
            return f"at least {format_rate(self.low_per_s)}"
        high = "more" if self.high_per_s is None else format_rate(self.high_per_s)
        return f"{format_rate(self.per_s)} ({format_rate(self.low_per_s)} to {high})"


@dataclass(frozen=True)
class _Line:
    """The time of a micro-batch over its events: a weighted mean point, the slope through it, and the slope's reach."""

    events: float
    time_s: float
    per_event_s: float
    reach_s: float

    def fixed_s(self, per_event_s: float) -> float:
        return max(0.0, self.time_s - per_event_s * self.events)


def _line(x: Floats, y: Floats) -> _Line:
    weights = np.full(len(x), 1 / len(x))
    for _ in range(ROUNDS):
        mean_x, mean_y = float(weights @ x), float(weights @ y)
        spread = float(weights @ (x - mean_x) ** 2)
        slope = float(weights @ ((x - mean_x) * (y - mean_y))) / spread
        # A fixed cost below 0 cannot be: then the time is in proportion to the events.
        slope = min(slope, mean_y / mean_x)
        fitted = mean_y + slope * (x - mean_x)
        next_weights = 1 / np.maximum(fitted, 0.1 * mean_y) ** 2
        residual = float(weights @ (y - fitted) ** 2)
        weights = next_weights / next_weights.sum()
    error = float(np.sqrt(residual / spread / (len(x) - 2)))
    return _Line(mean_x, mean_y, slope, error * student_quantile((1 + CONFIDENCE) / 2, len(x) - 2))


def fit_capacity(
    batches: Sequence[Batch], *, longest_s: float, trigger_s: float = 0.0, most_events: int | None = None
) -> Capacity | None:
    """Return the rate that micro-batches as long, or as large, as they may be can process.

    As long as some of them were, they may be. None for fewer than six with events, or when all have the same size.
    """
    busy = [batch for batch in batches if batch.events]
    x, y = (np.array(values, dtype=float) for values in ([b.events for b in busy], [b.duration_s for b in busy]))
    if len(busy) < MIN_BATCHES or np.ptp(x) == 0 or not np.all(y > 0):
        return None
    line, limit_s = _line(x, y), max(longest_s, float(y.max()))

    def rate(per_event_s: float) -> float:
        fixed_s = line.fixed_s(per_event_s)
        if most_events is not None:
            return most_events / max(fixed_s + per_event_s * most_events, trigger_s)
        return max(0.0, limit_s - fixed_s) / limit_s / per_event_s

    middle, low, high = (line.per_event_s + sign * line.reach_s for sign in (0, 1, -1))
    if low <= 0:
        return None
    return Capacity(rate(middle) if middle > 0 else None, rate(low), rate(high) if high > 0 else None)


def level_capacity(
    batches: Sequence[Batch],
    tasks_s: float,
    *,
    longest_s: float,
    trigger_s: float = 0.0,
    most_events: int | None = None,
) -> Capacity | None:
    """Return the same from micro-batches of about one size, at any rate.

    What passes without tasks is the same in every micro-batch, and tasks, which take `tasks_s` in the mean, take longer
    the more events there are. The capacity is reached by micro-batches as long, or as large, as they may be. It is as
    uncertain as the mean of the time per event, over micro-batches.
    """
    busy = [batch for batch in batches if batch.events]
    events = sum(batch.events for batch in busy)
    if not (events and tasks_s):
        return None
    fixed_s = sum(batch.duration_s for batch in batches) / len(batches) - tasks_s
    per_event_s = tasks_s * len(batches) / events
    if most_events is not None:
        per_s = most_events / max(fixed_s + per_event_s * most_events, trigger_s)
    elif fixed_s < longest_s:
        per_s = (longest_s - fixed_s) / longest_s / per_event_s
    else:
        return None
    reach = _relative_reach(np.array([batch.duration_s / batch.events for batch in busy]))
    return Capacity(per_s, per_s / (1 + reach), per_s / (1 - reach) if reach < 1 else None)


def _relative_reach(values: Floats) -> float:
    """Return how far the mean of values may be from the true one, as a share of it; infinity for fewer than three."""
    if len(values) < 3:
        return float("inf")
    error = float(np.std(values, ddof=1) / np.mean(values)) / np.sqrt(len(values))
    return float(error * student_quantile((1 + CONFIDENCE) / 2, len(values) - 1))


def scatter(capacities_per_s: Sequence[float]) -> float | None:
    """Return the standard deviation of the logarithms of capacities, which is about its share of their mean.

    None for fewer than two, and for equal ones, which show no scatter.

    >>> round(scatter([8e6, 9e6, 10e6]), 3)
    0.112
    """
    found = float(np.std(np.log(capacities_per_s), ddof=1)) if len(capacities_per_s) > 1 else 0.0
    return found or None


def probability_inside(low_per_s: float, high_per_s: float, capacities_per_s: Sequence[float]) -> float | None:
    """Return how likely the true capacity is between two rates, by what single probes show of it.

    Their logarithms scatter around that of the true one, so it has Student's distribution around their mean, with as
    many degrees of freedom as the scatter: few probes make it wide. None where the scatter is unknown.

    >>> round(probability_inside(95.0, 105.0, [98.0, 100.0, 103.0]), 2)
    0.92
    """
    from scipy.stats import t

    deviation = scatter(capacities_per_s)
    if deviation is None:
        return None
    count, middle = len(capacities_per_s), float(np.mean(np.log(capacities_per_s)))
    reach = (np.log([low_per_s, high_per_s]) - middle) / (deviation / np.sqrt(count))
    below_low, below_high = t.cdf(reach, count - 1)
    return float(below_high - below_low)
