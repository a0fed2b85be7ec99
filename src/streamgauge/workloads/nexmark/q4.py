"""NEXMark query 4: what auctions of a category fetch on average."""

from dataclasses import replace
from typing import Any

from pydantic import Field as Parameter

from streamgauge.events import Field
from streamgauge.events.dataframe import DataFrame, F
from streamgauge.workloads.nexmark.fields import WINDOW_START
from streamgauge.workloads.nexmark.query import (
    CLOSING_EVENTS,
    PYTHON_STATE,
    VariantParameters,
    add_beam,
    as_event_time,
    query,
)
from streamgauge.workloads.nexmark.winners import best, check_open_time, valid_bids
from streamgauge.workloads.traits import Operator, bounded
from streamgauge.workloads.workload import RunRules, Window


class CategoryAverages(VariantParameters):
    """Parameters of the averages."""

    window_s: int = Parameter(10, ge=1, le=3600, description="beam: length of the sliding window, in seconds")
    slide_s: int = Parameter(5, ge=1, le=3600, description="beam: slide of the window, in seconds")
    open_at_most_s: int = Parameter(
        10, ge=1, le=86_400, description="how long auctions can be open, in seconds; bounds the state"
    )
    wait_s: int = Parameter(2, ge=0, le=3600, description="beam: how long a bid waits for its auction, in seconds")


def _averages() -> Any:
    """Return the keeper of the running averages; its base class is Spark's, which is imported late."""
    import pandas as pd
    from pyspark.sql.streaming import StatefulProcessor

    class Averages(StatefulProcessor):
        """Adds what the auctions that closed since the last micro-batch fetched."""

        def init(self, handle: Any) -> None:
            self.sums = handle.getValueState("sums", "auctions bigint, total bigint")

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # noqa: ARG002, N802, N803
            auctions, total = self.sums.get() if self.sums.exists() else (0, 0)
            for part in rows:
                auctions, total = auctions + int(part["auctions"].sum()), total + int(part["total"].sum())
            self.sums.update((auctions, total))
            average = total // auctions
            yield pd.DataFrame(
                {"category": key, "auctions": [auctions], "total_price": [total], "average_price": [average]}
            )

        def close(self) -> None:
            pass

    return Averages()


def dataflow(df: DataFrame, p: CategoryAverages) -> DataFrame:
    """Take the highest bid of each auction when it closes, sum these natively, and keep five running averages."""
    joined = valid_bids(df, p, "category")
    highest = joined.groupBy("closes", "id", "category").agg(F.max("price").alias("price"))
    sums = highest.groupBy("category", F.window("closes", "1 second")).agg(
        F.count("*").alias("auctions"), F.sum("price").alias("total")
    )
    schema = "category bigint, auctions bigint, total_price bigint, average_price bigint"
    return (
        sums.select("category", "auctions", "total")
        .groupBy("category")
        .transformWithStateInPandas(_averages(), schema, "Append", "None")
    )


def beam(df: DataFrame, p: CategoryAverages) -> DataFrame:
    """Average the winning bids per category over sliding windows of the closing time."""
    # A winner counts a millisecond before its auction closes.
    counts = as_event_time(F.expr("closes - INTERVAL 1 MILLISECOND"), "counts", p)
    winners = best(valid_bids(df, p, "category"), ["category"], ["price"]).select("category", "price", counts)
    windows = F.window("counts", f"{p.window_s} seconds", f"{p.slide_s} seconds")
    grouped = winners.groupBy(windows, "category").agg(F.sum("price").alias("total"), F.count("*").alias("n"))
    return grouped.selectExpr(
        "window.start AS window_start", "category", "(2 * total + n) div (2 * n) AS average_price"
    )


CATEGORY = Field("category", "bigint", "category of the auctions")
WORKLOAD = query(
    4,
    "What do the auctions of each category fetch on average?",
    dataflow,
    (
        CATEGORY,
        Field("auctions", "bigint", "auctions that closed with at least one bid"),
        Field("total_price", "bigint", "sum of their highest bids"),
        Field("average_price", "bigint", "average of their highest bids, cut off"),
    ),
    parameters=CategoryAverages,
    differences=(
        "nexmark-flink emits an average that it corrects with every bid; here an auction counts when it closes, "
        "so no average is ever corrected and the final answer is the same. Beam counts only bids that reach the "
        "reserve, and averages over sliding windows. Spark has no native running total after another aggregation: "
        "the last step, a row per category and second, is a Python state."
    ),
    steps=(
        Operator.STREAM_JOIN.step(),
        Operator.AGGREGATE.step("maximum per auction"),
        Operator.AGGREGATE.step("sum per category"),
        Operator.PYTHON_STATE.step("running average per category in Python"),
    ),
    state=bounded("open auctions, bids that are not older than the watermark, and five sums"),
    keys=("category",),
    closing_events=CLOSING_EVENTS,
    rules=RunRules(conf=PYTHON_STATE, limits=check_open_time),
)
add_beam(
    WORKLOAD,
    dataflow=beam,
    traits=replace(
        WORKLOAD.traits,
        steps=(
            Operator.STREAM_JOIN.step(),
            Operator.AGGREGATE.step("maximum per auction"),
            Operator.AGGREGATE.step("average per sliding window"),
        ),
    ),
    output=(WINDOW_START, CATEGORY, Field("average_price", "bigint", "mean winning bid, rounded")),
    window=lambda p: Window(p.window_s, p.slide_s, "window_start"),
    keys=(),
    rules=RunRules(limits=check_open_time),
)
