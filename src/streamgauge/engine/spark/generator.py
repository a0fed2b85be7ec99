"""The generator's own cost: making the events that a query reads, with nothing behind them."""

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge.engine.spark.session import Session
from streamgauge.events import Parameters
from streamgauge.workloads import Workload

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

FIRST_EVENTS_PER_CORE = 50_000
LARGE_JOB_S = 1.0
MAX_REPETITIONS = 5
SETTLED = 0.95
JOB_DEADLINE_S = 600.0
START_US = 1_436_918_400_000_000


def fields_read(session: Session, workload: Workload, parameters: Parameters, folder: Path) -> tuple[str, ...]:
    """Return the fields of the events that the dataflow reads, as Spark's optimizer prunes them.

    The dataflow is built over an empty stream of files with the events' schema, and never started.
    """
    folder.mkdir(parents=True, exist_ok=True)
    schema = ", ".join(f"{f.name} {f.type}" for f in workload.events.fields)
    empty = session.spark.readStream.schema(schema).parquet(str(folder))
    # The fields do not depend on the seed.
    analyzed = workload.build(empty, parameters, seed=1)._jdf.queryExecution().analyzed()
    optimized = session.spark._jsparkSession.sessionState().optimizer().execute(analyzed)
    used = _ids(optimized.output()) | _references(optimized)
    leaves = [attribute for leaf in _items(optimized.collectLeaves()) for attribute in _items(leaf.output())]
    read = {attribute.name() for attribute in leaves if attribute.exprId().id() in used}
    return tuple(f.name for f in workload.events.fields if f.name in read)


def _ids(attributes: Any) -> set[int]:
    return {attribute.exprId().id() for attribute in _items(attributes)}


def _references(plan: Any) -> set[int]:
    """Return the identities of all columns that some part of a plan uses."""
    used = _ids(plan.references().toSeq())
    return used.union(*(_references(child) for child in _items(plan.children())))


def _items(sequence: Any) -> list[Any]:
    return [sequence.apply(index) for index in range(sequence.length())]


def _make(session: Session, workload: Workload, parameters: Parameters, fields: tuple[str, ...], events: int) -> float:
    from pyspark.sql import functions as F

    from streamgauge.engine.spark.source import with_events

    numbers = session.spark.range(0, events, 1, session.cores)
    start = F.lit(START_US).cast("long")
    line = {"base": F.lit(0), "events": F.lit(events), "segment_us": start, "span_us": F.lit(events), "load_us": start}
    arrivals: DataFrame = numbers.select(
        F.col("id").alias("n"),
        (start + F.col("id")).alias("time_us"),
        *(value.cast("long").alias(name) for name, value in line.items()),
    )
    made = with_events(arrivals, workload.events, parameters, seed=1, fields=fields).select(*fields)
    clock = session.watchdog.clock
    started_s = clock.monotonic_s()
    with session.watchdog.within(JOB_DEADLINE_S, "a job of the generator"):
        made.write.format("noop").mode("overwrite").save()
    return clock.monotonic_s() - started_s


def _fastest(job: Callable[[], float]) -> float:
    """Repeat a job until it gets hardly faster: Java compiles the code of the generator while that runs."""
    best_s = job()
    for _ in range(MAX_REPETITIONS):
        took_s = job()
        is_settled = took_s > SETTLED * best_s
        best_s = min(best_s, took_s)
        if is_settled:
            break
    return best_s


def core_seconds_per_event(
    session: Session, workload: Workload, parameters: Parameters, fields: tuple[str, ...]
) -> float:
    """Measure the difference of a large and a small job, so that the cost of a job cancels out."""
    small = FIRST_EVENTS_PER_CORE * session.cores
    _make(session, workload, parameters, fields, small)
    fast = min(_make(session, workload, parameters, fields, small) for _ in range(2))
    large = small * max(2, min(100, round(LARGE_JOB_S / fast)))
    slow = _fastest(lambda: _make(session, workload, parameters, fields, large))
    # On a machine that is busy with other things the larger job may be the faster one; its own cost is an upper bound.
    cost_s = (slow - fast) / (large - small) if slow > fast else slow / large
    return cost_s * session.cores
