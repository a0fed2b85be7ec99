"""Runs from the event log of an application that knows nothing of streamgauge: one for each run of a query in it."""

from array import array
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from streamgauge.clock import Clock, SystemClock
from streamgauge.conclude.observed_run import observed_evidence
from streamgauge.engine.spark.event_log import ApplicationLog, QueryLog, read_event_log
from streamgauge.errors import InvalidExperimentError, UsageError, closest
from streamgauge.measure import observed_batches, tells_backlog
from streamgauge.measure.batch import refuse_impossible
from streamgauge.measure.records import TaskRecord
from streamgauge.observe.observation import find_trigger, observed_configuration, store_observed, store_unseen
from streamgauge.store import RunWriter, runs_root
from streamgauge.store.run_data import read_run

if TYPE_CHECKING:
    from streamgauge.running.lifecycle import Run

UNNAMED = "query"
# What a damaged log does to code that expects one of Spark's.
_FOREIGN = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)


@dataclass(frozen=True)
class Imported:
    """What came of a log: a run for each of its queries, and what is to be said about the log itself."""

    log: Path
    spark_version: str | None
    application: str | None
    runs: "tuple[Run, ...]"
    notes: tuple[str, ...]

    def document(self) -> dict[str, Any]:
        """Return the answer; the keys are those of `runs import --json`."""
        return {
            "log": str(self.log),
            "spark_version": self.spark_version,
            "application": self.application,
            "notes": list(self.notes),
            "runs": [_listed(run) for run in self.runs],
        }


def _listed(run: "Run") -> dict[str, Any]:
    summary = run.summary
    return {
        "run_id": run.run_id,
        "run_dir": str(run.path),
        "workload": summary["workload"],
        "verdict": summary["verdict"],
        "reasons": summary["reasons"],
        "batches": summary.get("batches", 0),
        "tasks": (summary.get("stages") or {}).get("tasks", 0),
    }


def import_event_log(
    log: str | Path,
    *,
    query: str | None = None,
    runs: str | Path | None = None,
    clock: Clock | None = None,
    report_progress: Callable[[int, int], None] = lambda _done, _all: None,
) -> Imported:
    """Read the event log of a Spark application, and store its streaming queries as runs.

    `query` chooses by name, or by the beginning of an id of a query or of one of its runs. `report_progress` gets the
    bytes of the log that have been read, and all of them.

    >>> import streamgauge as sg
    >>> sg.import_event_log("/var/spark-events/app-20261116093000-0001").runs[0].verdict  # doctest: +SKIP
    'unknown'
    """
    path = Path(log)
    found = read_event_log(path, report_progress)
    chosen = _chosen(found, query, path)
    root = runs_root(runs)
    stored = _store_all(chosen, found, path, root, clock or SystemClock())
    return Imported(path, found.spark_version, found.name or found.application_id, stored, tuple(found.notes))


def _store_all(
    queries: Sequence[QueryLog], log: ApplicationLog, path: Path, root: Path, clock: Clock
) -> "tuple[Run, ...]":
    """Store all queries or none: a log that turns out to be damaged leaves no run behind."""
    writers: list[RunWriter] = []
    try:
        return tuple(_store(query, log, path, root, clock, writers) for query in queries)
    except BaseException as error:
        for writer in writers:
            writer.discard()
        if not isinstance(error, _FOREIGN):
            raise
        raise InvalidExperimentError(
            f"the log holds what Spark does not write ({type(error).__name__}: {error})",
            where=str(path),
            remedy="copy the log again from where Spark wrote it, or import another query of it with --query",
        ) from error


def _refuse_unreadable(writer: RunWriter) -> None:
    """Read back what was stored: impossible numbers are refused by the reader."""
    stored = read_run(writer.path)
    stored.batches()
    for name in ("batches", "latency"):
        stored.table(name)
    for name in ("tasks", "stages"):
        for _ in stored.table_parts(name):
            pass


def _chosen(log: ApplicationLog, wanted: str | None, path: Path) -> list[QueryLog]:
    queries = list(log.queries.values())
    if not queries:
        raise InvalidExperimentError(
            f"no streaming query is in this log, which has {log.events} events of Spark",
            where=str(path),
            remedy="name the log of an application that ran one; batch jobs have no micro-batches",
        )
    if wanted is None:
        return queries
    ids = [q for q in queries if wanted and any(i and i.startswith(wanted) for i in (q.query_id, q.run_id))]
    chosen = [q for q in queries if q.name == wanted] or ids
    if not chosen:
        names = {q.name or q.query_id or q.run_id for q in queries}
        raise UsageError(f'no query "{wanted}" in {path}', where="--query", remedy=closest(wanted, names))
    return chosen


