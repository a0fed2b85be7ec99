"""Latency of windowed results, from the end of the window to its final result.

Windows are half open, [end - window, end), and aligned to the epoch as Spark aligns them.
The event time is the intended time, so events arrive in order and none is too late for its window.
"""

from collections.abc import Sequence
from typing import Literal

import numpy as np

from streamgauge.arrivals import Schedule
from streamgauge.measure.batch import Batch
from streamgauge.measure.histogram import Histogram, Longs

_NEVER_US = np.iinfo(np.int64).min


def _window_ends_us(schedule: Schedule, origin_us: int, processed: int, window_us: int, slide_us: int) -> Longs:
    """Return the ends, up to the latest processed event, of the windows that hold an event."""
    oldest_us, newest_us = (int(t) + origin_us for t in schedule.times_us([0, processed - 1]))
    first_start_us = ((oldest_us - window_us) // slide_us + 1) * slide_us
    ends_us = np.arange(first_start_us + window_us, newest_us + 1, slide_us, dtype=np.int64)
    before_end = schedule.created(ends_us - origin_us - 1)
    before_start = schedule.created(ends_us - window_us - origin_us - 1)
    return ends_us[before_end > before_start]


def _watermarks_us(batches: Sequence[Batch], schedule: Schedule, origin_us: int, delay_s: float) -> Longs:
    """Return each batch's watermark; a missing one by Spark's rule: latest earlier event, less the delay."""

    def derived_us(batch: Batch) -> int:
        if batch.first == 0:
            return _NEVER_US
        latest_us = int(schedule.times_us(min(batch.first, schedule.total) - 1)) + origin_us
        return latest_us // 1000 * 1000 - round(delay_s * 1e6)

    found = [b.watermark_us if b.watermark_us is not None else derived_us(b) for b in batches]
    return np.maximum.accumulate(np.array(found, dtype=np.int64))


def window_latency(
    batches: Sequence[Batch],
    *,
    window_s: float,
    slide_s: float,
    schedule: Schedule,
    origin_us: int,
    mode: Literal["append", "update"],
    delay_s: float,
) -> Histogram:
    """Return the latency of each window's final result, one count per window.

    In append mode the result appears with the first batch whose watermark has reached the window's end, so
    `delay_s` or more after it. In update mode it appears with the batch of the window's last event; when that
    is before the window's end, the latency is 0. Not counted: windows without events, windows that end after
    the latest processed event, and windows that may have been complete before the first of `batches`.
    """
    processed = min(max((batch.last for batch in batches), default=0), schedule.total)
    if not processed:
        return Histogram.empty()
    ends_us = _window_ends_us(schedule, origin_us, processed, round(window_s * 1e6), round(slide_s * 1e6))
    if mode == "append":
        watermarks_us = _watermarks_us(batches, schedule, origin_us, delay_s)
        emitting = np.searchsorted(watermarks_us, ends_us, side="left")
        counted = (emitting > 0) & (emitting < len(batches))
    else:
        last_event = schedule.created(ends_us - origin_us - 1) - 1
        emitting = np.searchsorted(np.maximum.accumulate([b.last for b in batches]), last_event, side="right")
        counted = last_event >= batches[0].first
    emitted_us = np.array([b.emitted_us for b in batches], dtype=np.int64)[emitting[counted]]
    return Histogram.from_values_us(emitted_us - ends_us[counted])
