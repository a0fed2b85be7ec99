"""What the reports of Spark show about a load that is not ours: its trigger, and when its rows came.

It is unknown when a row was created. But a micro-batch takes what its sources hold when it looks at them, so its rows
came after the look before. Between two looks they are taken to have come evenly.
"""

import math
from collections.abc import Sequence
from itertools import pairwise

import numpy as np

from streamgauge.arrivals import Schedule
from streamgauge.arrivals.schedule import MAX_SEGMENT_PRODUCT
from streamgauge.measure.batch import Batch

MIN_WAITS = 5
ALIGNED_SHARE = 0.9
# A trigger fires some milliseconds after its time, more on a busy machine.
MAX_LATE_MS = 20
MAX_LATE_SHARE = 0.05
# Between micro-batches that follow each other at once some work is not reported: tens of milliseconds. Waits of that
# length are tried first.
WAIT_MS = (100, 30)
MIN_INTERVAL_MS = 50
# A query without a trigger interval that finds nothing looks again after 10 ms.
POLL_S = 0.05
# Intervals that people choose, in milliseconds; others are known by the time between starts.
USUAL_MS = (
    100, 200, 250, 500, 1_000, 2_000, 3_000, 4_000, 5_000, 10_000, 15_000, 20_000, 30_000,
    60_000, 120_000, 300_000, 600_000, 900_000, 1_800_000, 3_600_000,
)  # fmt: skip


def _waited_starts_ms(batches: Sequence[Batch], wait_ms: int) -> list[int]:
    """Return the starts of micro-batches for which the query had to wait for longer than this."""
    pairs = [(b.started_us // 1000, (b.started_us - a.finished_us) / 1000) for a, b in pairwise(batches)]
    return [start for start, waited in pairs if waited > wait_ms]


def _is_aligned(starts_ms: Sequence[int], interval_ms: int) -> bool:
    late = np.asarray(starts_ms) % interval_ms
    return bool(np.mean(late <= min(MAX_LATE_MS, MAX_LATE_SHARE * interval_ms)) >= ALIGNED_SHARE)


def infer_trigger_s(batches: Sequence[Batch]) -> float | None:
    """Infer the trigger interval from the starts of micro-batches; 0 when there is none, None when unknown.

    A trigger with an interval fires when the clock shows a multiple of it. So the micro-batches that had to wait began
    just after such times, and the longest interval that explains them is the answer. Micro-batches that follow each
    other at once had no interval, or one too short for them, which is the same to them.
    """
    if len(batches) <= MIN_WAITS:
        return None
    found = [_interval_s(_waited_starts_ms(batches, wait_ms)) for wait_ms in WAIT_MS]
    if any(found):
        return next(interval_s for interval_s in found if interval_s)
    waits = len(_waited_starts_ms(batches, WAIT_MS[0]))
    return None if (1 - ALIGNED_SHARE) * len(batches) < waits < MIN_WAITS else 0.0


def _interval_s(starts_ms: Sequence[int]) -> float | None:
    """Return the longest interval whose multiples lie just before these starts."""
    if len(starts_ms) < MIN_WAITS:
        return None
    gap_ms = float(np.median(np.diff(starts_ms)))
    # The gaps themselves are a few milliseconds longer or shorter.
    typical_ms = {round(gap_ms / unit) * unit for unit in (1, 10, 50)}
    for interval_ms in sorted({*USUAL_MS, *typical_ms}, reverse=True):
        if interval_ms >= MIN_INTERVAL_MS and _is_aligned(starts_ms, interval_ms):
            return interval_ms / 1e3
    return None


def look_us(batch: Batch) -> int:
    """Return when a micro-batch had seen what its sources hold."""
    return batch.started_us + round(batch.phases_s["source_offsets"] * 1e6)


def observed_schedule(batches: Sequence[Batch], trigger_s: float | None = None) -> Schedule:
    """Return when rows came, as far as reports show, from the start of the first micro-batch to the last look.

    Looks that found nothing are not reported. Where the query waited for longer than the trigger's interval, there was
    one an interval before the micro-batch, and what that found is not older. Without an interval the looks are closer.
    """
    if not batches:
        raise ValueError("no micro-batch has rows")
    patience_us = None if trigger_s is None else round(max(trigger_s, POLL_S) * 1e6)
    origin_us = batches[0].started_us
    knots, finished_us = [(0, 0)], origin_us
    for batch in batches:
        at_us = max(look_us(batch) - origin_us, knots[-1][0] + 1)
        idle_us = batch.started_us - patience_us if patience_us is not None else 0
        if idle_us > finished_us and idle_us - origin_us > knots[-1][0]:
            knots.append((idle_us - origin_us, knots[-1][1]))
        created = max(batch.last + batch.left, knots[-1][1])
        knots += [*_between(knots[-1], (at_us, created)), (at_us, created)]
        finished_us = batch.finished_us
    time_us, count = np.array(knots, dtype=np.int64).T
    return Schedule(time_us, count)


def _between(start: tuple[int, int], end: tuple[int, int]) -> list[tuple[int, int]]:
    """Return knots that cut a line into parts which exact arithmetic can handle; mostly none are needed."""
    span_us, events = end[0] - start[0], end[1] - start[1]
    parts = math.ceil(math.sqrt(span_us * events / (MAX_SEGMENT_PRODUCT / 4)))
    return [(start[0] + k * span_us // parts, start[1] + k * events // parts) for k in range(1, parts)]
