"""What became of the metrics of two groups of runs: judged together, and told in words."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from streamgauge.measure.statistics import Decision, NamedEffect, compare_metrics, runs_needed, smallest_p

Change = Literal["better", "worse", "mixed", "no change", "undecided"]
Values = Mapping[str, Sequence[float]]

# How lopsided an interval may be and still be written with a plus-minus.
MAX_LOPSIDED = 0.1


@dataclass(frozen=True)
class Metric:
    """One number of a run: its path in the summary, its name, and a sentence about a change of it."""

    path: str
    title: str
    sentence: str
    more_is_better: bool


_AS_MANY = "{b} processes {times} times as many events per second as {a}"
_LATENCY = "{which} of the end-to-end latency of {{b}} is {{times}} times that of {{a}}"


def _latency_metric(key: str, which: str) -> Metric:
    return Metric(f"end_to_end_latency_s.{key}", f"end-to-end latency {key}", _LATENCY.format(which=which), False)


METRICS = (
    Metric("processed_rate_per_s", "processed rate", _AS_MANY, True),
    Metric("offline_rate_per_s", "offline maximum", f"{_AS_MANY} when all events are there at once", True),
    _latency_metric("mean", "the mean"),
    *(_latency_metric(key, key) for key in ("p50", "p95", "p99")),
    Metric(
        "batch_duration_s.mean",
        "mean batch duration",
        "the mean duration of a micro-batch of {b} is {times} times that of {a}",
        False,
    ),
    Metric(
        "core_use.events_per_s_per_core",
        "rate per core",
        "{b} processes {times} times as many events per second and core used as {a}",
        True,
    ),
    Metric(
        "stages.cpu_s_per_event",
        "CPU time per event",
        "an event takes {times} times the CPU time in {b} that it takes in {a}",
        False,
    ),
)
METRIC = {metric.path: metric for metric in METRICS}


@dataclass(frozen=True)
class MetricChange:
    """What became of one metric: `a` and `b` are geometric means over the runs, changes are b / a - 1.

    `low` and `high` are the ends of the interval, None when a side has a single run. `better` is None unless the
    change is significant.
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
    pairs: Sequence[tuple[Values, Values]], *, confidence: float = 0.95, relevant: float = 0.1
) -> list[tuple[MetricChange, ...]]:
    """Compare the metrics of all pairs, corrected for their number; every value is one run."""
    found = []
    for a, b in pairs:
        samples = {name: (a[name], b[name]) for name in a if name in b}
        lacks = {name: lack_of_runs((len(x), len(y)), len(pairs), confidence) for name, (x, y) in samples.items()}
        effects = compare_metrics(samples, confidence=confidence, relevant=relevant, comparisons=len(pairs))
        found.append(tuple(_change(METRIC[named.name], named, lacks[named.name]) for named in effects))
    return found


def _change(metric: Metric, named: NamedEffect, lack: str | None) -> MetricChange:
    effect = named.effect
    is_significant = effect.decision in ("higher", "lower")
    return MetricChange(
        name=metric.path,
        title=metric.title,
        a=effect.a,
        b=effect.b,
        change=effect.ratio - 1,
        low=None if effect.low is None else effect.low - 1,
        high=None if effect.high is None else effect.high - 1,
        significant=is_significant,
        decision=effect.decision,
        better=(effect.decision == "higher") == metric.more_is_better if is_significant else None,
        p=effect.p,
        adjusted_p=named.adjusted_p,
        reason=lack if lack and effect.decision == "undecided" else effect.reason,
    )


def lack_of_runs(runs: tuple[int, int], pairs: int, confidence: float) -> str | None:
    """Say how many runs are missing before any change can be shown; None when there are enough."""
    if pairs * smallest_p(*runs) <= 1 - confidence:
        return None
    need = runs_needed(confidence, comparisons=pairs)
    return f"{runs[0]} and {runs[1]} runs cannot show a change; {need} and as many can"


def verdict_of(changes: Sequence[MetricChange]) -> Change:
    """Combine the decisions on single metrics."""
    better = any(change.better is True for change in changes)
    worse = any(change.better is False for change in changes)
    if better or worse:
        return "mixed" if better and worse else "better" if better else "worse"
    return "no change" if all(change.decision == "no change" for change in changes) else "undecided"


def in_words(changes: Sequence[MetricChange], labels: tuple[str, str], *, lack: str | None = None) -> list[str]:
    """Say which metrics moved and in which direction, which did not, and what cannot be decided and why."""
    a, b = labels
    words = []
    for change in changes:
        if change.significant:
            sentence = METRIC[change.name].sentence.format(a=a, b=b, times=times(change))
            words.append(f"{sentence} ({'better' if change.better else 'worse'})")
    words += _unchanged_words([c for c in changes if c.decision == "no change"], labels, of=len(changes))
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


def _unchanged_words(unchanged: Sequence[MetricChange], labels: tuple[str, str], *, of: int) -> list[str]:
    if not unchanged:
        return []
    titles = "any metric" if len(unchanged) == of else ", ".join(change.title for change in unchanged)
    if all(change.change == 0 and change.p == 1 for change in unchanged):
        return [f"no change in {titles}: {labels[0]} and {labels[1]} hold the same values"]
    widest = max(unchanged, key=lambda change: change.largest_change or 0.0)
    largest = f"{100 * (widest.largest_change or 0.0):.2g} %"
    if len(unchanged) == 1:
        return [f"no change in {titles}: none larger than {largest}"]
    return [f"no change in {titles}: none larger than {largest}, which is that of the {widest.title}"]


def _undecided_words(undecided: Sequence[MetricChange], lack: str | None, *, of: int) -> list[str]:
    if not undecided:
        return []
    if lack:
        titles = "" if len(undecided) == of else f" on {', '.join(change.title for change in undecided)}"
        return [f"cannot be decided{titles}: {lack}"]
    told = ", ".join(
        f"{change.title} ({_end(1 + change.low)} to {_end(1 + change.high)} times)"
        for change in undecided
        if change.low is not None and change.high is not None
    )
    return [f"cannot be decided: {told}; more runs, or longer ones, would narrow this"]
