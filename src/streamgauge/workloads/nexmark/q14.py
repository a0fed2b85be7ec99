"""NEXMark query 14: a calculation on every bid."""

from typing import Any

from streamgauge.events import Field
from streamgauge.events.dataframe import DataFrame, F
from streamgauge.workloads.nexmark.fields import AUCTION, BID_TIME, BIDDER, EXTRA
from streamgauge.workloads.nexmark.query import bids, dollars_to_euros, query
from streamgauge.workloads.traits import Operator


def dataflow(df: DataFrame, _: Any) -> DataFrame:
    """Keep bids of a middle price, name the time of day, and count a letter in the padding."""
    hour = F.hour("date_time")
    time_type = (
        F.when((hour >= 8) & (hour <= 18), "dayTime")
        .when((hour <= 6) | (hour >= 20), "nightTime")
        .otherwise("otherTime")
    )
    # 1,000,000 < 0.908 * price < 50,000,000 in whole cents.
    middle = bids(df).where("price * 908 > 1000000000 AND price * 908 < 50000000000")
    return middle.select(
        "auction",
        "bidder",
        dollars_to_euros().alias("price"),
        time_type.alias("bid_time_type"),
        "date_time",
        "extra",
        F.expr("cast(length(extra) - length(replace(extra, 'c', '')) AS bigint)").alias("c_counts"),
    )


WORKLOAD = query(
    14,
    "What does a calculation with a user-defined function on every bid cost?",
    dataflow,
    (
        AUCTION,
        BIDDER,
        Field("price", "decimal(23,3)", "price in euros"),
        Field("bid_time_type", "string", "dayTime, nightTime or otherTime, by the hour in UTC"),
        BID_TIME,
        EXTRA,
        Field("c_counts", "bigint", "how often the letter c is in the padding"),
    ),
    differences=(
        "nexmark-flink counts the letter with a function in Java; here it is a native expression. Beam's query 14 "
        "is another one."
    ),
    steps=(Operator.FILTER.step(), Operator.MAP.step()),
)
