"""The best bid of every auction: a join closed by the watermark, then a maximum when the auction has ended.

An auction waits in the state of the join as long as auctions can be open; a bid until the watermark has passed all
auctions that it may belong to. So both are bounded, and an auction's best bid comes out once, when no other can follow.
"""

import math
from collections.abc import Sequence
from typing import Any

from streamgauge.errors import InvalidExperimentError
from streamgauge.events.dataframe import DataFrame, F
from streamgauge.workloads.nexmark.query import as_event_time, auctions, bids, watermarked

FLINK = "opens <= bid_time AND bid_time <= closes"
BEAM = "bid_time < closes AND opens <= bid_time + INTERVAL {wait_s} SECONDS AND price >= reserve"


def check_open_time(p: Any, rate_per_s: float) -> None:
    """Refuse a rate at which auctions may be open for longer than the join remembers them."""
    longest_s = (2 * p.events_ahead * p.generators / rate_per_s) + 0.002
    if longest_s > p.open_at_most_s:
        raise InvalidExperimentError(
            f"at {rate_per_s:g} events/s auctions are open for up to {longest_s:.1f} s, longer than open_at_most_s",
            where="--set",
            remedy=f"use --set open_at_most_s={math.ceil(longest_s)}, or a higher rate",
        )


def valid_bids(df: DataFrame, p: Any, *auction_columns: str) -> DataFrame:
    """Join each auction with its valid bids; `closes` is the event time of the result."""
    df = watermarked(df, p)
    columns = (*auction_columns, "reserve") if p.semantics == "beam" else auction_columns
    offers = auctions(df).select(
        F.col("date_time").alias("opens"), F.col("expires").alias("closes"), "id", *dict.fromkeys(columns)
    )
    made = bids(df).selectExpr("date_time AS bid_time", "auction", "bidder", "price", "extra AS bid_extra")
    valid = BEAM.format(wait_s=p.wait_s) if p.semantics == "beam" else FLINK
    bounded = f"bid_time <= opens + INTERVAL {p.open_at_most_s} SECONDS"
    joined = offers.join(made, F.expr(f"auction = id AND {valid} AND {bounded}"))
    # From here on the auction's end is the event time, and no other column may be one.
    return joined.withColumns({"bid_us": F.unix_micros("bid_time"), "opened_us": F.unix_micros("opens")}).select(
        as_event_time(F.col("closes"), "closes", p),
        "opened_us",
        "bid_us",
        "id",
        *columns,
        "bidder",
        "price",
        "bid_extra",
    )


def best(joined: DataFrame, keys: Sequence[str], values: Sequence[str]) -> DataFrame:
    """Keep the best bid of each auction: the highest, the earliest of equal ones, then the smaller bidder."""
    rank = F.struct("price", -F.col("bid_us"), -F.col("bidder"), *(["bid_extra"] if "bid_extra" in values else []))
    grouped = joined.groupBy("closes", "id", *keys)
    chosen = grouped.agg(F.max_by(F.struct(*values), rank, 1).alias("best"))
    return chosen.select("closes", "id", *keys, F.expr("inline(best)"))
