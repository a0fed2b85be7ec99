"""A recorded load, played again."""

import math
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import ClassVar, Self

import numpy as np
import numpy.typing as npt

from streamgauge.arrivals.law import STEP_S, Floats, SimpleLaw, check_factor, every_us, turns
from streamgauge.arrivals.recording import Recording, read_recording
from streamgauge.arrivals.schedule import Longs
from streamgauge.errors import UsageError
from streamgauge.units import MAX_RATE_PER_S, format_duration, format_rate


@dataclass(frozen=True)
class Trace(SimpleLaw):
    """The rates of a file, `scale` times as high and `speed` times as fast.

    A rate holds until the time of the next row, the last one as long as the one before it. Then the trace starts again
    if it loops, and offers nothing if not. Single events are counted per 10 ms.
    """

    name: ClassVar[str] = "trace"
    file: str
    scale: float = 1.0
    speed: float = 1.0
    loop: bool = False
    recording: Recording = field(kw_only=True, repr=False, compare=False)

    @classmethod
    def read(cls, file: str, *, scale: float = 1.0, speed: float = 1.0, loop: bool = False) -> Self:
        """Read a CSV or Parquet file."""
        path = Path(file)
        if not path.is_file():
            what = "is not a file" if path.exists() else "does not exist"
            raise UsageError(f"{file} {what}", where="file", remedy="name a CSV or Parquet file")
        try:
            recording = read_recording(path)
        except OSError as error:
            raise UsageError(f"{file} cannot be read: {error.strerror}", where="file", remedy="check it") from error
        return cls(file, scale, speed, loop, recording=recording)

    def __post_init__(self) -> None:
        check_factor("scale", self.scale)
        check_factor("speed", self.speed)
        highest_per_s = self.max_rate_per_s(math.inf)
        if highest_per_s > MAX_RATE_PER_S:
            raise UsageError(
                f"the highest rate is {format_rate(highest_per_s)}",
                where="scale",
                remedy=f"use a scale with which it is at most {format_rate(MAX_RATE_PER_S)}",
            )
        if self.loop and self._length_s < STEP_S:
            raise UsageError(
                f"the trace lasts {format_duration(self._length_s)}",
                where="loop",
                remedy=f"loop over {format_duration(STEP_S)} or more",
            )

    @cached_property
    def _edges_s(self) -> Floats:
        """The times between which the rate is constant; the last one is the end."""
        time_s = self.recording.time_s / self.speed
        end_s = 2 * time_s[-1] - time_s[-2]
        if self.recording.rate_per_s is not None:
            return np.append(time_s, end_s)
        segments = np.unique(self._segments)
        end = max(segments[-1] + 1, math.ceil(end_s / STEP_S - 1e-9))
        return np.unique(np.concatenate([segments, segments + 1, [end]])) * STEP_S

    @cached_property
    def _segments(self) -> Longs:
        """The segment of 10 ms in which each event lies."""
        return np.floor(self.recording.time_s / self.speed / STEP_S + 1e-9).astype(np.int64)

    @cached_property
    def _rates_per_s(self) -> Floats:
        """The rate from each edge to the next."""
        if self.recording.rate_per_s is not None:
            return self.recording.rate_per_s * self.scale
        edges = np.rint(self._edges_s / STEP_S).astype(np.int64)
        until = np.searchsorted(self._segments, edges)
        return np.diff(until) / np.diff(edges) / STEP_S * self.scale

    @cached_property
    def _integral(self) -> Floats:
        """The expected number of events until each edge."""
        return np.concatenate(([0.0], np.cumsum(self._rates_per_s * np.diff(self._edges_s))))

    @property
    def _length_s(self) -> float:
        return float(self._edges_s[-1])

    def _own_time(self, t_s: npt.ArrayLike) -> tuple[Floats, Floats]:
        """Return how often the trace has ended before, and the time since it started."""
        if self.loop:
            return turns(t_s, self._length_s)
        t = np.asarray(t_s, dtype=np.float64)
        return np.zeros(t.shape), t

    def rate_at(self, t_s: npt.ArrayLike) -> Floats:
        """Return the rate of the row at each time."""
        _, own_s = self._own_time(t_s)
        row = np.searchsorted(self._edges_s, own_s + 1e-12 * self._length_s, side="right") - 1
        rates: Floats = np.append(self._rates_per_s, 0.0)[np.clip(row, 0, len(self._rates_per_s))]
        return rates

    def integral(self, t_s: npt.ArrayLike) -> Floats:
        """Return the expected number of events, which grows along a line from row to row."""
        whole, own_s = self._own_time(t_s)
        total = float(self._integral[-1])
        return whole * total + np.asarray(np.interp(own_s, self._edges_s, self._integral))

    def max_rate_per_s(self, duration_s: float) -> float:
        """Return the highest rate of the rows that are reached."""
        reached = self._edges_s[:-1] < duration_s
        reached[0] = True
        return float(np.max(self._rates_per_s[reached]))

    def lasting_rate_per_s(self) -> float:
        """Return the mean rate of a trace that loops; one that ends has none."""
        return float(self._integral[-1]) / self._length_s if self.loop else 0.0

    def knots_us(self, end_us: int) -> Longs:
        """Return the times of the rows, at most one of them in each 10 ms."""
        _, first = np.unique(np.floor(self._edges_s / STEP_S + 1e-9), return_index=True)
        edges_us = np.rint(self._edges_s[first] * 1e6).astype(np.int64)
        edges_us = edges_us[edges_us <= end_us]
        if not self.loop:
            return edges_us
        # Checked with the edges of all turns, so that a short loop over a long load is refused and not tried.
        every_us(self._length_s / len(edges_us), end_us)
        starts_us = every_us(self._length_s, end_us)
        return (starts_us[:, np.newaxis] + edges_us).ravel()
