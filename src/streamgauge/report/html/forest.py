"""A comparison of groups as rows with a drawing in each: the change, and the interval in which it lies."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from streamgauge.report.content import comparison as text
from streamgauge.report.html.axes import Axis, range_axis

if TYPE_CHECKING:
    from streamgauge.conclude.changes import MetricChange
    from streamgauge.conclude.comparison import Comparison, Comparisons

# What lies further from no change is drawn at the edge.
MAX_CHANGE = 4.0
_BADGES = {"better": "pass", "no change": "pass", "worse": "fail", "mixed": "fail"}


@dataclass(frozen=True)
class ForestRow:
    """One metric, with the cells that the terminal has; places are shares of the width, None where nothing is known."""

    cells: tuple[str, ...]
    decision: str
    style: str
    at: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Forest:
    """All metrics of one pair on one axis of change; `basis` says by which rule it was judged."""

    pair: "Comparison"
    basis: str
    axis: Axis
    rows: tuple[ForestRow, ...]

    @property
    def names(self) -> tuple[str, str]:
        """Both sides."""
        pair = self.pair
        return text.side_name(pair.labels[0], pair.a.name), text.side_name(pair.labels[1], pair.b.name)

    @property
    def badge(self) -> str:
        """The verdict whose colour fits."""
        return _BADGES.get(self.pair.verdict, "unknown")


def _axis(metrics: Sequence["MetricChange"]) -> Axis:
    """Return an axis that holds all intervals, and no change."""
    values = [value for m in metrics for value in (m.low, m.change, m.high) if value is not None]
    known = [max(-1.0, min(MAX_CHANGE, value)) for value in values]
    low, high = min([*known, -0.05]), max([*known, 0.05])
    margin = 0.08 * (high - low)
    return range_axis(low - margin, high + margin, "share")


def _row(metric: "MetricChange", axis: Axis) -> ForestRow:
    low, high = metric.low, metric.high
    return ForestRow(
        text.row(metric),
        metric.decision,
        "undecided" if metric.better is None else "better" if metric.better else "worse",
        axis.place(metric.change),
        None if low is None else axis.place(low),
        None if high is None else axis.place(high),
    )


def forests(found: "Comparisons") -> list[Forest]:
    """Draw all pairs of groups."""
    drawn = []
    for pair in found.comparisons:
        axis = _axis(pair.metrics)
        drawn.append(Forest(pair, found.basis(pair), axis, tuple(_row(metric, axis) for metric in pair.metrics)))
    return drawn
