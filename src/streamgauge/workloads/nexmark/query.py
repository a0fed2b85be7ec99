"""What the queries share: their parameters, the three kinds of events, and the common part of a workload."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field as Parameter

from streamgauge.events import Field
from streamgauge.events.nexmark import EVENTS, NexmarkEvents
from streamgauge.workloads.workload import Workload

if TYPE_CHECKING:
    from pyspark.sql import Column, DataFrame

# A cycle of the generator has persons, auctions and bids; four of them pass every filter of the queries.
CLOSING_EVENTS = 200
# Spark's own mark of a column that is an event time.
EVENT_TIME_MARK = "spark.watermarkDelayMs"
# Spark's state of Python processors needs this store.
PYTHON_STATE = {
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    )
}


class Watermarked(NexmarkEvents):
    """Parameters of every query."""

    watermark_delay_s: int = Parameter(4, ge=0, le=86_400, description="how late events may come, in seconds")


class Query(Watermarked):
    """Parameters of a query that only nexmark-flink's suite defines, or all suites alike."""

    semantics: Literal["flink"] = Parameter("flink", description="whose definition of the query runs")


class QueryOfBoth(Watermarked):
    """Parameters of a query that nexmark-flink and Beam define differently."""

    semantics: Literal["flink", "beam"] = Parameter("flink", description="whose definition of the query runs")


def persons(df: "DataFrame") -> "DataFrame":
    """Return the persons."""
    return df.where("event_type = 0")


def auctions(df: "DataFrame") -> "DataFrame":
    """Return the auctions."""
    return df.where("event_type = 1")


def bids(df: "DataFrame") -> "DataFrame":
    """Return the bids."""
    return df.where("event_type = 2")


def watermarked(df: "DataFrame", p: Any) -> "DataFrame":
    """Let events come as late as the parameters allow."""
    return df.withWatermark("date_time", f"{p.watermark_delay_s} seconds")


def as_event_time(column: "Column", name: str, p: Any) -> "Column":
    """Return a time that Spark takes for an event time, besides the one that has the watermark."""
    return column.alias(name, metadata={EVENT_TIME_MARK: p.watermark_delay_s * 1000})


def dollars_to_euros() -> "Column":
    """Return the price times 0.908, as nexmark-flink computes it."""
    from pyspark.sql import functions as F

    return F.expr("cast(0.908 * price AS decimal(23, 3))")


AUCTION = Field("auction", "bigint", "id of the auction")
BIDDER = Field("bidder", "bigint", "id of the person who bids")
PRICE = Field("price", "bigint", "price of the bid, in cents")
CHANNEL = Field("channel", "string", "where the bid comes from")
URL = Field("url", "string", "address of the channel")
BID_TIME = Field("date_time", "timestamp", "when the bid was made")
EXTRA = Field("extra", "string", "padding of the bid")
BID = (AUCTION, BIDDER, PRICE, BID_TIME, EXTRA)
WINDOW_START = Field("window_start", "timestamp", "start of the window")


def query(
    number: int,
    question: str,
    dataflow: "Callable[[DataFrame, Any], DataFrame]",
    output: tuple[Field, ...],
    *,
    operators: str,
    state: str = "none",
    parameters: type[NexmarkEvents] = Query,
    variant: str = "",
    **others: Any,
) -> Workload:
    """Make the workload of a query; its reference lies beside it."""
    return Workload(
        name=f"nexmark-q{number}",
        suite="nexmark",
        question=question,
        events=EVENTS,
        parameters=parameters,
        dataflow=dataflow,
        output=output,
        operators=operators,
        state=state,
        reference=Path(__file__).with_name(f"q{number}{variant}.sql"),
        watermark_delay_s=lambda p: p.watermark_delay_s,
        verify_events=10_000,
        verify_rate_per_s=1000.0,
        **{"output_mode": lambda _: "append"} | others,
    )
