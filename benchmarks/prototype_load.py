"""What the tasks of prototypes cost: is load linear in `processing`, and what does a task cost without any?

Batch jobs over tuples that Spark makes itself. Loads: one task on one core, CPU time of Spark's own tasks, the fastest
of several repetitions, and the line from which all loads are least far away in relation to their cost. Throughput: the
same tuples without any task, through chained tasks without load, and through the shuffles of an application in the
shape of the Yahoo Streaming Benchmark, with nothing behind them.
"""

import argparse
import time
from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from streamgauge.engine.spark.jobs import cpu_ns_of
from streamgauge.engine.spark.session import Session, SessionSettings, temporary_session
from streamgauge.engine.spark.source import with_events
from streamgauge.prototype.file.document import load_application
from streamgauge.prototype.graph.application import Application, Data, Flow, PrototypeTask, Source
from streamgauge.prototype.workload import application_workload
from streamgauge.report.terminal.console import console, plain_table

YSB = "prototype:ysb-storm"
LOADS = (0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0)
JOB_CYCLES = 100e6
REPETITIONS = 5
ROUNDS = 15


def tuples(session: Session, application: Application, events: int, partitions: int) -> DataFrame:
    numbers = session.spark.range(0, events, 1, partitions)
    zero, one = F.lit(0).cast("long"), F.lit(1).cast("long")
    line = {"base": zero, "events": one, "segment_us": zero, "span_us": one, "load_us": zero}
    arrivals = numbers.select(
        F.col("id").alias("n"), F.col("id").alias("time_us"), *(value.alias(name) for name, value in line.items())
    )
    workload = application_workload(application, name="benchmark")
    return with_events(arrivals, workload.events, workload.parameters(), seed=1)


def save(df: DataFrame) -> None:
    df.write.format("noop").mode("overwrite").save()


def one_task(processing: float) -> Application:
    source = Source("source", 1, Data(), Flow())
    return Application("load", "pipeline", (source,), (PrototypeTask("work", 1, ("source",), processing=processing),))


def load_ns(session: Session, processing: float) -> float:
    """Return the CPU time of a tuple in nanoseconds, that of an empty job taken off."""
    application = one_task(processing)
    workload = application_workload(application, name="benchmark")
    events = max(200, round(JOB_CYCLES / max(50.0, 1000 * processing)))

    def job(count: int) -> int:
        built = workload.build(tuples(session, application, count, 1), workload.parameters(), 1)
        return cpu_ns_of(session, lambda: save(built))

    return (job(events) - job(1)) / events


def fit(costs: dict[float, float]) -> tuple[float, float]:
    """Return intercept and slope of the line with the least squares of relative distances."""
    loads, ns = np.array(list(costs)), np.array(list(costs.values()))
    slope, intercept = np.polyfit(loads, ns, 1, w=1 / ns)
    return float(intercept), float(slope)


def show_loads() -> None:
    with temporary_session(SessionSettings("local[1]", {}, event_log=False)) as session:
        # In turns, so that a slow moment of the machine meets all loads.
        rounds = [[load_ns(session, processing) for processing in LOADS] for _ in range(1 + ROUNDS)]
    costs = dict(zip(LOADS, (min(found) for found in zip(*rounds[1:], strict=True)), strict=True))
    intercept, slope = fit(costs)
    table = plain_table()
    for column in ("processing", "ns per tuple", "line", "error"):
        table.add_column(column, justify="right")
    for processing, ns in costs.items():
        line = intercept + slope * processing
        table.add_row(f"{processing:g}", f"{ns:,.0f}", f"{line:,.0f}", f"{ns / line - 1:+.1%}")
    console().print(table)
    console().print(f"{slope / 1000:.4f} ns per cycle, {intercept:.0f} ns per tuple besides")


def throughput(session: Session, df: DataFrame, events: int, conf: Mapping[str, str]) -> float:
    durations_s = []
    with session.with_conf(conf):
        for _ in range(1 + REPETITIONS):
            started_s = time.perf_counter()
            save(df)
            durations_s.append(time.perf_counter() - started_s)
    return events / min(durations_s)


def without_load(application: Application, **changes: object) -> Application:
    tasks = tuple(replace(task, processing=0.0, window=None, **changes) for task in application.tasks)
    return replace(application, tasks=tasks)


def show_throughput(events: int, cores: int) -> None:
    ysb = load_application(YSB)
    by_value = without_load(replace(ysb, tasks=ysb.tasks[-1:]), parents=("ads",))
    in_turns = without_load(replace(ysb, tasks=ysb.tasks[:1]), parallelism=cores)
    cases: dict[str, tuple[Application, dict[str, str]]] = {
        "all tasks chained": (without_load(ysb, routing="none"), {}),
        "all tasks chained, all tuples forwarded": (without_load(ysb, routing="none", filtering=0.0), {}),
        "as in the file, without window": (without_load(ysb), {}),
        "one task, reached by value": (by_value, {}),
        "one task, reached in turns": (in_turns, {}),
        "one task, reached in turns, sorted before": (in_turns, {"spark.sql.execution.sortBeforeRepartition": "true"}),
    }
    table = plain_table()
    table.add_column("ysb-storm.yaml without load")
    for column in ("tuples/s", "share"):
        table.add_column(column, justify="right")
    with temporary_session(SessionSettings(f"local[{cores}]", {}, event_log=False)) as session:
        made = tuples(session, ysb, events, cores)
        alone = throughput(session, made, events, {})
        table.add_row("source alone", f"{alone:,.0f}", "")
        for name, (application, conf) in cases.items():
            workload = application_workload(application, name="benchmark")
            built = workload.build(made, workload.parameters(), 1)
            reached = throughput(session, built, events, {**workload.rules.conf, **conf})
            table.add_row(name, f"{reached:,.0f}", f"{reached / alone:.0%}")
    console().print(table)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", dest="events", type=int, default=4_000_000)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--only", choices=("loads", "throughput"))
    options = parser.parse_args()
    if options.only != "throughput":
        show_loads()
    if options.only != "loads":
        show_throughput(options.events, options.cores)


if __name__ == "__main__":
    main()
