"""Operator left join: every record of one side, with those of the other that follow it in time, or alone."""

from pydantic import Field as Parameter

from streamgauge.events import Field
from streamgauge.events.dataframe import DataFrame, F
from streamgauge.events.keyed import EVENTS, KeyedEvents
from streamgauge.workloads.entry import entry
from streamgauge.workloads.traits import Operator, bounded
from streamgauge.workloads.workload import ExpectedAnswer, Window

# Spark drops a record whose time equals the watermark, and the next micro-batch can begin in the same millisecond.
WATERMARK_DELAY_MS = 1


class JoinLeftParameters(KeyedEvents):
    """Parameters of the events and of the join."""

    keys: int = Parameter(
        100_000, ge=1, le=10_000_000, description="number of distinct keys; half as many give twice the pairs"
    )
    within_s: int = Parameter(10, ge=1, le=3600, description="how much later the other side may come, in seconds")


def dataflow(df: DataFrame, p: JoinLeftParameters) -> DataFrame:
    """Join each record of side 0 with those of side 1 that have its key and come at most `within_s` later."""
    timely = df.withWatermark("created", f"{WATERMARK_DELAY_MS} milliseconds")
    left = timely.where(F.col("side") == 0).select("key", "created", F.col("value").alias("left_value"))
    right = timely.where(F.col("side") == 1).select(
        F.col("key").alias("right_key"), F.col("created").alias("right_created"), F.col("value").alias("right_value")
    )
    follows = F.col("right_created") >= F.col("created")
    in_time = F.col("right_created") <= F.col("created") + F.expr(f"INTERVAL {p.within_s} SECONDS")
    joined = left.join(right, (F.col("key") == F.col("right_key")) & follows & in_time, "left")
    return joined.select("key", "created", "left_value", "right_created", "right_value")


WORKLOAD = entry(
    __file__,
    question="Which records of one side are followed by one of the other within 10 seconds, and which are not?",
    events=EVENTS,
    parameters=JoinLeftParameters,
    dataflow=dataflow,
    steps=(
        Operator.SHUFFLE.step("shuffle of both sides by key"),
        Operator.STREAM_JOIN.step("stream-stream left outer join with a range of time"),
    ),
    state=bounded("the records of side 0 of the last `within_s` and the latest of side 1; dropped by the watermark"),
    output=(
        Field("key", "bigint", "the key"),
        Field("created", "timestamp", "creation time of the record on side 0"),
        Field("left_value", "bigint", "value of the record on side 0"),
        Field("right_created", "timestamp", "creation time of the record on side 1; null if none came in time"),
        Field("right_value", "bigint", "value of the record on side 1; null if none came in time"),
    ),
    # A record without a match is final `within_s` after its creation, as if a window of that length closed.
    window=lambda p: Window(p.within_s, 1, "created"),
    watermark_delay_s=lambda _: WATERMARK_DELAY_MS / 1000,
    differences=(
        "None: the operator is defined here. A pair appears with the later of its records, a record without a match "
        "when the watermark has passed its time by `within_s`. The number of pairs grows with the square of the rate, "
        "so there are 100,000 keys."
    ),
    answer=ExpectedAnswer(closing_events=2),
)
