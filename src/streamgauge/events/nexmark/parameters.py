"""What users can set about NEXMark's events; names and defaults are Beam's where Beam has them."""

from typing import Literal, Self

from pydantic import Field as Parameter
from pydantic import field_validator, model_validator

from streamgauge.errors import InvalidExperimentError
from streamgauge.events.nexmark.clock import MAX_BEAM_RATE_PER_S, RateCycle, rate_cycle
from streamgauge.events.nexmark.names import AUCTIONS_PER_CYCLE, CYCLE, DELAY_DRAWS, OUT_OF_ORDER_PRIME
from streamgauge.events.stream import Parameters


def _refusal(what: str, remedy: str) -> InvalidExperimentError:
    return InvalidExperimentError(what, where="--set", remedy=remedy)


class NexmarkEvents(Parameters):
    """Parameters of persons, auctions and bids."""

    clock: Literal["beam", "fine"] = Parameter(
        "beam", description="whole microseconds between events, as Beam has them, or exact spacing at any rate"
    )
    generators: int = Parameter(1, ge=1, le=1000, description="parallel timelines that make the events")
    split: Literal["interleaved", "concatenated", "none"] = Parameter(
        "interleaved",
        description="events of several generators in turn, or one generator after the other; "
        "none is one timeline whose events are `generators` times further apart",
    )
    num_events: int = Parameter(
        100_000, ge=1, le=10**12, description="events that are split over the generators, if there are several"
    )
    first_rate: float = Parameter(
        0.0,
        ge=0,
        le=MAX_BEAM_RATE_PER_S,
        description="rate of event times at the start of a cycle, events/s; 0: event times follow the arrivals",
    )
    next_rate: float = Parameter(
        0.0, ge=0, le=MAX_BEAM_RATE_PER_S, description="rate of event times half a cycle later, events/s"
    )
    rate_shape: Literal["sine", "square"] = Parameter(
        "sine", description="how event times go from first_rate to next_rate: in 10 steps, or at once"
    )
    rate_period_s: int = Parameter(600, ge=1, le=1_000_000, description="length of a cycle of rates, seconds")
    avg_person_bytes: int = Parameter(200, ge=0, le=10_000, description="mean size of a person, padded with extra")
    avg_auction_bytes: int = Parameter(500, ge=0, le=10_000, description="mean size of an auction, padded with extra")
    avg_bid_bytes: int = Parameter(100, ge=0, le=500, description="mean size of a bid, padded with extra")
    hot_auction_ratio: int = Parameter(
        2, ge=1, le=100_000, description="one bid in that many is for any auction, the others for the hot one"
    )
    hot_sellers_ratio: int = Parameter(
        4, ge=1, le=100_000, description="one auction in that many is by any person, the others by the hot one"
    )
    hot_bidders_ratio: int = Parameter(
        4, ge=1, le=100_000, description="one bid in that many is by any person, the others by the hot one"
    )
    in_flight_auctions: int = Parameter(
        100, ge=1, le=100_000, description="last auctions that get bids, which sets how long auctions are open"
    )
    active_people: int = Parameter(1000, ge=1, le=1_000_000, description="last persons that sell and bid")
    out_of_order_group: int = Parameter(
        1, ge=1, le=1_000_000, description="events that are shuffled among themselves; 1: in order; no multiple of 953"
    )
    delayed_share: float = Parameter(
        0.0, ge=0, le=1, description="share of events whose time is earlier than their place says, in millionths"
    )
    delayed_up_to_s: int = Parameter(3, ge=1, le=60, description="how much earlier at most, seconds")
    bidder_base: Literal[1000, 2000] = Parameter(
        1000, description="id of the first bidder; the suite for Flink has 2000, where bidders are not persons"
    )
    seeding: Literal["beam", "scrambled"] = Parameter(
        "beam",
        description="random draws as Beam's, with long runs of hot and other bids, or independent between events",
    )

    @field_validator("bidder_base", mode="before")
    @classmethod
    def _read_number(cls, value: object) -> object:
        # A choice between numbers does not take the text that `--set` gives.
        return int(value) if isinstance(value, str) and value.isdecimal() else value

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        if self.out_of_order_group % OUT_OF_ORDER_PRIME == 0:
            raise _refusal(
                f"out_of_order_group={self.out_of_order_group} is a multiple of {OUT_OF_ORDER_PRIME}, "
                "which would repeat events",
                "use another group size, such as 1000",
            )
        if self.generators > self.num_events:
            raise _refusal(
                f"num_events={self.num_events} is too few for generators={self.generators}",
                "give every generator at least one event",
            )
        rates = f"first_rate={self.first_rate:g}, next_rate={self.next_rate:g}"
        if (self.first_rate == 0) != (self.next_rate == 0):
            raise _refusal(f"{rates}: only one of the two is set", "set both, or none")
        if 0 < min(self.first_rate, self.next_rate) < 1:
            raise _refusal(f"{rates}: less than one event per second", "use rates of at least 1")
        cycle = self.rate_cycle()
        if cycle is not None and cycle.events == 0:
            raise _refusal(
                f"{rates}: rate_period_s={self.rate_period_s} is too short for a single event",
                "use a longer period, higher rates or fewer generators",
            )
        return self

    def rate_cycle(self) -> RateCycle | None:
        """Return Beam's rate shape; None where event times follow the arrivals."""
        if not self.first_rate:
            return None
        return rate_cycle(self.first_rate, self.next_rate, self.rate_shape, self.rate_period_s, self.generators)

    @property
    def events_per_generator(self) -> int:
        """How far apart the first event ids of two generators are."""
        return self.num_events // self.generators

    @property
    def events_ahead(self) -> int:
        """How many events it takes to make `in_flight_auctions` auctions."""
        return self.in_flight_auctions * CYCLE // AUCTIONS_PER_CYCLE

    @property
    def delayed_draws(self) -> int:
        """How many of the `DELAY_DRAWS` equally likely draws delay an event."""
        return round(self.delayed_share * DELAY_DRAWS)

    @property
    def is_scrambled(self) -> bool:
        """Whether the generators of events are seeded with hashes of their ids."""
        return self.seeding == "scrambled"
