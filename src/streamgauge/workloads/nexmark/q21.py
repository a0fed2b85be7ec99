"""NEXMark query 21: the id of a bid's channel."""

from typing import Any

from streamgauge.events import Field
from streamgauge.events.dataframe import DataFrame, F
from streamgauge.workloads.nexmark.fields import AUCTION, BIDDER, CHANNEL, PRICE
from streamgauge.workloads.nexmark.query import bids, query
from streamgauge.workloads.traits import Operator

KNOWN = {"apple": "0", "google": "1", "facebook": "2", "baidu": "3"}
KEY = "&channel_id="


def dataflow(df: DataFrame, _: Any) -> DataFrame:
    """Name four channels by a constant, the others by their address; without either, drop the bid.

    Exploding what was found drops bids without it, and computes it once, where a filter would do so again. Cutting the
    address at the key and at the next `&` takes half the time of the regular expression that defines the query.
    """
    known = F.create_map(*(F.lit(text) for pair in KNOWN.items() for text in pair))
    # Up to the second key, then from the last one left: an address without one keeps the `&` that it begins with.
    first = F.substring_index(F.substring_index(F.concat(F.lit("&"), "url"), KEY, 2), KEY, -1)
    found = F.nullif(F.substring_index(first, "&", 1), F.lit(""))
    channel_id = F.coalesce(F.try_element_at(known, F.lower("channel")), found)
    named = F.explode(F.array_compact(F.array(channel_id))).alias("channel_id")
    return bids(df).select("auction", "bidder", "price", "channel", named)


WORKLOAD = query(
    21,
    "What is the id of each bid's channel?",
    dataflow,
    (AUCTION, BIDDER, PRICE, CHANNEL, Field("channel_id", "string", "0 to 3, or what the address says")),
    differences="As nexmark-flink; an empty id in an address counts as none.",
    steps=(Operator.FILTER.step(), Operator.MAP.step("map with a regular expression")),
)
