"""Where time comes from: a clock is passed in, so that tests can move it by hand."""

import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Protocol


class Clock(Protocol):
    """Wall time labels events, monotonic time measures durations."""

    def wall_s(self) -> float:
        """Seconds since the epoch; may jump."""
        ...

    def monotonic_s(self) -> float:
        """Seconds since some fixed point; never jumps."""
        ...

    def sleep(self, duration_s: float) -> None:
        """Let `duration_s` seconds pass."""
        ...


# NTP slews a clock by no more than this; CLOCK_MONOTONIC is slewed with it, the raw clock is not.
MAX_SLEW = 500e-6
# How far bounded wall time may be from where the monotonic clock expects it, besides slewing.
BOUND_S = 0.5
# A step of this much makes latencies wrong by a visible amount; waking up late looks like a step of a few milliseconds.
MAX_STEP_S = 0.05


class SystemClock:
    """The machine's clocks."""

    def wall_s(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def monotonic_s(self) -> float:
        """Seconds of the raw monotonic clock: one that is slewed together with the wall clock would hide slewing."""
        if sys.platform == "win32":
            return time.monotonic()
        return time.clock_gettime(time.CLOCK_MONOTONIC_RAW)

    def sleep(self, duration_s: float) -> None:
        """Block the calling thread."""
        time.sleep(duration_s)


@dataclass
class ManualClock:
    """A clock that moves only when told, or when someone sleeps on it."""

    now_s: float = 0.0
    wall_offset_s: float = 0.0

    def wall_s(self) -> float:
        """Wall time: the hand-moved time plus an offset that a test may make jump."""
        return self.now_s + self.wall_offset_s

    def monotonic_s(self) -> float:
        """Return the hand-moved time."""
        return self.now_s

    def sleep(self, duration_s: float) -> None:
        """Advance at once."""
        self.now_s += duration_s


class BoundedClock:
    """A clock whose wall time keeps pace with monotonic time, so that no wait for a time of day lasts for ever.

    It shows the wall time of another clock, but never more than `BOUND_S`, and what NTP may slew, away from where the
    monotonic time since its making has it. A step of the other clock moves it by that much at most.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._start_s = clock.monotonic_s()
        self._offset_s = clock.wall_s() - self._start_s

    def wall_s(self) -> float:
        """Seconds since the epoch; moves with the monotonic clock."""
        now_s = self.monotonic_s()
        expected_s, bound_s = now_s + self._offset_s, BOUND_S + MAX_SLEW * (now_s - self._start_s)
        return min(max(self._clock.wall_s(), expected_s - bound_s), expected_s + bound_s)

    def monotonic_s(self) -> float:
        """Seconds of the other clock's monotonic time."""
        return self._clock.monotonic_s()

    def sleep(self, duration_s: float) -> None:
        """Let `duration_s` seconds pass."""
        self._clock.sleep(duration_s)


@dataclass(frozen=True)
class ClockMotion:
    """How the wall clock moved against the monotonic clock in `elapsed_s`: forward is positive.

    `step_s` is the largest move between two neighbouring readings, `drift_s` the largest since the first one.
    """

    step_s: float = 0.0
    drift_s: float = 0.0
    elapsed_s: float = 0.0

    @property
    def has_stepped(self) -> bool:
        """The wall clock was set in between."""
        return abs(self.step_s) > MAX_STEP_S

    @property
    def is_steady(self) -> bool:
        """Wall time can be trusted as a measure of durations.

        Slewing by NTP makes them wrong by 0.05 % at most, however long it lasts; more than that is not NTP.
        """
        return not self.has_stepped and abs(self.drift_s) <= MAX_STEP_S + MAX_SLEW * self.elapsed_s


def clock_motion(readings: Sequence[tuple[float, float]]) -> ClockMotion:
    """Compare readings of wall and monotonic time, each taken at one moment.

    >>> clock_motion([(100.0, 1.0), (101.0, 2.0), (99.5, 3.0)])
    ClockMotion(step_s=-2.5, drift_s=-2.5, elapsed_s=2.0)
    """
    if len(readings) < 2:
        return ClockMotion()
    ahead_s = [wall_s - monotonic_s for wall_s, monotonic_s in readings]
    return ClockMotion(
        step_s=max((b - a for a, b in pairwise(ahead_s)), key=abs),
        drift_s=max((a - ahead_s[0] for a in ahead_s), key=abs),
        elapsed_s=readings[-1][1] - readings[0][1],
    )
