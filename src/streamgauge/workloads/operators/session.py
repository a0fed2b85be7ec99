"""Operator session window: count and sum of each stretch of activity of a key."""

from pydantic import Field as Parameter

from streamgauge.events import Field
from streamgauge.events.dataframe import DataFrame, F
from streamgauge.events.keyed import EVENTS, KeyedEvents
from streamgauge.workloads.entry import entry
from streamgauge.workloads.traits import Operator, bounded
from streamgauge.workloads.workload import ExpectedAnswer, Window


class SessionParameters(KeyedEvents):
    """Parameters of the events and of the session."""

    turns: int = Parameter(
        4, ge=1, le=60, description="in every second one in this many keys is in use; keys become a multiple of it"
    )
    gap_ms: int = Parameter(500, ge=1, le=3_600_000, description="a longer pause of a key ends its session, in ms")


def dataflow(df: DataFrame, p: SessionParameters) -> DataFrame:
    """Count the records and add up the values of each session."""
    session = F.session_window("created", f"{p.gap_ms} milliseconds")
    grouped = df.withWatermark("created", "0 seconds").groupBy("key", session)
    counted = grouped.agg(F.count("*").alias("records"), F.sum("value").alias("total"))
    start, end = (F.col(f"session_window.{edge}").alias(f"session_{edge}") for edge in ("start", "end"))
    return counted.select("key", start, end, "records", "total")


WORKLOAD = entry(
    __file__,
    question="How long was each stretch of activity of a key, and what happened in it?",
    events=EVENTS,
    parameters=SessionParameters,
    dataflow=dataflow,
    steps=(Operator.SHUFFLE.step("shuffle by key"), Operator.SORT.step("sort by time"), Operator.SESSION.step()),
    state=bounded("one row per key and open session; dropped when the watermark passes the session's end"),
    output=(
        Field("key", "bigint", "the key"),
        Field("session_start", "timestamp", "time of the session's first record"),
        Field("session_end", "timestamp", "time of its last record plus the gap"),
        Field("records", "bigint", "records of the session"),
        Field("total", "bigint", "sum of their values"),
    ),
    # A session is final one gap after its last record, as if a window of that length closed.
    window=lambda p: Window(p.gap_ms / 1000, p.gap_ms / 1000, "session_start"),
    differences=(
        "None: the operator is defined here. Keys are used in turns, a second each, so that there are pauses at any "
        "rate; at low rates a key also pauses within its second."
    ),
    answer=ExpectedAnswer(closing_events=1),
)
