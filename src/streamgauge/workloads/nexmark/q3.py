"""NEXMark query 3: who sells in some states."""

from streamgauge.events import Field
from streamgauge.events.dataframe import DataFrame
from streamgauge.workloads.nexmark.joins import Expiring, within
from streamgauge.workloads.nexmark.query import auctions, persons, query, watermarked
from streamgauge.workloads.traits import Operator, endless


def dataflow(df: DataFrame, p: Expiring) -> DataFrame:
    """Join persons of three states with their auctions of category 10."""
    df = watermarked(df, p) if p.expiry_s else df
    sellers = (
        persons(df)
        .where("state IN ('OR', 'ID', 'CA')")
        .selectExpr("id AS person", "name", "city", "state", "date_time AS person_time")
    )
    offers = auctions(df).where("category = 10").selectExpr("id", "seller", "date_time AS auction_time")
    joined = offers.join(sellers, within("seller = person", "person_time", "auction_time", p.expiry_s))
    return joined.select("name", "city", "state", "id")


WORKLOAD = query(
    3,
    "Who sells in Oregon, Idaho and California, and what?",
    dataflow,
    (
        Field("name", "string", "name of the seller"),
        Field("city", "string", "city of the seller"),
        Field("state", "string", "state of the seller"),
        Field("id", "bigint", "id of the auction"),
    ),
    parameters=Expiring,
    differences=(
        "As nexmark-flink, without expiry by default. Beam keeps auctions for 600 s after the last event of the "
        "seller; `expiry_s` bounds the time between the two events instead."
    ),
    steps=(Operator.FILTER.step(), Operator.STREAM_JOIN.step()),
    state=endless("all persons of the three states and all auctions of category 10, for ever unless `expiry_s` is set"),
)
