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
    """One metric; places are shares of the width, None where nothing is known."""

    name: str
    a: str
    b: str
    change: str
    interval: str
    decision: str
    style: str
    at: float
    low: float | None
    high: float | None


@dataclass(frozen=True)
class Forest:
    """All metrics of one pair on one axis of change."""

    a: str
    b: str
    a_label: str
    b_label: str
    verdict: str
    words: tuple[str, ...]
    axis: Axis
    rows: tuple[ForestRow, ...]
    differences: tuple[str, ...]
    warnings: tuple[str, ...]
    basis: str

    @property
    def badge(self) -> str:
        """The verdict whose colour fits."""
        return _BADGES.get(self.verdict, "unknown")


def _axis(metrics: Sequence["MetricChange"]) -> Axis:
    """Return an axis that holds all intervals, and no change."""
    values = [value for m in metrics for value in (m.low, m.change, m.high) if value is not None]
    known = [max(-1.0, min(MAX_CHANGE, value)) for value in values]
    low, high = min([*known, -0.05]), max([*known, 0.05])
    margin = 0.08 * (high - low)
    return range_axis(low - margin, high + margin, "share")


def _row(metric: "MetricChange", axis: Axis) -> ForestRow:
    low, high = metric.low, metric.high
    title, a, b, change, interval, _ = text.row(metric)
    return ForestRow(
        title,
        a,
        b,
        change,
        interval,
        metric.decision,
        "undecided" if metric.better is None else "better" if metric.better else "worse",
        axis.place(metric.change),
        None if low is None else axis.place(low),
        None if high is None else axis.place(high),
    )


def _forest(pair: "Comparison", basis: str) -> Forest:
    """Draw one pair of groups; `basis` says by which rule it was judged."""
    axis = _axis(pair.metrics)
    return Forest(
        text.side_name(pair.labels[0], pair.a.name),
        text.side_name(pair.labels[1], pair.b.name),
        *pair.labels,
        pair.verdict,
        pair.words,
        axis,
        tuple(_row(metric, axis) for metric in pair.metrics),
        tuple(map(str, pair.differences)),
        pair.warnings,
        basis,
    )


def forests(found: "Comparisons") -> list[Forest]:
    """Draw all pairs of groups."""
    return [_forest(pair, found.basis(pair)) for pair in found.comparisons]
