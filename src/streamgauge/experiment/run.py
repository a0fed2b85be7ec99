"""One run: start, verify, warm-up, measure, drain, stop; stored as it happens.

The answer is verified before the load, not after it: the same query then runs in a Java process that has compiled
it already, so the load meets a warm engine, and a wrong answer is known before time is spent on measuring it.
"""

import os
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge.arrivals import Schedule
from streamgauge.clock import Clock, SystemClock
from streamgauge.errors import RunFailedError, StreamgaugeError, UsageError
from streamgauge.events import Parameters, event_stream
from streamgauge.experiment.evidence import Evidence, External, GeneratorCost, Maximum
from streamgauge.experiment.explore import SHARE, explores, sizes, telling
from streamgauge.experiment.interrupts import Interrupts, counted_interrupts
from streamgauge.experiment.modes import check_mode
from streamgauge.experiment.monitor import Monitor, NoMonitor, Snapshot
from streamgauge.experiment.recount import recount_embedded
from streamgauge.experiment.settings import RunSettings, parse_settings
from streamgauge.experiment.sinks import NoSink, connector_conf, open_sink
from streamgauge.experiment.summary import summarise
from streamgauge.measure import Batch, batch_from_progress
from streamgauge.store import SCHEMA_VERSION, RunWriter, StoredRun, default_root, open_run, sweep_scratch
from streamgauge.suite.settings import with_defaults
from streamgauge.verdict import Verdict
from streamgauge.workloads import Workload, find_workload
from streamgauge.workloads.parameters import choose_variant
from streamgauge.workloads.user import is_user_function, user_workload
from streamgauge.workloads.workload import BatchStep

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from streamgauge.engine.eventlog import Task
    from streamgauge.engine.executors import Survey
    from streamgauge.engine.query import Query
    from streamgauge.engine.session import Session

START_DEADLINE_S = 180.0
POLL_S = 0.1
ONLINE_SHARE = 0.5


@dataclass(frozen=True)
class Run:
    """A finished run: its numbers, and where the rest of it is stored."""

    run_id: str
    path: Path
    summary: Mapping[str, Any]

    @property
    def verdict(self) -> str:
        """Pass, fail or unknown."""
        return str(self.summary["verdict"])

    def stored(self) -> StoredRun:
        """Open the run directory."""
        return open_run(self.path.parent, str(self.path))

    def to_pandas(self, table: str = "batches") -> Any:
        """Return a table of the run as a pandas DataFrame: micro-batches, or "tasks", "resources", "latency"."""
        return self.stored().to_pandas(table)

    def _repr_html_(self) -> str:
        return self.stored()._repr_html_()


def resolve_workload(reference: str, events: str | None) -> Workload:
    """Find what a user named: an entry of the catalogue, a prototype file, or a function of their own."""
    if is_user_function(reference):
        return user_workload(reference, event_stream(events or "ysb"))
    workload = find_workload(reference)
    if events is not None:
        raise UsageError(
            f"{reference} has its own events",
            where="--events",
            remedy="use --events only with file.py:function",
        )
    return workload


def prepare(
    workload: str,
    events: str | None,
    parameters: Mapping[str, Any] | None,
    settings: Mapping[str, Any],
    *,
    usual: Mapping[str, Any] | None = None,
) -> tuple[Workload, Parameters, RunSettings]:
    """Read what a user asks for, and refuse what cannot run, before anything is started.

    Settings that are not given, or None, are those of the workload, or else the `usual` ones of the command.
    """
    chosen, checked = choose_variant(resolve_workload(workload, events), parameters or {})
    parsed = parse_settings(**with_defaults(settings, chosen.defaults, usual))
    chosen.check(checked, parsed.law.mean_rate_per_s(parsed.load_s))
    check_mode(chosen, checked, parsed)
    return chosen, checked, parsed


def run(
    workload: str,
    *,
    events: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    runs: str | Path | None = None,
    monitor: Monitor | None = None,
    session: "Session | None" = None,
    **settings: Any,
) -> Run:
    """Measure a workload. Settings are those of the command line: `rate="200k", duration="60s", cores=2`.

    >>> import streamgauge as sg
    >>> sg.run("ysb", rate="200k", duration="60s").verdict  # doctest: +SKIP
    'pass'
    """
    chosen, checked, parsed = prepare(workload, events, parameters, settings)
    root = Path(runs) if runs is not None else default_root(os.environ)
    return experiment(chosen, checked, parsed, root, monitor or NoMonitor(), SystemClock(), session).execute()


