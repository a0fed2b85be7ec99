"""Operator reduce: a running sum and maximum per key."""

from streamgauge.events import Field
from streamgauge.events.dataframe import DataFrame, F
from streamgauge.events.keyed import EVENTS, KeyedEvents
from streamgauge.workloads.entry import entry
from streamgauge.workloads.traits import Operator, endless
from streamgauge.workloads.workload import ExpectedAnswer


def dataflow(df: DataFrame, _: KeyedEvents, *, carry: tuple[str, ...] = ()) -> DataFrame:
    """Add up the values of each key and keep the largest, since the start."""
    carried = (F.max(name).alias(name) for name in carry)
    return df.groupBy("key").agg(F.sum("value").alias("total"), F.max("value").alias("largest"), *carried)


WORKLOAD = entry(
    __file__,
    question="What are the sum and the maximum of each key so far?",
    events=EVENTS,
    dataflow=dataflow,
    steps=(
        Operator.SHUFFLE.step("shuffle by key"),
        Operator.AGGREGATE.step("running sum and maximum in keyed state"),
    ),
    state=endless("one row per key, never dropped: it grows to `keys` rows"),
    carries=True,
    output=(
        Field("key", "bigint", "the key"),
        Field("total", "bigint", "sum of the key's values since the start"),
        Field("largest", "bigint", "largest of the key's values since the start"),
    ),
    output_mode=lambda _: "update",
    differences="Record-at-a-time engines emit one row per record; a micro-batch emits one row per key and batch.",
    answer=ExpectedAnswer(keys=("key",)),
)
