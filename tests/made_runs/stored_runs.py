"""Runs that never happened, stored as if they had."""

import json
import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from streamgauge.clock import Clock, ManualClock
from streamgauge.conclude.evidence import Evidence
from streamgauge.conclude.summary import conclusion_of
from streamgauge.conclude.tables import batches_table, latency_table
from streamgauge.errors import StreamgaugeError
from streamgauge.measure import Batch
from streamgauge.measure.records import TaskRecord
from streamgauge.running.lifecycle import Run
from streamgauge.running.monitor import Snapshot
from streamgauge.store import RunWriter, StoredRun, open_run
from streamgauge.store.layout import EVENTS_FILE, RUN_FILE
from streamgauge.store.resource_table import resources_table
from streamgauge.store.spool import tables_of

from .samples import ORIGIN_US, evidence

Outcome = dict[str, Any] | StreamgaugeError | KeyboardInterrupt | str

ENVIRONMENT = {
    "streamgauge": "0.1.0",
    "python": "3.11.7",
    "java": "17",
    "packages": {"numpy": "2.4.6", "pyspark": "4.3.0"},
    "system": "Linux-6",
    "processor": "AMD EPYC",
    "cores": 2,
    "memory_bytes": 2**34,
}


def progress(batch: Batch) -> dict[str, Any]:
    """Return the document from which Spark's report of a micro-batch is read, in whole milliseconds."""
    started = datetime.fromtimestamp(batch.started_us / 1e6, UTC)
    whole_ms, commit_ms = ((batch.finished_us - t) // 1000 for t in (batch.started_us, batch.emitted_us))
    return {
        "batchId": batch.batch_id,
        "timestamp": started.isoformat(timespec="milliseconds").replace("+00:00", "Z"),
        "durationMs": {"addBatch": whole_ms - commit_ms, "commitOffsets": commit_ms, "triggerExecution": whole_ms},
        "sources": [{"startOffset": {"n": batch.first}, "endOffset": {"n": batch.last, "left": batch.left}}],
        "stateOperators": [],
        "sink": {"numOutputRows": 1},
    }


def create_run(
    root: Path,
    run: Evidence | None = None,
    *,
    workload: str = "ysb",
    configuration: Mapping[str, Any] | None = None,
    environment: Mapping[str, Any] | None = None,
    clock: Clock | None = None,
) -> RunWriter:
    """Start to store a run, with the settings of its evidence."""
    clock = clock or ManualClock(wall_offset_s=ORIGIN_US / 1e6)
    document = {"environment": ENVIRONMENT | (environment or {})}
    if run is not None:
        document["configuration"] = {**run.settings.document(), "parameters": {}, **(configuration or {})}
    return RunWriter.create(root, workload=workload, document=document, clock=clock)


def offer_load(writer: RunWriter, run: Evidence, until_us: float = math.inf) -> None:
    """Store the load of a run, and the reports of the micro-batches that started in time."""
    maximum = vars(run.maximum) if run.maximum else None
    load = {"origin_us": run.origin_us, "closed_us": run.closed_us, "cores": run.cores, "maximum": maximum}
    writer.update(load=load | {"output_mode": run.output_mode})
    writer.write_schedule(run.schedule)
    for batch in run.batches:
        if batch.started_us <= until_us:
            writer.append_progress(progress(batch))


def begin_run(root: Path, run: Evidence, until_us: float = math.inf, **more: Any) -> RunWriter:
    """Store a run as far as its load."""
    writer = create_run(root, run, **more)
    offer_load(writer, run, until_us)
    return writer


def store_run(
    root: Path,
    run: Evidence,
    *,
    status: str = "finished",
    summary: Mapping[str, Any] | None = None,
    configuration: Mapping[str, Any] | None = None,
    environment: Mapping[str, Any] | None = None,
    workload: str = "ysb",
    clock: Clock | None = None,
    **changes: Any,
) -> StoredRun:
    """Store a whole run, with its tables; `changes` are those of its summary."""
    writer = begin_run(root, run, workload=workload, configuration=configuration, environment=environment, clock=clock)
    writer.write_table("batches", batches_table(run))
    concluded = conclusion_of(run)
    writer.write_table("latency", latency_table(run, concluded.latency))
    if run.tasks:
        writer.write_table("tasks", tables_of(TaskRecord, run.tasks))
    if run.resources:
        writer.write_table("resources", resources_table(run.resources))
    found = {**(summary or json.loads(json.dumps(concluded.summary))), **changes}
    writer.finish(status, summary=found, verdict=found["verdict"], reasons=found["reasons"])
    return open_run(root, writer.run_id)


def store_summary(
    root: Path, summary: Mapping[str, Any] | None, *, status: str = "finished", reasons: Sequence[str] = (), **more: Any
) -> StoredRun:
    """Store a run of which nothing is known but its summary, if it has one, and its reasons."""
    writer = create_run(root, **more)
    verdict = summary["verdict"] if summary else "unknown"
    found = None if summary is None else dict(summary)
    writer.finish(status, summary=found, verdict=verdict, reasons=list(reasons))
    return open_run(root, writer.run_id)


def failed_run(root: Path, reason: str = "no Java 17 or newer was found", **more: Any) -> StoredRun:
    """Store a run that failed before its load."""
    return store_summary(root, None, status="failed", reasons=[reason], **more)


def kill(writer: RunWriter) -> StoredRun:
    """Leave the directory as a killed process does: its document says that it runs, and nobody does."""
    path = writer.path / RUN_FILE
    document = json.loads(path.read_text())
    document["process"] |= {"pid": 2**22 + 1}
    path.write_text(json.dumps(document))
    with (writer.path / EVENTS_FILE).open("ab") as file:
        file.write(b'{"batchId": 999, "timest')
    return open_run(writer.path.parent, writer.run_id)


class FakeRun:
    """Stands in for `run`: stores what `outcomes` says for the first, second … call, else a run that passes.

    An outcome is what differs in the summary, an error that the run ends with, or the status with which it is stored.
    """

    def __init__(self, *outcomes: Outcome | None) -> None:
        self.outcomes = list(outcomes)
        self.calls: list[dict[str, Any]] = []
        self.clock = ManualClock(wall_offset_s=ORIGIN_US / 1e6)

    def __call__(self, *, workload: str, runs: Path, monitor: Any, **arguments: Any) -> Run:
        self.clock.sleep(1.0)
        self.calls.append({"workload": workload, **arguments})
        monitor.show(Snapshot("measure", 1.0, 1.0))
        outcome = self.outcomes.pop(0) if self.outcomes else None
        writer = create_run(Path(runs), workload=workload, clock=self.clock)
        if isinstance(outcome, StreamgaugeError | KeyboardInterrupt):
            is_error = isinstance(outcome, StreamgaugeError)
            writer.finish("failed" if is_error else "interrupted", verdict="unknown", reasons=[str(outcome)])
            if is_error:
                outcome.run_id = writer.run_id
            raise outcome
        changes = outcome if isinstance(outcome, dict) else {}
        summary = {"run_id": writer.run_id, **json.loads(json.dumps(conclusion_of(evidence()).summary)), **changes}
        status = outcome if isinstance(outcome, str) else "finished"
        writer.finish(status, summary=summary, verdict=summary["verdict"], reasons=summary["reasons"])
        return Run(writer.run_id, writer.path, summary)

    @property
    def workloads(self) -> list[str]:
        """What was run, in order."""
        return [call["workload"] for call in self.calls]


class Watcher:
    """Keeps what it is told."""

    def __init__(self, react: Callable[[Snapshot], None] | None = None) -> None:
        self.phases: list[str] = []
        self.react = react

    def show(self, snapshot: Snapshot) -> None:
        self.phases.append(snapshot.phase)
        if self.react:
            self.react(snapshot)
