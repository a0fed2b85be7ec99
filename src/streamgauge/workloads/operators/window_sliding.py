"""Operator sliding window: count and sum per key and overlapping window, made of panes."""

from pydantic import Field as Parameter

from streamgauge.events import Field
from streamgauge.events.dataframe import DataFrame, F
from streamgauge.events.keyed import EVENTS, KeyedEvents
from streamgauge.workloads.entry import entry
from streamgauge.workloads.traits import Operator, bounded
from streamgauge.workloads.workload import ExpectedAnswer, Window


class SlidingParameters(KeyedEvents):
    """Parameters of the events and of the window."""

    slide_s: int = Parameter(2, ge=1, le=3600, description="time between the starts of two windows, in seconds")
    slides: int = Parameter(5, ge=1, le=1000, description="length of a window, in slides")

    @property
    def window_s(self) -> int:
        """Length of a window."""
        return self.slide_s * self.slides


def dataflow(df: DataFrame, p: SlidingParameters) -> DataFrame:
    """Count the records and add up the values of each key and pane, then add up the panes of each window.

    A pane is as long as the slide. So a record is put into one group instead of one for each window that holds it.
    """
    slide = f"{p.slide_s} seconds"
    panes = df.withWatermark("created", "0 seconds").groupBy("key", F.window("created", slide))
    counted = panes.agg(F.count("*").alias("records"), F.sum("value").alias("total"))
    windows = counted.groupBy("key", F.window(F.window_time("window"), f"{p.window_s} seconds", slide))
    added = windows.agg(F.sum("records").alias("records"), F.sum("total").alias("total"))
    return added.select("key", F.col("window.start").alias("window_start"), "records", "total")


WORKLOAD = entry(
    __file__,
    question="How many records did each key have in the last 10 seconds, every 2 seconds, and what is their sum?",
    events=EVENTS,
    parameters=SlidingParameters,
    dataflow=dataflow,
    steps=(
        Operator.SHUFFLE.step("shuffle by key"),
        Operator.AGGREGATE.step("count and sum per pane"),
        Operator.AGGREGATE.step("count and sum per window of panes"),
    ),
    state=bounded("one row per key and open pane, and one per key and open window"),
    output=(
        Field("key", "bigint", "the key"),
        Field("window_start", "timestamp", "start of the window"),
        Field("records", "bigint", "records of the key in the window"),
        Field("total", "bigint", "sum of their values"),
    ),
    window=lambda p: Window(p.window_s, p.slide_s, "window_start"),
    differences=(
        "None: the operator is defined here. Windows are added up from panes, as engines with sliced windows do; "
        "putting each record into every window that holds it gives the same answer."
    ),
    answer=ExpectedAnswer(closing_events=1),
)
