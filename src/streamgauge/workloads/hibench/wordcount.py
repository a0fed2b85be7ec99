"""HiBench wordcount: a running count per address in keyed state."""

from streamgauge.events import Field
from streamgauge.events.dataframe import DataFrame, F
from streamgauge.events.hibench import EVENTS, HibenchEvents
from streamgauge.workloads.entry import entry
from streamgauge.workloads.hibench.records import address
from streamgauge.workloads.traits import Operator, endless
from streamgauge.workloads.workload import ExpectedAnswer


def dataflow(df: DataFrame, _: HibenchEvents, *, carry: tuple[str, ...] = ()) -> DataFrame:
    """Count the records of each address since the start."""
    grouped = df.groupBy(address(df["line"]).alias("ip"))
    return grouped.agg(F.count("*").alias("records"), *(F.max(name).alias(name) for name in carry))


WORKLOAD = entry(
    __file__,
    question="How often has each address been seen so far?",
    events=EVENTS,
    dataflow=dataflow,
    steps=(Operator.SHUFFLE.step("shuffle by key"), Operator.AGGREGATE.step("running count in keyed state")),
    state=endless("one row per address, never dropped: it grows to `keys` rows"),
    carries=True,
    output=(
        Field("ip", "string", "the address"),
        Field("records", "bigint", "records of the address since the start"),
    ),
    output_mode=lambda _: "update",
    differences="HiBench emits one count per record; a micro-batch emits one count per address and batch.",
    answer=ExpectedAnswer(keys=("ip",)),
)
