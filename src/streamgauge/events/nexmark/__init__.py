"""Persons, auctions and bids of an on-line auction, as Apache Beam's NEXMark generator makes them."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from streamgauge.events.dataframe import DataFrame
from streamgauge.events.nexmark.parameters import NexmarkEvents
from streamgauge.events.nexmark.rates import at_rate, check, schedule
from streamgauge.events.stream import EventStream, Field

if TYPE_CHECKING:
    import pyarrow as pa

    from streamgauge.arrivals import Arrivals

__all__ = ["EVENTS", "NexmarkEvents"]


def _frame(rows: DataFrame, p: NexmarkEvents, seed: int, fields: Sequence[str]) -> DataFrame:
    from streamgauge.events.nexmark.columns import frame

    return frame(rows, p, seed, fields)


def _arrays(p: NexmarkEvents, seed: int, arrivals: "Arrivals") -> Mapping[str, Any]:
    from streamgauge.events.nexmark.arrays import arrays

    return arrays(p, seed, arrivals)


def _canonical(table: "pa.Table", *, with_channel: bool = False) -> bytes:
    from streamgauge.events.nexmark.canonical import canonical_lines

    return canonical_lines(table, with_channel=with_channel)


EVENTS = EventStream(
    name="nexmark",
    summary="an on-line auction: 2 % persons, 6 % auctions, 92 % bids, as Apache Beam's generator makes them",
    fields=(
        Field("event_type", "int", "0 person, 1 auction, 2 bid; fields of the other kinds are null"),
        Field("id", "bigint", "person or auction: its id"),
        Field("name", "string", "person: first and last name"),
        Field("email_address", "string", "person: e-mail address"),
        Field("credit_card", "string", "person: four groups of four digits"),
        Field("city", "string", "person: one of 10 cities"),
        Field("state", "string", "person: one of 6 states"),
        Field("person_extra", "string", "person: padding to the average size"),
        Field("item_name", "string", "auction: what is sold"),
        Field("description", "string", "auction: description of it"),
        Field("initial_bid", "bigint", "auction: lowest first bid, in cents"),
        Field("reserve", "bigint", "auction: lowest winning bid, in cents"),
        Field("expires", "timestamp", "auction: when it closes"),
        Field("seller", "bigint", "auction: id of the person who sells"),
        Field("category", "bigint", "auction: 10 to 14"),
        Field("auction_extra", "string", "auction: padding to the average size"),
        Field("auction", "bigint", "bid: id of the auction"),
        Field("bidder", "bigint", "bid: id of the person who bids"),
        Field("price", "bigint", "bid: in cents, log-uniform from 100 to 100,000,000"),
        Field("channel", "string", "bid: where it comes from, half of them one of 4 hot channels"),
        Field("url", "string", "bid: address of the channel"),
        Field("extra", "string", "bid: padding to the average size"),
        Field("date_time", "timestamp", "when the event happens, in whole milliseconds"),
    ),
    parameters=NexmarkEvents,
    frame=_frame,
    arrays=_arrays,
    schedule=schedule,
    check=check,
    at_rate=at_rate,
    texts={"canonical": _canonical, "canonical-with-channel": partial(_canonical, with_channel=True)},
)
