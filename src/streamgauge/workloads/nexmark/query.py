"""What the queries share: their parameters, the three kinds of events, and the common part of a workload."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

from pydantic import Field as Parameter

from streamgauge.events import Field
from streamgauge.events.dataframe import Column, DataFrame, F
from streamgauge.events.nexmark import EVENTS, NexmarkEvents
from streamgauge.workloads.entry import entry
from streamgauge.workloads.workload import ExpectedAnswer, Workload

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


class QueryParameters(Watermarked):
    """Parameters of a query that only nexmark-flink's suite defines, or all suites alike."""

    semantics: Literal["flink"] = Parameter("flink", description="whose definition of the query runs")


class VariantParameters(Watermarked):
    """Parameters of a query that nexmark-flink and Beam define differently."""

    semantics: Literal["flink", "beam"] = Parameter("flink", description="whose definition of the query runs")


def persons(df: DataFrame) -> DataFrame:
    """Return the persons."""
    return df.where("event_type = 0")


def auctions(df: DataFrame) -> DataFrame:
    """Return the auctions."""
    return df.where("event_type = 1")


def bids(df: DataFrame) -> DataFrame:
    """Return the bids."""
    return df.where("event_type = 2")


def watermarked(df: DataFrame, p: Any) -> DataFrame:
    """Let events come as late as the parameters allow."""
    return df.withWatermark("date_time", f"{p.watermark_delay_s} seconds")


def as_event_time(column: Column, name: str, p: Any) -> Column:
    """Return a time that Spark takes for an event time, besides the one that has the watermark."""
    return column.alias(name, metadata={EVENT_TIME_MARK: p.watermark_delay_s * 1000})


def dollars_to_euros() -> Column:
    """Return the price times 0.908, as nexmark-flink computes it."""
    return F.expr("cast(0.908 * price AS decimal(23, 3))")


def query(
    number: int,
    question: str,
    dataflow: Callable[[DataFrame, Any], DataFrame],
    output: tuple[Field, ...],
    *,
    parameters: type[NexmarkEvents] = QueryParameters,
    keys: tuple[str, ...] = (),
    invariant: str | None = None,
    closing_events: int = 0,
    **others: Any,
) -> Workload:
    """Make the workload of a query."""
    return entry(
        str(Path(__file__).with_name(f"q{number}.py")),
        question=question,
        events=EVENTS,
        dataflow=dataflow,
        output=output,
        parameters=parameters,
        watermark_delay_s=lambda p: p.watermark_delay_s,
        answer=ExpectedAnswer(keys=keys, invariant=invariant, events=10_000, closing_events=closing_events),
        **others,
    )


def add_beam(workload: Workload, *, keys: tuple[str, ...] | None = None, **changes: Any) -> None:
    """Add Beam's definition of a query as a variant; its reference lies beside it."""
    reference = Path(__file__).with_name(f"{workload.name.removeprefix('nexmark-')}-beam.sql")
    answer = replace(workload.answer, reference=reference, keys=workload.answer.keys if keys is None else keys)
    workload.variants["beam"] = replace(workload, answer=answer, variant="beam", variants={}, **changes)
