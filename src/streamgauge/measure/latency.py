"""End-to-end latency of every event of a micro-batch, from the law of arrivals alone.

Event n has the latency emission - t(n). The law says how many events are older than any age, so the
histogram of a batch of millions of events costs one evaluation of the law per bucket.
"""

import numpy as np

from streamgauge.arrivals import Schedule
from streamgauge.measure.batch import Batch
from streamgauge.measure.histogram import BUCKETS, EDGES_US, Histogram, bucket_index


def _measured_range(schedule: Schedule, batch: Batch, first: int | None, last: int | None) -> tuple[int, int]:
    """Return the events that count; what was never offered has no intended time."""
    start = batch.first if first is None else max(batch.first, first)
    stop = min(batch.last, schedule.total if last is None else last, schedule.total)
    return start, max(start, stop)


def _visible_until(schedule: Schedule, emitted_us: int, start: int, stop: int) -> int:
    """Return the end of the events of start..stop that were created by the emission."""
    return min(max(int(schedule.created(emitted_us)), start), stop)


def batch_latency(
    schedule: Schedule, origin_us: int, batch: Batch, *, first: int | None = None, last: int | None = None
) -> Histogram:
    """Return the end-to-end latency of every event of a batch, from intended time to emission.

    `origin_us` is the start of the load since the epoch. `first` and `last` narrow the batch to
    first <= n < last, for one that straddles a cut. An emission before the intended time
    (the clock jumped) counts as 0; `negative_events` counts how many there are. Events that the schedule does not
    have are left out; `account` names them.
    """
    start, stop = _measured_range(schedule, batch, first, last)
    if start == stop:
        return Histogram.empty()
    emitted_us = batch.emitted_us - origin_us
    oldest_us, newest_us = (int(t) for t in schedule.times_us([start, stop - 1]))
    min_us, max_us = max(0, emitted_us - newest_us), max(0, emitted_us - oldest_us)
    low, high = int(bucket_index(min_us)), int(bucket_index(max_us))
    # created(emission - edge) counts the events whose latency is the edge or more.
    reached = np.clip(schedule.created(emitted_us - EDGES_US[low : high + 2]), start, stop)
    reached[0], reached[-1] = stop, start
    counts = np.zeros(BUCKETS, dtype=np.int64)
    counts[low : high + 1] = -np.diff(reached)
    visible = _visible_until(schedule, emitted_us, start, stop)
    sum_us = float(emitted_us) * (visible - start) - schedule.sum_times_us(start, visible)
    return Histogram(counts, min_us, max_us, sum_us)


def negative_events(
    schedule: Schedule, origin_us: int, batch: Batch, *, first: int | None = None, last: int | None = None
) -> int:
    """Count the events whose batch was emitted before their intended time; any is a sign of a clock jump."""
    start, stop = _measured_range(schedule, batch, first, last)
    return stop - _visible_until(schedule, batch.emitted_us - origin_us, start, stop)
