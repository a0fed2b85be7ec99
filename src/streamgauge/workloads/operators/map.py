"""Operator map: arithmetic on every record."""

from collections.abc import Sequence
from pathlib import Path

from streamgauge.events import Field
from streamgauge.events.dataframe import DataFrame, F
from streamgauge.events.keyed import EVENTS, KeyedEvents
from streamgauge.workloads.traits import Operator, Traits
from streamgauge.workloads.workload import ExpectedAnswer, Workload


def dataflow(df: DataFrame, _: KeyedEvents, *, carry: Sequence[str] = ()) -> DataFrame:
    """Double every value and add one."""
    return df.select("number", "key", (F.col("value") * 2 + 1).alias("value"), *carry)


WORKLOAD = Workload(
    name="operator-map",
    family="operators",
    question="What does a simple calculation on every record cost?",
    events=EVENTS,
    parameters=KeyedEvents,
    dataflow=dataflow,
    traits=Traits(steps=(Operator.MAP.step("project"),), carries=True),
    output=(
        Field("number", "bigint", "number of the event"),
        Field("key", "bigint", "the key"),
        Field("value", "bigint", "twice the value plus one"),
    ),
    differences="None: the operator is defined here.",
    answer=ExpectedAnswer(reference=Path(__file__).with_name("map.sql")),
)
