"""How a query gets over a spike of its load: how high backlog and latency rise, and how long until they are back."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamgauge.arrivals import Schedule
from streamgauge.measure.batch import Batch
from streamgauge.measure.latency import batch_latency
from streamgauge.measure.trend import Floats

MIN_POINTS_BEFORE = 5
MIN_POINTS_BACK = 3

# What lies within twice the reach seen before, or within a tenth of the usual level, is called normal.
REACH = 2.0
MARGIN = 0.1

Series = tuple[Sequence[float] | Floats, Sequence[float] | Floats]


@dataclass(frozen=True)
class SeriesRecovery:
    """One quantity around a spike; None stands for what was not seen.

    `band` is the highest value that counts as normal. `time_to_recover_s` goes from the end of the spike to the first
    point from which on the others are inside the band, for as long as it took to see what is normal, or up to the last
    one. Without such a point it is None; 0 needs one at the very end of the spike, or that no point was outside until
    then.
    """

    band: float | None
    peak: float | None
    peak_at_s: float | None
    time_to_recover_s: float | None
    reason: str


@dataclass(frozen=True)
class Recovery:
    """Backlog and latency around a spike; recovered is what both of them are."""

    backlog: SeriesRecovery
    latency: SeriesRecovery
    time_to_recover_s: float | None
    reason: str


def _band(before: Floats) -> float:
    """Return the highest value that counts as normal, given those before the spike."""
    level = float(np.median(before))
    return level + max(REACH * (float(before.max()) - level), MARGIN * level)


def _arrays(times_s: npt.ArrayLike, values: npt.ArrayLike) -> tuple[Floats, Floats]:
    t, y = np.asarray(times_s, dtype=float), np.asarray(values, dtype=float)
    if t.shape != y.shape or t.ndim != 1:
        raise ValueError("every time needs one value")
    if not (np.all(np.isfinite(t)) and np.all(np.isfinite(y))):
        raise ValueError("times and values must be finite")
    if np.any(np.diff(t) < 0):
        raise ValueError("times must not decrease")
    return t, y


def _time_to_recover(
    t: Floats, y: Floats, band: float, spike_end_s: float, normal_s: float
) -> tuple[float | None, str]:
    """Judge the points from the start of the spike on; what is normal was seen for `normal_s` before it."""
    after = int(np.searchsorted(t, spike_end_s))
    if after == len(t):
        return None, "nothing was seen after the spike"
    outside = np.flatnonzero(y > band)
    for back in (after, *(outside[outside >= after] + 1)):
        later = outside[outside >= back]
        end = int(later[0]) if len(later) else len(t)
        if end - back < MIN_POINTS_BACK or (len(later) and t[end] - t[back] < normal_s):
            continue
        until = f", until {t[end] - spike_end_s:.4g} s after it" if len(later) else ""
        if len(later) == len(outside):
            return 0.0, f"{'not' if until else 'never'} beyond what it was before the spike{until}"
        time_s = float(t[back] - spike_end_s)
        return time_s, f"back to normal {time_s:.4g} s after the spike{until}"
    return None, f"not back to normal at {t[-1] - spike_end_s:.4g} s after the spike, when it was last seen"


def series_recovery(
    series: Series, *, spike_start_s: float, spike_end_s: float, settled_from_s: float = -np.inf
) -> SeriesRecovery:
    """Judge one series of (times, values), such as the backlog after each emission.

    Points from `settled_from_s` until the spike define what is normal: up to twice as far above their median as their
    highest, or a tenth above the median if that is more. Five of them are needed. Three points in a row must be back
    inside, for as long as these points took, or up to the last one. What is beyond the band after that has other
    reasons than the spike; the reason says when.
    """
    if not spike_start_s < spike_end_s:
        raise ValueError(f"a spike cannot last from {spike_start_s} s to {spike_end_s} s")
    t, y = _arrays(*series)
    before, since = y[(t >= settled_from_s) & (t < spike_start_s)], t >= spike_start_s
    peak = int(np.argmax(y[since])) if np.any(since) else None
    highest, at_s = (None, None) if peak is None else (float(y[since][peak]), float(t[since][peak]))
    if len(before) < MIN_POINTS_BEFORE:
        reason = f"seen {len(before)} times before the spike, and what is normal needs {MIN_POINTS_BEFORE}"
        return SeriesRecovery(None, highest, at_s, None, reason)
    band = _band(before)
    normal_s = spike_start_s - max(settled_from_s, float(t[0]))
    time_s, reason = _time_to_recover(t[since], y[since], band, spike_end_s, normal_s)
    return SeriesRecovery(band, highest, at_s, time_s, reason)


def find_recovery(
    backlog: Series, latency_s: Series, *, spike_start_s: float, spike_end_s: float, settled_from_s: float = -np.inf
) -> Recovery:
    """Return when backlog and latency are both back in the band that they kept before the spike, and stay there.

    None when either of them was not, or was not seen to be: a run that ends too early has not recovered.
    """
    spike = {"spike_start_s": spike_start_s, "spike_end_s": spike_end_s, "settled_from_s": settled_from_s}
    queue, wait = series_recovery(backlog, **spike), series_recovery(latency_s, **spike)
    for name, part in (("backlog", queue), ("latency", wait)):
        if part.time_to_recover_s is None:
            return Recovery(queue, wait, None, f"{name}: {part.reason}")
    slower, part = max((("backlog", queue), ("latency", wait)), key=lambda pair: pair[1].time_to_recover_s or 0.0)
    return Recovery(queue, wait, part.time_to_recover_s, f"{slower}: {part.reason}")


def recovery_of_batches(
    batches: Sequence[Batch],
    schedule: Schedule,
    *,
    origin_us: int,
    closed_us: int,
    spike_start_s: float,
    spike_end_s: float,
    settled_from_s: float,
) -> Recovery:
    """Return the recovery by micro-batches: the backlog after each emission, and the mean latency of each."""
    busy = [b for b in batches if b.events]
    emitted_s = [(b.emitted_us - origin_us) / 1e6 for b in busy]
    created = schedule.created([min(b.emitted_us, closed_us) - origin_us for b in busy])
    return find_recovery(
        (emitted_s, [int(n) - b.last for n, b in zip(created, busy, strict=True)]),
        (emitted_s, [batch_latency(schedule, origin_us, b).mean_s for b in busy]),
        spike_start_s=spike_start_s,
        spike_end_s=spike_end_s,
        settled_from_s=settled_from_s,
    )
