"""Which rates the clock and the life of auctions allow, and the arrivals of a finite data set."""

import math
from typing import TYPE_CHECKING

from streamgauge.errors import InvalidExperimentError
from streamgauge.events.nexmark.clock import MAX_BEAM_RATE_PER_S, period_us
from streamgauge.events.nexmark.parameters import NexmarkEvents

if TYPE_CHECKING:
    from streamgauge.arrivals import Schedule

# Twice the expected life of an auction, which bounds a draw: 4.7 hours.
MAX_LIFE_MS = 2**24


def schedule(p: NexmarkEvents, events: int, rate_per_s: float) -> "Schedule":
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


def at_rate(p: NexmarkEvents, rate_per_s: float) -> NexmarkEvents:
    """Return the parameters with the clock that allows this rate."""
    return p.model_copy(update={"clock": "fine"}) if rate_per_s > MAX_BEAM_RATE_PER_S else p


def check(p: NexmarkEvents, rate_per_s: float) -> None:
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
