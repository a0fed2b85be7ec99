"""A query of your own: `streamgauge run example:my_query:build --events ysb --rate 50k`.

`build` gets the event stream as a streaming DataFrame and returns the answer as one.
streamgauge starts the query, offers the load, measures, and stops it.
"""

from pyspark.sql import DataFrame
from pyspark.sql import functions as F


def build(df: DataFrame) -> DataFrame:
    """Count the views of each kind of ad in every five seconds."""
    views = df.where(F.col("event_type") == "view").withWatermark("event_time", "1 second")
    return views.groupBy("ad_type", F.window("event_time", "5 seconds")).count()
