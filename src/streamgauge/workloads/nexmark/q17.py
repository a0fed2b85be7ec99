"""NEXMark query 17: statistics of the bids for an auction."""

from typing import Any

from streamgauge.events import Field
from streamgauge.events.dataframe import DataFrame, F
from streamgauge.workloads.nexmark.fields import AUCTION
from streamgauge.workloads.nexmark.query import bids, query
from streamgauge.workloads.nexmark.statistics import ranked_counts
from streamgauge.workloads.traits import Operator, endless


def dataflow(df: DataFrame, _: Any) -> DataFrame:
    """Count and measure the bids per auction and day."""
    made = bids(df).select("auction", "price", F.to_date("date_time").alias("date"))
    grouped = made.groupBy("auction", "date").agg(
        F.count("*").alias("total_bids"),
        *ranked_counts(),
        F.min("price").alias("min_price"),
        F.max("price").alias("max_price"),
        F.sum("price").alias("sum_price"),
    )
    return grouped.selectExpr(
        "auction",
        "date_format(date, 'yyyy-MM-dd') AS day",
        "total_bids",
        "rank1 AS rank1_bids",
        "rank2 AS rank2_bids",
        "rank3 AS rank3_bids",
        "min_price",
        "max_price",
        "sum_price div total_bids AS avg_price",
        "sum_price",
    )


WORKLOAD = query(
    17,
    "What are the bids for each auction and day like?",
    dataflow,
    (
        AUCTION,
        Field("day", "string", "day of the bids, in UTC"),
        Field("total_bids", "bigint", "bids"),
        Field("rank1_bids", "bigint", "bids below 10,000"),
        Field("rank2_bids", "bigint", "bids from 10,000, below 1,000,000"),
        Field("rank3_bids", "bigint", "bids from 1,000,000"),
        Field("min_price", "bigint", "lowest price"),
        Field("max_price", "bigint", "highest price"),
        Field("avg_price", "bigint", "average price, cut off"),
        Field("sum_price", "bigint", "sum of prices"),
    ),
    output_mode=lambda _: "update",
    differences=(
        "nexmark-flink corrects a row with every bid, here with every micro-batch that has bids for the auction."
    ),
    steps=(Operator.AGGREGATE.step("running aggregation per key"),),
    state=endless("one row per auction and day, never dropped"),
    keys=("auction", "day"),
)
