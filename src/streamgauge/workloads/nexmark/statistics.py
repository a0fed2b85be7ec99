"""Counts by rank of price, and exact distinct counts in two native aggregations.

A stream cannot count distinct values directly. First one row per auction and one per bidder is kept, with its bids of
each rank; then those rows are added up. A bid costs two updates of a hash table, and state is one row per distinct
value.
"""

from collections.abc import Sequence
from typing import Any

from streamgauge.events import Field
from streamgauge.events.dataframe import Column, DataFrame, F
from streamgauge.workloads.nexmark.query import bids, watermarked

RANKS = ("price < 10000", "price >= 10000 AND price < 1000000", "price >= 1000000")
MEASURES = tuple(
    Field(f"{scope}_{what}", "bigint", f"{meaning} {who}")
    for what, meaning in (("bids", "bids"), ("bidders", "distinct bidders"), ("auctions", "distinct auctions"))
    for scope, who in (
        ("total", "in all"),
        ("rank1", "below 10,000"),
        ("rank2", "from 10,000, below 1,000,000"),
        ("rank3", "from 1,000,000"),
    )
)


def ranked_counts() -> list[Column]:
    """Return the numbers of bids of each rank."""
    return [F.count(F.when(F.expr(rank), True)).alias(f"rank{k}") for k, rank in enumerate(RANKS, 1)]


def statistics(df: DataFrame, p: Any, *keys: str) -> DataFrame:
    """Return the twelve measures per day and other keys, when the watermark has passed the end of the day."""
    made = watermarked(bids(df).select(*keys, "auction", "bidder", "price", "date_time"), p)
    # Each bid once as a bid for an auction, once as a bid by a bidder.
    twice = made.select(*keys, "price", "date_time", F.expr("stack(2, 0, auction, 1, bidder) AS (kind, who)"))
    day = F.window("date_time", "1 day").alias("day")
    first = twice.groupBy(*keys, "kind", "who", day).agg(*ranked_counts(), F.max("date_time").alias("latest"))
    return _added_up(first, keys)


def _added_up(first: DataFrame, keys: Sequence[str]) -> DataFrame:
    ranks = ["rank1", "rank2", "rank3"]
    total = F.expr("rank1 + rank2 + rank3")
    sums = [F.sum(F.when(F.col("kind") == 0, total)).alias("total_bids")]
    sums += [F.sum(F.when(F.col("kind") == 0, F.col(rank))).alias(f"{rank}_bids") for rank in ranks]
    for kind, what in ((1, "bidders"), (0, "auctions")):
        sums.append(F.count(F.when(F.col("kind") == kind, True)).alias(f"total_{what}"))
        sums += [F.count(F.when((F.col("kind") == kind) & (F.col(r) > 0), True)).alias(f"{r}_{what}") for r in ranks]
    grouped = first.groupBy(*keys, F.window(F.window_time("day"), "1 day").alias("window"))
    second = grouped.agg(*sums, F.max("latest").alias("latest"))
    return second.select(
        *keys,
        F.date_format("window.start", "yyyy-MM-dd").alias("day"),
        F.date_format("latest", "HH:mm").alias("minute"),
        *(measure.name for measure in MEASURES),
    )
