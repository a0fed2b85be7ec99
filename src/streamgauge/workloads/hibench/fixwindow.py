"""HiBench fixwindow: the earliest record and the count per address and window."""

from pydantic import Field as Parameter

from streamgauge.events import Field
from streamgauge.events.dataframe import DataFrame, F
from streamgauge.events.hibench import EVENTS, HibenchEvents
from streamgauge.workloads.entry import entry
from streamgauge.workloads.hibench.records import address
from streamgauge.workloads.traits import Operator, bounded
from streamgauge.workloads.workload import ExpectedAnswer, Window


class FixwindowParameters(HibenchEvents):
    """Parameters of the events and of the window."""

    window_s: int = Parameter(10, ge=1, le=3600, description="length of the tumbling window, in seconds")


def dataflow(df: DataFrame, p: FixwindowParameters) -> DataFrame:
    """Keep the earliest creation time and the number of records per address and window."""
    records = df.withWatermark("created", "0 seconds").select(address(F.col("line")).alias("ip"), "created")
    grouped = records.groupBy("ip", F.window("created", f"{p.window_s} seconds"))
    counted = grouped.agg(F.min("created").alias("earliest"), F.count("*").alias("records"))
    return counted.select("ip", F.col("window.start").alias("window_start"), "earliest", "records")


WORKLOAD = entry(
    __file__,
    question="How many records did each address send in every 10 seconds, and when was the first?",
    events=EVENTS,
    parameters=FixwindowParameters,
    dataflow=dataflow,
    steps=(Operator.SHUFFLE.step("shuffle by key"), Operator.AGGREGATE.step("windowed minimum and count")),
    state=bounded("one row per address and open window; dropped when the watermark passes the window's end"),
    output=(
        Field("ip", "string", "the address"),
        Field("window_start", "timestamp", "start of the window"),
        Field("earliest", "timestamp", "creation time of the window's first record"),
        Field("records", "bigint", "records of the address in the window"),
    ),
    window=lambda p: Window(p.window_s, p.window_s, "window_start"),
    differences="HiBench's window is over arrival time; here it is over creation time, so that the answer is defined.",
    answer=ExpectedAnswer(closing_events=1),
)
