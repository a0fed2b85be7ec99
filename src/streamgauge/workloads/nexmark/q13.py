"""NEXMark query 13: bids with a value from a side table."""

from typing import Literal

from pydantic import Field as Parameter

from streamgauge.events import Field
from streamgauge.events.dataframe import DataFrame, F
from streamgauge.workloads.nexmark.fields import AUCTION, BID_TIME, BIDDER, PRICE
from streamgauge.workloads.nexmark.query import VariantParameters, add_beam, bids, query
from streamgauge.workloads.traits import Operator


class SideInput(VariantParameters):
    """Parameters of the side table."""

    side_rows: int = Parameter(10_000, ge=1, le=10_000_000, description="rows of the side table; Beam has 500")


def dataflow(df: DataFrame, p: SideInput) -> DataFrame:
    """Look the auction up in a static table that is broadcast; Beam looks the bidder up."""
    table = df.sparkSession.range(p.side_rows).selectExpr("id AS key", "cast(id AS string) AS value")
    looked_up = "bidder" if p.semantics == "beam" else "auction"
    made = (
        bids(df)
        .select("auction", "bidder", "price", "date_time")
        .withColumn("key", F.expr(f"{looked_up} % {p.side_rows}"))
    )
    return made.join(F.broadcast(table), "key").drop("key")


WORKLOAD = query(
    13,
    "What does it cost to look every bid up in a static table?",
    dataflow,
    (AUCTION, BIDDER, PRICE, BID_TIME, Field("value", "string", "value of the side table")),
    parameters=SideInput,
    differences=(
        "nexmark-flink looks up auction mod 10,000 in a file, Beam bidder mod 500 (semantics=beam takes that as its "
        "default) and puts the value into the bid's padding; here it is a column of its own."
    ),
    steps=(Operator.TABLE_JOIN.step("broadcast join with a static table"),),
)


class BeamSideInput(SideInput):
    """Beam's defaults."""

    semantics: Literal["flink", "beam"] = Parameter("beam", description="whose definition of the query runs")
    side_rows: int = Parameter(500, ge=1, le=10_000_000, description="rows of the side table")


add_beam(WORKLOAD, parameters=BeamSideInput)
