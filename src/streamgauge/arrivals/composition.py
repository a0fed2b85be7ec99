"""Laws made of laws: sums, multiples, and one after the other."""

import math
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from streamgauge.arrivals.law import BaseLaw, Floats, Piece, check_factor, check_time, knots_us
from streamgauge.arrivals.notation import write_duration, write_factor
from streamgauge.errors import UsageError
from streamgauge.units import MAX_RATE_PER_S, format_rate

# Where between two knots the rate of a sum is looked at, besides their neighbourhood.
_SHARES = (0.25, 0.5, 0.75)


def _check_peak(law: BaseLaw) -> None:
    peak_per_s = law.max_rate_per_s(math.inf)
    if peak_per_s > MAX_RATE_PER_S:
        raise UsageError(
            f"the rates add up to {format_rate(peak_per_s)}",
            remedy=f"use at most {format_rate(MAX_RATE_PER_S)} in all",
        )


@dataclass(frozen=True)
class Sum(BaseLaw):
    """All laws at the same time."""

    laws: tuple[BaseLaw, ...]

    def __post_init__(self) -> None:
        _check_peak(self)

    def describe(self) -> str:
        """Return the law as a user would write it, with every parameter; it parses to an equal law."""
        return " + ".join(f"({law.describe()})" if isinstance(law, Sum | Then) else law.describe() for law in self.laws)

    def rate_at(self, t_s: npt.ArrayLike) -> Floats:
        """Return the sum of the rates."""
        return sum((law.rate_at(t_s) for law in self.laws), start=np.zeros(np.shape(t_s)))

    def integral(self, t_s: npt.ArrayLike) -> Floats:
        """Return the sum of the expected numbers."""
        return sum((law.integral(t_s) for law in self.laws), start=np.zeros(np.shape(t_s)))

    def max_rate_per_s(self, duration_s: float) -> float:
        """Return the highest sum at some times between all knots; for infinity, the sum of the highest rates."""
        bound = sum(law.max_rate_per_s(duration_s) for law in self.laws)
        if math.isinf(duration_s):
            return bound
        knots_s = knots_us(self.pieces(), max(1, round(duration_s * 1e6))) / 1e6
        spans_s = np.diff(knots_s)
        # A knot lies within a microsecond of the jump that it stands for.
        side_s = np.minimum(1e-6, spans_s / 2)
        after_s = [0.0 * spans_s, side_s, *(spans_s * share for share in _SHARES), spans_s - side_s]
        return min(bound, max(float(np.max(self.rate_at(knots_s[:-1] + after))) for after in after_s))

    def lasting_rate_per_s(self) -> float:
        """Return the sum of the mean rates."""
        return sum(law.lasting_rate_per_s() for law in self.laws)

    def pieces(self) -> tuple[Piece, ...]:
        """Return the pieces of all laws."""
        return tuple(piece for law in self.laws for piece in law.pieces())


@dataclass(frozen=True)
class Scaled(BaseLaw):
    """A law, `factor` times as strong; a random law draws from the higher or lower rate."""

    law: BaseLaw
    factor: float

    def __post_init__(self) -> None:
        check_factor("factor", self.factor)
        _check_peak(self)

    def describe(self) -> str:
        """Return the law as a user would write it, with every parameter; it parses to an equal law."""
        text = self.law.describe()
        return f"{f'({text})' if isinstance(self.law, Sum | Then) else text} * {write_factor(self.factor)}"

    def rate_at(self, t_s: npt.ArrayLike) -> Floats:
        """Return the multiple of the rate."""
        return self.factor * self.law.rate_at(t_s)

    def integral(self, t_s: npt.ArrayLike) -> Floats:
        """Return the multiple of the expected number."""
        return self.factor * self.law.integral(t_s)

    def max_rate_per_s(self, duration_s: float) -> float:
        """Return the multiple of the highest rate."""
        return self.factor * self.law.max_rate_per_s(duration_s)

    def lasting_rate_per_s(self) -> float:
        """Return the multiple of the mean rate."""
        return self.factor * self.law.lasting_rate_per_s()

    def pieces(self) -> tuple[Piece, ...]:
        """Return the pieces of the law, each with the factor."""
        return tuple(replace(piece, factor=piece.factor * self.factor) for piece in self.law.pieces())


@dataclass(frozen=True)
class Then(BaseLaw):
    """`first` for `first_s` seconds, then `second`, whose own time starts there."""

    first: BaseLaw
    first_s: float
    second: BaseLaw

    def __post_init__(self) -> None:
        check_time("time", self.first_s)

    @property
    def _change_us(self) -> int:
        return round(self.first_s * 1e6)

    def describe(self) -> str:
        """Return the law as a user would write it, with every parameter; it parses to an equal law."""
        first = self.first.describe()
        first = f"({first})" if isinstance(self.first, Then) else first
        return f"{first} for {write_duration(self.first_s)} then {self.second.describe()}"

    def rate_at(self, t_s: npt.ArrayLike) -> Floats:
        """Return the rate of the law whose turn it is."""
        t = np.asarray(t_s, dtype=np.float64)
        change_s = self._change_us / 1e6
        return np.where(t < change_s, self.first.rate_at(t), self.second.rate_at(np.maximum(t - change_s, 0.0)))

    def integral(self, t_s: npt.ArrayLike) -> Floats:
        """Return the expected number of the first law until it ends, and of the second from there."""
        t = np.asarray(t_s, dtype=np.float64)
        change_s = self._change_us / 1e6
        return self.first.integral(np.minimum(t, change_s)) + self.second.integral(np.maximum(t - change_s, 0.0))

    def max_rate_per_s(self, duration_s: float) -> float:
        """Return the higher of both laws' highest rates."""
        first = self.first.max_rate_per_s(min(duration_s, self.first_s))
        return max(first, self.second.max_rate_per_s(duration_s - self.first_s)) if duration_s > self.first_s else first

    def lasting_rate_per_s(self) -> float:
        """Return the mean rate of the second law."""
        return self.second.lasting_rate_per_s()

    def pieces(self) -> tuple[Piece, ...]:
        """Return the pieces of the first law until the change, and those of the second from there."""
        change_us = self._change_us
        first = [piece for piece in self.first.pieces() if piece.start_us < change_us]
        ends = [change_us if piece.end_us is None else min(piece.end_us, change_us) for piece in first]
        return (
            *(replace(piece, end_us=end_us) for piece, end_us in zip(first, ends, strict=True)),
            *(
                replace(
                    piece,
                    start_us=piece.start_us + change_us,
                    end_us=None if piece.end_us is None else piece.end_us + change_us,
                )
                for piece in self.second.pieces()
            ),
        )
