"""Latency of single results: when each appeared at the sink, against the time of the event behind it."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from streamgauge.arrivals import Schedule
from streamgauge.measure.batch import Batch
from streamgauge.measure.histogram import Histogram

Longs = npt.NDArray[np.int64]

# Brokers stamp records in whole milliseconds.
TICK_US = 1000
SLICE_US = 500_000


@dataclass(frozen=True, eq=False)
class Emissions:
    """Results in the order of their appearance: `appeared_us` at the sink, `intended_us` of the latest event behind.

    Both are microseconds since the epoch in whole milliseconds, so a latency may be wrong by one of them.
    """

    appeared_us: Longs
    intended_us: Longs

    @classmethod
    def of(cls, appeared_us: npt.ArrayLike, intended_us: npt.ArrayLike) -> "Emissions":
        """Put results in the order of their appearance."""
        appeared, intended = np.asarray(appeared_us, np.int64), np.asarray(intended_us, np.int64)
        order = np.argsort(appeared, kind="stable")
        return cls(appeared[order], intended[order])

    @property
    def latency_us(self) -> Longs:
        """From the intended time to the appearance; below 0 where clocks disagree."""
        return self.appeared_us - self.intended_us

    @property
    def negative(self) -> int:
        """How many results appeared before their events, by more than the clocks' ticks explain."""
        return int(np.count_nonzero(self.latency_us < -TICK_US))

    def histogram(self, from_us: int, until_us: int) -> Histogram:
        """Count the latencies of results whose events were created in from_us <= t < until_us."""
        # Intended times are cut to milliseconds.
        inside = (self.intended_us >= from_us // TICK_US * TICK_US) & (self.intended_us < until_us)
        return Histogram.from_values_us(np.maximum(self.latency_us[inside], 0))

    def in_slice(self, batch: Batch) -> Histogram:
        """Count the latencies of the results that appeared in a slice of time."""
        first, last = np.searchsorted(self.appeared_us, [batch.started_us, batch.emitted_us], side="left")
        return Histogram.from_values_us(np.maximum(self.latency_us[first:last], 0))

    def slices(self, schedule: Schedule, origin_us: int, *, slice_us: int = SLICE_US) -> list[Batch]:
        """Cut the run into slices of time, in the form of micro-batches, from the start of the load to the last result.

        By the end of a slice all events count as processed up to the latest one that a result has come from.
        """
        if not len(self.appeared_us):
            return []
        ends_us = np.arange(origin_us + slice_us, int(self.appeared_us[-1]) + slice_us + 1, slice_us)
        counts = np.searchsorted(self.appeared_us, ends_us, side="left")
        latest_us = np.maximum.accumulate(self.intended_us)
        known = np.where(counts > 0, latest_us[np.maximum(counts, 1) - 1] + TICK_US - 1, origin_us - 1)
        until_us = np.minimum(known, ends_us) - origin_us
        return _slices(ends_us, counts, np.minimum(schedule.created(until_us), schedule.total), slice_us)


def _slices(ends_us: Longs, counts: Longs, processed: Longs, slice_us: int) -> list[Batch]:
    found: list[Batch] = []
    for number, (end_us, count, last) in enumerate(zip(ends_us, counts, processed, strict=True)):
        first, rows = (found[-1].last, int(counts[number - 1])) if found else (0, 0)
        found.append(
            Batch(
                batch_id=number,
                started_us=int(end_us) - slice_us,
                emitted_us=int(end_us),
                finished_us=int(end_us),
                first=first,
                last=max(first, int(last)),
                left=0,
                phases_s={},
                output_rows=int(count) - rows,
            )
        )
    return found


def all_processed(batches: Sequence[Batch], offered: int) -> list[Batch]:
    """Return slices of which the last one ends with the last event, because another count has shown that it does."""
    return [*batches[:-1], replace(batches[-1], last=max(offered, batches[-1].last))] if batches else []
