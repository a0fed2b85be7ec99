"""The arrival process of one run, compiled: N(t) and t(n) as an exact piecewise-linear function.

Knots are whole microseconds and whole event numbers, so both directions are integer arithmetic
and give the same answer in NumPy, in Spark and after a restart.
"""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Self

import numpy as np
import numpy.typing as npt

Longs = npt.NDArray[np.int64]

# The product of a segment's length (in microseconds) and its events must fit in a signed 64-bit integer.
MAX_SEGMENT_PRODUCT = 2**62
# Knots that are worked on at a time.
PART_KNOTS = 1 << 18
MAPPED_BYTES = 1 << 20


@dataclass(frozen=True)
class Chunks:
    """Consecutive ranges of event numbers, none of which crosses a knot.

    Event n of a chunk is created at `origin_us + (n - base) * span_us // events`.
    """

    first: Longs
    last: Longs
    base: Longs
    events: Longs
    origin_us: Longs
    span_us: Longs


@dataclass(frozen=True)
class Arrivals:
    """Event numbers with their creation times, and the line on which the times around each of them lie.

    Event m near event n is created at `segment_us + (m - base) * span_us // events`. All times are microseconds since
    the epoch; `load_us` is the start of the load.
    """

    n: Longs
    time_us: Longs
    base: Longs
    events: Longs
    segment_us: Longs
    span_us: Longs
    load_us: Longs

    @classmethod
    def spaced(cls, n: npt.ArrayLike, *, load_us: int, period_us: int, base: int = 0) -> "Arrivals":
        """Return arrivals every `period_us`; event `base` is created at `load_us`."""
        numbers = np.asarray(n, dtype=np.int64)
        line = (base, 1, load_us, period_us, load_us)
        return cls(numbers, load_us + (numbers - base) * period_us, *(np.full(len(numbers), v) for v in line))

    def at(self, m: Longs) -> Longs:
        """Return the creation time of event m by the line of event n."""
        whole, rest = np.divmod(m - self.base, self.events)
        return self.segment_us + whole * self.span_us + rest * self.span_us // self.events


