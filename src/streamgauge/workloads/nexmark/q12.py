"""NEXMark query 12: bids per bidder in windows of processing time."""

from pydantic import Field as Parameter

from streamgauge.events import Field
from streamgauge.events.dataframe import DataFrame, F
from streamgauge.workloads.nexmark.fields import BIDDER
from streamgauge.workloads.nexmark.query import QueryParameters, bids, query
from streamgauge.workloads.traits import Operator, bounded


class ProcessingTime(QueryParameters):
    """Parameters of the window."""

    window_s: int = Parameter(10, ge=1, le=3600, description="length of the window of processing time, in seconds")


def dataflow(df: DataFrame, p: ProcessingTime) -> DataFrame:
    """Count bids by the time at which their micro-batch started."""
    made = bids(df).select("bidder", F.current_timestamp().alias("processed"))
    grouped = made.withWatermark("processed", "0 seconds").groupBy(
        "bidder", F.window("processed", f"{p.window_s} seconds")
    )
    counted = grouped.agg(F.count("*").alias("bids"))
    return counted.selectExpr("bidder", "bids", "window.start AS window_start", "window.end AS window_end")


WORKLOAD = query(
    12,
    "How many bids did each bidder make in each 10 seconds of processing time?",
    dataflow,
    (
        BIDDER,
        Field("bids", "bigint", "bids in the window"),
        Field("window_start", "timestamp", "start of the window of processing time"),
        Field("window_end", "timestamp", "end of the window"),
    ),
    parameters=ProcessingTime,
    output_mode=lambda _: "update",
    differences=(
        "Which window a bid falls into depends on when it is processed: all bids of a micro-batch have its start "
        "time. What can be verified is that every bid is counted once. Beam closes a pane 10 s after its first bid."
    ),
    steps=(Operator.PROCESSING_TIME_WINDOW.step("count per bidder and window of processing time"),),
    state=bounded("one row per bidder and open window"),
    keys=("bidder", "window_start"),
    invariant="SELECT bidder, sum(bids)::BIGINT AS bids FROM answer GROUP BY bidder",
)
