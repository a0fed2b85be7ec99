"""NEXMark query 15: statistics of the bids of a day."""

from streamgauge.events import Field
from streamgauge.events.dataframe import DataFrame
from streamgauge.workloads.nexmark.query import CLOSING_EVENTS, QueryParameters, query
from streamgauge.workloads.nexmark.statistics import MEASURES, statistics
from streamgauge.workloads.traits import Operator, bounded


def dataflow(df: DataFrame, p: QueryParameters) -> DataFrame:
    """Count bids, distinct bidders and distinct auctions per day, by rank of price."""
    return statistics(df, p).drop("minute")


WORKLOAD = query(
    15,
    "How many bids, bidders and auctions are there per day, by rank of price?",
    dataflow,
    (Field("day", "string", "day of the bids, in UTC"), *MEASURES),
    differences=(
        "nexmark-flink corrects a day's row with every bid; here it comes once, when the watermark has passed the "
        "end of the day, so a short run emits nothing, but does all the counting. Counts are exact, not "
        "approximate."
    ),
    steps=(Operator.AGGREGATE.step("two chained aggregations for exact distinct counts"),),
    state=bounded("one row per bidder and per auction of the open days"),
    closing_events=CLOSING_EVENTS,
)
