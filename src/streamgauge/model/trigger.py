"""When micro-batches start, and which events they hold.

All functions take arrays: one value per replication.
"""

from dataclasses import dataclass
from typing import Self

import numpy as np
import numpy.typing as npt

from streamgauge.arrivals import Constant, Poisson
from streamgauge.arrivals.admission import FIRST_ADMITTED, MIN_ADMITTED
from streamgauge.arrivals.law import STEP_S, BaseLaw, Floats

# Spark looks for new events this often when a trigger found none.
POLL_S = 0.01
# A start that misses a multiple of the interval only by rounding counts as that multiple.
_ROUNDING = 1e-9


def next_start(started_s: npt.ArrayLike, ended_s: npt.ArrayLike, trigger_s: float) -> Floats:
    """Return when the next trigger starts: the end of this one, or the next multiple of the interval if that is later.

    The multiple is the first one after the start of the micro-batch, so one that overruns its interval is followed at
    once, and so may be the next.

    >>> next_start(1.0, 2.3, trigger_s=1.0).item(), next_start(2.3, 2.9, trigger_s=1.0).item()
    (2.3, 3.0)
    """
    ended = np.asarray(ended_s, dtype=np.float64)
    if trigger_s <= 0:
        return ended
    due = (np.floor(np.asarray(started_s) / trigger_s + _ROUNDING) + 1) * trigger_s
    return np.maximum(ended, due)


@dataclass(frozen=True)
class ArrivalCurve:
    """The expected number of events that exist at time t, as a line through knots; it is level after the last one.

    `random_share` is the share of the events that come by chance: their number in any time is Poisson distributed.
    """

    time_s: Floats
    count: Floats
    random_share: float = 0.0

    @classmethod
    def from_law(cls, law: BaseLaw, load_s: float) -> Self:
        """Return the curve of the first `load_s` seconds of a law."""
        if isinstance(law, Constant | Poisson):
            time_s = np.array([0.0, load_s])
        else:
            time_s = np.append(np.arange(0.0, load_s, STEP_S), load_s)
        count = np.maximum.accumulate(law.integral(time_s))
        return cls(time_s, count, _random_share(law, load_s))

    @property
    def total(self) -> float:
        """How many events are expected in all."""
        return float(self.count[-1])

    @property
    def whole(self) -> float:
        """How many whole events there are when nothing is left to chance."""
        return float(np.floor(self.total * (1 + _ROUNDING)))

    @property
    def end_s(self) -> float:
        """When the load ends."""
        return float(self.time_s[-1])

    @property
    def mean_rate_per_s(self) -> float:
        """The mean rate of the load."""
        return self.total / self.end_s

    def expected(self, t_s: npt.ArrayLike) -> Floats:
        """Return the number of events expected until times."""
        return np.interp(np.asarray(t_s, dtype=np.float64), self.time_s, self.count)

    def time_of(self, n: npt.ArrayLike) -> Floats:
        """Return when the expected number of events passes n, at the latest when there are no more."""
        number = np.asarray(n, dtype=np.float64)
        k = np.clip(np.searchsorted(self.count, number, side="right") - 1, 0, len(self.count) - 2)
        events = np.diff(self.count)[k]
        share = np.clip((number - self.count[k]) / np.where(events > 0, events, 1.0), 0.0, 1.0)
        return self.time_s[k] + share * np.diff(self.time_s)[k]


def _random_share(law: BaseLaw, load_s: float) -> float:
    total = float(law.integral(load_s))
    end_us = np.array([round(load_s * 1e6)])
    drawn = [
        piece.factor * float(piece.law.integral(piece.own_time(end_us)[0] / 1e6))
        for piece in law.pieces()
        if isinstance(piece.law, Poisson)
    ]
    return min(1.0, sum(drawn) / total) if total > 0 else 0.0


@dataclass
class Offering:
    """The events that exist, per replication; each look draws those that came since the last one."""

    curve: ArrivalCurve
    rng: np.random.Generator
    seen: Floats
    created: Floats

    @classmethod
    def start(cls, curve: ArrivalCurve, replications: int, rng: np.random.Generator) -> Self:
        """Begin with no events."""
        return cls(curve, rng, np.zeros(replications), np.zeros(replications))

    def look(self, now_s: Floats) -> Floats:
        """Return the number of events that exist now."""
        expected = self.curve.expected(now_s)
        if not self.curve.random_share:
            # The first event exists from the beginning, and the last one when its time has come.
            passed = np.floor(expected + _ROUNDING * expected) + 1.0
            self.created = np.minimum(passed, self.curve.whole)
        else:
            news = np.maximum(expected - self.seen, 0.0)
            drawn = self.rng.poisson(self.curve.random_share * news)
            self.created = self.created + drawn + (1.0 - self.curve.random_share) * news
        self.seen = expected
        return self.created

    def shift(self) -> Floats:
        """Return how many events fewer than expected exist: what `time_of` needs to know when one of them came.

        Counted back from the present, the number of an event is off by the chance of the time since then only.
        """
        return self.seen - self.created if self.curve.random_share else np.zeros_like(self.seen)

    def next_s(self) -> Floats:
        """Return when the next event comes; infinity when there is none."""
        if not self.curve.random_share:
            return np.where(self.created < self.curve.whole, self.curve.time_of(self.created), np.inf)
        wanted = self.seen + self.rng.exponential(size=len(self.seen))
        return np.where(wanted < self.curve.total, self.curve.time_of(wanted), np.inf)


class AdmissionLimit:
    """How many events the next micro-batch may hold, as the embedded source limits them.

    A fixed limit stays. Otherwise it starts with 500,000 and is renewed whenever a micro-batch has reached it, by
    the rate at which that one went through, so that the next takes about `target_s`; it at most doubles or halves.
    """

    def __init__(self, replications: int, *, fixed: int | None, target_s: float) -> None:
        self.is_fixed = fixed is not None
        self.target_s = target_s
        first = FIRST_ADMITTED if fixed is None else fixed
        self.limit = np.full(replications, np.inf if fixed is None and np.isinf(target_s) else float(first))
        self._consumed: Floats = np.full(replications, np.nan)
        self._asked_s: Floats = np.full(replications, np.nan)

    def allow(self, consumed: Floats, now_s: Floats, asked: npt.NDArray[np.bool_]) -> Floats:
        """Return the limits; `asked` marks replications in which there is an event to admit."""
        if self.is_fixed or np.isinf(self.target_s):
            return self.limit
        events, elapsed_s = consumed - self._consumed, np.maximum(1e-3, now_s - self._asked_s)
        reached = asked & (events > 0) & (events >= self.limit)
        if reached.any():
            wanted = np.rint(events / elapsed_s * self.target_s)
            renewed = np.maximum(self.limit // 2, np.minimum(wanted, self.limit * 2))
            self.limit = np.where(reached, np.maximum(renewed, MIN_ADMITTED), self.limit)
        self._consumed = np.where(asked, consumed, self._consumed)
        self._asked_s = np.where(asked, now_s, self._asked_s)
        return self.limit
