"""Queries of an application of its own, watched while they run."""

import threading
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import functions as F

import streamgauge
from report.rendered import render_report
from streamgauge.engine.spark.session import Session
from streamgauge.errors import UsageError
from streamgauge.measure import check_batches
from streamgauge.observe.attach import Attachment

DEADLINE_S = 60.0
BATCHES = 4


def wait(condition: Callable[[], bool], what: str) -> None:
    end_s = time.monotonic() + DEADLINE_S
    while not condition():
        assert time.monotonic() < end_s, what
        time.sleep(0.05)


def start(session: Session, folder: Path, name: str | None, *, grouped: bool, trigger: str = "100 milliseconds") -> Any:
    source = session.spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1000)
    rows = source.option("numPartitions", 2).load()
    answer = rows.groupBy((F.col("value") % 5).alias("key")).count() if grouped else rows
    writer = answer.writeStream.format("noop").outputMode("update" if grouped else "append")
    writer = writer.option("checkpointLocation", str(folder / f"checkpoint-{name}")).trigger(processingTime=trigger)
    return (writer.queryName(name) if name else writer).start()


def batches_of(gauge: Attachment, workload: str) -> int:
    runs = [run for run in gauge.runs if run.stored().document["workload"] == workload]
    return len(runs[0].stored().batches()) if runs else 0


@pytest.fixture(scope="module")
def watched(session: Session, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Two queries, one started before the watch and one after."""
    folder = tmp_path_factory.mktemp("attach")
    before = start(session, folder, "before", grouped=True, trigger="0 seconds")
    wait(lambda: before.lastProgress is not None, "the first query reports")
    gauge = streamgauge.attach(session.spark, runs=folder / "runs", name="unnamed")
    after = start(session, folder, None, grouped=False)
    try:
        wait(lambda: min(batches_of(gauge, w) for w in ("before", "unnamed")) >= BATCHES, "both queries are seen")
        seen = gauge.runs
        with pytest.raises(UsageError, match="watched already"):
            streamgauge.attach(session.spark, runs=folder / "runs")
        runs = {run.summary["workload"]: run for run in gauge.detach()}
        are_active = before.isActive and after.isActive
    finally:
        before.stop()
        after.stop()
        gauge.detach()
    return {"gauge": gauge, "runs": runs, "seen": seen, "are_active": are_active, "after": str(after.runId)}


def test_the_queries_go_on_when_the_watch_ends(watched: dict[str, Any]) -> None:
    assert watched["are_active"]
    assert watched["gauge"].failure is None
    assert not [thread for thread in threading.enumerate() if thread.name == "streamgauge"]


def test_runs_are_written_as_it_happens(watched: dict[str, Any]) -> None:
    assert {run.summary["reasons"][0] for run in watched["seen"]} == {"the run is still going on"}


@pytest.mark.parametrize("workload", ["before", "unnamed"])
def test_every_micro_batch_has_its_report_and_its_tasks(watched: dict[str, Any], workload: str) -> None:
    stored = watched["runs"][workload].stored()
    batches = stored.batches()
    assert (stored.origin, stored.status) == ("attach", "finished")
    assert check_batches(batches) == []
    assert {b.events for b in batches} == {1000}
    stages = {"before": 2 + 2, "unnamed": 2}[workload]
    counts = Counter(stored.table("tasks")["batch_id"].to_pylist())
    assert {counts[b.batch_id] for b in batches} == {stages}
    assert stored.document["summary"]["stages"]["missing_tasks"] == 0


def test_a_query_that_ran_already_is_seen_from_its_next_micro_batch_on(watched: dict[str, Any]) -> None:
    assert watched["runs"]["before"].stored().batches()[0].batch_id > 0
    assert watched["runs"]["unnamed"].stored().batches()[0].batch_id == 0


def test_what_a_query_says_about_itself_is_stored(watched: dict[str, Any]) -> None:
    settings = {name: run.stored().document["configuration"] for name, run in watched["runs"].items()}
    assert (settings["before"]["trigger_s"], settings["unnamed"]["trigger_s"]) == (0.0, 0.1)
    assert settings["before"]["shuffle_partitions"] == 2
    modes = {name: run.summary["output_mode"] for name, run in watched["runs"].items()}
    assert modes == {"before": "update", "unnamed": "append"}
    assert watched["runs"]["unnamed"].stored().document["query"]["run_id"] == watched["after"]
    assert watched["runs"]["before"].summary["cores"] == 2


def test_processes_are_sampled_and_the_run_can_be_reported(watched: dict[str, Any]) -> None:
    stored = watched["runs"]["before"].stored()
    assert stored.table("resources").num_rows >= 2
    assert "no command of streamgauge repeats it" in render_report([stored])


def test_a_query_that_fails_is_a_failed_run(session: Session, tmp_path: Path) -> None:
    def fail(_: Any, batch_id: int) -> None:
        if batch_id == 1:
            raise ValueError("the disk is full")

    rows = session.spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 10).load()
    with streamgauge.attach(session.spark, runs=tmp_path / "runs") as gauge:
        query = (
            rows.writeStream.queryName("failing")
            .foreachBatch(fail)
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .start()
        )
        wait(lambda: not query.isActive, "the query fails")
        wait(lambda: any(run.stored().status == "failed" for run in gauge.runs), "its run ends with it")
    (run,) = gauge.runs
    assert len(run.stored().batches()) == 1
    assert any("the disk is full" in reason for reason in run.stored().document["reasons"])
