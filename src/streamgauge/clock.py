"""Where time comes from: a clock is passed in, so that tests can move it by hand."""

import time
from dataclasses import dataclass
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


class SystemClock:
    """The machine's clocks."""

    def wall_s(self) -> float:
        """Seconds since the epoch."""
        return time.time()

    def monotonic_s(self) -> float:
        """Seconds of the monotonic clock."""
        return time.monotonic()

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
