"""NEXMark query 2: the bids for some auctions."""

from pydantic import Field as Parameter

from streamgauge.events.dataframe import DataFrame
from streamgauge.workloads.nexmark.fields import AUCTION, PRICE
from streamgauge.workloads.nexmark.query import QueryParameters, bids, query
from streamgauge.workloads.traits import Operator


class Selection(QueryParameters):
    """Parameters of the selection."""

    auction_skip: int = Parameter(123, ge=1, le=1_000_000, description="auctions with a multiple of this id are kept")


def dataflow(df: DataFrame, p: Selection, *, carry: tuple[str, ...] = ()) -> DataFrame:
    """Keep bids for one auction in `auction_skip`."""
    return bids(df).where(f"auction % {p.auction_skip} = 0").select("auction", "price", *carry)


WORKLOAD = query(
    2,
    "What is bid for a few chosen auctions?",
    dataflow,
    (AUCTION, PRICE),
    parameters=Selection,
    differences="Beam and nexmark-flink agree; the paper selects five given auctions.",
    steps=(Operator.FILTER.step(), Operator.MAP.step("project")),
    carries=True,
)
