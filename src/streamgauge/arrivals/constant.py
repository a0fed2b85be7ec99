"""The constant law: event n is created n / rate seconds after the start."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from streamgauge.arrivals.law import SteadyLaw, check_rate
from streamgauge.arrivals.schedule import MAX_SEGMENT_PRODUCT, Longs, Schedule


@dataclass(frozen=True)
class Constant(SteadyLaw):
    """The same rate all the time."""

    name: ClassVar[str] = "constant"
    rate_per_s: float

    def __post_init__(self) -> None:
        check_rate("rate", self.rate_per_s)

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
