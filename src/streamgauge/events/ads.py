"""Advertisements and clicks on them, as StreamBench's AdvClick has them, in one stream.

Ads and clicks come evenly mixed, 30 clicks to 100 ads by default. Ads and clicks are numbered apart, and each click
belongs to one ad and each ad to at most one click, by three steps that all are one-to-one:

1. Clicks are shuffled locally: three times, in blocks of different length that keep their place. A click so moves by
   a sum of six uniform numbers, which is close to the normal law; the blocks are as long as the standard deviation of
   the delay needs.
2. The shuffled number less the clicks of a mean delay is the number of the clicked ad among all clicked ones.
3. Of every 100/30 ads one is clicked; which one is drawn.

So nothing is remembered or sorted, and event n is a function of n. How many clicks make a second is read from the line
on which the arrivals lie: the delays are exact for an even load. When the rate changes, delays follow the rate of the
moment, and around the change some ads are clicked twice and some not at all; the join has one answer all the same.

A click whose ad would lie before the beginning is an ad instead, which is never clicked: the first clicks come after a
mean delay. With a mean below four standard deviations some clicks come before their ads.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import Field as Parameter

from streamgauge.events.columns import divide, modulo
from streamgauge.events.dataframe import Column, DataFrame, F
from streamgauge.events.identifiers import MAX_COUNT, identifier_array, identifier_column
from streamgauge.events.stream import EventStream, Field, Parameters

if TYPE_CHECKING:
    from streamgauge.arrivals import Arrivals
    from streamgauge.events.draw import Longs

ADS = 100
# Lengths of the blocks in standard deviations. A place in a block of length b, before and after the shuffle, has a
# variance of b * b / 6 between them, so the squares add up to 6.
BLOCKS = (1.2, 1.4, 1.6125)
# A prime larger than any block, so that multiplying by it meets every place in a block once.
STEP = 2_147_483_647

_CLICKED, _SHUFFLE = range(1, 3)


class AdsEvents(Parameters):
    """Parameters of advertisements and clicks."""

    click_probability: float = Parameter(
        0.3, ge=0.01, le=1.0, description="share of the ads that are clicked, in whole per cent"
    )
    click_delay_s: float = Parameter(10.0, ge=0.0, le=60.0, description="mean time from ad to click, in seconds")
    click_delay_sd_s: float = Parameter(1.0, ge=0.0, le=20.0, description="its standard deviation, in seconds")

    @property
    def clicks(self) -> int:
        """Clicks per 100 ads."""
        return round(self.click_probability * ADS)


def _frame(rows: DataFrame, p: AdsEvents, seed: int, wanted: Sequence[str]) -> DataFrame:
    from streamgauge.events.draw import draw_column

    n, clicks, total = F.col("n"), p.clicks, ADS + p.clicks
    shuffled = _shuffled(rows.select("*", divide(n * clicks, total).alias("click")), p, seed)
    numbered = shuffled.select("*", (F.col("click") - _clicks_in(p, p.click_delay_s)).alias("clicked"))
    clicked = F.col("clicked")
    first, end = (divide(number * ADS, clicks) for number in (clicked, clicked + 1))
    ad = first + draw_column(clicked, seed=seed, field=_CLICKED, below=STEP) % (end - first)
    is_click = (modulo(n * clicks, total) >= ADS) & (clicked >= 0)
    number = F.when(is_click, divide(ad * total, ADS)).otherwise(n)
    fields = {
        "kind": F.when(is_click, F.lit("click")).otherwise(F.lit("ad")),
        "id": identifier_column("shown", number, MAX_COUNT),
        "created": F.timestamp_millis(divide(F.col("time_us"), 1000)),
    }
    return numbered.select(*(fields[name].alias(name) for name in wanted))


def _shuffled(rows: DataFrame, p: AdsEvents, seed: int) -> DataFrame:
    """Shuffle the clicks; a column for every result that is used twice keeps Spark from computing it twice."""
    from streamgauge.events.draw import draw_column

    click, size, place = F.col("click"), F.col("size"), F.col("place")
    for k, length in enumerate(BLOCKS):
        block = F.greatest(F.lit(1).cast("long"), _clicks_in(p, p.click_delay_sd_s * length))
        placed = rows.withColumn("size", block).withColumn("place", click % size)
        drawn = draw_column(divide(click, size), seed=seed, field=_SHUFFLE + k, below=STEP)
        rows = placed.withColumn("click", click - place + (place * F.lit(STEP).cast("long") + drawn) % size)
    return rows


def _clicks_in(p: AdsEvents, seconds: float) -> Column:
    """Return how many clicks there are in some seconds, by the line of the arrivals."""
    whole = F.col("span_us") * (ADS + p.clicks)
    part = F.col("events") * F.lit(round(seconds * 1e6) * p.clicks).cast("long")
    return divide(part + divide(whole, 2), whole)


def _arrays(p: AdsEvents, seed: int, arrivals: "Arrivals") -> Mapping[str, Any]:
    import numpy as np

    from streamgauge.events.draw import draw

    n, clicks, total = arrivals.n, p.clicks, ADS + p.clicks
    clicked = _shuffled_array(n * clicks // total, p, seed, arrivals) - _clicks_in_array(p, p.click_delay_s, arrivals)
    first, end = clicked * ADS // clicks, (clicked + 1) * ADS // clicks
    ad = first + draw(clicked, seed=seed, field=_CLICKED, below=STEP) % (end - first)
    is_click = (n * clicks % total >= ADS) & (clicked >= 0)
    return {
        "kind": np.where(is_click, "click", "ad").astype(object),
        "id": identifier_array("shown", np.where(is_click, ad * total // ADS, n)),
        "created": arrivals.time_us // 1000 * 1000,
    }


def _shuffled_array(click: "Longs", p: AdsEvents, seed: int, arrivals: "Arrivals") -> "Longs":
    import numpy as np

    from streamgauge.events.draw import draw

    for k, length in enumerate(BLOCKS):
        size = np.maximum(1, _clicks_in_array(p, p.click_delay_sd_s * length, arrivals))
        place = click % size
        drawn = draw(click // size, seed=seed, field=_SHUFFLE + k, below=STEP)
        click = click - place + (place * STEP + drawn) % size
    return click


def _clicks_in_array(p: AdsEvents, seconds: float, arrivals: "Arrivals") -> "Longs":
    whole = arrivals.span_us * (ADS + p.clicks)
    return (arrivals.events * (round(seconds * 1e6) * p.clicks) + whole // 2) // whole


EVENTS = EventStream(
    name="ads",
    summary="advertisements and, seconds later, clicks on some of them",
    fields=(
        Field("kind", "string", "ad or click"),
        Field("id", "string", "identifier of the ad that is shown or clicked"),
        Field("created", "timestamp", "when the ad was shown or clicked, in whole milliseconds"),
    ),
    parameters=AdsEvents,
    frame=_frame,
    arrays=_arrays,
)
