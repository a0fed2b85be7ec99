"""Offered, ingested and processed rate over an interval: three different things.

Offered is what the law creates. Ingested and processed change only when a micro-batch starts or emits,
so they are taken between two such instants inside the interval: the events that moved after the first one,
up to and with the last one, by the time between the two. No batch is counted in part.
An unthrottled query that keeps up has an ingested rate equal to the offered one.
"""

from collections.abc import Sequence

from streamgauge.arrivals import Schedule
from streamgauge.measure.batch import Batch


def offered_rate(schedule: Schedule, origin_us: int, start_us: int, end_us: int) -> float | None:
    """Return the events created in start_us <= t < end_us, per second; None for an empty interval."""
    if end_us <= start_us:
        return None
    before_start, before_end = schedule.created([start_us - origin_us - 1, end_us - origin_us - 1])
    return int(before_end - before_start) / ((end_us - start_us) / 1e6)


def _rate_between(moments: list[tuple[int, int]], start_us: int, end_us: int) -> float | None:
    """Return the rate between the first and the last (time, events so far) of the interval."""
    inside = sorted(moment for moment in moments if start_us <= moment[0] < end_us)
    if len(inside) < 2 or inside[-1][0] == inside[0][0]:
        return None
    (first_us, events_before), (last_us, events_after) = inside[0], inside[-1]
    return (events_after - events_before) / ((last_us - first_us) / 1e6)


def ingested_rate(batches: Sequence[Batch], start_us: int, end_us: int) -> float | None:
    """Return the events admitted between the first and the last start of a batch in the interval, per second.

    None when fewer than two batches start in it.
    """
    return _rate_between([(batch.started_us, batch.last) for batch in batches], start_us, end_us)


def processed_rate(batches: Sequence[Batch], start_us: int, end_us: int) -> float | None:
    """Return the events emitted between the first and the last emission in the interval, per second.

    None when fewer than two batches are emitted in it.
    """
    return _rate_between([(batch.emitted_us, batch.last) for batch in batches], start_us, end_us)
