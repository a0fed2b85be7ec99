"""NEXMark query 21: the id of a bid's channel."""

from typing import TYPE_CHECKING, Any

from streamgauge.events import Field
from streamgauge.workloads.nexmark.query import AUCTION, BIDDER, CHANNEL, PRICE, bids, query

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

KNOWN = {"apple": "0", "google": "1", "facebook": "2", "baidu": "3"}


def dataflow(df: "DataFrame", _: Any) -> "DataFrame":
    """Name four channels by a constant, the others by their address; without either, drop the bid."""
    from pyspark.sql import functions as F

    channel = F.lower("channel")
    found = F.nullif(F.regexp_extract("url", "(&|^)channel_id=([^&]*)", 2), F.lit(""))
    channel_id = found
    for name, number in reversed(KNOWN.items()):
        channel_id = F.when(channel == name, F.lit(number)).otherwise(channel_id)
    named = bids(df).select("auction", "bidder", "price", "channel", channel_id.alias("channel_id"))
    return named.where("channel_id IS NOT NULL")


WORKLOAD = query(
    21,
    "What is the id of each bid's channel?",
    dataflow,
    (AUCTION, BIDDER, PRICE, CHANNEL, Field("channel_id", "string", "0 to 3, or what the address says")),
    operators="filter, map with a regular expression",
    differences="As nexmark-flink; an empty id in an address counts as none.",
)
