"""NEXMark query 11: sessions of bidders."""

from pydantic import Field as Parameter

from streamgauge.events import Field
from streamgauge.events.dataframe import DataFrame, F
from streamgauge.workloads.nexmark.fields import BIDDER
from streamgauge.workloads.nexmark.query import CLOSING_EVENTS, QueryParameters, as_event_time, bids, query, watermarked
from streamgauge.workloads.traits import Operator, bounded
from streamgauge.workloads.workload import Window


class Sessions(QueryParameters):
    """Parameters of the sessions."""

    gap_s: int = Parameter(10, ge=1, le=3600, description="a longer pause ends the session, in seconds")


def dataflow(df: DataFrame, p: Sessions) -> DataFrame:
    """Count bids per bidder and pane first, then join panes into sessions.

    Bids of one pane, which is no longer than the gap, always belong to one session, so a pane enters the sessions as
    one interval from its first to its last bid.
    """
    made = watermarked(bids(df).select("bidder", "date_time"), p)
    panes = made.groupBy("bidder", F.window("date_time", "1 second").alias("pane")).agg(
        F.count("*").alias("bids"), F.min("date_time").alias("first"), F.max("date_time").alias("last")
    )
    seconds = f"cast((unix_micros(last) - unix_micros(first)) / 1e6 + {p.gap_s} AS decimal(18, 6))"
    gap = F.expr(f"make_interval(0, 0, 0, 0, 0, 0, {seconds})")
    moved = panes.select("bidder", "bids", as_event_time(F.col("first"), "first", p), gap.alias("gap"))
    sessions = moved.groupBy("bidder", F.session_window("first", F.col("gap"))).agg(F.sum("bids").alias("bids"))
    return sessions.selectExpr(
        "bidder", "bids", "session_window.start AS session_start", "session_window.end AS session_end"
    )


WORKLOAD = query(
    11,
    "How many bids did each bidder make in each session?",
    dataflow,
    (
        BIDDER,
        Field("bids", "bigint", "bids of the session"),
        Field("session_start", "timestamp", "first bid of the session"),
        Field("session_end", "timestamp", "last bid of the session plus the gap"),
    ),
    parameters=Sessions,
    window=lambda p: Window(p.gap_s, p.gap_s, "session_start"),
    differences=(
        "As nexmark-flink: a pause of exactly the gap does not end a session, in Beam it does. Beam also emits a "
        "session that reaches 100,000 bids."
    ),
    steps=(Operator.AGGREGATE.step("count per pane and bidder"), Operator.AGGREGATE.step("sum per session")),
    state=bounded("open panes and sessions"),
    closing_events=CLOSING_EVENTS,
)
