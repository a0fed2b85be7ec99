"""Operator map: arithmetic on every record."""

from streamgauge.events import Field
from streamgauge.events.dataframe import DataFrame, F
from streamgauge.events.keyed import EVENTS, KeyedEvents
from streamgauge.workloads.entry import entry
from streamgauge.workloads.traits import Operator


def dataflow(df: DataFrame, _: KeyedEvents, *, carry: tuple[str, ...] = ()) -> DataFrame:
    """Double every value and add one."""
    return df.select("number", "key", (F.col("value") * 2 + 1).alias("value"), *carry)


WORKLOAD = entry(
    __file__,
    question="What does a simple calculation on every record cost?",
    events=EVENTS,
    dataflow=dataflow,
    steps=(Operator.MAP.step("project"),),
    carries=True,
    output=(
        Field("number", "bigint", "number of the event"),
        Field("key", "bigint", "the key"),
        Field("value", "bigint", "twice the value plus one"),
    ),
    differences="None: the operator is defined here.",
)
