"""NAMB's waves: sine, sawtooth and reverse sawtooth.

As in NAMB a rate below one event per second counts as one, so that no source falls silent.
NAMB: Pagliari, Huet, Urvoy-Keller, "NAMB: A Quick and Flexible Stream Application Prototype Generator", 2020.
"""

import math
from abc import abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import numpy.typing as npt

from streamgauge.arrivals.law import STEP_S, Floats, SimpleLaw, check_rate, check_time, every_us, turns
from streamgauge.arrivals.schedule import Longs

LEAST_PER_S = 1.0


@dataclass(frozen=True)
class _Wave(SimpleLaw):
    peak_per_s: float
    phase_s: float = 60.0
    offset_s: float = 0.0

    def __post_init__(self) -> None:
        check_rate("peak", self.peak_per_s, positive=True)
        check_time("phase", self.phase_s)
        check_time("offset", self.offset_s, minimum_s=0.0)

    @abstractmethod
    def _share(self, share: Floats) -> Floats:
        """Return the rate as a share of the peak, after a share of the phase."""

    @abstractmethod
    def _from_phase_start(self, t_s: npt.ArrayLike) -> Floats:
        """Return the events from the start of a phase on."""

    def rate_at(self, t_s: npt.ArrayLike) -> Floats:
        """Return the point on the wave, at least one event per second."""
        _, inside_s = turns(np.asarray(t_s, dtype=np.float64) + self.offset_s, self.phase_s)
        return np.maximum(self.peak_per_s * self._share(inside_s / self.phase_s), LEAST_PER_S)

    def integral(self, t_s: npt.ArrayLike) -> Floats:
        """Return the area under the wave."""
        shifted = np.asarray(t_s, dtype=np.float64) + self.offset_s
        return self._from_phase_start(shifted) - self._from_phase_start(self.offset_s)

    def lasting_rate_per_s(self) -> float:
        """Return the mean of one phase."""
        return float(self._from_phase_start(self.phase_s)) / self.phase_s

    def _until_s(self, share: float) -> float:
        """Return how long it takes until this share of a phase is over for the first time."""
        return (share * self.phase_s - self.offset_s) % self.phase_s

    def _start_s(self) -> float:
        """Return when the first whole phase starts, after 0."""
        return self._until_s(0.0) or self.phase_s


@dataclass(frozen=True)
class Sine(_Wave):
    """peak / 2 · (1 + sin(2π (t + offset) / phase))."""

    name: ClassVar[str] = "sine"

    def _share(self, share: Floats) -> Floats:
        return (1 + np.sin(2 * math.pi * share)) / 2

    def _from_crest(self, t_s: npt.ArrayLike) -> Floats:
        """Return the events from a crest until at most half a phase before or after it."""
        t = np.asarray(t_s, dtype=np.float64)
        radians_per_s = 2 * math.pi / self.phase_s
        # Further from the crest than this, the wave is below the least rate.
        reach_s = math.acos(min(1.0, 2 * LEAST_PER_S / self.peak_per_s - 1)) / radians_per_s
        near_s = np.clip(t, -reach_s, reach_s)
        wave = self.peak_per_s / 2 * (near_s + np.sin(radians_per_s * near_s) / radians_per_s)
        return wave + LEAST_PER_S * (t - near_s)

    def _from_phase_start(self, t_s: npt.ArrayLike) -> Floats:
        from_crest_s = np.asarray(t_s, dtype=np.float64) - self.phase_s / 4
        crest = np.rint(from_crest_s / self.phase_s)
        each_phase = 2 * self._from_crest(self.phase_s / 2)
        since_crest = self._from_crest(from_crest_s - crest * self.phase_s)
        return crest * each_phase + since_crest - self._from_crest(-self.phase_s / 4)

    def max_rate_per_s(self, duration_s: float) -> float:
        """Return the peak if there is a crest, else the rate at the start or at the end."""
        if self._until_s(0.25) < duration_s:
            return max(self.peak_per_s, LEAST_PER_S)
        return float(np.max(self.rate_at([0.0, duration_s])))

    def knots_us(self, end_us: int) -> Longs:
        """Return a time every 10 ms."""
        return every_us(STEP_S, end_us)


@dataclass(frozen=True)
class Sawtooth(_Wave):
    """Rises from 0 to the peak in each phase, then drops."""

    name: ClassVar[str] = "sawtooth"

    def _share(self, share: Floats) -> Floats:
        return share

    def _within_phase(self, inside_s: npt.ArrayLike) -> Floats:
        inside = np.asarray(inside_s, dtype=np.float64)
        least_s = min(1.0, LEAST_PER_S / self.peak_per_s) * self.phase_s
        high_s = np.maximum(inside, least_s)
        rising = self.peak_per_s / (2 * self.phase_s) * (high_s - least_s) * (high_s + least_s)
        return LEAST_PER_S * np.minimum(inside, least_s) + rising

    def _from_phase_start(self, t_s: npt.ArrayLike) -> Floats:
        whole, inside_s = turns(t_s, self.phase_s)
        return whole * self._within_phase(self.phase_s) + self._within_phase(inside_s)

    def max_rate_per_s(self, duration_s: float) -> float:
        """Return the peak if a phase ends, else the rate at the end."""
        if self._start_s() <= duration_s:
            return max(self.peak_per_s, LEAST_PER_S)
        return float(self.rate_at(duration_s))

    def knots_us(self, end_us: int) -> Longs:
        """Return a time every 10 ms, and those at which the rate jumps."""
        jumps = every_us(self.phase_s, end_us, first_s=self._until_s(0.0))
        return np.concatenate([every_us(STEP_S, end_us), jumps])


@dataclass(frozen=True)
class ReverseSawtooth(Sawtooth):
    """Jumps to the peak and falls to 0 in each phase."""

    name: ClassVar[str] = "reverse-sawtooth"

    def _share(self, share: Floats) -> Floats:
        return 1 - share

    def _from_phase_start(self, t_s: npt.ArrayLike) -> Floats:
        whole, inside_s = turns(t_s, self.phase_s)
        each_phase = self._within_phase(self.phase_s)
        return (whole + 1) * each_phase - self._within_phase(self.phase_s - inside_s)

    def max_rate_per_s(self, duration_s: float) -> float:
        """Return the peak if a phase starts, else the rate at the start."""
        if self._until_s(0.0) < duration_s:
            return max(self.peak_per_s, LEAST_PER_S)
        return float(self.rate_at(0.0))
