"""Levels one after the other."""

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from streamgauge.arrivals.law import Floats, SimpleLaw, check_rate, check_time
from streamgauge.arrivals.notation import write_duration, write_rate
from streamgauge.arrivals.schedule import Longs
from streamgauge.errors import UsageError


@dataclass(frozen=True)
class Steps(SimpleLaw):
    """Each level for `each_s` seconds; the rate stays at the last one."""

    name: ClassVar[str] = "steps"
    levels_per_s: tuple[float, ...]
    each_s: float = 10.0

    def __post_init__(self) -> None:
        if not self.levels_per_s:
            raise UsageError("steps has no levels", where="levels", remedy="write steps(10k, 20k, each=10s)")
        for level_per_s in self.levels_per_s:
            check_rate("level", level_per_s)
        check_time("each", self.each_s)

    def describe(self) -> str:
        """Return the law as a user would write it, with every parameter; it parses to an equal law."""
        return f"steps({', '.join(map(write_rate, self.levels_per_s))}, each={write_duration(self.each_s)})"

    def _level(self, t_s: npt.ArrayLike) -> Longs:
        index = np.floor(np.asarray(t_s, dtype=np.float64) / self.each_s + 1e-12)
        return np.clip(index, 0, len(self.levels_per_s) - 1).astype(np.int64)

    def rate_at(self, t_s: npt.ArrayLike) -> Floats:
        """Return the level at each time."""
        return np.array(self.levels_per_s, dtype=np.float64)[self._level(t_s)]

    def integral(self, t_s: npt.ArrayLike) -> Floats:
        """Return the events of the levels that are over, and of the one that is not."""
        level = self._level(t_s)
        before = np.concatenate(([0.0], np.cumsum(self.levels_per_s))) * self.each_s
        return before[level] + self.rate_at(t_s) * (np.asarray(t_s, dtype=np.float64) - level * self.each_s)

    def max_rate_per_s(self, duration_s: float) -> float:
        """Return the highest level that is reached."""
        reached = len(self.levels_per_s) if math.isinf(duration_s) else math.ceil(duration_s / self.each_s - 1e-12)
        return max(self.levels_per_s[: max(1, reached)])

    def lasting_rate_per_s(self) -> float:
        """Return the last level."""
        return self.levels_per_s[-1]

    def knots_us(self, end_us: int) -> Longs:
        """Return the times at which a level ends."""
        times_us: Longs = np.rint(np.arange(1, len(self.levels_per_s)) * self.each_s * 1e6).astype(np.int64)
        return times_us[times_us < end_us]
