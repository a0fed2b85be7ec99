"""Operator window join: pairs of the two sides with the same key in the same window."""

from pydantic import Field as Parameter

from streamgauge.events import Field
from streamgauge.events.dataframe import DataFrame, F
from streamgauge.events.keyed import EVENTS, KeyedEvents
from streamgauge.workloads.entry import entry
from streamgauge.workloads.traits import Operator, bounded


class JoinWindowParameters(KeyedEvents):
    """Parameters of the events and of the window."""

    keys: int = Parameter(
        100_000, ge=1, le=10_000_000, description="number of distinct keys; half as many give twice the pairs"
    )
    window_s: int = Parameter(10, ge=1, le=3600, description="length of the tumbling window, in seconds")


def dataflow(df: DataFrame, p: JoinWindowParameters) -> DataFrame:
    """Join the sides by key and window."""
    window = F.window("created", f"{p.window_s} seconds").alias("window")
    timely = df.withWatermark("created", "0 seconds")
    left = timely.where(F.col("side") == 0).select("key", window, F.col("value").alias("left_value"))
    right = timely.where(F.col("side") == 1).select("key", window, F.col("value").alias("right_value"))
    joined = left.join(right, ["key", "window"])
    return joined.select("key", F.col("window.start").alias("window_start"), "left_value", "right_value")


WORKLOAD = entry(
    __file__,
    question="Which records of the two sides have the same key in the same 10 seconds?",
    events=EVENTS,
    parameters=JoinWindowParameters,
    dataflow=dataflow,
    steps=(
        Operator.SHUFFLE.step("shuffle of both sides by key and window"),
        Operator.STREAM_JOIN.step("stream-stream inner join"),
    ),
    state=bounded(
        "every record of the open windows, on both sides; dropped when the watermark passes the window's end"
    ),
    output=(
        Field("key", "bigint", "the key"),
        Field("window_start", "timestamp", "start of the window"),
        Field("left_value", "bigint", "value of the record on side 0"),
        Field("right_value", "bigint", "value of the record on side 1"),
    ),
    differences=(
        "None: the operator is defined here. A pair appears with the later of its records, not when the window "
        "closes. The number of pairs grows with the square of the rate, so there are 100,000 keys."
    ),
)
