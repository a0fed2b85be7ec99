"""NEXMark query 5: the auctions with the most bids in the last seconds."""

from typing import Literal, Self

from pydantic import Field as Parameter
from pydantic import model_validator

from streamgauge.errors import InvalidExperimentError
from streamgauge.events import Field
from streamgauge.events.dataframe import DataFrame, F
from streamgauge.workloads.nexmark.fields import AUCTION, WINDOW_START
from streamgauge.workloads.nexmark.query import (
    CLOSING_EVENTS,
    VariantParameters,
    add_beam,
    as_event_time,
    bids,
    query,
    watermarked,
)
from streamgauge.workloads.traits import Operator, bounded
from streamgauge.workloads.workload import Window


class HotItems(VariantParameters):
    """Parameters of the sliding window."""

    window_s: int = Parameter(
        10, ge=1, le=3600, description="length of the window, in seconds; a multiple of the slide"
    )
    slide_s: int = Parameter(2, ge=1, le=3600, description="slide of the window, in seconds; Beam has 5")

    @model_validator(mode="after")
    def _panes_fill_windows(self) -> Self:
        if self.window_s % self.slide_s:
            raise InvalidExperimentError(
                f"window_s={self.window_s} is not a multiple of slide_s={self.slide_s}",
                where="--set",
                remedy="choose a window of whole slides",
            )
        return self


def dataflow(df: DataFrame, p: HotItems) -> DataFrame:
    """Count panes of one slide, chain them into windows, and keep the auctions with the highest count of each.

    Panes and windows are named by their last microsecond, a plain timestamp: Spark's own windows are pairs, and pairs
    are slow keys.
    """
    slide_us, length_us = p.slide_s * 1_000_000, p.window_s * 1_000_000
    made = watermarked(bids(df).select("auction", "date_time"), p)
    pane = F.expr(f"timestamp_micros((unix_micros(date_time) div {slide_us}L + 1L) * {slide_us}L - 1L)")
    panes = made.select("auction", as_event_time(pane, "pane", p)).groupBy("auction", "pane").count()
    ends = F.expr(f"explode(sequence(0L, {length_us - slide_us}L, {slide_us}L))").alias("later_us")
    copies = panes.select("auction", "count", "pane", ends)
    moved = F.expr("timestamp_micros(unix_micros(pane) + later_us)")
    parts = copies.select("auction", "count", as_event_time(moved, "window", p))
    windows = parts.groupBy("auction", "window").agg(F.sum("count").alias("num"))
    hottest = windows.groupBy("window").agg(
        F.max("num").alias("most"), F.collect_list(F.struct("num", "auction")).alias("all")
    )
    hot = hottest.select("window", F.expr("inline(filter(all, a -> a.num = most))"))
    start = F.expr(f"timestamp_micros(unix_micros(window) - {length_us - 1}L)")
    return hot.select(start.alias("window_start"), "auction", "num")


WORKLOAD = query(
    5,
    "Which auctions have had the most bids in the last 10 seconds?",
    dataflow,
    (WINDOW_START, AUCTION, Field("num", "bigint", "bids for the auction in the window")),
    parameters=HotItems,
    window=lambda p: Window(p.window_s, p.slide_s, "window_start"),
    differences=(
        "nexmark-flink slides by 2 s, Beam by 5 s (semantics=beam takes that as its default), the paper has an hour "
        "and a minute. Where others count every bid once per window it falls into, panes are counted first and "
        "added up."
    ),
    steps=(
        Operator.AGGREGATE.step("count per pane and auction"),
        Operator.AGGREGATE.step("sum per sliding window"),
        Operator.AGGREGATE.step("auctions with the maximum"),
    ),
    state=bounded("counts per auction and open pane and window"),
    closing_events=CLOSING_EVENTS,
)


class BeamHotItems(HotItems):
    """Beam's defaults."""

    semantics: Literal["flink", "beam"] = Parameter("beam", description="whose definition of the query runs")
    slide_s: int = Parameter(5, ge=1, le=3600, description="slide of the window, in seconds")


add_beam(WORKLOAD, parameters=BeamHotItems)
