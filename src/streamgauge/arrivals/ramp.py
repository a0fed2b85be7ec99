"""A rate that rises or falls along a line."""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from streamgauge.arrivals.law import STEP_S, Floats, SimpleLaw, check_rate, check_time, every_us
from streamgauge.arrivals.schedule import Longs


@dataclass(frozen=True)
class Ramp(SimpleLaw):
    """From one rate to another within `over_s` seconds; the rate stays there."""

    name: ClassVar[str] = "ramp"
    from_per_s: float
    to_per_s: float
    over_s: float = 60.0

    def __post_init__(self) -> None:
        check_rate("from", self.from_per_s)
        check_rate("to", self.to_per_s)
        check_time("over", self.over_s)

    def rate_at(self, t_s: npt.ArrayLike) -> Floats:
        """Return the point on the line."""
        share = np.clip(np.asarray(t_s, dtype=np.float64) / self.over_s, 0.0, 1.0)
        return self.from_per_s * (1 - share) + self.to_per_s * share

    def integral(self, t_s: npt.ArrayLike) -> Floats:
        """Return the area of a trapezium, and of a rectangle after it."""
        t = np.asarray(t_s, dtype=np.float64)
        rising_s = np.minimum(t, self.over_s)
        slope = (self.to_per_s - self.from_per_s) / self.over_s
        return rising_s * (self.from_per_s + slope * rising_s / 2) + self.to_per_s * (t - rising_s)

    def max_rate_per_s(self, duration_s: float) -> float:
        """Return the rate at the start or at the end, whichever is higher."""
        return float(np.max(self.rate_at([0.0, duration_s])))

    def lasting_rate_per_s(self) -> float:
        """Return the rate at which the law stays."""
        return self.to_per_s

    def knots_us(self, end_us: int) -> Longs:
        """Return a time every 10 ms, until the rate stays."""
        over_us = round(self.over_s * 1e6)
        return np.append(every_us(STEP_S, min(end_us, over_us)), over_us)
