"""The constant law: event n is created n / rate seconds after the start."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from streamgauge.arrivals.law import Floats, SimpleLaw, check_rate
from streamgauge.arrivals.schedule import MAX_SEGMENT_PRODUCT, Longs, Schedule


@dataclass(frozen=True)
class Constant(SimpleLaw):
    """The same rate all the time."""

    name: ClassVar[str] = "constant"
    rate_per_s: float

    def __post_init__(self) -> None:
        check_rate("rate", self.rate_per_s)

    def rate_at(self, t_s: npt.ArrayLike) -> Floats:
        """Return the rate, which is the same at all times."""
        return np.full(np.shape(t_s), float(self.rate_per_s))

    def integral(self, t_s: npt.ArrayLike) -> Floats:
        """Return the rate times the time."""
        return self.rate_per_s * np.asarray(t_s, dtype=np.float64)

    def max_rate_per_s(self, duration_s: float) -> float:  # noqa: ARG002
        """Return the rate."""
        return self.rate_per_s

    def lasting_rate_per_s(self) -> float:
        """Return the rate."""
        return self.rate_per_s

    def knots_us(self, end_us: int) -> Longs:  # noqa: ARG002
        """Return no times: the rate never changes."""
        return np.array([], dtype=np.int64)

    def schedule(self, duration_s: float) -> Schedule:
        """Compile the events of the first `duration_s` seconds.

        One segment serves unless exact arithmetic needs shorter ones, so t(n) is n / rate
        rounded down to a microsecond for every rate that people type.
        """
        total = math.floor(self.rate_per_s * duration_s + 1e-9)
        if total < 1:
            return Schedule(np.array([0, max(1, round(duration_s * 1e6))]), np.array([0, 0]))
        longest_s = math.sqrt(MAX_SEGMENT_PRODUCT / 2 / 1e6 / self.rate_per_s)
        segments = math.ceil(duration_s / longest_s)
        counts = np.array([total * k // segments for k in range(segments + 1)], dtype=np.int64)
        times_us = np.array([round(int(c) / self.rate_per_s * 1e6) for c in counts], dtype=np.int64)
        return Schedule(times_us, counts)
