"""The generator's own cost: making the events that a query reads, with nothing behind them."""

import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge.engine.session import Session
from streamgauge.engine.source import with_events
from streamgauge.events import Parameters
from streamgauge.workloads import Workload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FIRST_EVENTS_PER_CORE = 50_000
LARGE_JOB_S = 1.0


def columns_read(session: Session, workload: Workload, parameters: Parameters, folder: Path) -> tuple[str, ...]:
    """Return the event columns that the dataflow reads, as Spark's planner prunes them.

    The dataflow is planned, not run, over an empty table with the events' schema. A query that only a stream
    can plan counts as reading everything.
    """
    everything = tuple(f.name for f in workload.events.fields)
    folder.mkdir(parents=True, exist_ok=True)
    schema = ", ".join(f"{f.name} {f.type}" for f in workload.events.fields)
    with suppress(Exception):
        result = workload.dataflow(session.spark.read.schema(schema).parquet(str(folder)), parameters)
        plan = result._jdf.queryExecution().sparkPlan()
        leaves = plan.collectLeaves()
        read = {
            attribute.name() for index in range(leaves.length()) for attribute in _items(leaves.apply(index).output())
        }
        return tuple(name for name in everything if name in read) or everything
    return everything


def _items(sequence: Any) -> list[Any]:
    return [sequence.apply(index) for index in range(sequence.length())]


def _make(session: Session, workload: Workload, parameters: Parameters, columns: tuple[str, ...], events: int) -> float:
    from pyspark.sql import functions as F

    numbers = session.spark.range(0, events, 1, session.cores)
    numbered: DataFrame = numbers.select(F.col("id").alias("n"), F.expr("1436918400000000 + id").alias("time_us"))
    made = with_events(numbered, workload.events, parameters, seed=1).select(*columns)
    started_s = time.perf_counter()
    made.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - started_s


def core_seconds_per_event(
    session: Session, workload: Workload, parameters: Parameters, columns: tuple[str, ...]
) -> float:
    """Measure the difference of a large and a small job, so that the cost of a job cancels out."""
    small = FIRST_EVENTS_PER_CORE * session.cores
    _make(session, workload, parameters, columns, small)
    fast = min(_make(session, workload, parameters, columns, small) for _ in range(2))
    large = small * max(2, min(100, round(LARGE_JOB_S / fast)))
    slow = min(_make(session, workload, parameters, columns, large) for _ in range(2))
    return max(0.0, slow - fast) / (large - small) * session.cores
