"""What arrival laws have in common, and how a law is compiled.

A composed law is a sum of pieces: simple laws, each with a factor, a start and an end. Where every piece has its knots,
the schedule has one, with as many events as the integral of the rate has whole ones.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from streamgauge.arrivals.notation import write_parameters
from streamgauge.arrivals.schedule import MAX_SEGMENT_PRODUCT, PART_KNOTS, Longs, Schedule
from streamgauge.errors import UsageError
from streamgauge.units import MAX_RATE_PER_S, format_count, format_duration

Floats = npt.NDArray[np.float64]

# Where a rate varies, the schedule has a knot this often; nothing that repeats may be shorter.
STEP_US = 10_000
STEP_S = STEP_US / 1e6
MAX_KNOTS = 20_000_000
MAX_TIME_S = 30 * 86400.0


class BaseLaw(ABC):
    """What every arrival law can do."""

    @abstractmethod
    def describe(self) -> str:
        """Return the law as a user would write it, with every parameter; it parses to an equal law."""

    @abstractmethod
    def max_rate_per_s(self, duration_s: float) -> float:
        """Return the highest rate of the first `duration_s` seconds; for infinity, no run's is higher."""

    @abstractmethod
    def rate_at(self, t_s: npt.ArrayLike) -> Floats:
        """Return the rate at times after the start of the load; where it jumps, the rate after the jump."""

    @abstractmethod
    def integral(self, t_s: npt.ArrayLike) -> Floats:
        """Return the expected number of events until times after the start of the load."""

    @abstractmethod
    def lasting_rate_per_s(self) -> float:
        """Return the mean rate of a load without end."""

    @abstractmethod
    def pieces(self) -> tuple["Piece", ...]:
        """Return the simple laws of which this one is the sum."""

    def mean_rate_per_s(self, duration_s: float | None = None) -> float:
        """Return the mean rate of the first `duration_s` seconds, or that of a load without end."""
        return self.lasting_rate_per_s() if duration_s is None else float(self.integral(duration_s)) / duration_s

    def schedule(self, duration_s: float) -> Schedule:
        """Compile the events of the first `duration_s` seconds."""
        pieces = self.pieces()
        time_us = knots_us(pieces, max(1, round(duration_s * 1e6)))
        return Schedule(time_us, counts(pieces, time_us))

    def __add__(self, other: "BaseLaw") -> "BaseLaw":
        from streamgauge.arrivals.composition import Sum

        return Sum((self, other))

    def __mul__(self, factor: float) -> "BaseLaw":
        from streamgauge.arrivals.composition import Scaled

        return Scaled(self, float(factor))

    __rmul__ = __mul__


class SimpleLaw(BaseLaw):
    """A law that is not made of others; its fields are its parameters."""

    name: ClassVar[str]

    @abstractmethod
    def knots_us(self, end_us: int) -> Longs:
        """Return the times up to `end_us` between which the rate hardly changes, in any order."""

    def certain(self, t_s: Floats) -> Floats:
        """Return the part of the integral that is not left to chance."""
        return self.integral(t_s)

    def draws(self, factor: float) -> "Callable[[Longs], Longs] | None":  # noqa: ARG002
        """Return what draws, if something is left to chance, when the rate is `factor` times as high.

        It is called with sorted times, part after part, and returns the number of random events until each of them.
        """
        return None

    def describe(self) -> str:
        """Return the law as a user would write it, with every parameter; it parses to an equal law."""
        return f"{self.name}({write_parameters(self)})"

    def pieces(self) -> tuple["Piece", ...]:
        """Return the law itself, from the start without end."""
        return (Piece(self),)


class SteadyLaw(SimpleLaw):
    """A law whose expected rate never changes."""

    rate_per_s: float

    def rate_at(self, t_s: npt.ArrayLike) -> Floats:
        """Return the rate, or with a random law the expected one, which is the same at all times."""
        return np.full(np.shape(t_s), float(self.rate_per_s))

    def integral(self, t_s: npt.ArrayLike) -> Floats:
        """Return the rate times the time."""
        return self.rate_per_s * np.asarray(t_s, dtype=np.float64)

    def max_rate_per_s(self, duration_s: float) -> float:  # noqa: ARG002
        """Return the rate."""
        return self.rate_per_s

    def lasting_rate_per_s(self) -> float:
        """Return the rate."""
        return self.rate_per_s


@dataclass(frozen=True)
class Piece:
    """A simple law, `factor` times as strong, whose own time starts at `start_us` and stops at `end_us`."""

    law: SimpleLaw
    factor: float = 1.0
    start_us: int = 0
    end_us: int | None = None

    def own_time(self, t_us: Longs) -> Longs:
        """Return the law's own time."""
        return np.clip(t_us, self.start_us, self.end_us) - self.start_us

    def knots_us(self, end_us: int) -> Longs:
        """Return the times at which a load until `end_us` needs a knot."""
        stop_us = end_us if self.end_us is None else min(self.end_us, end_us)
        if stop_us <= self.start_us:
            return np.array([], dtype=np.int64)
        knots: Longs = np.append(self.law.knots_us(stop_us - self.start_us), [0, stop_us - self.start_us])
        # In place: a day has millions of knots.
        np.clip(knots, 0, stop_us - self.start_us, out=knots)
        knots += self.start_us
        return knots


