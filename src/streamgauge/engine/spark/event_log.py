"""What Spark's event log holds: queries and their progress, stages and tasks joined to the micro-batch they worked for.

Lines may come from a log that is finished, interrupted or still growing. Only what is used is parsed: plans are long.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from streamgauge.engine.spark.log_files import (
    GrowingLog,
    TornError,
    event_log_files,
    is_compacted,
    not_a_log,
    read_lines,
)
from streamgauge.errors import InvalidExperimentError
from streamgauge.measure.batch import observed_batches
from streamgauge.measure.records import MAX_STAGES, LostExecutor, StageRecord, TaskRecord
from streamgauge.secrets import MASK, mask_secrets
from streamgauge.store.spool import Documents, Rows, checked

Progress = dict[str, Any]
_HEAD = b'{"Event":"'
_STREAMING = "org.apache.spark.sql.streaming.StreamingQueryListener$"
_PROGRESS = _HEAD + _STREAMING.encode() + b'QueryProgressEvent"'
MAX_BATCH_ROWS = 10**13
# Logs of these versions are among the tests.
TESTED_VERSIONS = ((3, 5), (4, 0), (4, 1), (4, 2), (4, 3))
OLDEST_MAJOR = 3
# What a line that is not one of Spark's does to code that expects one.
_FOREIGN = (ArithmeticError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


def _task(document: dict[str, Any], batch_id: int, stage_tasks: int) -> TaskRecord:
    info, metrics = document["Task Info"], document.get("Task Metrics") or {}
    read, write = metrics.get("Shuffle Read Metrics", {}), metrics.get("Shuffle Write Metrics", {})
    return TaskRecord(
        batch_id=batch_id,
        stage_id=document["Stage ID"],
        stage_attempt=document["Stage Attempt ID"],
        stage_tasks=stage_tasks,
        task_id=info["Task ID"],
        partition=info.get("Partition ID", info["Index"]),
        attempt=info["Attempt"],
        executor=info["Executor ID"],
        host=info["Host"],
        launched_us=info["Launch Time"] * 1000,
        finished_us=info["Finish Time"] * 1000,
        is_ok=not (info["Failed"] or info["Killed"]),
        run_s=metrics.get("Executor Run Time", 0) / 1e3,
        cpu_s=metrics.get("Executor CPU Time", 0) / 1e9,
        deserialize_s=metrics.get("Executor Deserialize Time", 0) / 1e3,
        gc_s=metrics.get("JVM GC Time", 0) / 1e3,
        input_rows=metrics.get("Input Metrics", {}).get("Records Read", 0),
        shuffle_read_rows=read.get("Total Records Read", 0),
        shuffle_read_bytes=read.get("Local Bytes Read", 0) + read.get("Remote Bytes Read", 0),
        shuffle_wait_s=read.get("Fetch Wait Time", 0) / 1e3,
        shuffle_write_rows=write.get("Shuffle Records Written", 0),
        shuffle_write_bytes=write.get("Shuffle Bytes Written", 0),
        spilled_bytes=metrics.get("Memory Bytes Spilled", 0),
        peak_memory_bytes=metrics.get("Peak Execution Memory", 0),
    )


@dataclass
class QueryLog:
    """What the log says about one run of a streaming query: from its start to its end, or as far as it goes."""

    run_id: str
    query_id: str | None = None
    name: str | None = None
    progress: Documents = field(default_factory=Documents)
    tasks: Rows[TaskRecord] = field(default_factory=partial(Rows, TaskRecord))
    stages: Rows[StageRecord] = field(default_factory=partial(Rows, StageRecord))
    tasks_left_out: int = 0
    shuffle_partitions: int | None = None
    is_ended: bool = False
    failure: str | None = None


@dataclass(frozen=True)
class _Work:
    """For whom a stage works."""

    query: QueryLog
    batch_id: int
    job_id: int
    tasks: int


@dataclass
class ApplicationLog:
    """All that was read of a log so far. Take lines in their order; `queries` has the runs of queries by their ids.

    Of a query, no more than `max_tasks` tasks are kept. What is kept of queries lies on disk, in `folder`.
    """

    max_tasks: int | None = None
    folder: Path | None = None
    spark_version: str | None = None
    application_id: str | None = None
    name: str | None = None
    java: str | None = None
    system: str | None = None
    settings: dict[str, str] = field(default_factory=dict)
    cores: int | None = None
    is_ended: bool = False
    queries: dict[str, QueryLog] = field(default_factory=dict)
    events: int = 0
    unreadable: int = 0
    is_torn: bool = False
    notes: list[str] = field(default_factory=list)
    lost: list[LostExecutor] = field(default_factory=list)
    _run_of_query: dict[str, str] = field(default_factory=dict, repr=False)
    _stages: dict[int, _Work] = field(default_factory=dict, repr=False)
    _executors: dict[str, int] = field(default_factory=dict, repr=False)

    def take(self, line: bytes) -> bool:
        """Read one line; False when it should be read and cannot be."""
        if not line.startswith(_HEAD):
            return not line.strip()
        self.events += 1
        handler = _HANDLERS.get(_kind(line))
        if handler is None:
            return True
        try:
            handler(self, json.loads(line))
        except _FOREIGN:
            return False
        return True

    def query(self, run_id: str, query_id: str | None = None, name: str | None = None) -> QueryLog:
        """Return the run of a query, made when it is first heard of."""
        found = self.queries.get(run_id)
        if found is None:
            rows = Documents(self.folder), Rows(TaskRecord, self.folder), Rows(StageRecord, self.folder)
            found = self.queries[run_id] = QueryLog(run_id, None, None, *rows)
        found.query_id, found.name = found.query_id or query_id, found.name or name
        if query_id:
            self._run_of_query[query_id] = run_id
        return found

    def _take_log_start(self, document: dict[str, Any]) -> None:
        self.spark_version = str(document["Spark Version"])

    def _take_application(self, document: dict[str, Any]) -> None:
        self.application_id, self.name = document.get("App ID"), document.get("App Name")

    def _take_application_end(self, _: dict[str, Any]) -> None:
        self.is_ended = True

    def _take_environment(self, document: dict[str, Any]) -> None:
        self.settings = {str(k): str(v) for k, v in dict(document["Spark Properties"]).items()}
        system = dict(document.get("System Properties") or {})
        self.java = (document.get("JVM Information") or {}).get("Java Version")
        known = [system.get(key) for key in ("os.name", "os.version", "os.arch")]
        self.system = " ".join(str(word) for word in known if word) or None

    def _take_executor(self, document: dict[str, Any]) -> None:
        self._executors[str(document["Executor ID"])] = int(document["Executor Info"]["Total Cores"])
        self.cores = max(self.cores or 0, sum(self._executors.values()))

    def _drop_executor(self, document: dict[str, Any]) -> None:
        executor = str(document["Executor ID"])
        self._executors.pop(executor, None)
        at_us, reason = int(document.get("Timestamp", 0)) * 1000, str(document.get("Removed Reason", ""))
        self.lost.append(LostExecutor(executor, at_us, reason.splitlines()[0] if reason else "no reason given"))

    def _take_query_start(self, document: dict[str, Any]) -> None:
        self.query(str(document["runId"]), str(document["id"]), document.get("name"))

    def _take_progress(self, document: dict[str, Any]) -> None:
        progress = plain_progress(document["progress"])
        # Refuses what is no report of Spark, before it is kept.
        if any(not 0 <= batch.events <= MAX_BATCH_ROWS for batch in observed_batches([progress])):
            raise ValueError("no micro-batch has that many rows")
        query = self.query(str(progress["runId"]), str(progress["id"]), progress.get("name"))
        query.progress.append(progress)

    def _take_query_end(self, document: dict[str, Any]) -> None:
        query = self.query(str(document["runId"]), document.get("id"))
        query.is_ended, query.failure = True, document.get("exception") or None

    def _take_job(self, document: dict[str, Any]) -> None:
        properties = document.get("Properties") or {}
        if "streaming.sql.batchId" not in properties:
            return
        group, query_id = properties.get("spark.jobGroup.id"), properties.get("sql.streaming.queryId")
        # Code of the user inside a query may have a job group of its own.
        run_id = group if group in self.queries else self._run_of_query.get(str(query_id), group)
        query = self.query(str(run_id), query_id)
        partitions = str(properties.get("spark.sql.shuffle.partitions", ""))
        query.shuffle_partitions = int(partitions) if partitions.isdigit() else query.shuffle_partitions
        batch_id, job_id = int(properties["streaming.sql.batchId"]), int(document.get("Job ID", -1))
        for stage in document["Stage Infos"]:
            self._stages[int(stage["Stage ID"])] = _Work(query, batch_id, job_id, int(stage["Number of Tasks"]))
        while len(self._stages) > MAX_STAGES:
            del self._stages[next(iter(self._stages))]

    def _take_task(self, document: dict[str, Any]) -> None:
        work = self._stages.get(document["Stage ID"])
        if work is None:
            return
        if self.max_tasks is not None and len(work.query.tasks) >= self.max_tasks:
            work.query.tasks_left_out += 1
        else:
            work.query.tasks.append(checked(_task(document, work.batch_id, work.tasks)))

    def _take_stage(self, document: dict[str, Any]) -> None:
        info = document["Stage Info"]
        work = self._stages.get(info["Stage ID"])
        if work is not None:
            work.query.stages.append(checked(_stage(info, work)))


_HANDLERS = {
    "SparkListenerLogStart": ApplicationLog._take_log_start,
    "SparkListenerApplicationStart": ApplicationLog._take_application,
    "SparkListenerApplicationEnd": ApplicationLog._take_application_end,
    "SparkListenerEnvironmentUpdate": ApplicationLog._take_environment,
    "SparkListenerExecutorAdded": ApplicationLog._take_executor,
    "SparkListenerExecutorRemoved": ApplicationLog._drop_executor,
    "SparkListenerJobStart": ApplicationLog._take_job,
    "SparkListenerTaskEnd": ApplicationLog._take_task,
    "SparkListenerStageCompleted": ApplicationLog._take_stage,
    f"{_STREAMING}QueryStartedEvent": ApplicationLog._take_query_start,
    f"{_STREAMING}QueryProgressEvent": ApplicationLog._take_progress,
    f"{_STREAMING}QueryTerminatedEvent": ApplicationLog._take_query_end,
}


def _kind(line: bytes) -> str:
    """Return which event a line is about, by its head."""
    return line[len(_HEAD) : line.find(b'"', len(_HEAD))].decode("utf-8", "replace")


def is_wanted(head: bytes) -> bool:
    """Return, by its head, whether a line says something that is read."""
    return head.startswith(_HEAD) and _kind(head) in _HANDLERS


def _time_us(info: dict[str, Any], key: str) -> int | None:
    return int(info[key]) * 1000 if key in info else None


def _stage(info: dict[str, Any], work: _Work) -> StageRecord:
    return StageRecord(
        batch_id=work.batch_id,
        job_id=work.job_id,
        stage_id=info["Stage ID"],
        stage_attempt=info["Stage Attempt ID"],
        stage_tasks=work.tasks,
        name=str(info.get("Stage Name", "")),
        parents=" ".join(str(parent) for parent in info.get("Parent IDs", ())),
        submitted_us=_time_us(info, "Submission Time"),
        finished_us=_time_us(info, "Completion Time"),
        is_ok="Failure Reason" not in info,
    )


def _masked(endpoint: Any) -> Any:
    """Hide the description of a source or sink that holds a secret."""
    if not isinstance(endpoint, dict) or MASK not in mask_secrets({"": endpoint.get("description", "")}).values():
        return endpoint
    return {**endpoint, "description": MASK}


def _parsed(offset: Any) -> Any:
    """Return an offset as its source wrote it; those that are no JSON stay text."""
    if not isinstance(offset, str):
        return offset
    try:
        return json.loads(offset)
    except ValueError:
        return offset


def plain_progress(document: dict[str, Any]) -> Progress:
    """Return a progress document of the log in the form in which listeners get it, where offsets are no text."""
    sources = [
        {key: _parsed(value) if key.endswith("Offset") else value for key, value in _masked(source).items()}
        for source in document["sources"]
    ]
    return {**document, "sources": sources, "sink": _masked(document.get("sink"))}


def read_event_log(
    path: Path, report_progress: Callable[[int, int], None] = lambda _done, _all: None
) -> ApplicationLog:
    """Read a whole log; what is wrong with it is in its notes, and what is no log, or too old, is refused.

    `report_progress` is called with the bytes of its files that have been read, and with all of them.
    """
    log, damaged, before, files = ApplicationLog(), 0, 0, event_log_files(path)
    size = sum(file.stat().st_size for file in files)
    for file in files:
        is_whole = True
        try:
            for line in read_lines(file, is_wanted, partial(_report_after, report_progress, before, size)):
                is_whole = log.take(line)
                damaged += not is_whole
        except TornError:
            log.is_torn = True
        # What cannot be read at the end of a file is a line that breaks off.
        if not is_whole:
            log.is_torn, damaged = True, damaged - 1
        before += file.stat().st_size
    if not log.events:
        raise not_a_log(path)
    log.unreadable = damaged
    log.notes += _version_notes(log.spark_version, path)
    if log.is_torn:
        log.notes.append("the log breaks off in the middle: what came after that is missing")
    if damaged:
        log.notes.append(f"{damaged} lines of the log cannot be read and are left out")
    if is_compacted(path):
        log.notes.append("Spark's history server has compacted the log: jobs and tasks of its older part are missing")
    return log


def _report_after(report_progress: Callable[[int, int], None], before: int, size: int, done: int) -> None:
    report_progress(before + done, size)


def _version_notes(version: str | None, path: Path) -> list[str]:
    """Say how far a log of this version can be trusted; refuse those whose form is not known."""
    if version is None:
        return ["the beginning of the log is missing, and with it Spark's version and settings"]
    match = re.match(r"(\d+)\.(\d+)", version)
    found = (int(match[1]), int(match[2])) if match else (0, 0)
    if found[0] < OLDEST_MAJOR:
        raise InvalidExperimentError(
            f"the log is of Spark {version}, and logs from Spark {OLDEST_MAJOR} on can be read",
            where=str(path),
            remedy="run the application with a newer Spark",
        )
    if found in TESTED_VERSIONS:
        return []
    tested = ", ".join(f"{major}.{minor}" for major, minor in TESTED_VERSIONS)
    return [f"the log is of Spark {version}; reading is tested with logs of {tested}"]


class QueryTasks:
    """The tasks of one run of a query, taken from the log of its application while that grows."""

    def __init__(self, folder: Path, *, query_run_id: str) -> None:
        self._growing = GrowingLog(folder, is_wanted)
        self._log = ApplicationLog(folder=folder)
        self._query = self._log.query(query_run_id)

    @property
    def unreadable(self) -> int:
        """How many lines could not be read: what they held is missing."""
        return self._log.unreadable

    @property
    def lost(self) -> list[LostExecutor]:
        """The executors that the application has lost since the query began."""
        return self._log.lost

    def follow(self) -> None:
        """Read the files that Spark has closed, and delete them: a short run has none."""
        self._take(only_closed=True)

    def all(self) -> Rows[TaskRecord]:
        """Read the rest, and return the tasks in the order in which they finished."""
        self._take(only_closed=False)
        return self._query.tasks

    def _take(self, *, only_closed: bool) -> None:
        for line in self._growing.lines(only_closed=only_closed):
            # Reports of the query come from its listener.
            if not line.startswith(_PROGRESS):
                self._log.unreadable += not self._log.take(line)
