"""The constant law: event n is created n / rate seconds after the start."""

import math
from dataclasses import dataclass

import numpy as np

from streamgauge.arrivals.schedule import MAX_SEGMENT_PRODUCT, Schedule


@dataclass(frozen=True)
class Constant:
    """The same rate all the time."""

    rate_per_s: float

    def describe(self) -> str:
        """Return the law as a user would write it."""
        return "constant"

    def mean_rate_per_s(self) -> float:
        """Return the long-run mean rate."""
        return self.rate_per_s

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
