"""When events happen: Beam's whole-microsecond spacing, and its rates that change in steps.

Beam spaces events by a whole number of microseconds, so the rate is met only nearly, and not at all above
2,000,000 events per second, where the spacing is 0.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from streamgauge.events.draw import Longs

MAX_BEAM_RATE_PER_S = 2_000_000
SINE_STEPS = 10


def period_us(rate_per_s: float) -> int:
    """Return the time between two events, rounded to whole microseconds, a half upwards.

    >>> [period_us(rate) for rate in (1_000, 3, 666_667, 2_000_000, 2_000_001)]
    [1000, 333333, 1, 1, 0]
    """
    return math.floor(1_000_000 / Fraction(rate_per_s) + Fraction(1, 2))


class ClockStep(NamedTuple):
    """A part of a cycle: event `first_event + j` of the cycle happens at `offset_ms + j * delay_us // 1000`."""

    first_event: int
    delay_us: int
    offset_ms: int


@dataclass(frozen=True)
class RateCycle:
    """A cycle of steps, repeated for ever: it has `events` events and lasts `length_ms`.

    All steps have events, so their `first_event` increases.
    """

    steps: tuple[ClockStep, ...]
    events: int
    length_ms: int

    def time_ms(self, m: "Longs") -> "Longs":
        """Return when event m of a generator happens, in milliseconds from the start."""
        import numpy as np

        first, delay_us, offset_ms = np.array(self.steps, dtype=np.int64).T
        cycle, event = np.divmod(m, self.events)
        step = np.searchsorted(first, event, side="right") - 1
        inside_ms = (event - first[step]) * delay_us[step] // 1000
        return np.asarray(cycle * self.length_ms + offset_ms[step] + inside_ms)


def _rates(first_rate: float, next_rate: float, shape: str) -> list[float]:
    if shape == "square":
        return [first_rate, next_rate]
    middle, swing = (first_rate + next_rate) / 2, (first_rate - next_rate) / 2
    waves = (middle + swing * math.cos(2 * math.pi * step / SINE_STEPS) for step in range(SINE_STEPS))
    return [math.floor(rate + 0.5) for rate in waves]


def rate_cycle(first_rate: float, next_rate: float, shape: str, period_s: int, generators: int) -> RateCycle:
    """Return Beam's rate shape; steps that are too short for an event are left out."""
    if first_rate == next_rate:
        delay_us = period_us(first_rate) * generators
        return RateCycle((ClockStep(0, delay_us, 0),), 1000, delay_us)
    rates = _rates(first_rate, next_rate, shape)
    step_us = -(-period_s // len(rates)) * 1_000_000
    steps, events, length_ms = [], 0, 0
    for rate in rates:
        delay_us = period_us(rate) * generators
        count = step_us // delay_us
        if count:
            steps.append(ClockStep(events, delay_us, length_ms))
        events, length_ms = events + count, length_ms + count * delay_us // 1000
    return RateCycle(tuple(steps), events, length_ms)
