"""NEXMark query 9: the winning bid of every auction."""

from pydantic import Field as Parameter

from streamgauge.events import Field
from streamgauge.events.dataframe import DataFrame, F
from streamgauge.workloads.nexmark.fields import AUCTION, BIDDER, PRICE
from streamgauge.workloads.nexmark.query import CLOSING_EVENTS, VariantParameters, add_beam, query
from streamgauge.workloads.nexmark.winners import best, check_open_time, valid_bids
from streamgauge.workloads.traits import Operator, bounded
from streamgauge.workloads.workload import RunRules

ITEM = ("item_name", "description", "initial_bid", "reserve", "seller", "category", "auction_extra")


class WinningBids(VariantParameters):
    """Parameters of the winning bids."""

    open_at_most_s: int = Parameter(
        10, ge=1, le=86_400, description="how long auctions can be open, in seconds; bounds the state"
    )
    wait_s: int = Parameter(2, ge=0, le=3600, description="beam: how long a bid waits for its auction, in seconds")


def dataflow(df: DataFrame, p: WinningBids) -> DataFrame:
    """Join auctions and valid bids, and keep the best bid when the auction closes."""
    joined = valid_bids(df, p, *ITEM)
    winners = best(
        joined.withColumn("auction", F.col("id")),
        ["opened_us", *ITEM],
        ["auction", "bidder", "price", "bid_us", "bid_extra"],
    )
    return winners.selectExpr(
        "id",
        "item_name",
        "description",
        "initial_bid",
        "reserve",
        "timestamp_micros(opened_us) AS date_time",
        "closes AS expires",
        "seller",
        "category",
        "auction_extra AS extra",
        "auction",
        "bidder",
        "price",
        "timestamp_micros(bid_us) AS bid_time",
        "bid_extra",
    )


WORKLOAD = query(
    9,
    "Which bid won each auction?",
    dataflow,
    (
        Field("id", "bigint", "id of the auction"),
        Field("item_name", "string", "what was sold"),
        Field("description", "string", "description of it"),
        Field("initial_bid", "bigint", "lowest first bid, in cents"),
        Field("reserve", "bigint", "lowest winning bid, in cents"),
        Field("date_time", "timestamp", "when the auction opened"),
        Field("expires", "timestamp", "when it closed"),
        Field("seller", "bigint", "id of the seller"),
        Field("category", "bigint", "category of the auction"),
        Field("extra", "string", "padding of the auction"),
        AUCTION,
        BIDDER,
        PRICE,
        Field("bid_time", "timestamp", "when the winning bid was made"),
        Field("bid_extra", "string", "padding of the bid"),
    ),
    parameters=WinningBids,
    differences=(
        "nexmark-flink counts bids from opening to closing, whatever the reserve, and corrects its answer with "
        "every better bid; here the answer comes once, when the auction closes. Beam counts bids that reach the "
        "reserve before the closing, also those made before the opening. Equal prices go to the earlier bid, then "
        "to the smaller bidder."
    ),
    steps=(Operator.STREAM_JOIN.step(), Operator.AGGREGATE.step("best bid per auction")),
    state=bounded("open auctions and bids that are not older than the watermark"),
    closing_events=CLOSING_EVENTS,
    rules=RunRules(limits=check_open_time),
)
add_beam(WORKLOAD)
