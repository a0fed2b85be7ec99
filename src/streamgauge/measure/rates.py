"""Offered, ingested and processed rate over an interval: three different things.

Offered is what the law creates. Ingested and processed change only when a micro-batch starts or emits.
They are the slope of the line through these instants, (time, events so far), by least squares: between the first and
the last instant alone, a long or a short last batch would count as a change of the rate. Where the load itself varies
there is no such line, and the first and the last instant must do.
An unthrottled query that keeps up has an ingested rate equal to the offered one.
"""

from collections.abc import Iterable, Sequence

import numpy as np

from streamgauge.arrivals import Schedule
from streamgauge.measure.batch import Batch

LEVEL_PARTS = 10
LEVEL_SHARE = 0.05


def offered_rate(schedule: Schedule, origin_us: int, start_us: int, end_us: int) -> float | None:
    """Return the events created in start_us <= t < end_us, per second; None for an empty interval."""
    if end_us <= start_us:
        return None
    before_start, before_end = schedule.created([start_us - origin_us - 1, end_us - origin_us - 1])
    return int(before_end - before_start) / ((end_us - start_us) / 1e6)


def is_level(schedule: Schedule, origin_us: int, start_us: int, end_us: int) -> bool:
    """Return whether events are created at one rate for the whole interval.

    It is cut into ten parts. None of them may differ from their mean by more than 5 %, besides what chance does to
    the counts of independent arrivals, four standard deviations.
    """
    if end_us <= start_us:
        return True
    borders = np.linspace(start_us, end_us, LEVEL_PARTS + 1).astype(np.int64)
    counts = np.diff(schedule.created(borders - origin_us - 1))
    mean = float(counts.mean())
    return bool(np.max(np.abs(counts - mean)) <= LEVEL_SHARE * mean + 4 * np.sqrt(mean) + 1)


def rate_of(moments: Iterable[tuple[int, int]], *, level: bool) -> float | None:
    """Return the slope of the line through all (time, events so far), per second; None where there is no such line.

    >>> rate_of([(1_000_000, 500), (2_000_000, 600), (4_000_000, 800)], level=False)
    100.0
    >>> rate_of([(1_000_000, 500)], level=False) is None
    True
    """
    known = np.array(sorted(moments), dtype=float)
    if len(known) < 2 or known[-1, 0] == known[0, 0]:
        return None
    t_s, events = (known[:, 0] - known[0, 0]) / 1e6, known[:, 1] - known[0, 1]
    if not level:
        return float(events[-1] / t_s[-1])
    centred = t_s - t_s.mean()
    return float(centred @ events / (centred @ centred))


def _rate_between(moments: Iterable[tuple[int, int]], start_us: int, end_us: int, *, level: bool) -> float | None:
    """Return the rate of those moments that are in the interval."""
    return rate_of((moment for moment in moments if start_us <= moment[0] < end_us), level=level)


def ingested_rate(batches: Sequence[Batch], start_us: int, end_us: int, *, level: bool = True) -> float | None:
    """Return the rate at which batches that start in the interval admit events, per second.

    None when fewer than two batches start in it; `level` says that the load has one rate.
    """
    return _rate_between([(batch.started_us, batch.last) for batch in batches], start_us, end_us, level=level)


def processed_rate(batches: Sequence[Batch], start_us: int, end_us: int, *, level: bool = True) -> float | None:
    """Return the rate at which batches that are emitted in the interval finish events, per second.

    None when fewer than two batches are emitted in it; `level` says that the load has one rate.
    """
    return _rate_between([(batch.emitted_us, batch.last) for batch in batches], start_us, end_us, level=level)
