"""Back-pressure: does a query empty its queue, lose and regain the lead, or stay behind?

The queue is what a micro-batch finds when it is planned: the events that it takes and those that it leaves.
A micro-batch is *pressed* when any of these holds.

- It leaves events behind, because an admission limit cut it short.
- It takes longer than it may. With a trigger that most micro-batches keep, that is the trigger's interval. Without one,
  or with one too short for most of them, it is three times the lower quartile of all durations.
- The queue that it finds is beyond the band and was long in coming: the queue, and the time since the micro-batch
  before it started, are more than three times their lower quartiles. A load that only varies does not press.

An *episode* is a run of pressed micro-batches. It begins with the start of the first and ends when one starts that is
not pressed. An episode without such an end is open and ends with the load.

A run is *persistent* when its last episode is open, is longer than every other and has at least three micro-batches or
a tenth of the time, or when the queue grows: the 95 % interval of its slope lies above 0, and both the queue and the
time between starts have a median in the last third of the micro-batches that is more than 1.5 times that of the first
third. Neither counts while nothing is left behind and the later median of the time between starts stays within what the
caller excuses: then micro-batches are longer only because a load that varies offers more. Else it is *alternating* when
it has an episode, and *normal* when it has none.
Ten micro-batches are needed; four suffice when every one of them leaves events behind.

The three states are those that A. Pagliari (Evaluating the impact of streaming systems design on application
performance, thesis, Université Côte d'Azur, 2021) sees in Storm and Heron, defined for micro-batches.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import pairwise

import numpy as np

from streamgauge.measure.batch import Batch
from streamgauge.measure.trend import slope_interval
from streamgauge.units import format_count, format_duration

MIN_BATCHES = 10
MIN_LEAVING_BATCHES = 4
MIN_PERSISTENT_BATCHES = 3
MIN_PERSISTENT_SHARE = 0.1
BAND = 3.0
MAX_GROWTH = 1.5


class PressureState(StrEnum):
    """How a query stands up to its load."""

    NORMAL = "normal"
    ALTERNATING = "alternating"
    PERSISTENT = "persistent"


@dataclass(frozen=True)
class Episode:
    """A time in which the query was behind; seconds count from the start of the load.

    `peak_backlog` is the longest queue that a micro-batch found. An open episode lasts until the load ends.
    """

    start_s: float
    end_s: float
    peak_backlog: int
    batches: int
    is_open: bool

    @property
    def length_s(self) -> float:
        """How long the episode lasted."""
        return self.end_s - self.start_s


@dataclass(frozen=True)
class Spread:
    """Standard deviation over mean, of the values of micro-batches; None for fewer than two of them."""

    throughput: float | None
    latency: float | None


@dataclass(frozen=True)
class Pressure:
    """The state of a run, and when it was behind; `state` is None when that is unknown.

    `share` is the part of the load's time, from the first micro-batch on, that lies in episodes.
    """

    state: PressureState | None
    reason: str
    episodes: tuple[Episode, ...]
    total_s: float | None
    longest_s: float | None
    share: float | None
    overruns: int
    inside: Spread
    outside: Spread
    whole: Spread


def _queue(batch: Batch) -> int:
    return batch.events + batch.left


def _gathered_s(batches: Sequence[Batch]) -> list[float]:
    """Return the time since the micro-batch before started; that of the first is not known and counts as 0."""
    return [0.0, *((b.started_us - a.started_us) / 1e6 for a, b in pairwise(batches))]


def _beyond(values: Sequence[float], band: float) -> list[bool]:
    return [value > band for value in values]


def _band(values: Sequence[float]) -> float:
    return BAND * float(np.quantile(values, 0.25))


def _pressed(batches: Sequence[Batch], trigger_s: float) -> list[bool]:
    durations_s, queues, gathered_s = [b.duration_s for b in batches], list(map(_queue, batches)), _gathered_s(batches)
    is_kept = trigger_s > 0 and float(np.median(durations_s)) <= trigger_s
    is_long = _beyond(durations_s, trigger_s if is_kept else _band(durations_s))
    is_queue = _beyond(queues, _band(queues))
    is_wait = _beyond(gathered_s, _band(gathered_s[1:]))
    return [b.left > 0 or is_long[k] or (is_queue[k] and is_wait[k]) for k, b in enumerate(batches)]


def _episodes(batches: Sequence[Batch], pressed: Sequence[bool], origin_us: int, end_us: int) -> list[Episode]:
    found: list[Episode] = []
    start = None
    for k, is_pressed in enumerate([*pressed, False]):
        if is_pressed and start is None:
            start = k
        elif not is_pressed and start is not None:
            is_open = k == len(batches)
            until_us = end_us if is_open else batches[k].started_us
            peak = max(_queue(b) for b in batches[start:k])
            first_us = batches[start].started_us
            times_s = (first_us - origin_us) / 1e6, (until_us - origin_us) / 1e6
            found.append(Episode(*times_s, peak, k - start, is_open))
            start = None
    return found


def _has_grown(values: Sequence[float]) -> bool:
    third = len(values) // 3
    return float(np.median(values[-third:])) > MAX_GROWTH * float(np.median(values[:third]))


def _growth_per_s(batches: Sequence[Batch]) -> float | None:
    """Return the slope of the queue in events per second when it grows for the most part, else None."""
    queues = list(map(_queue, batches))
    if len(batches) < MIN_BATCHES or not (_has_grown(queues) and _has_grown(_gathered_s(batches)[1:])):
        return None
    slope = slope_interval(np.cumsum(_gathered_s(batches)), queues)
    return slope.value if slope.low > 0 else None


def _is_persistent(episodes: Sequence[Episode], time_s: float) -> bool:
    if not episodes or not episodes[-1].is_open:
        return False
    last = episodes[-1]
    is_long = last.batches >= MIN_PERSISTENT_BATCHES or last.length_s >= MIN_PERSISTENT_SHARE * time_s
    return is_long and all(last.length_s > other.length_s for other in episodes[:-1])


def _is_excused(batches: Sequence[Batch], excused_s: float) -> bool:
    waits_s = _gathered_s(batches)[1:]
    return not batches[-1].left and float(np.median(waits_s[-(len(waits_s) // 3) :])) <= excused_s


def _judge(
    batches: Sequence[Batch], episodes: Sequence[Episode], time_s: float, excused_s: float
) -> tuple[PressureState, str]:
    is_excused = _is_excused(batches, excused_s)
    if not is_excused and _is_persistent(episodes, time_s):
        last = episodes[-1]
        since = f"from {format_duration(last.start_s)} on until the load ended"
        return PressureState.PERSISTENT, f"the query was behind {since}"
    slope_per_s = None if is_excused else _growth_per_s(batches)
    if slope_per_s is not None:
        return PressureState.PERSISTENT, f"the queue grows by {format_count(slope_per_s)} events/s"
    if episodes:
        many = "once" if len(episodes) == 1 else f"{len(episodes)} times"
        longest_s = max(e.length_s for e in episodes)
        return PressureState.ALTERNATING, f"the query fell behind {many}, for {format_duration(longest_s)} at most"
    return PressureState.NORMAL, "every micro-batch emptied the queue in its time"


def _missing(batches: Sequence[Batch]) -> str | None:
    """Say why no state is known, if so."""
    if len(batches) >= MIN_BATCHES:
        return None
    if len(batches) >= MIN_LEAVING_BATCHES and all(b.left for b in batches):
        return None
    return f"{len(batches)} micro-batches started under load, and a state needs {MIN_BATCHES}"


def _variation(values: Sequence[float]) -> float | None:
    if len(values) < 2 or np.mean(values) == 0:
        return None
    return float(np.std(values, ddof=1) / np.mean(values))


def _throughputs(batches: Sequence[Batch]) -> list[float | None]:
    """Return the events of each micro-batch by the time since the emission before; the first has none."""
    steps = [(b, (b.emitted_us - a.emitted_us) / 1e6) for a, b in pairwise(batches)]
    return [None, *(b.events / step_s if step_s > 0 else None for b, step_s in steps)]


def _spread(throughputs: Sequence[float | None], latencies_s: Sequence[float | None], chosen: Sequence[bool]) -> Spread:
    def variation(values: Sequence[float | None]) -> float | None:
        return _variation([v for v, is_chosen in zip(values, chosen, strict=True) if is_chosen and v is not None])

    return Spread(variation(throughputs), variation(latencies_s))


def find_pressure(
    batches: Sequence[Batch],
    *,
    origin_us: int,
    load_end_us: int,
    trigger_s: float = 0.0,
    latencies_s: Sequence[float | None] | None = None,
    excused_s: float = 0.0,
) -> Pressure:
    """Return the state of a run by its micro-batches, as the text at the top of this module defines it.

    Only micro-batches with events that start before `load_end_us` count; `batches` may begin after a warm-up.
    `latencies_s` has the mean end-to-end latency of each of `batches`, None where there is none.
    `overruns` counts micro-batches longer than the trigger, whether most of them keep it or not.
    Up to `excused_s`, micro-batches that become longer are no back-pressure that persists.
    """
    given = latencies_s if latencies_s is not None else [None] * len(batches)
    if len(given) != len(batches):
        raise ValueError("every micro-batch needs one latency, or None")
    pairs = [(b, s) for b, s in zip(batches, given, strict=True) if b.events and b.started_us < load_end_us]
    loaded, latencies = [b for b, _ in pairs], [s for _, s in pairs]
    overruns = sum(1 for b in loaded if trigger_s and b.duration_s > trigger_s)
    missing = _missing(loaded)
    if missing:
        nothing = Spread(None, None)
        return Pressure(None, missing, (), None, None, None, overruns, nothing, nothing, nothing)
    pressed = _pressed(loaded, trigger_s)
    episodes = _episodes(loaded, pressed, origin_us, load_end_us)
    time_s = (load_end_us - loaded[0].started_us) / 1e6
    state, reason = _judge(loaded, episodes, time_s, excused_s)
    lengths_s, throughputs = [e.length_s for e in episodes], _throughputs(loaded)
    return Pressure(
        state=state,
        reason=reason,
        episodes=tuple(episodes),
        total_s=sum(lengths_s),
        longest_s=max(lengths_s, default=0.0),
        share=sum(lengths_s) / time_s,
        overruns=overruns,
        inside=_spread(throughputs, latencies, pressed),
        outside=_spread(throughputs, latencies, [not p for p in pressed]),
        whole=_spread(throughputs, latencies, [True] * len(loaded)),
    )
