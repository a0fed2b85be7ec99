"""NEXMark query 8: persons who joined and sold in the same window."""

from pydantic import Field as Parameter

from streamgauge.events import Field
from streamgauge.events.dataframe import DataFrame, F
from streamgauge.workloads.nexmark.fields import WINDOW_START
from streamgauge.workloads.nexmark.query import (
    CLOSING_EVENTS,
    VariantParameters,
    add_beam,
    auctions,
    persons,
    query,
    watermarked,
)
from streamgauge.workloads.traits import Operator, Traits, bounded
from streamgauge.workloads.workload import Window


class NewUsers(VariantParameters):
    """Parameters of the window."""

    window_s: int = Parameter(10, ge=1, le=3600, description="length of the tumbling window, in seconds")


def _both(df: DataFrame, p: NewUsers, *columns: str) -> tuple[DataFrame, DataFrame]:
    df = watermarked(df, p)
    window = F.window("date_time", f"{p.window_s} seconds")
    new = persons(df).select("id", "name", window.alias("joined"))
    return new, auctions(df).select("seller", *columns, window.alias("sold"))


def dataflow(df: DataFrame, p: NewUsers) -> DataFrame:
    """Make sellers distinct per window, then join them with the persons of the same window."""
    new, sold = _both(df, p)
    joined = new.join(
        sold.dropDuplicates(["seller", "sold"]), (new["id"] == sold["seller"]) & (new["joined"] == sold["sold"])
    )
    return joined.selectExpr("id", "name", "joined.start AS window_start")


def beam(df: DataFrame, p: NewUsers) -> DataFrame:
    """Join persons and auctions of the same window."""
    new, sold = _both(df, p, "reserve")
    joined = new.join(sold, (new["id"] == sold["seller"]) & (new["joined"] == sold["sold"]))
    return joined.selectExpr("id", "name", "reserve", "joined.start AS window_start")


ID, NAME = Field("id", "bigint", "id of the person"), Field("name", "string", "name of the person")
WORKLOAD = query(
    8,
    "Who joined and opened an auction within the same 10 seconds?",
    dataflow,
    (ID, NAME, WINDOW_START),
    parameters=NewUsers,
    window=lambda p: Window(p.window_s, p.window_s, "window_start"),
    differences="nexmark-flink emits a row per person and window, Beam a row per auction; the paper has 12 hours.",
    steps=(
        Operator.DEDUPLICATE.step("deduplicate per window"),
        Operator.STREAM_JOIN.step("stream-stream join by key and window"),
    ),
    state=bounded("persons and sellers of the open windows"),
    closing_events=CLOSING_EVENTS,
)
add_beam(
    WORKLOAD,
    dataflow=beam,
    traits=Traits(
        steps=(Operator.STREAM_JOIN.step("stream-stream join by key and window"),),
        state=bounded("persons and auctions of the open windows"),
    ),
    output=(ID, NAME, Field("reserve", "bigint", "reserve of the auction"), WINDOW_START),
)
