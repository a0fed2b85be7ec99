"""Charts as data: lines, steps, dots and bars in a square of 1000 by 1000, with axes beside it.

The page stretches the square to the room there is, and puts labels around it as text.
So lines and letters keep their size on every screen, and no script is needed.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import pairwise

from streamgauge.report.html.axes import Axis

SIZE = 1000.0


@dataclass(frozen=True)
class Path:
    """A line, or an area when its style says so; `style` is a class of the style sheet."""

    data: str
    style: str


@dataclass(frozen=True)
class Box:
    """A bar, or a strip that shows a text when the pointer is on it."""

    x: float
    y: float
    width: float
    height: float
    style: str
    text: str = ""


@dataclass(frozen=True)
class Band:
    """A span of the x axis with a name, such as the warm-up; places are shares of the width."""

    name: str
    start: float
    end: float
    style: str


@dataclass(frozen=True)
class Level:
    """A value of an axis with a name, drawn as a line across the chart; `at` is a share."""

    name: str
    at: float
    is_vertical: bool = False
    # On which side of the line the name stands: of a vertical one, and of one that lies.
    is_before: bool = False
    is_below: bool = False


@dataclass(frozen=True)
class Chart:
    """One chart, with a line of explanation; `legend` has names and styles."""

    title: str
    explanation: str
    canvas: "Canvas"
    x_title: str
    y_title: str
    paths: tuple[Path, ...] = ()
    boxes: tuple[Box, ...] = ()
    strips: tuple[Box, ...] = ()
    bands: tuple[Band, ...] = ()
    levels: tuple[Level, ...] = ()
    legend: tuple[tuple[str, str], ...] = ()
    is_missing: bool = field(default=False, init=False)


@dataclass(frozen=True)
class Missing:
    """The place of a chart that cannot be drawn, and why."""

    title: str
    explanation: str
    is_missing: bool = field(default=True, init=False)


@dataclass(frozen=True)
class Canvas:
    """Two axes, and the way from values to the square between them."""

    x: Axis
    y: Axis

    def point(self, x: float, y: float) -> tuple[float, float]:
        """Return the place of a value; y grows downwards in the square."""
        return round(SIZE * self.x.place(x), 1), round(SIZE * (1 - self.y.place(y)), 1)

    def line(self, xs: Iterable[float], ys: Iterable[float], style: str) -> Path:
        """Connect points; a value that is not a number leaves a gap."""
        parts, is_open = [], False
        for x, y in zip(xs, ys, strict=True):
            if not (math.isfinite(x) and math.isfinite(y)):
                is_open = False
                continue
            parts.append("{}{:g} {:g}".format("L" if is_open else "M", *self.point(x, y)))
            is_open = True
        return Path("".join(parts), f"line {style}")

    def dots(self, xs: Iterable[float], ys: Iterable[float], style: str) -> Path:
        """Mark points: lines of no length with round ends, which stay round when the square is stretched."""
        known = [self.point(x, y) for x, y in zip(xs, ys, strict=True) if math.isfinite(x) and math.isfinite(y)]
        return Path("".join(f"M{x:g} {y:g}h0" for x, y in known), f"dots {style}")

    def steps(self, starts: Sequence[float], ends: Sequence[float], ys: Sequence[float], style: str) -> Path:
        """Draw each value over its own span of x."""
        parts, last = [], math.nan
        for start, end, y in zip(starts, ends, ys, strict=True):
            if not math.isfinite(y):
                last = math.nan
                continue
            (x0, height), (x1, _) = self.point(start, y), self.point(end, y)
            parts.append(f"V{height:g}H{x1:g}" if x0 == last else f"M{x0:g} {height:g}H{x1:g}")
            last = x1
        return Path("".join(parts), f"line {style}")

    def area(self, xs: Sequence[float], lows: Sequence[float], highs: Sequence[float], style: str) -> Path:
        """Fill what lies between two lines."""
        there = [self.point(x, y) for x, y in zip(xs, highs, strict=True)]
        back = [self.point(x, y) for x, y in zip(xs, lows, strict=True)][::-1]
        return Path("M" + "L".join(f"{x:g} {y:g}" for x, y in there + back) + "Z" if there else "", f"area {style}")

    def bar(self, start: float, end: float, low: float, high: float, style: str, text: str = "") -> Box:
        """Fill a rectangle."""
        (x0, bottom), (x1, top) = self.point(start, low), self.point(end, high)
        return Box(x0, top, round(x1 - x0, 1), round(bottom - top, 1), f"bar {style}", text)

    def strips(self, xs: Sequence[float], texts: Sequence[str]) -> tuple[Box, ...]:
        """Divide the width among the points, so that the text of the nearest one is shown."""
        middles = [(a + b) / 2 for a, b in pairwise(xs)]
        bounds = [self.x.low, *middles, self.x.high] if xs else []
        places = [round(SIZE * self.x.place(x), 1) for x in bounds]
        return tuple(
            Box(a, 0, round(b - a, 1), SIZE, "strip", text)
            for (a, b), text in zip(pairwise(places), texts, strict=True)
            if b > a
        )

    def band(self, name: str, start: float, end: float, style: str) -> Band:
        """Mark a span of x."""
        return Band(name, self.x.place(start), self.x.place(end), style)
