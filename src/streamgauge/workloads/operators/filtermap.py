"""Operator filtermap: a filter and a calculation in one stage."""

from streamgauge.events import Field
from streamgauge.events.dataframe import DataFrame
from streamgauge.events.keyed import EVENTS
from streamgauge.workloads.entry import entry
from streamgauge.workloads.operators import filter as keep
from streamgauge.workloads.operators import map as change
from streamgauge.workloads.traits import Operator


def dataflow(df: DataFrame, p: keep.FilterParameters, *, carry: tuple[str, ...] = ()) -> DataFrame:
    """Keep the divisible values, then double them and add one."""
    return change.dataflow(keep.dataflow(df, p, carry=carry), p, carry=carry)


WORKLOAD = entry(
    __file__,
    question="What do a filter and a calculation cost when they share a stage?",
    events=EVENTS,
    parameters=keep.FilterParameters,
    dataflow=dataflow,
    steps=(Operator.FILTER.step(), Operator.MAP.step("project")),
    carries=True,
    output=(
        Field("number", "bigint", "number of the event"),
        Field("key", "bigint", "the key"),
        Field("value", "bigint", "twice the value plus one"),
    ),
    differences="None: the operators are defined here. Spark compiles both into one loop.",
)
