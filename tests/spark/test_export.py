"""Exported programs on Spark: the plan of a run, and the rows of the reference."""

import argparse
import subprocess
import sys
import types
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from prototype.applications import pipeline, source
from streamgauge.bundle import FOLDER
from streamgauge.conclude.verification import FiniteStream
from streamgauge.engine.spark.executed_plan import read_plan
from streamgauge.engine.spark.gate import Gate
from streamgauge.engine.spark.session import Session
from streamgauge.engine.spark.source import read_events
from streamgauge.prototype.executed_plan import mark
from streamgauge.prototype.export import SEED, export_program
from streamgauge.prototype.file.document import load_application
from streamgauge.prototype.graph.application import Application, Data, Flow, PrototypeTask, TaskWindow
from streamgauge.prototype.reference import expected_tuples
from streamgauge.prototype.workload import application_workload
from streamgauge.running.verify import BASE_TIME_US, event_table
from streamgauge.workloads.executed_plan import PlanNode

EXAMPLES = FOLDER / "prototypes"
STREAM = FiniteStream(2000, 200.0, SEED)
# Every kind of routing and work at once, and most kinds of values and flows.
EVERYTHING = pipeline(
    source("steady", 2, data=Data(9, 700, "zipf", 1.1), flow=Flow(rate_per_s=300.0)),
    source("wave", 1, data=Data(5, 40, "nonuniform"), flow=Flow("sin", 600.0, phase_s=7.0, offset_s=1.0)),
    source("bursts", 1, flow=Flow("burst", 100.0, interval_s=3.0, duration_s=1.5, burst_rate_per_s=2000.0)),
    PrototypeTask("filter", 2, ("steady", "bursts"), "balanced", 0.7, filtering=0.6, resized_data=7),
    PrototypeTask("all", 2, ("filter", "wave"), "hash", 0.1, selectivity=1.25),
    PrototypeTask("everywhere", 2, ("all",), "broadcast", 0.1, parse_json=True),
    PrototypeTask("window", 2, ("everywhere",), "none", 0.1, window=TaskWindow("sliding", 4, 2)),
    PrototypeTask("waits", 2, ("all",), "none", 0.0, sojourn_ms=0.01, batch_ms=5.0),
)

# Redistributions with their partitions, and marks of tasks, from the sink to the source.
Outline = list[tuple[Any, Any]]


def outline(node: PlanNode) -> Outline:
    """Leave out all steps but those that redistribute tuples, keep windows, or hold a task."""
    below = [step for child in node.children for step in outline(child)]
    marks = sorted(text for text in node.texts if text.startswith("task "))
    is_kept = node.partitions is not None or marks or node.name.startswith("StateStore")
    return [((node.name, node.partitions, *marks), below)] if is_kept else below


def marks_in(steps: Outline) -> set[str]:
    return {text for (_, _, *marks), below in steps for text in [*marks, *marks_in(below)]}


def expected_counts(application: Application, stream: FiniteStream) -> dict[str, int]:
    workload = application_workload(application, name="sample.yaml")
    parameters = workload.parameters()
    schedule = stream.schedule(workload.events, parameters)
    events = event_table(workload, parameters, schedule, seed=stream.seed, load_us=BASE_TIME_US)
    answer = expected_tuples(events, application, stream.seed)
    if len(application.sinks) == 1:
        return {application.sinks[0].name: answer.num_rows}
    return dict(Counter(answer["task"].to_pylist()))


def counts_in(text: str) -> dict[str, int]:
    return {name: int(number) for name, number in (line.rsplit(": ", 1) for line in text.splitlines())}


def load_program(text: str) -> types.ModuleType:
    module = types.ModuleType("exported")
    exec(compile(text, "exported.py", "exec"), module.__dict__)
    return module


def plan_of(query: Any) -> PlanNode:
    """Return the plan of the last micro-batch of a bounded stream."""
    query.awaitTermination()
    return read_plan(query._jsq.streamingQuery().lastExecution().executedPlan())


def plan_of_run(session: Session, application: Application, folder: Path) -> PlanNode:
    workload = application_workload(application, name="sample.yaml")
    parameters = workload.parameters()
    folder.mkdir()
    STREAM.schedule(workload.events, parameters).save(folder / "schedule.npy")
    Gate(BASE_TIME_US).write(folder)
    partitions = workload.rules.defaults["source_partitions"]
    events = read_events(
        session.spark, workload.events, parameters, seed=SEED, control=folder, source_partitions=partitions
    )
    writer = workload.build(events, parameters, SEED).writeStream.format("noop").trigger(availableNow=True)
    return plan_of(writer.option("checkpointLocation", str(folder / "checkpoint")).start())


def test_a_program_has_the_plan_of_a_run_and_counts_as_the_reference(
    session: Session, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    workload = application_workload(EVERYTHING, name="sample.yaml")
    program = load_program(export_program(EVERYTHING))
    started = []
    start = program.start
    program.start = lambda *given: started.append(start(*given)) or started[0]
    args = argparse.Namespace(rate=round(STREAM.rate_per_s), count=STREAM.events, checkpoint=str(tmp_path / "program"))
    with session.with_conf({**workload.rules.conf, "spark.sql.shuffle.partitions": "2"}):
        events = program.numbers(session.spark, args, 4, 1.0)
        program.count(program.application(program.tuples(events)), args, program.SINKS)
        of_program = outline(plan_of(started[0]))
        assert of_program == outline(plan_of_run(session, EVERYTHING, tmp_path / "run"))
    assert {mark(task.name) for task in EVERYTHING.tasks} <= marks_in(of_program)
    assert counts_in(capsys.readouterr().out) == expected_counts(EVERYTHING, STREAM)


def test_a_program_runs_by_itself_and_counts_as_the_reference(tmp_path: Path) -> None:
    application = load_application(EXAMPLES / "ysb.yaml")
    (tmp_path / "app.py").write_text(export_program(application))
    # Isolated from this environment's paths, so that only installed packages can be imported.
    command = [sys.executable, "-I", "app.py", "--count", "20000", "--rate", "500"]
    found = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert found.returncode == 0, found.stderr
    assert counts_in(found.stdout) == expected_counts(application, FiniteStream(20_000, 500.0, SEED))
