"""NEXMark query 16: statistics of the bids of a channel and day."""

from streamgauge.events import Field
from streamgauge.events.dataframe import DataFrame
from streamgauge.workloads.nexmark.fields import CHANNEL
from streamgauge.workloads.nexmark.query import CLOSING_EVENTS, QueryParameters, query
from streamgauge.workloads.nexmark.statistics import MEASURES, statistics
from streamgauge.workloads.traits import Operator, bounded


def dataflow(df: DataFrame, p: QueryParameters) -> DataFrame:
    """Count bids, distinct bidders and distinct auctions per channel and day, by rank of price."""
    return statistics(df, p, "channel")


WORKLOAD = query(
    16,
    "How many bids, bidders and auctions does each channel have per day, by rank of price?",
    dataflow,
    (
        CHANNEL,
        Field("day", "string", "day of the bids, in UTC"),
        Field("minute", "string", "hour and minute of the last bid"),
        *MEASURES,
    ),
    differences=(
        "nexmark-flink corrects a row with every bid; here it comes once, when the watermark has passed the end of "
        "the day. Counts are exact, not approximate."
    ),
    steps=(Operator.AGGREGATE.step("two chained aggregations for exact distinct counts"),),
    state=bounded("one row per channel and bidder, and per channel and auction, of the open days"),
    closing_events=CLOSING_EVENTS,
)
