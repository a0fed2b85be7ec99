"""Operator filtermap: a filter and a calculation in one stage."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from streamgauge.events import Field
from streamgauge.events.keyed import EVENTS
from streamgauge.workloads.operators import filter as keep
from streamgauge.workloads.operators import map as change
from streamgauge.workloads.workload import Workload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def dataflow(df: "DataFrame", p: keep.FilterParameters, *, carry: Sequence[str] = ()) -> "DataFrame":
    """Keep the divisible values, then double them and add one."""
    return change.dataflow(keep.dataflow(df, p, carry=carry), p, carry=carry)


WORKLOAD = Workload(
    name="operator-filtermap",
    suite="operators",
    question="What do a filter and a calculation cost when they share a stage?",
    events=EVENTS,
    parameters=keep.FilterParameters,
    dataflow=dataflow,
    output=(
        Field("number", "bigint", "number of the event"),
        Field("key", "bigint", "the key"),
        Field("value", "bigint", "twice the value plus one"),
    ),
    output_mode=lambda _: "append",
    operators="filter, project",
    state="none",
    carries=True,
    reference=Path(__file__).with_name("filtermap.sql"),
    differences="None: the operators are defined here. Spark compiles both into one loop.",
)
