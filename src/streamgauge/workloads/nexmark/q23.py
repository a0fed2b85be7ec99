"""NEXMark query 23: bids with the bidder and with what the bidder sells."""

from streamgauge.events import Field
from streamgauge.events.dataframe import DataFrame
from streamgauge.workloads.nexmark.joins import Expiring, within
from streamgauge.workloads.nexmark.q20 import BID, ITEM, whole_auctions, whole_bids
from streamgauge.workloads.nexmark.query import persons, query, watermarked
from streamgauge.workloads.traits import Operator, endless

PERSON = (
    Field("name", "string", "name of the bidder"),
    Field("email_address", "string", "e-mail address of the bidder"),
    Field("credit_card", "string", "credit card of the bidder"),
    Field("city", "string", "city of the bidder"),
    Field("state", "string", "state of the bidder"),
)


def dataflow(df: DataFrame, p: Expiring) -> DataFrame:
    """Join bids with their bidders, and these with the auctions that they sell."""
    df = watermarked(df, p) if p.expiry_s else df
    people = persons(df).selectExpr("id AS person", *(field.name for field in PERSON), "date_time AS person_time")
    bidders = whole_bids(df).join(people, within("bidder = person", "person_time", "bid_time", p.expiry_s))
    offers = whole_auctions(df)
    joined = bidders.join(offers, within("seller = bidder", "auction_time", "bid_time", p.expiry_s))
    return joined.select(*(field.name for field in (*BID, *PERSON, *ITEM)))


WORKLOAD = query(
    23,
    "Which bids are made by persons who also sell, and what do these sell?",
    dataflow,
    (*BID, *PERSON, *ITEM),
    parameters=Expiring,
    differences=(
        "As nexmark-flink, but with the bidders' own ids: its generator counts the first id twice (bidder_base=2000 "
        "does the same), so bidders and persons do not meet there."
    ),
    steps=(Operator.STREAM_JOIN.step("two stream-stream joins"),),
    state=endless("all bids, persons and auctions, for ever unless `expiry_s` is set"),
)
