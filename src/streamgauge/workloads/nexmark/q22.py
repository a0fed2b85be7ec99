"""NEXMark query 22: the directories of a bid's address."""

from typing import Any

from streamgauge.events import Field
from streamgauge.events.dataframe import DataFrame
from streamgauge.workloads.nexmark.fields import AUCTION, BIDDER, CHANNEL, PRICE
from streamgauge.workloads.nexmark.query import bids, query
from streamgauge.workloads.traits import Operator


def dataflow(df: DataFrame, _: Any) -> DataFrame:
    """Split the address at its slashes and keep three parts."""
    made = bids(df).selectExpr("auction", "bidder", "price", "channel", "split(url, '/', 7) AS parts")
    return made.selectExpr(
        "auction", "bidder", "price", "channel", *(f"get(parts, {k + 2}) AS dir{k}" for k in (1, 2, 3))
    )


WORKLOAD = query(
    22,
    "Which directories does the address of each bid name?",
    dataflow,
    (
        AUCTION,
        BIDDER,
        PRICE,
        CHANNEL,
        *(Field(f"dir{k}", "string", f"directory {k} of the address") for k in (1, 2, 3)),
    ),
    differences="As nexmark-flink.",
    steps=(Operator.FILTER.step(), Operator.MAP.step("split")),
)
