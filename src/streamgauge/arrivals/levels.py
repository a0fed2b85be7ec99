"""Two levels in turn: the square wave, and bursts."""

from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from streamgauge.arrivals.law import STEP_S, Floats, SimpleLaw, check_rate, check_time, every_us, turns
from streamgauge.arrivals.schedule import Longs
from streamgauge.errors import UsageError


class _TwoLevels(SimpleLaw):
    offset_s: float

    @abstractmethod
    def _levels(self) -> tuple[float, float, float, float]:
        """Return the first level and its time, the second level and its time."""

    def _period_s(self) -> float:
        _, first_s, _, second_s = self._levels()
        return first_s + second_s

    def rate_at(self, t_s: npt.ArrayLike) -> Floats:
        """Return the level at each time."""
        first_per_s, first_s, second_per_s, _ = self._levels()
        _, inside_s = turns(np.asarray(t_s, dtype=np.float64) + self.offset_s, self._period_s())
        return np.where(inside_s < first_s * (1 - 1e-12), first_per_s, second_per_s)

    def _from_period_start(self, t_s: npt.ArrayLike) -> Floats:
        first_per_s, first_s, second_per_s, second_s = self._levels()
        whole, inside_s = turns(t_s, self._period_s())
        each_period = first_per_s * first_s + second_per_s * second_s
        inside = first_per_s * np.minimum(inside_s, first_s) + second_per_s * np.maximum(inside_s - first_s, 0.0)
        return whole * each_period + inside

    def integral(self, t_s: npt.ArrayLike) -> Floats:
        """Return the events of whole periods and of the begun one."""
        shifted = np.asarray(t_s, dtype=np.float64) + self.offset_s
        return self._from_period_start(shifted) - self._from_period_start(self.offset_s)

    def max_rate_per_s(self, duration_s: float) -> float:
        """Return the highest level that is reached."""
        first_per_s, first_s, second_per_s, _ = self._levels()
        inside_s = self.offset_s % self._period_s()
        now, later = (first_per_s, second_per_s) if inside_s < first_s else (second_per_s, first_per_s)
        change_s = first_s - inside_s if inside_s < first_s else self._period_s() - inside_s
        return max(now, later) if change_s < duration_s else now

    def lasting_rate_per_s(self) -> float:
        """Return the mean of one period."""
        return float(self._from_period_start(self._period_s())) / self._period_s()

    def knots_us(self, end_us: int) -> Longs:
        """Return the times at which the level changes."""
        _, first_s, _, _ = self._levels()
        period_s = self._period_s()
        starts = [every_us(period_s, end_us, first_s=(at_s - self.offset_s) % period_s) for at_s in (0.0, first_s)]
        return np.concatenate(starts)


@dataclass(frozen=True)
class Square(_TwoLevels):
    """`low_per_s` for the first half of each phase, `high_per_s` for the second."""

    name: ClassVar[str] = "square"
    low_per_s: float
    high_per_s: float
    phase_s: float = 60.0
    offset_s: float = 0.0

    def __post_init__(self) -> None:
        check_rate("low", self.low_per_s)
        check_rate("high", self.high_per_s)
        check_time("phase", self.phase_s)
        check_time("offset", self.offset_s, minimum_s=0.0)
        if self.low_per_s > self.high_per_s:
            raise UsageError(
                f"low is {self.low_per_s:g} and high is {self.high_per_s:g} events per second",
                where="low",
                remedy="use a low rate of at most the high one; offset shifts the phase",
            )

    def _levels(self) -> tuple[float, float, float, float]:
        return self.low_per_s, self.phase_s / 2, self.high_per_s, self.phase_s / 2


@dataclass(frozen=True)
class Burst(_TwoLevels):
    """`rate_per_s` during `interval_s`, then `burst_rate_per_s` during `duration_s`, again and again."""

    name: ClassVar[str] = "burst"
    rate_per_s: float
    burst_rate_per_s: float
    interval_s: float = 10.0
    duration_s: float = 2.0
    offset_s: float = 0.0

    def __post_init__(self) -> None:
        check_rate("rate", self.rate_per_s)
        check_rate("burst_rate", self.burst_rate_per_s)
        check_time("interval", self.interval_s, minimum_s=STEP_S)
        check_time("duration", self.duration_s, minimum_s=STEP_S)
        check_time("offset", self.offset_s, minimum_s=0.0)

    def _levels(self) -> tuple[float, float, float, float]:
        return self.rate_per_s, self.interval_s, self.burst_rate_per_s, self.duration_s
