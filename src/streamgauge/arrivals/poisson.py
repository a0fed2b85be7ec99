"""Arrivals that do not know of each other."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from streamgauge.arrivals.law import STEP_S, STEP_US, Floats, SteadyLaw, check_rate, every_us
from streamgauge.arrivals.schedule import Longs
from streamgauge.errors import UsageError
from streamgauge.units import MAX_SEED


class _Draws:
    """One generator that draws in the order of time, so the end of the load does not matter to what comes before."""

    def __init__(self, mean: float, seed: int) -> None:
        self._mean = mean
        self._generator = np.random.Generator(np.random.PCG64(seed % 2**64))
        # The segment at the end of the part before, drawn already, with its events and those before it.
        self._first, self._events, self._before = 0, np.array([], dtype=np.int64), 0

    def until(self, t_us: Longs) -> Longs:
        """Return how many events there are until each time; no later part begins before the end of this one."""
        segment, inside_us = np.divmod(t_us, STEP_US)
        more = int(segment[-1]) + 1 - self._first - len(self._events)
        events = np.concatenate((self._events, self._generator.poisson(self._mean, more)))
        before = self._before + np.concatenate(([0], np.cumsum(events[:-1])))
        k = segment - self._first
        self._first, self._events, self._before = int(segment[-1]), events[-1:], int(before[-1])
        # Events of a segment are due at its start, and then evenly: a part of it holds the rounded-up share.
        found: Longs = before[k] - -events[k] * inside_us // STEP_US
        return found


@dataclass(frozen=True)
class Poisson(SteadyLaw):
    """Whole numbers of events per 10 ms, drawn from a Poisson distribution.

    A longer load begins with the numbers of a shorter one. Inside 10 ms the events are evenly spaced.
    """

    name: ClassVar[str] = "poisson"
    rate_per_s: float
    seed: int = 1

    def __post_init__(self) -> None:
        check_rate("rate", self.rate_per_s, positive=True)
        if not -MAX_SEED <= self.seed <= MAX_SEED:
            raise UsageError(f"seed is {self.seed}", where="seed", remedy=f"use {-MAX_SEED} to {MAX_SEED}")

    def certain(self, t_s: Floats) -> Floats:
        """Return 0: every event is left to chance."""
        return np.zeros(len(t_s))

    def draws(self, factor: float) -> Callable[[Longs], Longs]:
        """Return what draws the number of events until sorted times, when the rate is `factor` times as high."""
        return _Draws(self.rate_per_s * factor * STEP_S, self.seed).until

    def knots_us(self, end_us: int) -> Longs:
        """Return a time every 10 ms."""
        return every_us(STEP_S, end_us)
