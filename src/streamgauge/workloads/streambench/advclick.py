"""StreamBench AdvClick: clicks joined with the ads they belong to."""

from pydantic import Field as Parameter

from streamgauge.events import Field
from streamgauge.events.ads import EVENTS, AdsEvents
from streamgauge.events.dataframe import DataFrame, F
from streamgauge.workloads.entry import entry
from streamgauge.workloads.traits import Operator, bounded
from streamgauge.workloads.workload import ExpectedAnswer

# Spark drops a record whose time equals the watermark, and the next micro-batch can begin in the same millisecond.
WATERMARK_DELAY_MS = 1


class AdvclickParameters(AdsEvents):
    """Parameters of the events and of the join."""

    ad_window_s: int = Parameter(20, ge=0, le=3600, description="a click counts up to that many seconds after its ad")
    click_window_s: int = Parameter(5, ge=0, le=3600, description="and up to that many seconds before it")


def dataflow(df: DataFrame, p: AdvclickParameters) -> DataFrame:
    """Join each click with its ad, if it came in time."""
    timely = df.withWatermark("created", f"{WATERMARK_DELAY_MS} milliseconds")
    ads = timely.where(F.col("kind") == "ad").select("id", F.col("created").alias("shown"))
    clicks = timely.where(F.col("kind") == "click").select(
        F.col("id").alias("clicked_id"), F.col("created").alias("clicked")
    )
    not_early = F.col("clicked") >= F.col("shown") - F.expr(f"INTERVAL {p.click_window_s} SECONDS")
    not_late = F.col("clicked") <= F.col("shown") + F.expr(f"INTERVAL {p.ad_window_s} SECONDS")
    joined = ads.join(clicks, (F.col("id") == F.col("clicked_id")) & not_early & not_late)
    return joined.select("id", "shown", "clicked")


WORKLOAD = entry(
    __file__,
    question="Which ads were clicked within 20 seconds?",
    events=EVENTS,
    parameters=AdvclickParameters,
    dataflow=dataflow,
    steps=(
        Operator.SHUFFLE.step("shuffle of ads and clicks by identifier"),
        Operator.STREAM_JOIN.step("stream-stream inner join with a range of time"),
    ),
    state=bounded("the ads of the last 20 s and the clicks of the last 5 s; dropped by the watermark"),
    output=(
        Field("id", "string", "identifier of the ad"),
        Field("shown", "timestamp", "when the ad was shown"),
        Field("clicked", "timestamp", "when it was clicked"),
    ),
    watermark_delay_s=lambda _: WATERMARK_DELAY_MS / 1000,
    differences=(
        "The original has a topic for ads and one for clicks and windows over arrival time; here both come in one "
        "stream, 10 ads to 3 clicks, and the windows are over creation time. An ad stays until its time is over, also "
        "when it has been clicked. The first clicks come when ads are old enough; until then there are only ads."
    ),
    answer=ExpectedAnswer(events=30_000),
)
