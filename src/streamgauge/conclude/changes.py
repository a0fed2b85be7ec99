"""What became of the metrics of two groups of runs: judged together, and in words."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from streamgauge.measure.statistics import MIN_RUNS, Decision, NamedEffect, Rule, compare_metrics
from streamgauge.metrics import METRIC, Metric

Change = Literal["better", "worse", "mixed", "no change", "undecided"]
Values = Mapping[str, Sequence[float]]

# How lopsided an interval may be and still be written with a plus-minus.
MAX_LOPSIDED = 0.1


@dataclass(frozen=True)
class MetricChange:
    """What became of one metric: `a` and `b` are geometric means over the runs, changes are b / a - 1.

    `low` and `high` are the ends of the interval, None when a side has a single run; it holds 0 unless the change is
    significant. `better` is None unless the decision is higher or lower.
    """

    name: str
    title: str
    a: float
    b: float
    change: float
    low: float | None
    high: float | None
    significant: bool
    decision: Decision
    better: bool | None
    p: float
    adjusted_p: float
    reason: str

    @property
    def largest_change(self) -> float | None:
        """The largest change, up or down, that the interval leaves possible."""
        if self.low is None or self.high is None:
            return None
        return max(1 + self.high, 1 / (1 + self.low)) - 1

    def document(self) -> dict[str, Any]:
        """Return the fields as they are stored; the title is for people."""
        return {name: value for name, value in vars(self).items() if name != "title"}


def judge(
    pairs: Sequence[tuple[Values, Values]], rule: Rule | None = None, *, drifts: Sequence[float] | None = None
) -> list[tuple[MetricChange, ...]]:
    """Compare the metrics of all pairs, corrected for their number; every value is one run.

    `drifts` are by how much the machine may have changed between the sides of each pair.
    """
    found = []
    for (a, b), drift in zip(pairs, drifts or [0.0] * len(pairs), strict=True):
        samples = {name: (a[name], b[name]) for name in a if name in b}
        effects = compare_metrics(samples, replace(rule or Rule(), comparisons=len(pairs), drift=drift))
        found.append(tuple(_change(METRIC[named.name], named) for named in effects))
    return found


def _change(metric: Metric, named: NamedEffect) -> MetricChange:
    effect = named.effect
    is_decided = effect.decision in ("higher", "lower")
    return MetricChange(
        name=metric.path,
        title=metric.title,
        a=effect.a,
        b=effect.b,
        change=effect.ratio - 1,
        low=None if effect.low is None else effect.low - 1,
        high=None if effect.high is None else effect.high - 1,
        significant=named.significant,
        decision=effect.decision,
        better=effect.decision == metric.better if is_decided else None,
        p=effect.p,
        adjusted_p=named.adjusted_p,
        reason=effect.reason,
    )


def lack_of_runs(runs: tuple[int, int]) -> str | None:
    """Say how many runs are missing before any change can be shown; None when there are enough."""
    if min(runs) >= MIN_RUNS:
        return None
    return f"{runs[0]} and {runs[1]} runs cannot show a change; {MIN_RUNS} and as many can"


def verdict_of(changes: Sequence[MetricChange]) -> Change:
    """Combine the decisions on single metrics."""
    better = any(change.better is True for change in changes)
    worse = any(change.better is False for change in changes)
    if better or worse:
        return "mixed" if better and worse else "better" if better else "worse"
    return "no change" if all(change.decision == "no change" for change in changes) else "undecided"


def in_words(
    changes: Sequence[MetricChange], labels: tuple[str, str], *, lack: str | None = None, drift: float = 0.0
) -> list[str]:
    """Say which metrics moved and in which direction, which did not, and what is inconclusive and why."""
    a, b = labels
    words = []
    for change in changes:
        if change.better is not None:
            sentence = METRIC[change.name].change.format(a=a, b=b, times=times(change))
            words.append(f"{sentence} ({'better' if change.better else 'worse'})")
    words += _unchanged_words([c for c in changes if c.decision == "no change"], labels, of=len(changes), drift=drift)
    return words + _undecided_words([c for c in changes if c.decision == "undecided"], lack, of=len(changes))


def times(change: MetricChange) -> str:
    """Write the ratio with its interval: as plus-minus where that is symmetric, else as two ends."""
    ratio = 1 + change.change
    if change.low is None or change.high is None:
        return f"{ratio:.3g}"
    low, high = 1 + change.low, 1 + change.high
    half = (high - low) / 2
    if half < 1e-6 * ratio:
        return f"{ratio:.3g}"
    digits = 1 - math.floor(math.log10(half)) if f"{half:.0e}".startswith("1") else -math.floor(math.log10(half))
    shown, reach = round(ratio, digits), round(half, digits)
    is_lopsided = abs((high - ratio) - (ratio - low)) > MAX_LOPSIDED * (high - low)
    if is_lopsided or (shown - reach <= 1 <= shown + reach and not low <= 1 <= high):
        return f"between {_end(low)} and {_end(high)}"
    decimals = max(0, digits)
    return f"{shown:.{decimals}f} ± {reach:.{decimals}f}"


def _end(ratio: float) -> str:
    """Write an end of an interval; one that is close to 1 must not look like it."""
    return f"{ratio:.4g}" if float(f"{ratio:.3g}") == 1 else f"{ratio:.3g}"


def _unchanged_words(unchanged: Sequence[MetricChange], labels: tuple[str, str], *, of: int, drift: float) -> list[str]:
    if not unchanged:
        return []
    titles = "any metric" if len(unchanged) == of else ", ".join(change.title for change in unchanged)
    if all(change.change == 0 and change.p == 1 for change in unchanged):
        return [f"no change in {titles}: {labels[0]} and {labels[1]} hold the same values"]
    widest = max(unchanged, key=lambda change: change.largest_change or 0.0)
    largest = f"{100 * ((1 + (widest.largest_change or 0.0)) * (1 + drift) - 1):.2g} %"
    if len(unchanged) == 1:
        return [f"no change in {titles}: none larger than {largest}"]
    return [f"no change in {titles}: none larger than {largest}, which is that of the {widest.title}"]


def _undecided_words(undecided: Sequence[MetricChange], lack: str | None, *, of: int) -> list[str]:
    if not undecided:
        return []
    if lack:
        titles = "" if len(undecided) == of else f" on {', '.join(change.title for change in undecided)}"
        return [f"inconclusive{titles}: {lack}"]
    bounds = ", ".join(
        f"{change.title} ({_end(1 + change.low)} to {_end(1 + change.high)} times)"
        for change in undecided
        if change.low is not None and change.high is not None
    )
    return [f"inconclusive: {bounds}; more runs, or longer ones, would narrow this"]
