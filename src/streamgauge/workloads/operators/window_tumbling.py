"""Operator tumbling window: count and sum per key and window."""

from pydantic import Field as Parameter

from streamgauge.events import Field
from streamgauge.events.dataframe import DataFrame, F
from streamgauge.events.keyed import EVENTS, KeyedEvents
from streamgauge.workloads.entry import entry
from streamgauge.workloads.traits import Operator, bounded
from streamgauge.workloads.workload import ExpectedAnswer, Window


class TumblingParameters(KeyedEvents):
    """Parameters of the events and of the window."""

    window_s: int = Parameter(10, ge=1, le=3600, description="length of the tumbling window, in seconds")


def dataflow(df: DataFrame, p: TumblingParameters) -> DataFrame:
    """Count the records and add up the values of each key and window."""
    grouped = df.withWatermark("created", "0 seconds").groupBy("key", F.window("created", f"{p.window_s} seconds"))
    counted = grouped.agg(F.count("*").alias("records"), F.sum("value").alias("total"))
    return counted.select("key", F.col("window.start").alias("window_start"), "records", "total")


WORKLOAD = entry(
    __file__,
    question="How many records did each key have in every 10 seconds, and what is their sum?",
    events=EVENTS,
    parameters=TumblingParameters,
    dataflow=dataflow,
    steps=(Operator.SHUFFLE.step("shuffle by key"), Operator.AGGREGATE.step("windowed count and sum")),
    state=bounded("one row per key and open window; dropped when the watermark passes the window's end"),
    output=(
        Field("key", "bigint", "the key"),
        Field("window_start", "timestamp", "start of the window"),
        Field("records", "bigint", "records of the key in the window"),
        Field("total", "bigint", "sum of their values"),
    ),
    window=lambda p: Window(p.window_s, p.window_s, "window_start"),
    differences="None: the operator is defined here. A result appears once, when its window is closed.",
    answer=ExpectedAnswer(closing_events=1),
)
