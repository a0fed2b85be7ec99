"""Operator filter: keep the records whose value is divisible."""

from pydantic import Field as Parameter

from streamgauge.events import Field
from streamgauge.events.dataframe import DataFrame, F
from streamgauge.events.keyed import EVENTS, KeyedEvents
from streamgauge.workloads.entry import entry
from streamgauge.workloads.traits import Operator


class FilterParameters(KeyedEvents):
    """Parameters of the events and of the filter."""

    divisor: int = Parameter(10, ge=1, le=1_000_000, description="keep values divisible by it: one record in that many")


def dataflow(df: DataFrame, p: FilterParameters, *, carry: tuple[str, ...] = ()) -> DataFrame:
    """Keep the records whose value is a multiple of the divisor."""
    return df.where(F.col("value") % p.divisor == 0).select("number", "key", "value", *carry)


WORKLOAD = entry(
    __file__,
    question="What does it cost to look at every record and keep a few?",
    events=EVENTS,
    parameters=FilterParameters,
    dataflow=dataflow,
    steps=(Operator.FILTER.step(),),
    carries=True,
    output=(
        Field("number", "bigint", "number of the event"),
        Field("key", "bigint", "the key"),
        Field("value", "bigint", "the value, a multiple of `divisor`"),
    ),
    differences="None: the operator is defined here.",
)
