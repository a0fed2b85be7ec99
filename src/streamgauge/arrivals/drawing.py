"""Draws the rate of a law over time, as text."""

import numpy as np

from streamgauge.arrivals.law import BaseLaw, Floats
from streamgauge.units import format_duration, format_rate

BLOCKS = " ▁▂▃▄▅▆▇█"
LEAST_WIDTH, LEAST_HEIGHT = 24, 2


def _cells(shares: Floats, height: int) -> list[str]:
    """Return the lines of a bar chart, from the top, of shares of the height."""
    eighths = np.rint(shares * height * 8).astype(int)
    # What is offered is seen, however little it is.
    eighths = np.where(shares > 0, np.maximum(eighths, 1), 0)
    return ["".join(BLOCKS[min(8, max(0, e - 8 * row))] for e in eighths) for row in reversed(range(height))]


def _time_axis(duration_s: float, columns: int) -> str:
    start, middle, end = (format_duration(duration_s * share) for share in (0.0, 0.5, 1.0))
    line = list(start.ljust(columns - len(end)) + end)
    first = columns // 2 - len(middle) // 2
    if len(start) < first and first + len(middle) < columns - len(end):
        line[first : first + len(middle)] = middle
    return "".join(line)


def draw_law(law: BaseLaw, duration_s: float, width: int = 72, height: int = 12) -> str:
    """Draw the mean rate of each column's time; the axis ends at the highest rate of the load.

    >>> from streamgauge.arrivals import Ramp
    >>> print(draw_law(Ramp(0.0, 1000.0, 10.0), 20.0, width=30, height=3))
       1k/s ┤       ▁▃▆███████████
            │    ▂▅▇██████████████
          0 ┤▁▃▆██████████████████
            └─────────────────────
             0 s     10 s     20 s
    """
    highest_per_s = law.max_rate_per_s(duration_s)
    top = format_rate(highest_per_s)
    gutter = max(len(top), 7) + 1
    columns = max(width, LEAST_WIDTH) - gutter - 1
    events = np.diff(law.integral(np.linspace(0.0, duration_s, columns + 1)))
    rates_per_s = events * columns / duration_s
    lines = _cells(rates_per_s / highest_per_s if highest_per_s else rates_per_s, max(height, LEAST_HEIGHT))
    labels = [f"{top} ┤", *["│"] * (len(lines) - 2), "0 ┤"]
    drawn = [label.rjust(gutter + 1) + line.rstrip() for label, line in zip(labels, lines, strict=True)]
    axis = "└".rjust(gutter + 1) + "─" * columns
    return "\n".join([*drawn, axis, " " * (gutter + 1) + _time_axis(duration_s, columns)])
