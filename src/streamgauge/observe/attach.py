"""Watch the streaming queries of a user's own application, from inside and while they run.

A run directory is written for every query as it happens, and summed up when the query ends or the watching does.
Nothing here may harm the application: what goes wrong is written to the log of this package, and the queries go on.
"""

import atexit
import logging
import shutil
import tempfile
import threading
from collections.abc import Callable, Collection, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Any, Self

from streamgauge.clock import Clock, SystemClock
from streamgauge.conclude.observed_run import load_of, observed_evidence
from streamgauge.conclude.stored_run import summary_of
from streamgauge.engine.spark.event_log import ApplicationLog, Progress, QueryLog
from streamgauge.engine.spark.tap import RunningQuery, Tap, application_id
from streamgauge.errors import UsageError
from streamgauge.machine.resources import ResourceSampler
from streamgauge.measure import Batch, observed_batches, tells_backlog
from streamgauge.observe.import_log import first_line, query_document, query_notes, workload_name
from streamgauge.observe.observation import find_trigger, observed_configuration, store_observed, store_unseen
from streamgauge.running.lifecycle import Run
from streamgauge.services.state import running_pids, state_folder
from streamgauge.store import RunWriter, open_run, runs_root
from streamgauge.store.layout import disk_access
from streamgauge.store.spool import Documents

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

PERIOD_S = 1.0
# Some hundred megabytes of memory in the application of someone else are the limit.
MAX_TASKS = 200_000

_log = logging.getLogger("streamgauge")
_attached: dict[str, "Attachment"] = {}


def attach(spark: "SparkSession", runs: str | Path | None = None, name: str | None = None) -> "Attachment":
    """Watch all streaming queries of an application, those that run already and those that start later.

    `runs` is where run directories are made, and `name` what a query without a name is called; by default it is the
    name of the application.

    >>> import streamgauge as sg
    >>> gauge = sg.attach(spark)  # doctest: +SKIP
    >>> gauge.detach()[0].verdict  # doctest: +SKIP
    'unknown'
    """
    watched = application_id(spark)
    if watched in _attached:
        raise UsageError(
            f"application {watched} is watched already",
            where="attach",
            remedy="call detach() on what attach returned before",
        )
    # Absolute, because the application may change its folder later.
    root = runs_root(runs).absolute()
    with disk_access("make the folder of runs", root):
        root.mkdir(parents=True, exist_ok=True)
    return Attachment(spark, watched, root, name, SystemClock())


@dataclass
class _Watched:
    """One query, and what has been kept of it."""

    writer: RunWriter
    query: QueryLog
    facts: RunningQuery | None
    documents: Documents = field(default_factory=Documents)
    is_stored: bool = False