@dataclass(frozen=True)
class Schedule:
    """Knots (time_us[k], count[k]): `count[k]` events have been created before `time_us[k]`.

    Times count from the start of the load. Between two knots the events are evenly spaced,
    the first one at the earlier knot.
    """

    time_us: Longs
    count: Longs

    def __post_init__(self) -> None:
        time_us, count = self.time_us, self.count
        if len(time_us) != len(count) or len(time_us) < 2 or count[0] != 0:
            raise ValueError("a schedule needs two or more knots and starts with 0 events")
        # In parts, because a day has millions of knots.
        for start in range(0, len(time_us) - 1, PART_KNOTS):
            spans, events = (np.diff(knots[start : start + PART_KNOTS + 1]) for knots in (time_us, count))
            if np.any(spans <= 0) or np.any(events < 0):
                raise ValueError("knots must have increasing times and non-decreasing counts")
            if np.any(spans.astype(float) * events >= MAX_SEGMENT_PRODUCT):
                raise ValueError("a segment is too long for exact arithmetic")

    @property
    def total(self) -> int:
        """How many events there are in all."""
        return int(self.count[-1])

    @property
    def end_us(self) -> int:
        """When the load ends."""
        return int(self.time_us[-1])

    def _segment(self, n: Longs) -> Longs:
        return np.searchsorted(self.count, n, side="right") - 1

    def _line(self, k: Longs) -> tuple[Longs, Longs]:
        """Return how long segments are, and how many events they have."""
        return self.time_us[k + 1] - self.time_us[k], self.count[k + 1] - self.count[k]

    def times_us(self, n: npt.ArrayLike) -> Longs:
        """Return t(n), the intended time of each event number, in microseconds from the start."""
        numbers = np.asarray(n, dtype=np.int64)
        if numbers.size and (numbers.min() < 0 or numbers.max() >= self.total):
            raise ValueError(f"event numbers must lie in 0..{self.total - 1}")
        k = self._segment(numbers)
        spans, events = self._line(k)
        return self.time_us[k] + (numbers - self.count[k]) * spans // events

    def arrivals(self, n: npt.ArrayLike, *, load_us: int) -> Arrivals:
        """Return the creation times of event numbers in a load that starts at `load_us`."""
        numbers = np.asarray(n, dtype=np.int64)
        k = self._segment(numbers)
        spans, events = self._line(k)
        return Arrivals(
            n=numbers,
            time_us=self.times_us(numbers) + load_us,
            base=self.count[k],
            events=events,
            segment_us=self.time_us[k] + load_us,
            span_us=spans,
            load_us=np.full(len(numbers), load_us),
        )

    def created(self, t_us: npt.ArrayLike) -> Longs:
        """Return N(t), the number of events with an intended time of at most `t_us`."""
        t = np.asarray(t_us, dtype=np.int64)
        k = np.clip(np.searchsorted(self.time_us, t, side="right") - 1, 0, len(self.time_us) - 2)
        spans, events = self._line(k)
        elapsed = np.clip(t - self.time_us[k] + 1, 0, spans)
        inside = np.minimum(-(-elapsed * events // spans), events)
        return np.where(t < self.time_us[0], 0, self.count[k] + inside)

    def _between(self, first: int, last: int) -> Longs:
        """Return the numbers of events at knots inside first < n < last."""
        start, stop = np.searchsorted(self.count, first, side="right"), np.searchsorted(self.count, last, side="left")
        return self.count[start:stop]

    def sum_times_us(self, first: int, last: int) -> float:
        """Return the sum of t(n) for first <= n < last, exact up to the rounding to microseconds."""
        inner = self._between(first, last)
        bounds = np.unique(np.concatenate(([first], inner, [last]))).astype(np.int64)
        starts, stops = bounds[:-1], bounds[1:]
        if not len(starts):
            return 0.0
        return float(np.sum((self.times_us(starts) + self.times_us(stops - 1)) / 2 * (stops - starts)))

    def chunks(self, first: int, last: int, max_events: int) -> Chunks:
        """Cut the event numbers first <= n < last into chunks of at most `max_events`."""
        inner = self._between(first, last)
        starts = np.unique(np.concatenate((np.arange(first, last, max_events), inner))).astype(np.int64)
        stops = np.append(starts[1:], last)[: len(starts)]
        k = self._segment(starts)
        spans, events = self._line(k)
        return Chunks(
            first=starts,
            last=stops - 1,
            base=self.count[k],
            events=events,
            origin_us=self.time_us[k],
            span_us=spans,
        )

    def with_tail(self, events: int, *, after_s: float) -> "Schedule":
        """Add `events` that arrive together, `after_s` seconds after the end of the load."""
        start_us = self.end_us + round(after_s * 1e6)
        return Schedule(
            np.append(self.time_us, [start_us, start_us + 1]),
            np.append(self.count, [self.total, self.total + events]),
        )

    def repeated(self) -> "Schedule":
        """Return the load followed by itself a microsecond after its end, when all of its events are created."""
        return Schedule(
            np.append(self.time_us, self.time_us + self.end_us + 1),
            np.append(self.count, self.count + self.total),
        )

    def save(self, path: Path) -> None:
        """Write the knots to a file that `load` reads."""
        # As NumPy saves both as one array, without making it.
        shape = {"descr": "<i8", "fortran_order": False, "shape": (2, len(self.time_us))}
        with path.open("wb") as file:
            np.lib.format.write_array_header_1_0(file, shape)
            for knots in (self.time_us, self.count):
                file.write(np.ascontiguousarray(knots, dtype="<i8").data)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `save` wrote; of a long schedule, what is used of it is read when it is used."""
        mode: Literal["r"] | None = "r" if path.stat().st_size > MAPPED_BYTES else None
        time_us, count = np.load(path, mmap_mode=mode, allow_pickle=False)
        return cls(time_us, count)

    def __eq__(self, other: Any) -> bool:
        return (
            isinstance(other, Schedule)
            and np.array_equal(self.time_us, other.time_us)
            and np.array_equal(self.count, other.count)
        )

    __hash__ = None  # type: ignore[assignment]
