"""NEXMark query 7: the highest bid of every window."""

from pydantic import Field as Parameter

from streamgauge.events.dataframe import DataFrame, F
from streamgauge.workloads.nexmark.fields import AUCTION, BID_TIME, BIDDER, EXTRA, PRICE, WINDOW_START
from streamgauge.workloads.nexmark.query import (
    CLOSING_EVENTS,
    VariantParameters,
    add_beam,
    as_event_time,
    bids,
    query,
    watermarked,
)
from streamgauge.workloads.traits import Operator, bounded
from streamgauge.workloads.workload import Window

# Bids of one price in one window; more make the query fail, never give a wrong answer.
MOST_EQUAL = 100


class HighestBid(VariantParameters):
    """Parameters of the window."""

    window_s: int = Parameter(10, ge=1, le=3600, description="length of the tumbling window, in seconds")


def dataflow(df: DataFrame, p: HighestBid) -> DataFrame:
    """Keep all bids with the maximal price of a window in one aggregation, instead of joining them back.

    In nexmark-flink's definition a bid made exactly at the end of a window, which counts for the next one, is emitted
    too if its price equals the window's maximum.
    """
    bid = F.struct("auction", "price", "bidder", "date_time", "extra").alias("bid")
    made = watermarked(bids(df).select("auction", "bidder", "price", "date_time", "extra"), p)
    made = made.select(bid, "price", "date_time", F.lit(False).alias("is_end"))
    if p.semantics == "flink":
        made = _with_ends(made, p)
    own = F.when(~F.col("is_end"), F.col("price"))
    found = made.groupBy(F.window("date_time", f"{p.window_s} seconds")).agg(
        F.max(own).alias("highest"),
        F.max_by("bid", own, MOST_EQUAL).alias("top"),
        F.collect_list(F.when(F.col("is_end"), F.col("bid"))).alias("ends"),
    )
    winners = F.expr(
        f"if(get(top, {MOST_EQUAL - 1}).price = highest, raise_error('too many equal bids in one window'),"
        " filter(concat(top, ends), bid -> bid.price = highest))"
    )
    return found.select(F.col("window.start").alias("window_start"), F.inline(winners))


def _with_ends(made: DataFrame, p: HighestBid) -> DataFrame:
    """Add every bid at the end of a window to the window before, as one that does not count for its maximum."""
    length_us = p.window_s * 1_000_000
    at_end = F.expr(f"pmod(unix_micros(date_time), {length_us}L) = 0")
    both = F.when(at_end, F.array(F.lit(False), F.lit(True))).otherwise(F.array(F.lit(False)))
    twice = made.drop("is_end").withColumn("is_end", F.explode(both))
    moment = F.expr("if(is_end, date_time - INTERVAL 1 MILLISECOND, date_time)")
    return twice.select("bid", "price", as_event_time(moment, "date_time", p), "is_end")


WORKLOAD = query(
    7,
    "What was the highest bid of every 10 seconds?",
    dataflow,
    (WINDOW_START, AUCTION, PRICE, BIDDER, BID_TIME, EXTRA),
    parameters=HighestBid,
    window=lambda p: Window(p.window_s, p.window_s, "window_start"),
    differences=(
        "Both keep all bids with the highest price. nexmark-flink joins with both ends of the window included, so a "
        "bid at the very end is emitted too if it equals the maximum of the window before it. The paper has a "
        "minute."
    ),
    steps=(Operator.AGGREGATE.step("windowed maximum with all bids that reach it"),),
    state=bounded("one row per open window"),
    closing_events=CLOSING_EVENTS,
)
add_beam(WORKLOAD)
