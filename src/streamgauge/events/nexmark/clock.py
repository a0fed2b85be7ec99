"""When events happen: Beam's whole-microsecond spacing, and its rates that change in steps.

Beam spaces events by a whole number of microseconds, so the rate is met only nearly, and not at all above
2,000,000 events per second, where the spacing is 0.
"""

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING, NamedTuple

from streamgauge.errors import InvalidExperimentError

if TYPE_CHECKING:
    from streamgauge.arrivals import Schedule
    from streamgauge.events.draw import Longs
    from streamgauge.events.nexmark.parameters import NexmarkEvents

MAX_BEAM_RATE_PER_S = 2_000_000
SINE_STEPS = 10
# Twice the expected life of an auction, which bounds a draw: 4.7 hours.
MAX_LIFE_MS = 2**24


def period_us(rate_per_s: float) -> int:
    """Return the time between two events, rounded to whole microseconds, a half upwards.

    >>> [period_us(rate) for rate in (1_000, 3, 666_667, 2_000_000, 2_000_001)]
    [1000, 333333, 1, 1, 0]
    """
    return math.floor(1_000_000 / Fraction(rate_per_s) + Fraction(1, 2))


class Step(NamedTuple):
    """A part of a cycle: event `first_event + j` of the cycle happens at `offset_ms + j * delay_us // 1000`."""

    first_event: int
    delay_us: int
    offset_ms: int


@dataclass(frozen=True)
class RateCycle:
    """A cycle of steps, repeated for ever: it has `events` events and lasts `length_ms`.

    All steps have events, so their `first_event` increases.
    """

    steps: tuple[Step, ...]
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


def _rates(p: "NexmarkEvents") -> list[float]:
    if p.rate_shape == "square":
        return [p.first_rate, p.next_rate]
    middle, swing = (p.first_rate + p.next_rate) / 2, (p.first_rate - p.next_rate) / 2
    waves = (middle + swing * math.cos(2 * math.pi * step / SINE_STEPS) for step in range(SINE_STEPS))
    return [math.floor(rate + 0.5) for rate in waves]


def rate_cycle(p: "NexmarkEvents") -> RateCycle | None:
    """Return Beam's rate shape; None where event times follow the arrivals.

    Steps that are too short for an event are left out.
    """
    if not p.first_rate:
        return None
    if p.first_rate == p.next_rate:
        delay_us = period_us(p.first_rate) * p.generators
        return RateCycle((Step(0, delay_us, 0),), 1000, delay_us)
    rates = _rates(p)
    step_us = -(-p.rate_period_s // len(rates)) * 1_000_000
    steps, events, length_ms = [], 0, 0
    for rate in rates:
        delay_us = period_us(rate) * p.generators
        count = step_us // delay_us
        if count:
            steps.append(Step(events, delay_us, length_ms))
        events, length_ms = events + count, length_ms + count * delay_us // 1000
    return RateCycle(tuple(steps), events, length_ms)


def schedule(p: "NexmarkEvents", events: int, rate_per_s: float) -> "Schedule":
    """Return the arrivals of a finite data set: Beam's spacing, or with clock=fine the exact one."""
    import numpy as np

    from streamgauge.arrivals import Constant, Schedule
    from streamgauge.arrivals.schedule import MAX_SEGMENT_PRODUCT

    if p.clock == "fine":
        return Constant(rate_per_s).schedule(events / rate_per_s)
    check(p, rate_per_s)
    spacing_us = period_us(rate_per_s)
    longest = math.isqrt(MAX_SEGMENT_PRODUCT // spacing_us) - 1
    counts = np.array([*range(0, events, longest), events], dtype=np.int64)
    return Schedule(counts * spacing_us, counts)


def at_rate(p: "NexmarkEvents", rate_per_s: float) -> "NexmarkEvents":
    """Return the parameters with the clock that goes on at this rate."""
    return p.model_copy(update={"clock": "fine"}) if rate_per_s > MAX_BEAM_RATE_PER_S else p


def check(p: "NexmarkEvents", rate_per_s: float) -> None:
    """Refuse rates at which Beam's clock would give all events one time, or auctions would live for hours."""
    if p.clock == "beam" and rate_per_s > MAX_BEAM_RATE_PER_S:
        raise InvalidExperimentError(
            f"at {rate_per_s:,.0f} events/s Beam's clock gives all events the same time",
            where="clock",
            remedy=f"use --set clock=fine, or at most {MAX_BEAM_RATE_PER_S:,} events/s",
        )
    slowest = 2000 * p.events_ahead * p.generators / MAX_LIFE_MS
    rate_per_s = min(p.first_rate, p.next_rate) or rate_per_s
    if rate_per_s < slowest:
        hours = slowest / rate_per_s * MAX_LIFE_MS / 3.6e6
        raise InvalidExperimentError(
            f"at {rate_per_s:g} events/s auctions would be open for up to {hours:.1f} hours",
            where="rate",
            remedy=f"use at least {slowest:.3g} events/s, or fewer in_flight_auctions or generators",
        )
