"""YSB: views per campaign and window, through a static join and a windowed count."""

from typing import Literal

from pydantic import Field as Parameter

from streamgauge.events import Field
from streamgauge.events.columns import divide
from streamgauge.events.dataframe import DataFrame, F
from streamgauge.events.identifiers import identifier_column
from streamgauge.events.ysb import EVENTS, YsbEvents
from streamgauge.workloads.entry import entry
from streamgauge.workloads.traits import Operator, bounded
from streamgauge.workloads.workload import ExpectedAnswer, Window

TEXT_SCHEMA = (
    "user_id string, page_id string, ad_id string, ad_type string, event_type string, "
    "event_time string, ip_address string"
)
# A larger table is joined by a shuffle instead.
MAX_BROADCAST_ADS = 1_000_000


class YsbParameters(YsbEvents):
    """Parameters of the events and of the query."""

    window_s: int = Parameter(10, ge=1, le=3600, description="length of the tumbling window, in seconds")
    parse_json: bool = Parameter(False, description="read the JSON text and parse all seven fields, or typed columns")
    output: Literal["update", "append"] = Parameter(
        "update", description="counts as they grow, visible with every micro-batch, or once per closed window"
    )


def _campaigns(df: DataFrame, p: YsbParameters) -> DataFrame:
    ads = df.sparkSession.range(p.ads)
    table = ads.select(
        identifier_column("ad", F.col("id"), p.ads).alias("ad_id"),
        identifier_column("campaign", divide(F.col("id"), p.ads_per_campaign), p.campaigns).alias("campaign_id"),
    )
    return F.broadcast(table) if p.ads <= MAX_BROADCAST_ADS else table


def dataflow(df: DataFrame, p: YsbParameters, *, carry: tuple[str, ...] = ()) -> DataFrame:
    """Keep the views, join each ad with its campaign, count per campaign and window."""
    if p.parse_json:
        text = df.select(F.from_json("value", TEXT_SCHEMA).alias("e"), *carry).select("e.*", *carry)
        df = text.withColumn("event_time", F.timestamp_millis(F.col("event_time").cast("long")))
    views = df.where(F.col("event_type") == "view").select("ad_id", "event_time", *carry)
    joined = views.withWatermark("event_time", f"{watermark_delay_s(p) * 1000:.0f} milliseconds").join(
        _campaigns(df, p), "ad_id"
    )
    counts = joined.groupBy("campaign_id", F.window("event_time", f"{p.window_s} seconds")).agg(
        F.count("*").alias("views"), *(F.max(name).alias(name) for name in carry)
    )
    return counts.select("campaign_id", F.col("window.start").alias("window_start"), "views", *carry)


def watermark_delay_s(p: YsbParameters) -> float:
    """Wait exactly as long as the generator can be late, so that no event is ever dropped."""
    return p.max_lateness_s


WORKLOAD = entry(
    __file__,
    question="How many times was each campaign viewed in every 10 seconds?",
    events=EVENTS,
    parameters=YsbParameters,
    dataflow=dataflow,
    steps=(
        Operator.FILTER.step(),
        Operator.MAP.step("project"),
        Operator.TABLE_JOIN.step("broadcast join with a static table"),
        Operator.AGGREGATE.step("windowed count"),
    ),
    state=bounded("one row per campaign and open window; dropped when the watermark passes the window's end"),
    carries=True,
    output=(
        Field("campaign_id", "string", "UUID of the campaign"),
        Field("window_start", "timestamp", "start of the window"),
        Field("views", "bigint", "views of the campaign's ads in the window"),
    ),
    output_mode=lambda p: p.output,
    window=lambda p: Window(p.window_s, p.window_s, "window_start"),
    watermark_delay_s=watermark_delay_s,
    differences=(
        "Event times are scheduled times, not send times or the micro-batch's start. Ads without a campaign are "
        "dropped. Kafka and Redis are involved only with --source kafka and --sink redis, and JSON is parsed only with "
        "the former or with parse_json=true; Yahoo's original includes all three, Databricks' variant none. Unlike "
        "Databricks' generator all 1,000 ads are viewed."
    ),
    answer=ExpectedAnswer(
        keys=("campaign_id", "window_start"),
        events=60_000,
        closing_events=3_000,
    ),
)