class Attachment:
    """The watch over one application; it ends with `detach`, with the `with` block, or with the process."""

    def __init__(self, spark: "SparkSession", application: str, root: Path, name: str | None, clock: Clock) -> None:
        self.failure: Exception | None = None
        self._id, self._root, self._name, self._clock = application, root, name, clock
        self._folder = Path(tempfile.mkdtemp(prefix="streamgauge-attach-"))
        with ExitStack() as undo:
            undo.callback(shutil.rmtree, self._folder, ignore_errors=True)
            self._tap = Tap(spark, self._folder)
            self._since_s = clock.wall_s()
            undo.callback(self._tap.close)
            self._open()
            undo.pop_all()

    def _open(self) -> None:
        self._application = self._tap.application
        self._environment = self._describe_environment()
        self._settings, self._cores = self._tap.settings(), self._tap.cores()
        self._log = ApplicationLog(
            max_tasks=MAX_TASKS,
            application_id=self._id,
            name=self._application,
            spark_version=self._tap.spark_version,
        )
        self._facts = {query.run_id: query for query in self._tap.queries()}
        for query in self._facts.values():
            self._log.query(query.run_id, query.query_id, query.name)
        self._watched: dict[str, _Watched] = {}
        pids = running_pids(state_folder())
        self._sampler = (
            ResourceSampler(self._tap.java_pid, self._clock, other_pids=pids) if self._tap.is_local else None
        )
        if self._sampler is not None:
            self._sampler.start()
        self._end, self._lock = threading.Event(), threading.RLock()
        self._thread = threading.Thread(target=self._run, name="streamgauge", daemon=True)
        self._thread.start()
        _attached[self._id] = self
        atexit.register(self.detach)

    def _describe_environment(self) -> dict[str, Any]:
        from streamgauge.machine.environment import describe_environment

        found = describe_environment()
        packages = {**found["packages"], "pyspark": self._tap.spark_version}
        return found | {"java": self._tap.java_version, "packages": packages}

    @property
    def runs(self) -> tuple[Run, ...]:
        """The runs so far, in the order in which their queries were first seen."""
        with self._lock:
            paths = [watched.writer.path for watched in self._watched.values()]
        stored = [open_run(self._root, str(path.resolve())) for path in paths]
        return tuple(Run(run.run_id, run.path, summary_of(run)) for run in stored)

    def detach(self) -> tuple[Run, ...]:
        """Stop to watch, sum up what was seen, and return the runs; the queries go on."""
        if _attached.get(self._id) is not self:
            return self.runs
        del _attached[self._id]
        atexit.unregister(self.detach)
        self._tap.close()
        self._end.set()
        self._thread.join()
        if self._sampler is not None:
            self._sampler.stop()
        self._carefully(self._collect)
        for watched in list(self._watched.values()):
            self._carefully(partial(self._store, watched))
        shutil.rmtree(self._folder, ignore_errors=True)
        return self.runs

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self.detach()

    def _run(self) -> None:
        while not self._end.wait(PERIOD_S) and self.failure is None:
            self._carefully(self._collect)

    def _carefully(self, work: Callable[[], None]) -> None:
        """Do a part of the work; the application must not suffer from what goes wrong in it."""
        try:
            work()
        except Exception as error:
            if self.failure is None:
                _log.warning("streamgauge cannot keep what it sees: %s", error)
            self.failure = error

    def _collect(self) -> None:
        """Take in what has happened since the last time."""
        for line in self._tap.lines():
            self._log.take(line)
        for query in list(self._log.queries.values()):
            self._keep(query)

    def _keep(self, query: QueryLog) -> None:
        news = [document for document in query.progress if self._is_whole(document)]
        query.progress = Documents()
        watched = self._watched.get(query.run_id)
        if watched is None:
            if not any("addBatch" in document["durationMs"] for document in news) and not query.failure:
                return
            watched = self._watch(query, observed_batches(news))
        for document in news:
            watched.writer.append_progress(document)
            watched.documents.append(document)
        if query.is_ended and not watched.is_stored:
            self._store(watched)

    def _is_whole(self, document: Mapping[str, Any]) -> bool:
        """Return whether a trigger began after the watch did: of others, jobs and tasks were missed."""
        return datetime.fromisoformat(document["timestamp"]).timestamp() >= self._since_s

    def _watch(self, query: QueryLog, batches: list[Batch]) -> _Watched:
        if query.run_id not in self._facts:
            self._facts |= {found.run_id: found for found in self._tap.queries()}
        facts = self._facts.get(query.run_id)
        mode = facts.output_mode if facts else "unknown"
        writer = RunWriter.create(
            self._root,
            workload=workload_name(query, self._name or self._application),
            document={
                "origin": "attach",
                "configuration": self._configuration(query, facts, []),
                "environment": self._environment,
                "query": query_document(query, self._log, []),
                "load": load_of(batches, cores=self._cores, output_mode=mode) if batches else None,
            },
            clock=self._clock,
        )
        watched = _Watched(writer, query, facts)
        with self._lock:
            self._watched[query.run_id] = watched
        return watched

    def _configuration(
        self, query: QueryLog, facts: RunningQuery | None, documents: Collection[Progress]
    ) -> dict[str, Any]:
        return observed_configuration(
            documents,
            query,
            settings=self._settings,
            trigger_s=facts.trigger_s if facts else find_trigger(documents),
            mode=facts.mode if facts else "micro-batch",
        )

    def _store(self, watched: _Watched) -> None:
        """Sum up a query and end its run."""
        if watched.is_stored:
            return
        watched.is_stored = True
        query, writer, documents = watched.query, watched.writer, watched.documents
        notes = query_notes(query, documents)
        failure = first_line(query.failure)
        workload = workload_name(query, self._name or self._application)
        configuration = self._configuration(query, watched.facts, documents)
        about = query_document(query, self._log, notes) | {"failure": failure}
        writer.update(configuration=configuration, query=about)
        batches = observed_batches(documents)
        if not batches:
            store_unseen(writer, workload=workload, failure=failure)
            return
        evidence = observed_evidence(
            batches,
            tells_backlog=tells_backlog(documents),
            configuration=configuration,
            cores=self._cores,
            output_mode=watched.facts.output_mode if watched.facts else "unknown",
            tasks=query.tasks,
            stages=query.stages,
            resources=self._samples(load_of(batches, cores=self._cores, output_mode="")),
            notes=notes,
            failure=failure,
        )
        store_observed(writer, evidence, workload=workload)

    def _samples(self, load: Mapping[str, Any]) -> list[Any]:
        """Return the samples of the processes from the time of a query, and one before and after it."""
        taken = list(self._sampler.samples) if self._sampler is not None else []
        edge_us = round(2e6)
        return [s for s in taken if load["origin_us"] - edge_us <= s.at_us <= load["closed_us"] + edge_us]
