"""NEXMark query 10: bids as a log of files by day and minute."""

from typing import Any

from streamgauge.events import Field
from streamgauge.events.dataframe import DataFrame
from streamgauge.workloads.nexmark.fields import BID
from streamgauge.workloads.nexmark.query import bids, query
from streamgauge.workloads.traits import Operator
from streamgauge.workloads.workload import SinkBehaviour


def dataflow(df: DataFrame, _: Any) -> DataFrame:
    """Add the day and the minute that name a bid's folder."""
    return bids(df).selectExpr(
        "auction",
        "bidder",
        "price",
        "date_time",
        "extra",
        "date_format(date_time, 'yyyy-MM-dd') AS dt",
        "date_format(date_time, 'HH:mm') AS hm",
    )


WORKLOAD = query(
    10,
    "What does it cost to log bids as files by day and minute?",
    dataflow,
    (*BID, Field("dt", "string", "day of the bid"), Field("hm", "string", "minute of the bid")),
    differences=(
        "nexmark-flink writes CSV files into a folder per minute and marks a minute when it is complete; Spark "
        "writes the same folders, and has only the log of the sink as a mark. Verification compares the rows, not "
        "the files. Beam's writing is switched off today."
    ),
    steps=(Operator.FILTER.step(), Operator.MAP.step("date format"), Operator.FILES.step("files by day and minute")),
    sink=SinkBehaviour(folders=("dt", "hm")),
)
