"""NEXMark query 19: the ten highest bids of an auction."""

from typing import Any

from streamgauge.events import Field
from streamgauge.events.dataframe import DataFrame, F
from streamgauge.workloads.nexmark.fields import AUCTION, BID_TIME, BIDDER, CHANNEL, EXTRA, PRICE, URL
from streamgauge.workloads.nexmark.q18 import WHOLE_BID
from streamgauge.workloads.nexmark.query import bids, query
from streamgauge.workloads.traits import Operator, endless

TOP = 10


def dataflow(df: DataFrame, _: Any) -> DataFrame:
    """Keep the highest bids per auction in a bounded heap, and put all of them out when one changes."""
    values = ("bidder", "price", "channel", "url", "date_time", "extra")
    order = F.struct("price", -F.unix_micros("date_time"), -F.col("bidder"), "extra", "url")
    top = bids(df).groupBy("auction").agg(F.max_by(F.struct(*values), order, TOP).alias("top"))
    ranked = top.select("auction", F.posexplode("top").alias("place", "bid"))
    rank = F.expr("place + 1").alias("rank_number")
    return ranked.select("auction", "bid.*", rank).select(*WHOLE_BID, "rank_number")


WORKLOAD = query(
    19,
    "What are the ten highest bids for each auction?",
    dataflow,
    (AUCTION, BIDDER, PRICE, CHANNEL, URL, BID_TIME, EXTRA, Field("rank_number", "int", "1 is the highest")),
    output_mode=lambda _: "update",
    differences=(
        "nexmark-flink emits single changes of ranks; here all ranks of an auction follow when one changes. "
        "Equal prices rank by time, then by bidder."
    ),
    steps=(Operator.TOP.step("top 10 per key"),),
    state=endless("up to ten bids per auction, never dropped"),
    keys=("auction", "rank_number"),
)
