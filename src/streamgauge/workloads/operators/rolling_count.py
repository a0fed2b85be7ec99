"""Operator rolling count: a running count per key."""

from streamgauge.events import Field
from streamgauge.events.dataframe import DataFrame, F
from streamgauge.events.keyed import EVENTS, KeyedEvents
from streamgauge.workloads.entry import entry
from streamgauge.workloads.traits import Operator, endless
from streamgauge.workloads.workload import ExpectedAnswer


def dataflow(df: DataFrame, _: KeyedEvents, *, carry: tuple[str, ...] = ()) -> DataFrame:
    """Count the records of each key since the start."""
    return df.groupBy("key").agg(F.count("*").alias("records"), *(F.max(name).alias(name) for name in carry))


WORKLOAD = entry(
    __file__,
    question="How often has each key been seen so far?",
    events=EVENTS,
    dataflow=dataflow,
    steps=(Operator.SHUFFLE.step("shuffle by key"), Operator.AGGREGATE.step("running count in keyed state")),
    state=endless("one row per key, never dropped: it grows to `keys` rows"),
    carries=True,
    output=(
        Field("key", "bigint", "the key"),
        Field("records", "bigint", "records of the key since the start"),
    ),
    output_mode=lambda _: "update",
    differences="Record-at-a-time engines emit one row per record; a micro-batch emits one row per key and batch.",
    answer=ExpectedAnswer(keys=("key",)),
)