def experiment(
    workload: Workload,
    parameters: Parameters,
    settings: RunSettings,
    root: Path,
    monitor: Monitor,
    clock: Clock,
    session: "Session | None" = None,
) -> "Experiment":
    """Return the run in the making that the settings ask for."""
    if settings.latency == "record":
        from streamgauge.experiment.record_run import RecordExperiment

        return RecordExperiment(workload, parameters, settings, root, monitor, clock, session)
    if settings.source == "kafka":
        from streamgauge.experiment.kafka_run import KafkaExperiment

        return KafkaExperiment(workload, parameters, settings, root, monitor, clock, session)
    return Experiment(workload, parameters, settings, root, monitor, clock, session)


def _executors_here(session: "Session", found: "Survey | None") -> list[int]:
    """Return the processes of a cluster's executors that run on this machine, where they can be watched."""
    return [] if found is None else found.pids_here(str(session.spark.sparkContext.applicationId))


@dataclass
class Experiment:
    """One run in the making."""

    workload: Workload
    parameters: Parameters
    settings: RunSettings
    root: Path
    monitor: Monitor
    clock: Clock
    session: "Session | None" = None
    batches: list[Batch] = field(default_factory=list)
    # Micro-batches after the load, which are no part of the measurement, and their tasks.
    explored: list[Batch] = field(default_factory=list)
    explored_tasks: "list[Task]" = field(default_factory=list)
    is_exploring: bool = False
    step: BatchStep | None = None
    phase: str = "start"
    fields: tuple[str, ...] | None = None
    maximum: Maximum | None = None
    notes: list[str] = field(default_factory=list)
    # Columns of the events that the query carries to its sink.
    carry: tuple[str, ...] = ()

    def execute(self) -> Run:
        """Run it, and store it whatever happens."""
        from streamgauge.engine.environment import describe_environment

        sweep_scratch(self.root)
        writer = RunWriter.create(
            self.root,
            workload=self.workload.name,
            document={"configuration": self._configuration(), "environment": describe_environment()},
            clock=self.clock,
        )
        self.started_s = self.phase_started_s = self.clock.monotonic_s()
        try:
            self.sink = open_sink(self.settings, self.workload, self.parameters)
            evidence = self._measure(writer)
        except StreamgaugeError as error:
            writer.finish("failed", verdict="unknown", reasons=[str(error)])
            error.run_id = writer.run_id
            error.add_note(f"what there is of the run is stored in {writer.path}")
            raise
        except KeyboardInterrupt:
            writer.finish("interrupted", verdict="unknown", reasons=["interrupted before the load had ended"])
            raise
        except BaseException as error:
            writer.finish("failed", verdict="unknown", reasons=[f"{type(error).__name__}: {error}"])
            raise
        return self._store(writer, evidence)

    def _configuration(self) -> dict[str, Any]:
        from streamgauge.engine.environment import mask_secrets

        document = self.settings.document() | {"parameters": self.parameters.model_dump()}
        return document | {"conf": mask_secrets(document["conf"])}

    def _enter(self, phase: str) -> None:
        self.phase, self.phase_started_s = phase, self.clock.monotonic_s()
        self._show()

    def _show(self) -> None:
        now_s = self.clock.monotonic_s()
        snapshot = Snapshot(self.phase, now_s - self.started_s, now_s - self.phase_started_s)
        busy = [b for b in self.batches[-10:] if b.events]
        if busy:
            last = busy[-1]
            span_s = (last.emitted_us - busy[0].started_us) / 1e6
            snapshot = Snapshot(
                snapshot.phase,
                snapshot.elapsed_s,
                snapshot.phase_s,
                processed_rate_per_s=(last.last - busy[0].first) / span_s if span_s > 0 else None,
                backlog_events=self._backlog(last),
                end_to_end_latency_s=None if self.settings.is_offline else self._latency_s(last),
                batches=len(self.batches),
            )
        self.monitor.show(snapshot)

    def _backlog(self, batch: Batch) -> int:
        now_us = min(round(self.clock.wall_s() * 1e6), self.closed_us)
        return int(self.schedule.created(now_us - self.origin_us)) - batch.last

    def _latency_s(self, batch: Batch) -> float:
        middle = (batch.first + batch.last - 1) // 2
        return (batch.emitted_us - self.origin_us - int(self.schedule.times_us(middle))) / 1e6

    def _measure(self, writer: RunWriter) -> Evidence:
        from streamgauge.engine.session import SessionSettings, open_session

        self._enter("starting Spark")
        with ExitStack() as stack:
            interrupts = stack.enter_context(counted_interrupts())
            session = self.session
            if session is None:
                spark_settings = SessionSettings(self.settings.master, self._session_conf())
                session = stack.enter_context(open_session(spark_settings, scratch=writer.work, log=writer.log))
            return self._completed(session, writer, self._measure_with(session, writer, interrupts))

    def _completed(self, _session: "Session", writer: RunWriter, evidence: Evidence) -> Evidence:
        """Add what the sink holds when the query has ended."""
        if isinstance(self.sink, NoSink):
            return evidence
        self._enter("recount")
        found = recount_embedded(self.workload, self.parameters, self.sink.read, evidence=evidence)
        external = External(has_generator=False, recount=found, details=self._details(writer, evidence))
        return replace(evidence, external=external)

    def _details(self, writer: RunWriter, evidence: Evidence) -> Mapping[str, Any]:
        """Return what the sink tells besides its rows, and store its table."""
        window_s = evidence.window.length_s if evidence.window else None
        details, table = self.sink.details(window_s, evidence.measured_from_us, evidence.closed_us)
        if table is not None:
            writer.write_table(self.settings.sink, table)
        return details

    def _session_conf(self) -> Mapping[str, str]:
        """Return the settings of Spark: those of the user, and the connector that the sink needs."""
        return connector_conf(self.settings, self._note) if self.sink.needs_connector else self.settings.conf

    def _note(self, text: str) -> None:
        """Keep what a reader of the results should know."""
        self.notes.append(text)

    def _measure_with(self, session: "Session", writer: RunWriter, interrupts: Interrupts) -> Evidence:
        from streamgauge.engine.executors import executor_use, survey
        from streamgauge.engine.resources import ResourceSampler

        cores = session.cores
        partitions = self.settings.shuffle_partitions or cores
        session.spark.conf.set("spark.sql.shuffle.partitions", str(partitions))
        answer, generator = self._check(session, writer) if self.settings.verify else (None, None)
        if self.settings.load == "online":
            self._find_maximum(session, writer)
        self.schedule: Schedule = self.settings.law.schedule(self.settings.load_s)
        writer.write_schedule(self.schedule)
        query, output_mode = self._start(session, writer, cores)
        interrupts.be_patient()
        before = None if session.settings.is_local else survey(session)
        sampler = ResourceSampler(session.process.pid, self.clock, executor_pids=_executors_here(session, before))
        sampler.start()
        try:
            maximum = asdict(self.maximum) if self.maximum else None
            self._load(query, writer, interrupts, {"cores": cores, "output_mode": output_mode, "maximum": maximum})
            sampler.stop()
            is_interrupted = interrupts.count > 0
            self._explore(query, interrupts)
        finally:
            sampler.stop()
            self._enter("stopping the query")
            query.stop()
        executors = executor_use(before, survey(session, looks=1)) if before else []
        self._enter("reading Spark's event log")
        tasks = self._counted_tasks(query)
        window = self.workload.window(self.parameters) if self.workload.window else None
        return Evidence(
            settings=self.settings,
            schedule=self.schedule,
            origin_us=self.origin_us,
            closed_us=self.closed_us,
            batches=self.batches,
            cores=cores,
            output_mode=output_mode,
            window=window,
            watermark_delay_s=self.workload.watermark_delay_s(self.parameters),
            tasks=tasks,
            resources=sampler.samples,
            answer=answer,
            generator=generator,
            maximum=self.maximum,
            convergence=self.step.series if self.step else None,
            # Asynchronous progress leaves out entries of the commit log.
            reported_batches=None if self.settings.mode == "micro-batch-async" else self._reported(query),
            is_interrupted=is_interrupted,
            executors=executors,
            clocks=list(before.clocks) if before else [],
            lost=query.lost_executors() if before else [],
        )

    def _find_maximum(self, session: "Session", writer: RunWriter) -> None:
        """Process the load offline, as a run inside this one, and go on at half of the rate that it reached."""
        settings = replace(self.settings, load="offline", verify=False)
        root = writer.path / "offline"
        found = experiment(self.workload, self.parameters, settings, root, self.monitor, self.clock, session).execute()
        if found.stored().status == "interrupted":
            raise KeyboardInterrupt
        rate_per_s = found.summary["processed_rate_per_s"]
        if rate_per_s is None:
            raise RunFailedError(
                f"the offline load of {found.summary['events']:,} events had too few micro-batches to tell the maximum",
                remedy="raise --rate or --duration, or lower --max-rows-per-batch",
            )
        self.maximum = Maximum(rate_per_s, found.run_id, Verdict(found.verdict), tuple(found.summary["reasons"]))
        self.settings = replace(self.settings, rate_per_s=ONLINE_SHARE * rate_per_s)
        mean_per_s = self.settings.law.mean_rate_per_s(self.settings.load_s)
        self.parameters = self.workload.at_rate(self.parameters, mean_per_s)
        writer.update(configuration=self._configuration())

    def _events(self, session: "Session", writer: RunWriter, cores: int) -> "DataFrame":
        """Return the stream of events that the query reads."""
        from streamgauge.engine.source import read_events

        self.control = writer.work / "control"
        self.control.mkdir()
        offered = self.schedule.repeated() if explores(self.settings, self.workload) else self.schedule
        offered.save(self.control / "schedule.npy")
        return read_events(
            session.spark,
            self.workload.events,
            self.parameters,
            seed=self.settings.seed,
            control=self.control,
            source_partitions=self.settings.source_partitions or cores,
            max_rows_per_batch=self.settings.max_rows_per_batch,
            admission_target_s=self.settings.admission_target_s,
            fields=self._fields(session, writer),
        )

    def _batch(self, progress: Mapping[str, Any]) -> Batch | None:
        """Read the progress of one micro-batch; None for a trigger that ran none."""
        return batch_from_progress(progress)

    def _start(self, session: "Session", writer: RunWriter, cores: int) -> "tuple[Query, str]":
        from streamgauge.engine.query import start_query

        self._enter("starting the query")
        self.sink.prepare()
        df = self._events(session, writer, cores)

        def receive(progress: dict[str, Any]) -> None:
            if not self.is_exploring:
                writer.append_progress(progress)
            batch = self._batch(progress)
            if batch is not None:
                (self.explored if self.is_exploring else self.batches).append(batch)

        if self.workload.each_batch is not None:
            self.step = self.workload.each_batch(self.parameters, self.settings.seed)
        with session.with_conf(self.workload.conf):
            query, output_mode = start_query(
                session,
                self.workload.build(df, self.parameters, self.settings.seed, carry=self.carry),
                output_mode=self._output_mode(),
                trigger_s=self.settings.trigger_s,
                checkpoint=writer.work / "checkpoint",
                receive=receive,
                where=self.workload.name,
                folders=self.workload.folders,
                each_batch=self.step,
                write=self.sink.write,
                mode=self.settings.mode,
            )
        try:
            self._await_start(query)
            if self.workload.check_plan is not None:
                self.workload.check_plan(query.executed_plan())
        except StreamgaugeError:
            query.stop()
            raise
        return query, output_mode

    def _output_mode(self) -> str | None:
        return self.workload.output_mode(self.parameters)

    def _await_start(self, query: "Query") -> None:
        """Wait until the query is at work."""
        query.wait(lambda: bool(self.batches), deadline_s=START_DEADLINE_S, what="the first micro-batch")

    def _load(
        self, query: "Query", writer: RunWriter, interrupts: Interrupts, circumstances: Mapping[str, Any]
    ) -> None:
        """Open the gate, let the load run, and wait until all of it is processed or the deadline is over."""
        self.origin_us = self._begin()
        self.closed_us = self.origin_us + round(self.settings.load_s * 1e6)
        self._open_gate(writer, circumstances)
        measure_us = self.origin_us + round(self.settings.warmup_s * 1e6)
        if not self.settings.is_offline:
            self._enter("warm-up")
        while (now_us := round(self.clock.wall_s() * 1e6)) < self.closed_us and not interrupts.count:
            if self.phase == "warm-up" and now_us >= measure_us:
                self._enter("measure")
            self._tick(query)
        if interrupts.count:
            self.closed_us = min(self.closed_us, round(self.clock.wall_s() * 1e6))
            self._open_gate(writer, circumstances)
        self._enter("all events at once" if self.settings.is_offline else "drain")
        # There is no load to end early where all events are there: the first interrupt ends the wait.
        patience = 1 if self.settings.is_offline else 2
        offered = int(self.schedule.created(self.closed_us - self.origin_us))
        deadline_s = self.clock.monotonic_s() + self.settings.deadline_s
        while (
            not self._has_processed(offered) and interrupts.count < patience and self.clock.monotonic_s() < deadline_s
        ):
            self._tick(query)

    def _explore(self, query: "Query", interrupts: Interrupts) -> None:
        """Let micro-batches of other sizes run for a while; what goes wrong with them does not spoil the run."""
        from streamgauge.engine.source import Gate

        created = int(self.schedule.created(self.closed_us - self.origin_us))
        if not explores(self.settings, self.workload) or interrupts.count or not self._has_processed(created):
            return
        self._enter("micro-batches of other sizes")
        self.is_exploring = True
        end_s = self.clock.monotonic_s() + SHARE * self.settings.duration_s
        deadline_s = end_s + self.settings.drain_s
        try:
            warm_us = self.origin_us + round(self.settings.warmup_s * 1e6)
            for events, ahead_us in sizes(self.batches, after_us=warm_us):
                if self.clock.monotonic_s() >= end_s:
                    break
                created += events
                Gate(self.origin_us + ahead_us, self.closed_us, created).write(self.control)
                while not self.explored or self.explored[-1].last < created:
                    if interrupts.count or self.clock.monotonic_s() > deadline_s:
                        return
                    self._tick(query)
        except StreamgaugeError as error:
            self._note(f"micro-batches of other sizes, after the load, were broken off: {error.what}")

    def _counted_tasks(self, query: "Query") -> "list[Task]":
        """Return the tasks of the run, and keep those of explored micro-batches apart."""
        explored = {batch.batch_id for batch in self.explored}
        tasks = query.tasks()
        self.explored_tasks = [task for task in tasks if task.batch_id in explored]
        return [task for task in tasks if task.batch_id not in explored]

    def _reported(self, query: "Query") -> int | None:
        """Return how many micro-batches of the run Spark has committed, by its own log."""
        committed = query.batches_run()
        return None if committed is None else committed - len(self.explored)

    def _has_processed(self, offered: int) -> bool:
        """Tell whether all of the offered events are processed."""
        return self.batches[-1].last >= offered

    def _begin(self) -> int:
        """Let the load begin, and return when: microseconds since the epoch."""
        load_us = round(self.settings.load_s * 1e6)
        return round(self.clock.wall_s() * 1e6) - (load_us if self.settings.is_offline else 0)

    def _open_gate(self, writer: RunWriter, circumstances: Mapping[str, Any]) -> None:
        """Let the load run from `origin_us` to `closed_us`, and store that it does."""
        from streamgauge.engine.source import Gate

        Gate(self.origin_us, self.closed_us).write(self.control)
        writer.update(load={"origin_us": self.origin_us, "closed_us": self.closed_us, **circumstances})

    def _tick(self, query: "Query") -> None:
        query.check()
        self._show()
        self.clock.sleep(POLL_S)

    def _check(self, session: "Session", writer: RunWriter) -> tuple[Any, GeneratorCost | None]:
        """Verify the answer on a short finite stream, and measure what the generator costs by itself."""
        from streamgauge.engine.generator import core_seconds_per_event
        from streamgauge.experiment.verify import default_stream, verify_workload

        answer = None
        if self.workload.has_reference:
            self._enter("verify")
            stream = default_stream(self.workload)
            answer = verify_workload(
                session, self.workload, self.parameters, stream, folder=writer.work / "verification"
            )
        self._enter("measuring the generator")
        fields = self._fields(session, writer)
        cost = core_seconds_per_event(session, self.workload, self.parameters, fields)
        return answer, GeneratorCost(cost, fields)

    def _fields(self, session: "Session", writer: RunWriter) -> tuple[str, ...]:
        """Return the fields that the dataflow reads, found once: the dataflow is planned for it."""
        from streamgauge.engine.generator import fields_read

        if self.fields is None:
            self.fields = fields_read(session, self.workload, self.parameters, writer.work / "empty")
        return self.fields

    def _store(self, writer: RunWriter, evidence: Evidence) -> Run:
        from streamgauge.engine.eventlog import tasks_table
        from streamgauge.engine.resources import resources_table
        from streamgauge.experiment.tables import batches_table, explored_table, latency_table

        summary = {
            "schema_version": SCHEMA_VERSION,
            "run_id": writer.run_id,
            "run_dir": str(writer.path),
            "workload": self.workload.name,
            **summarise(evidence),
        }
        summary["warnings"] = [*self.workload.warnings, *self.notes, *summary["warnings"]]
        writer.write_table("batches", batches_table(evidence))
        writer.write_table("tasks", tasks_table(evidence.tasks))
        writer.write_table("resources", resources_table(evidence.resources))
        writer.write_table("latency", latency_table(evidence))
        explored = telling(self.batches, self.explored)
        if explored:
            writer.write_table("explored", explored_table(explored))
            writer.write_table("explored_tasks", tasks_table(self.explored_tasks))
        writer.finish(
            "interrupted" if evidence.is_interrupted else "finished",
            summary=summary,
            verdict=summary["verdict"],
            reasons=summary["reasons"],
        )
        return Run(writer.run_id, writer.path, summary)
