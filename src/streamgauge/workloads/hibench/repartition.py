"""HiBench repartition: every record crosses a round-robin shuffle."""

from pydantic import Field as Parameter

from streamgauge.events.dataframe import DataFrame
from streamgauge.events.hibench import EVENTS, HibenchEvents
from streamgauge.workloads.entry import entry
from streamgauge.workloads.hibench.records import RECORD
from streamgauge.workloads.traits import Operator


class RepartitionParameters(HibenchEvents):
    """Parameters of the events and of the shuffle."""

    partitions: int = Parameter(8, ge=1, le=10_000, description="partitions after the shuffle; no effect on the answer")


def dataflow(df: DataFrame, p: RepartitionParameters, *, carry: tuple[str, ...] = ()) -> DataFrame:
    """Spread the records evenly over the partitions."""
    return df.select("created", "line", *carry).repartition(p.partitions)


WORKLOAD = entry(
    __file__,
    question="What does a shuffle of every record cost?",
    events=EVENTS,
    parameters=RepartitionParameters,
    dataflow=dataflow,
    steps=(Operator.SHUFFLE.step("round-robin shuffle"),),
    carries=True,
    output=RECORD,
    differences="HiBench uses executors x cores partitions, 8 in its default configuration.",
)
