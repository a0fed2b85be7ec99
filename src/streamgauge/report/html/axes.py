"""Axes: which range of values a chart shows, and which ticks with which labels."""

import math
from dataclasses import dataclass
from typing import Literal

Unit = Literal["duration", "rate", "count", "bytes", "number", "share"]

# For each unit from which value on which factor and suffix are used; the last one serves everything below.
_SUFFIXES: dict[Unit, tuple[tuple[float, float, str], ...]] = {
    "duration": (
        (3 * 3600, 3600, " h"),
        (600, 60, " min"),
        (1, 1, " s"),
        (1e-3, 1e-3, " ms"),
        (0, 1e-6, " µs"),
    ),
    "rate": ((1e9, 1e9, "G/s"), (1e6, 1e6, "M/s"), (1e3, 1e3, "k/s"), (0, 1, "/s")),
    "count": ((1e9, 1e9, "G"), (1e6, 1e6, "M"), (1e3, 1e3, "k"), (0, 1, "")),
    "bytes": (
        (2**40, 2**40, " TiB"),
        (2**30, 2**30, " GiB"),
        (2**20, 2**20, " MiB"),
        (2**10, 2**10, " KiB"),
        (0, 1, " B"),
    ),
    "number": ((0, 1, ""),),
    "share": ((0, 0.01, " %"),),
}
MAX_TICKS = 6


@dataclass(frozen=True)
class Axis:
    """A range of values, linear or logarithmic, with labelled ticks in it."""

    low: float
    high: float
    ticks: tuple[tuple[float, str], ...]
    is_log: bool = False
    has_grid: bool = True

    def place(self, value: float) -> float:
        """Return where a value lies, 0 at the low end and 1 at the high one.

        >>> Axis(1.0, 100.0, (), is_log=True).place(10.0)
        0.5
        """
        low, high = self.low, self.high
        if self.is_log:
            low, high, value = math.log10(low), math.log10(high), math.log10(max(value, self.low))
        share = (value - low) / (high - low)
        return min(1.0, max(0.0, share))


def _step(span: float, most: int) -> float:
    """Return 1, 2 or 5 times a power of ten, the smallest that cuts the span into at most `most` parts."""
    raw = span / most
    power = 10.0 ** math.floor(math.log10(raw))
    return next(factor * power for factor in (1, 2, 5, 10) if factor * power >= raw * (1 - 1e-9))


def _scale(unit: Unit, high: float) -> tuple[float, str]:
    return next((factor, suffix) for limit, factor, suffix in _SUFFIXES[unit] if high >= limit * 0.9995)


def _label(value: float, factor: float, suffix: str) -> str:
    return "0" if value == 0 else f"{value / factor:.6g}{suffix}"


def value_axis(high: float, unit: Unit, *, low: float = 0.0, most: int = MAX_TICKS - 1) -> Axis:
    """Return an axis from 0, or below it where values are, to a tick at or above `high`.

    All labels have the same unit.

    >>> [label for _, label in value_axis(1.7, "duration").ticks]
    ['0', '0.5 s', '1 s', '1.5 s', '2 s']
    """
    low, high = min(0.0, low), max(0.0, high)
    if high == low:
        high = low + 1.0
    factor, suffix = _scale(unit, max(high, -low))
    step = _step((high - low) / factor, most)
    first, last = math.floor(low / factor / step + 1e-9), math.ceil(high / factor / step - 1e-9)
    values = [round(k * step, 12) * factor for k in range(first, last + 1)]
    return Axis(values[0], values[-1], tuple((v, _label(v, factor, suffix)) for v in values))


def range_axis(low: float, high: float, unit: Unit) -> Axis:
    """Return an axis that ends with the values, with the round ones of them as ticks."""
    if high <= low:
        high = low + 1.0
    factor, suffix = _scale(unit, max(high, -low))
    step = _step((high - low) / factor, MAX_TICKS + 1)
    first, last = math.ceil(low / factor / step - 1e-9), math.floor(high / factor / step + 1e-9)
    values = [round(k * step, 12) * factor for k in range(first, last + 1)]
    return Axis(low, high, tuple((v, _label(v, factor, suffix)) for v in values))


def log_axis(low: float, high: float, unit: Unit) -> Axis:
    """Return a logarithmic axis; both ends are above 0, each label has the unit that fits it."""
    high = max(high, low * 1.01)
    decades = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    factors = (1.0,) if math.log10(high / low) > 3 else (1.0, 2.0, 5.0)
    values = [factor * 10.0**decade for decade in decades for factor in factors]
    inside = [v for v in values if low <= v <= high]
    return Axis(low, high, tuple((v, _label(v, *_scale(unit, v))) for v in inside), is_log=True)


def percentile_axis(most: float) -> Axis:
    """Return an axis of 1 / (1 - q) for quantiles q, so that each further nine takes as much room as the one before.

    >>> [label for _, label in percentile_axis(100.0).ticks]
    ['0', '50 %', '90 %', '99 %']
    """
    named = ((1.0, "0"), (2.0, "50 %"), (10.0, "90 %"), (100.0, "99 %"), (1e3, "99.9 %"), (1e4, "99.99 %"))
    high = max(most, 2.0)
    return Axis(1.0, high, tuple(tick for tick in named if tick[0] <= high * (1 + 1e-9)), is_log=True)


def category_axis(names: tuple[str, ...]) -> Axis:
    """Return an axis with one unit of room for each name."""
    return Axis(0.0, float(len(names)), tuple((k + 0.5, name) for k, name in enumerate(names)), has_grid=False)
