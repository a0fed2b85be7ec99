"""NEXMark query 20: bids with their auctions of one category."""

from streamgauge.events import Field
from streamgauge.events.dataframe import DataFrame
from streamgauge.workloads.nexmark.fields import AUCTION, BIDDER, CHANNEL, PRICE, URL
from streamgauge.workloads.nexmark.joins import Expiring, within
from streamgauge.workloads.nexmark.query import auctions, bids, query, watermarked
from streamgauge.workloads.traits import Operator, endless

BID = (
    *(AUCTION, BIDDER, PRICE, CHANNEL, URL),
    Field("bid_time", "timestamp", "when the bid was made"),
    Field("bid_extra", "string", "padding of the bid"),
)
ITEM = (
    Field("item_name", "string", "what is sold"),
    Field("description", "string", "description of it"),
    Field("initial_bid", "bigint", "lowest first bid, in cents"),
    Field("reserve", "bigint", "lowest winning bid, in cents"),
    Field("auction_time", "timestamp", "when the auction opens"),
    Field("expires", "timestamp", "when it closes"),
    Field("seller", "bigint", "id of the seller"),
    Field("category", "bigint", "category of the auction"),
    Field("auction_extra", "string", "padding of the auction"),
)


def whole_bids(df: DataFrame) -> DataFrame:
    """Return bids with the names that they have beside auctions."""
    return bids(df).selectExpr(
        "auction", "bidder", "price", "channel", "url", "date_time AS bid_time", "extra AS bid_extra"
    )


def whole_auctions(df: DataFrame) -> DataFrame:
    """Return auctions with the names that they have beside bids."""
    return auctions(df).selectExpr(
        "id",
        "item_name",
        "description",
        "initial_bid",
        "reserve",
        "date_time AS auction_time",
        "expires",
        "seller",
        "category",
        "auction_extra",
    )


def dataflow(df: DataFrame, p: Expiring) -> DataFrame:
    """Join all bids with the auctions of category 10."""
    df = watermarked(df, p) if p.expiry_s else df
    offers = whole_auctions(df).where("category = 10")
    joined = whole_bids(df).join(offers, within("auction = id", "bid_time", "auction_time", p.expiry_s))
    return joined.select(*(field.name for field in (*BID, *ITEM)))


WORKLOAD = query(
    20,
    "Which bids are for auctions of category 10, and what do they sell?",
    dataflow,
    (*BID, *ITEM),
    parameters=Expiring,
    differences="As nexmark-flink, without expiry by default.",
    steps=(Operator.FILTER.step(), Operator.STREAM_JOIN.step()),
    state=endless("all bids and all auctions of category 10, for ever unless `expiry_s` is set"),
)
