"""Which load a query sustains: closed forms for a straight line, and the same for a whole query.

A micro-batch of N rows takes about fixed + per_row N. Larger micro-batches spread the fixed part over more rows, so a
query under overload grows its micro-batches until they are as large as they may be; what it then processes per second
is the most it can (Das, Zhong, Stoica and Shenker, SoCC 2014).
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from streamgauge.arrivals.admission import MIN_ADMITTED
from streamgauge.arrivals.law import Floats
from streamgauge.model.query import QueryModel, Settings
from streamgauge.model.simulator import NoiseWalk, SimulatedMachine

# Micro-batches this long stand for those without any limit.
_LONG_S = 1000.0
# State is level after this long.
_LEVEL_S = 1e9
_MOST_ROWS = 1e13
_HALVINGS = 50
_ROUNDS = 20


@dataclass(frozen=True)
class BatchLine:
    """A micro-batch of N rows takes `fixed_s` + `per_row_s` N, of which `after_s` pass after the sink's commit."""

    fixed_s: float
    per_row_s: float
    after_s: float = 0.0

    def is_stable(self, rate_per_s: float) -> bool:
        """Return whether micro-batches stop growing; this does not depend on the trigger."""
        return self.per_row_s * rate_per_s < 1

    def period_s(self, rate_per_s: float, trigger_s: float = 0.0) -> float:
        """Return the time from trigger to trigger; infinity when it grows without end.

        >>> BatchLine(200.0, 0.05).period_s(10.0), BatchLine(200.0, 0.05).period_s(10.0, 1000.0)
        (400.0, 1000.0)
        """
        if not self.is_stable(rate_per_s):
            return math.inf
        return max(trigger_s, self.fixed_s / (1 - self.per_row_s * rate_per_s))

    def duration_s(self, rate_per_s: float, trigger_s: float = 0.0) -> float:
        """Return how long a micro-batch takes."""
        period_s = self.period_s(rate_per_s, trigger_s)
        return self.fixed_s + self.per_row_s * rate_per_s * period_s

    def mean_latency_s(self, rate_per_s: float, trigger_s: float = 0.0) -> float:
        """Return the mean latency: half a period until the trigger, then the micro-batch until its commit.

        >>> BatchLine(200.0, 0.05).mean_latency_s(10.0), BatchLine(200.0, 0.05).mean_latency_s(10.0, 1000.0)
        (600.0, 1200.0)
        """
        return self.period_s(rate_per_s, trigger_s) / 2 + self.duration_s(rate_per_s, trigger_s) - self.after_s

    def sustainable_rate_per_s(self, longest_s: float = math.inf) -> float:
        """Return the highest rate at which micro-batches take no longer than `longest_s`."""
        if self.per_row_s <= 0:
            return math.inf
        return max(0.0, 1 - self.fixed_s / longest_s) / self.per_row_s


def per_row_s(per_row_s_of_stages: Sequence[float], largest_shares: Sequence[float], slots: int) -> float:
    """Return the seconds that one more row adds to a large micro-batch.

    Each stage adds its cost spread over all slots, or that of its largest partition if this is more.

    >>> round(per_row_s([1e-6, 2e-6], [0.25, 0.75], slots=2) * 1e6, 6)
    2.0
    """
    pairs = zip(per_row_s_of_stages, largest_shares, strict=True)
    return sum(max(cost / slots, cost * share) for cost, share in pairs)


class CapacityModel:
    """The mean period of micro-batches by their size, for several queries at once; the same noise for every size."""

    def __init__(
        self, queries: Sequence[QueryModel], settings: Settings, *, draws: int = 16, seed: int = 1,
        run_weights: Floats | None = None,
    ) -> None:  # fmt: skip
        rng = np.random.default_rng(seed)
        lanes = [query for query in queries for _ in range(draws)]
        self._machine = SimulatedMachine(lanes, settings, rng)
        self._walk = NoiseWalk(queries[0].noise, len(lanes), rng, run_weights)
        self._row = self._walk.step()
        self._pace = np.array([query.pace for query in lanes])
        self._query, self._settings, self._seed = queries[0], settings, seed
        self._shape = (len(queries), draws)

    def period_s(self, rows: Floats, expected_s: Floats) -> Floats:
        """Return the mean time from trigger to trigger when nothing is waited for.

        `expected_s` is about that time: windows close and state fills by it.
        """
        lanes = np.repeat(rows, self._shape[1])
        period_s = np.repeat(expected_s, self._shape[1])
        rate_per_s = lanes / period_s
        slide_s = self._query.slide_s
        self._machine.rng = np.random.default_rng(self._seed)
        execution = self._machine.execute(
            lanes,
            self._walk.gaps_s[:, self._row] * self._pace,
            self._walk.factors[:, self._row],
            closed=period_s / slide_s if slide_s else np.zeros_like(lanes),
            pane=rate_per_s * slide_s if slide_s else np.zeros_like(lanes),
            state=self._query.state.held(np.full_like(lanes, _LEVEL_S), rate_per_s),
        )
        phases_s = self._walk.phases_s[:, self._row].sum(axis=0) * self._pace
        return np.asarray((execution.seconds + phases_s).reshape(self._shape).mean(axis=1))

    def sustainable_rate_per_s(self) -> Floats:
        """Return the highest rate that each query processes, by the admission limit and the trigger."""
        if self._settings.max_rows_per_batch is not None:
            return self._with_fixed_limit(float(self._settings.max_rows_per_batch))
        target_s = min(self._settings.target_s, _LONG_S)
        low, high = np.zeros(self._shape[0]), np.full(self._shape[0], np.log(_MOST_ROWS))
        wanted_s = np.full(self._shape[0], target_s)
        for _ in range(_HALVINGS):
            middle = (low + high) / 2
            fits = self.period_s(np.exp(middle), wanted_s) <= target_s
            low, high = np.where(fits, middle, low), np.where(fits, high, middle)
        return np.maximum(np.exp(low) / target_s, self._with_fixed_limit(float(MIN_ADMITTED)))

    def _with_fixed_limit(self, limit: float) -> Floats:
        rows = np.full(self._shape[0], limit)
        period_s = np.full(self._shape[0], max(1.0, self._settings.trigger_s))
        for _ in range(_ROUNDS):
            period_s = np.maximum(self._settings.trigger_s, self.period_s(rows, period_s))
        return np.asarray(rows / period_s)
