"""NEXMark query 6: what a seller's last auctions fetched on average."""

from typing import Any, Literal

from pydantic import Field as Parameter

from streamgauge.events import Field
from streamgauge.events.dataframe import DataFrame
from streamgauge.workloads.nexmark.query import CLOSING_EVENTS, PYTHON_STATE, Watermarked, query
from streamgauge.workloads.nexmark.winners import best, check_open_time, valid_bids
from streamgauge.workloads.traits import Operator, endless
from streamgauge.workloads.workload import RunRules


class SellerAverages(Watermarked):
    """Parameters of the averages."""

    semantics: Literal["beam"] = Parameter("beam", description="whose definition of the query runs")
    last: int = Parameter(10, ge=1, le=1000, description="how many of a seller's last winning bids are averaged")
    open_at_most_s: int = Parameter(
        10, ge=1, le=86_400, description="how long auctions can be open, in seconds; bounds the state"
    )
    wait_s: int = Parameter(2, ge=0, le=3600, description="how long a bid waits for its auction, in seconds")


def _averages(last: int) -> Any:
    """Return the keeper of the last prices; its base class is Spark's, which is imported late."""
    import pandas as pd
    from pyspark.sql.streaming import StatefulProcessor

    class Averages(StatefulProcessor):
        """Adds the winners since the last micro-batch, and averages the last ones by time and price of the bid."""

        def init(self, handle: Any) -> None:
            self.kept = handle.getValueState("kept", "winners bigint, times array<bigint>, prices array<bigint>")

        def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Any:  # noqa: ARG002, N802, N803
            winners, times, prices = self.kept.get() if self.kept.exists() else (0, [], [])
            latest = list(zip(times, prices, strict=True))
            for part in rows:
                winners += len(part)
                latest += list(zip(part["bid_us"].tolist(), part["price"].tolist(), strict=True))
            latest = sorted(latest)[-last:]
            self.kept.update((winners, [time for time, _ in latest], [price for _, price in latest]))
            total, n = sum(price for _, price in latest), len(latest)
            average = (2 * total + n) // (2 * n)
            yield pd.DataFrame({"seller": key, "average_price": [average], "winners": [winners]})

        def close(self) -> None:
            pass

    return Averages()


def dataflow(df: DataFrame, p: SellerAverages) -> DataFrame:
    """Find the winner of each auction natively; keep the last prices of each seller in Python."""
    winners = best(valid_bids(df, p, "seller"), ["seller"], ["price", "bid_us"]).select("seller", "price", "bid_us")
    schema = "seller bigint, average_price bigint, winners bigint"
    return winners.groupBy("seller").transformWithStateInPandas(_averages(p.last), schema, "Append", "None")


WORKLOAD = query(
    6,
    "What did the last 10 auctions of each seller fetch on average?",
    dataflow,
    (
        Field("seller", "bigint", "id of the seller"),
        Field("average_price", "bigint", "mean of the last winning bids, rounded"),
        Field("winners", "bigint", "auctions of the seller with a winning bid so far"),
    ),
    parameters=SellerAverages,
    differences=(
        "Beam's definition; nexmark-flink's does not run in Flink. Beam emits a row per winner, here one per "
        "seller and micro-batch. Spark has no native operator for the last n of a key after another aggregation, so "
        "the last step, about three rows per hundred events, is a Python state."
    ),
    steps=(
        Operator.STREAM_JOIN.step(),
        Operator.AGGREGATE.step("maximum per auction"),
        Operator.PYTHON_STATE.step("last prices per seller in Python"),
    ),
    state=endless(
        "open auctions, bids that may still find their auction, and the last prices of every seller, for ever"
    ),
    keys=("seller",),
    closing_events=CLOSING_EVENTS,
    rules=RunRules(conf=PYTHON_STATE, limits=check_open_time),
)
