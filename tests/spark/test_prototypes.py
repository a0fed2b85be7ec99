"""Prototypes on Spark: the answers of the reference, every task once and in its partitions, and loads that are paid."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from pyspark.sql import functions as F

from prototype.applications import ALL, LINEAR, SHRINKING, pipeline, source
from streamgauge.arrivals import Arrivals, Constant
from streamgauge.engine.spark.engine import OpenSpark
from streamgauge.engine.spark.executed_plan import read_plan
from streamgauge.engine.spark.gate import Gate
from streamgauge.engine.spark.jobs import cpu_ns_of
from streamgauge.engine.spark.query import run_to_end
from streamgauge.engine.spark.session import Session
from streamgauge.engine.spark.source import read_events, with_events
from streamgauge.errors import RunFailedError
from streamgauge.prototype.cpu_work import BLOCK_CYCLES, cpu_work
from streamgauge.prototype.executed_plan import find_mismatches, mark
from streamgauge.prototype.graph.application import Application, PrototypeTask, TaskWindow
from streamgauge.prototype.reference import expected_tuples
from streamgauge.prototype.workload import application_workload
from streamgauge.running.lifecycle import execute, new_run
from streamgauge.running.monitor import NoMonitor
from streamgauge.running.verify import event_table
from streamgauge.settings.run_settings import parse_settings
from streamgauge.workloads import Workload
from streamgauge.workloads.executed_plan import PlanNode

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

START_US = 1_700_000_000_123_456
PERIOD_US = 7013
EVENTS = 3000


def _events(session: Session, workload: Workload, events: int = EVENTS) -> "tuple[DataFrame, Any]":
    """Return the same tuples of the sources twice, as Spark and as NumPy make them."""
    arrivals = Arrivals.spaced(np.arange(events), load_us=START_US, period_us=PERIOD_US)
    line = {"base": 0, "events": 1, "segment_us": START_US, "span_us": PERIOD_US, "load_us": START_US}
    # As in a stream, Spark knows of no column that it is never null.
    number = F.nullif(F.col("id"), F.lit(-1))
    rows = session.spark.range(0, events, 1, 2).select(
        number.alias("n"),
        (number * PERIOD_US + START_US).alias("time_us"),
        *(F.lit(value).cast("long").alias(name) for name, value in line.items()),
    )
    parameters = workload.parameters()
    twin = workload.events.table(parameters, seed=5, arrivals=arrivals)
    return with_events(rows, workload.events, parameters, seed=5), twin


def _built(session: Session, application: Application, **parameters: Any) -> "tuple[DataFrame, Any]":
    workload = application_workload(application, name="sample.yaml")
    events, twin = _events(session, workload)
    return workload.build(events, workload.parameters(**parameters), 5), twin


def _partitions(application: Application) -> str:
    return str(next((task.parallelism for task in application.tasks if task.window), 2))


def _conf(application: Application) -> dict[str, str]:
    conf = application_workload(application, name="sample.yaml").rules.conf
    return {**conf, "spark.sql.shuffle.partitions": _partitions(application)}


def _plan(df: "DataFrame") -> PlanNode:
    return read_plan(df._jdf.queryExecution().executedPlan())


def _rows(table: Any) -> list[tuple[Any, ...]]:
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


@pytest.mark.parametrize("name", ALL)
def test_spark_gives_the_answer_of_the_reference_and_runs_every_task_once_in_its_partitions(
    session: Session, name: str
) -> None:
    application = ALL[name]
    with session.with_conf(_conf(application)):
        answer, events = _built(session, application)
        assert find_mismatches(application, _plan(answer)) == []
        got = answer.toArrow()
    expected = expected_tuples(events, application, 5)
    assert got.column_names == expected.column_names
    assert _rows(got) == _rows(expected)


def test_the_arrow_form_gives_the_same_answer_and_the_same_plan(session: Session) -> None:
    tasks = (
        PrototypeTask("first", 2, ("source",), "none", 0.1, filtering=0.5),
        PrototypeTask("second", 1, ("first",), "hash", 0.1),
    )
    application = pipeline(source(), *tasks)
    with session.with_conf(_conf(application)):
        answer, events = _built(session, application, load_form="arrow")
        assert find_mismatches(application, _plan(answer)) == []
        assert _rows(answer.toArrow()) == _rows(expected_tuples(events, application, 5))


def test_a_load_is_paid_below_the_filter_of_its_task(session: Session) -> None:
    with session.with_conf(_conf(SHRINKING)):
        plan = _plan(_built(session, SHRINKING)[0])
    steps = [node for node in plan.walk() if node.name == "Filter" or node.texts & {mark("filter"), mark("cut more")}]
    assert [node.name for node in steps] == ["Filter", "Project", "Filter", "Project"]
    assert [mark("cut more") in node.texts for node in steps] == [False, True, False, False]


def test_a_planted_mismatch_is_found_in_the_plan_of_spark(session: Session) -> None:
    with session.with_conf(_conf(LINEAR)):
        answer, _ = _built(session, LINEAR)
        tasks = (LINEAR.tasks[0], PrototypeTask("second", 5, ("first",), "hash"), PrototypeTask("gone", 5, ("second",)))
        told = find_mismatches(pipeline(*LINEAR.sources, *tasks), _plan(answer))
    assert told == ["second runs in 2 partitions instead of 5", "gone is executed nowhere instead of once"]


def test_a_load_hashes_every_word_once_in_one_chain(session: Session) -> None:
    """Blocks and rest are the same as words hashed one block after the other."""
    text = "x" * (8 * BLOCK_CYCLES)
    rows = session.spark.range(7, 8)
    apart = F.xxhash64("id", F.lit(mark("t")), F.lit(text), F.lit(text), F.lit("x" * 24))
    once = cpu_work(F.col("id"), "t", 2 * BLOCK_CYCLES + 3)
    other = cpu_work(F.col("id"), "u", 2 * BLOCK_CYCLES + 3)
    (row,) = rows.select(apart.alias("apart"), once.alias("once"), other.alias("other")).collect()
    assert row.apart == row.once
    assert row.other != row.once


def test_load_costs_processor_time_and_waiting_does_not(session: Session) -> None:
    def cost(task: PrototypeTask) -> tuple[float, float]:
        with session.with_conf(_conf(LINEAR)):
            workload = application_workload(pipeline(source(), task), name="sample.yaml")
            events, _ = _events(session, workload, 300)
            job = workload.build(events.coalesce(1), workload.parameters(), 5).write.format("noop").mode("overwrite")
            started_s = time.perf_counter()
            cpu_ns = cpu_ns_of(session, job.save)
            return time.perf_counter() - started_s, cpu_ns / 1e9

    _, busy_cpu_s = cost(PrototypeTask("busy", 1, ("source",), processing=3000.0))
    wall_s, idle_cpu_s = cost(PrototypeTask("idle", 1, ("source",), processing=0.0, sojourn_ms=3.0))
    # 0.9 billion words, and 0.9 s of sleep.
    assert busy_cpu_s > 0.2
    assert wall_s > 0.9
    assert idle_cpu_s < 0.3


def test_the_wait_of_a_micro_batch_is_paid_once_in_each_partition_however_many_tuples_there_are(
    session: Session, tmp_path: Path
) -> None:
    waiting = pipeline(source(), PrototypeTask("waiting", 2, ("source",), processing=0.1, batch_ms=1500.0))
    tasks = _run(session, waiting, tmp_path, duration="4s").stored().table("tasks").to_pandas()
    with_events = tasks[tasks["input_rows"] > 0]
    # Hundreds of tuples, of which only the first of each task waits; sleep is never shorter than it is told to be.
    assert len(with_events) >= 4
    assert with_events["run_s"].min() >= 1.5
    assert with_events["run_s"].max() < 30.0


def test_broadcast_tuples_are_in_every_instance_once(session: Session) -> None:
    application = pipeline(source(), PrototypeTask("everywhere", 3, ("source",), "broadcast", 0.0))
    with session.with_conf(_conf(application)):
        answer, _ = _built(session, application)
        placed = answer.groupBy("id", F.spark_partition_id().alias("partition")).count()
        found = placed.groupBy("partition").agg(F.count("*").alias("ids"), F.max("count").alias("most")).collect()
    assert sorted((row.partition, row.ids, row.most) for row in found) == [(k, EVENTS, 1) for k in range(3)]


def test_values_decide_the_partition_where_they_are_hashed(session: Session) -> None:
    application = pipeline(source(), PrototypeTask("hashed", 3, ("source",), "hash", 0.0))
    with session.with_conf(_conf(application)):
        answer, _ = _built(session, application)
        rows = answer.select("value", F.spark_partition_id().alias("partition")).distinct().toPandas()
    assert rows["value"].is_unique
    assert rows["partition"].nunique() == 3


BY_VALUE = TaskWindow("tumbling", 2, 2, "value")
WINDOWED = {
    "windows of windows": pipeline(
        source(),
        PrototypeTask("inner", 1, ("source",), "hash", 0.1, window=BY_VALUE),
        PrototypeTask("outer", 1, ("inner",), "none", 0.1, window=TaskWindow("sliding", 6, 4)),
    ),
    "windows beside a fork, and a fork behind windows": pipeline(
        source(),
        PrototypeTask("first", 2, ("source",), "balanced", 0.1),
        PrototypeTask("left", 1, ("first",), "balanced", 0.1, window=BY_VALUE),
        PrototypeTask("right", 1, ("first",), "balanced", 0.1, window=BY_VALUE),
        PrototypeTask("one", 1, ("right",), "balanced", 0.1),
        PrototypeTask("other", 1, ("right",), "balanced", 0.1),
    ),
}


@pytest.mark.parametrize("name", WINDOWED)
def test_windows_come_out_of_a_stream_as_the_reference_says(session: Session, tmp_path: Path, name: str) -> None:
    application = WINDOWED[name]
    workload = application_workload(application, name="windows.yaml")
    parameters, schedule = workload.parameters(), Constant(100.0).schedule(15.0)
    schedule.with_tail(1, after_s=3600.0).save(tmp_path / "schedule.npy")
    Gate(START_US).write(tmp_path)
    kept: list[Any] = []
    with session.with_conf(_conf(application)):
        events = read_events(
            session.spark,
            workload.events,
            parameters,
            seed=5,
            control=tmp_path,
            source_partitions=2,
            max_rows_per_batch=10_000,
        )
        run_to_end(
            session,
            workload.build(events, parameters, 5),
            lambda batch, _: kept.append(batch.toArrow()),
            output_mode="append",
            checkpoint=tmp_path / "checkpoint",
        )
    twin = event_table(workload, parameters, schedule, seed=5, load_us=START_US)
    before = pc.field("timestamp") < pa.scalar(START_US + 1_800_000_000, pa.timestamp("us", "UTC"))
    assert _rows(pa.concat_tables(kept).filter(before)) == _rows(expected_tuples(twin, application, 5))


def _run(session: Session, application: Application, root: Path, **settings: Any) -> Any:
    workload = application_workload(application, name="sample.yaml")
    parsed = parse_settings(
        **{**workload.rules.defaults, "duration": "2s", "warmup": "1s", "verify": False, **settings}
    )
    return execute(new_run(workload, workload.parameters(), parsed, root, NoMonitor(), session=OpenSpark(session)))


def test_a_prototype_runs_and_keeps_its_text(session: Session, tmp_path: Path) -> None:
    found = _run(session, ALL["star"], tmp_path)
    assert found.summary["events"] == 6000
    configuration = found.stored().document["configuration"]
    assert configuration["parameters"]["application"] == ALL["star"].text
    assert (configuration["rate_per_s"], configuration["source_partitions"]) == (2000.0, 3)


def test_a_run_whose_windows_have_other_partitions_fails_before_its_load(session: Session, tmp_path: Path) -> None:
    with pytest.raises(RunFailedError, match=r"the windows of window runs in 5 partitions instead of 3"):
        _run(session, ALL["tumbling"], tmp_path, shuffle_partitions=5)
    assert session.spark.streams.active == []