def query_notes(query: QueryLog, documents: Collection[dict[str, Any]]) -> list[str]:
    """Say what the log does not have of a query."""
    said = []
    if documents and not query.tasks:
        said.append("no task of this query was logged: stages, skew and CPU time are not known")
    if query.tasks_left_out:
        said.append(f"{query.tasks_left_out} tasks are left out: {len(query.tasks)} are kept at most")
    return said


def _most_at_once(tasks: Iterable[TaskRecord]) -> int:
    """Count the tasks that ran at the same time, at most."""
    moments, changes = array("q"), array("b")
    for task in tasks:
        moments.extend((task.launched_us, task.finished_us))
        changes.extend((1, -1))
    # At the same moment, tasks end before others begin.
    order = np.lexsort((np.asarray(changes), np.asarray(moments)))
    return int(np.cumsum(np.asarray(changes, dtype=np.int64)[order]).max(initial=0))


def _cores(log: ApplicationLog, query: QueryLog) -> tuple[int, list[str]]:
    if log.cores:
        return log.cores, []
    seen = max(1, _most_at_once(query.tasks))
    return seen, [
        f"the log does not have the number of cores; at most {seen} tasks ran at once, which counts as their number"
    ]


def _environment(log: ApplicationLog, cores: int) -> dict[str, Any]:
    """Return what the log says about where the application ran."""
    return {"java": log.java, "packages": {"pyspark": log.spark_version}, "system": log.system, "cores": cores}


def workload_name(query: QueryLog, otherwise: str | None) -> str:
    """Name a query as it is, or by its application."""
    return query.name or otherwise or UNNAMED


def query_document(query: QueryLog, log: ApplicationLog, notes: Sequence[str]) -> dict[str, Any]:
    """Return which query a run is about, as run.json has it."""
    return {
        "id": query.query_id,
        "run_id": query.run_id,
        "name": query.name,
        "application": {"id": log.application_id, "name": log.name},
        "failure": query.failure,
        "notes": list(notes),
    }


def _store(
    query: QueryLog, log: ApplicationLog, path: Path, root: Path, clock: Clock, writers: list[RunWriter]
) -> "Run":
    documents, failure = query.progress, first_line(query.failure)
    cores, notes = _cores(log, query)
    trigger_s = find_trigger(documents)
    notes = [*log.notes, *notes, *query_notes(query, documents), *_trigger_notes(trigger_s)]
    if not query.is_ended:
        notes.append("the log ends while the query runs")
    configuration = observed_configuration(documents, query, settings=log.settings, trigger_s=trigger_s)
    workload = workload_name(query, log.name)
    writer = RunWriter.create(
        root,
        workload=workload,
        document={
            "origin": "import",
            "configuration": configuration,
            "environment": _environment(log, cores),
            "query": query_document(query, log, notes) | {"failure": failure, "log": path.name},
        },
        clock=clock,
    )
    writers.append(writer)
    for document in documents:
        writer.append_progress(document)
    batches = observed_batches(documents)
    refuse_impossible(batches)
    if not batches:
        return store_unseen(writer, workload=workload, failure=failure, notes=notes)
    evidence = observed_evidence(
        batches,
        tells_backlog=tells_backlog(documents),
        configuration=configuration,
        cores=cores,
        output_mode="unknown",
        tasks=query.tasks,
        stages=query.stages,
        resources=[],
        notes=notes,
        failure=failure,
    )
    run = store_observed(writer, evidence, workload=workload)
    _refuse_unreadable(writer)
    return run


def first_line(failure: str | None) -> str | None:
    """Return the line that says what ended a query."""
    from streamgauge.engine.spark.query import failure_reason

    # What caused an error comes after it, and says more.
    return failure_reason(failure.replace("Caused by: ", "")) if failure else None


def _trigger_notes(trigger_s: float | None) -> list[str]:
    if trigger_s is None:
        return ["the trigger interval is unknown: too few micro-batches"]
    return ["the trigger interval is not in the log; it is inferred from the starts of micro-batches"]
