"""How close a prototype is to the query that it is fitted to."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from streamgauge.arrivals.law import Floats
from streamgauge.conclude.stored_run import evidence_of
from streamgauge.conclude.window import mean_latency_s, measured_part
from streamgauge.measure.statistics import interval_of_mean
from streamgauge.store import StoredRun
from streamgauge.units import format_duration, format_rate

# Neighbours depend on each other, so an interval is that of the means of this many groups of them.
GROUPS = 5


@dataclass(frozen=True)
class Error:
    """How far the prototype is from the query, as a share of it; the interval is None where there is too little."""

    metric: str
    query: float
    prototype: float
    low: float | None = None
    high: float | None = None

    @property
    def change(self) -> float:
        """The difference as a share of what the query does."""
        return self.prototype / self.query - 1

    def __str__(self) -> str:
        write = format_rate if self.metric.endswith("rate_per_s") else format_duration
        interval = "" if self.low is None or self.high is None else f" ({self.low:+.1%} to {self.high:+.1%})"
        return f"{write(self.prototype)} instead of {write(self.query)}, {self.change:+.1%}{interval}"


def errors_between(query: Sequence[StoredRun], prototype: StoredRun) -> Iterator[Error]:
    """Compare a probe with the runs whose settings it has: throughput, and mean latency where there is one."""
    ours, theirs = prototype.summary, [run.summary for run in query]
    is_offline = query[0].configuration["load"] == "offline"
    rates = [rate for summary in (ours, *theirs) if (rate := summary["processed_rate_per_s"])]
    if len(rates) > len(theirs):
        metric = "offline processed_rate_per_s" if is_offline else "processed_rate_per_s"
        yield Error(metric, float(np.mean(rates[1:])), rates[0])
    latencies = [mean for summary in (ours, *theirs) if (mean := summary["end_to_end_latency_s"]["mean"])]
    if len(latencies) > len(theirs):
        mean_s = float(np.mean(latencies[1:]))
        series = np.concatenate([latency_series(run) for run in query])
        low, high = _interval(series, latency_series(prototype), mean_s, latencies[0])
        yield Error("end_to_end_latency_s.mean", mean_s, latencies[0], low, high)


def latency_series(stored: StoredRun) -> Floats:
    """Return the mean latency of each micro-batch of the measured time."""
    evidence = evidence_of(stored)
    return np.array([mean_latency_s(evidence, batch) for batch in measured_part(evidence).batches])


def _interval(a: Floats, b: Floats, mean_a: float, mean_b: float) -> tuple[float | None, float | None]:
    """Return the 95 % interval of b / a - 1, of two means over micro-batches that follow each other."""
    if min(len(a), len(b)) < 2 * GROUPS:
        return None, None
    parts = []
    for series, mean in ((a, mean_a), (b, mean_b)):
        found = interval_of_mean([float(part.mean()) for part in np.array_split(series, GROUPS)])
        parts.append((found.high - found.low) / 2 / mean)
    reach = math.hypot(*parts) * mean_b / mean_a
    change = mean_b / mean_a - 1
    return change - reach, change + reach
