"""NEXMark query 0: every bid passes; what the pipeline itself costs."""

from typing import Any

from streamgauge.events.dataframe import DataFrame
from streamgauge.workloads.nexmark.fields import BID
from streamgauge.workloads.nexmark.query import bids, query
from streamgauge.workloads.traits import Operator


def dataflow(df: DataFrame, _: Any, *, carry: tuple[str, ...] = ()) -> DataFrame:
    """Pass every bid on."""
    return bids(df).select("auction", "bidder", "price", "date_time", "extra", *carry)


WORKLOAD = query(
    0,
    "What does the pipeline cost when every bid just passes?",
    dataflow,
    BID,
    differences="As nexmark-flink. Beam passes events of all kinds and encodes and decodes each once.",
    steps=(Operator.FILTER.step(), Operator.MAP.step("project")),
    carries=True,
)