def knots_us(pieces: Sequence[Piece], end_us: int) -> Longs:
    """Return the increasing times of all knots of a load."""
    knots = [np.array([0, end_us], dtype=np.int64), *(piece.knots_us(end_us) for piece in pieces)]
    # A rate that is constant for long is cut where a segment would be too large for exact arithmetic.
    peak_per_s = max(1.0, sum(piece.factor * piece.law.max_rate_per_s(math.inf) for piece in pieces))
    longest_us = math.sqrt(MAX_SEGMENT_PRODUCT / 2 * 1e6 / peak_per_s) // STEP_US * STEP_US
    knots.append(np.arange(0, end_us, int(longest_us), dtype=np.int64))
    # Sorting runs that are in order already is many times faster than `unique`.
    times_us: Longs = np.concatenate(knots)
    knots.clear()
    times_us.sort(kind="stable")
    is_first = np.empty(len(times_us), dtype=np.bool_)
    is_first[0] = True
    np.not_equal(times_us[1:], times_us[:-1], out=is_first[1:])
    return times_us[is_first]


def counts(pieces: Sequence[Piece], time_us: Longs) -> Longs:
    """Return how many events exist before each of the increasing times: the whole part of the integral.

    An integral that misses a whole number only by rounding counts as that number.
    """
    drawers = [piece.law.draws(piece.factor) for piece in pieces]
    found: Longs = np.empty(len(time_us), dtype=np.int64)
    most = 0
    for start in range(0, len(time_us), PART_KNOTS):
        part_us = time_us[start : start + PART_KNOTS]
        certain, drawn = np.zeros(len(part_us)), np.zeros(len(part_us), dtype=np.int64)
        for piece, draw in zip(pieces, drawers, strict=True):
            own_us = piece.own_time(part_us)
            certain += piece.factor * piece.law.certain(own_us / 1e6)
            drawn += draw(own_us) if draw is not None else 0
        whole = np.floor(certain + np.maximum(1e-9, 16 * np.spacing(certain))).astype(np.int64)
        highest = np.maximum(np.maximum.accumulate(whole), most)
        most = int(highest[-1])
        found[start : start + PART_KNOTS] = highest + drawn
    return found


def every_us(period_s: float, end_us: int, *, first_s: float = 0.0) -> Longs:
    """Return the times `first_s`, `first_s` + `period_s`, ... that lie in a load until `end_us`."""
    turns = max(0, math.floor((end_us / 1e6 - first_s) / period_s) + 1)
    if turns > MAX_KNOTS:
        raise UsageError(
            f"the rate changes {format_count(turns)} times in {format_duration(end_us / 1e6)}",
            where="--arrivals",
            remedy=f"use a shorter load or a longer phase: at most {format_count(MAX_KNOTS)} changes",
        )
    times_us: Longs = np.empty(turns, dtype=np.int64)
    for start in range(0, turns, PART_KNOTS):
        part = np.arange(start, min(turns, start + PART_KNOTS))
        times_us[start : start + PART_KNOTS] = np.rint((first_s + part * period_s) * 1e6)
    return times_us


def turns(t_s: npt.ArrayLike, period_s: float) -> tuple[Floats, Floats]:
    """Return the number of whole periods before each time, and the time since then.

    A time that misses the start of a period only by rounding counts as the start.
    """
    t = np.asarray(t_s, dtype=np.float64)
    whole = np.floor(t / period_s + 1e-12)
    return whole, np.clip(t - whole * period_s, 0.0, period_s)


def check_rate(parameter: str, rate_per_s: float, *, positive: bool = False) -> None:
    """Refuse a rate that cannot be offered; the error's `where` is the name of the parameter."""
    if not 0 <= rate_per_s <= MAX_RATE_PER_S or (positive and rate_per_s == 0):
        least = "more than 0" if positive else "0"
        raise UsageError(
            f"{parameter} is {rate_per_s:g} events per second",
            where=parameter,
            remedy=f"use {least} to {format_count(MAX_RATE_PER_S)} events per second",
        )


def check_time(parameter: str, time_s: float, *, minimum_s: float = STEP_S) -> None:
    """Refuse a time that is too short or too long; the error's `where` is the name of the parameter."""
    if not minimum_s <= time_s <= MAX_TIME_S:
        raise UsageError(
            f"{parameter} is {format_duration(time_s)}",
            where=parameter,
            remedy=f"use {format_duration(minimum_s)} to 30 days",
        )


def check_factor(parameter: str, factor: float) -> None:
    """Refuse a factor that is no positive number; the error's `where` is the name of the parameter."""
    if not (factor > 0 and math.isfinite(factor)):
        raise UsageError(f"{parameter} is {factor:g}", where=parameter, remedy="use a number above 0")
