"""NEXMark query 1: the price of every bid in another currency."""

from typing import Any

from streamgauge.events import Field
from streamgauge.events.dataframe import DataFrame
from streamgauge.workloads.nexmark.fields import AUCTION, BID, BID_TIME, BIDDER, EXTRA
from streamgauge.workloads.nexmark.query import VariantParameters, add_beam, bids, dollars_to_euros, query
from streamgauge.workloads.traits import Operator


def dataflow(df: DataFrame, _: Any) -> DataFrame:
    """Convert with 0.908, exactly, to three decimals."""
    return bids(df).select("auction", "bidder", dollars_to_euros().alias("price"), "date_time", "extra")


def beam(df: DataFrame, _: Any) -> DataFrame:
    """Convert with 89 percent of whole cents."""
    return bids(df).selectExpr("auction", "bidder", "price * 89 div 100 AS price", "date_time", "extra")


WORKLOAD = query(
    1,
    "What is the price of every bid in euros?",
    dataflow,
    (AUCTION, BIDDER, Field("price", "decimal(23,3)", "price in euros"), BID_TIME, EXTRA),
    parameters=VariantParameters,
    differences="nexmark-flink multiplies by 0.908 as a decimal number; Beam takes 89 percent and drops the fraction.",
    steps=(Operator.FILTER.step(), Operator.MAP.step()),
)
add_beam(WORKLOAD, dataflow=beam, output=BID)
