"""NEXMark query 18: a bidder's last bid for an auction."""

from typing import Any

from streamgauge.events.dataframe import DataFrame, F
from streamgauge.workloads.nexmark.fields import AUCTION, BID_TIME, BIDDER, CHANNEL, EXTRA, PRICE, URL
from streamgauge.workloads.nexmark.query import bids, query
from streamgauge.workloads.traits import Operator, endless

WHOLE_BID = ("auction", "bidder", "price", "channel", "url", "date_time", "extra")


def dataflow(df: DataFrame, _: Any) -> DataFrame:
    """Keep the latest bid per bidder and auction."""
    bid = F.struct("date_time", "price", "channel", "url", "extra")
    latest = bids(df).groupBy("bidder", "auction").agg(F.max(bid).alias("last"))
    return latest.select("bidder", "auction", "last.*").select(*WHOLE_BID)


WORKLOAD = query(
    18,
    "What is the last bid of each bidder for each auction?",
    dataflow,
    (AUCTION, BIDDER, PRICE, CHANNEL, URL, BID_TIME, EXTRA),
    output_mode=lambda _: "update",
    differences=(
        "Of bids made in the same millisecond the one with the highest price counts, so that the answer is defined."
    ),
    steps=(Operator.DEDUPLICATE.step("latest row per key"),),
    state=endless("one bid per bidder and auction, never dropped"),
    keys=("bidder", "auction"),
)
