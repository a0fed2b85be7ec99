"""One run: its phases are functions over one state, stored as they happen.

What differs between runs is where events come from (`feeds`), where results go (`sinks`) and what ends a latency
(`timing`). The answer is verified before the load, not after it: the same query then runs in an engine that has
compiled it already, so the load meets a warm engine, and a wrong answer is known before time is spent on measuring it.
"""

from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Unpack

from streamgauge.clock import BoundedClock, Clock
from streamgauge.conclude.evidence import Evidence, GeneratorCost, Maximum
from streamgauge.conclude.summary import conclusion_of
from streamgauge.conclude.tables import batches_table, explored_table, latency_table
from streamgauge.conclude.verification import Verification
from streamgauge.engine.engine import Query, QueryOrder, Session, conforming, failing_by_name, find_engine
from streamgauge.errors import RunFailedError, StreamgaugeError
from streamgauge.events import Parameters
from streamgauge.lookup import is_user_function, resolve_workload
from streamgauge.machine.environment import describe_environment
from streamgauge.measure.records import ResourceSample, TaskRecord
from streamgauge.running import phases
from streamgauge.running.explore import explore, informative
from streamgauge.running.feeds.embedded import EmbeddedFeed
from streamgauge.running.feeds.feed import Feed
from streamgauge.running.interrupts import counted_interrupts
from streamgauge.running.modes import check_mode, is_unbatched
from streamgauge.running.monitor import Monitor, NoMonitor
from streamgauge.running.sinks.opening import open_sink
from streamgauge.running.state import RunState
from streamgauge.running.timing.by_commit import ByCommit
from streamgauge.running.timing.timing import Timing
from streamgauge.running.verify import default_stream, verify_workload
from streamgauge.services.state import running_pids, state_folder
from streamgauge.settings.keywords import RunKeywords
from streamgauge.settings.run_settings import RunSettings, parse_settings
from streamgauge.settings.signature import takes_settings
from streamgauge.settings.table import with_defaults
from streamgauge.store import REHEARSAL, RunWriter, StoredRun, open_run, runs_root, sweep_scratch
from streamgauge.store.layout import summary_head
from streamgauge.store.resource_table import resources_table
from streamgauge.store.spool import tables_of
from streamgauge.summary import Summary
from streamgauge.verdict import Verdict
from streamgauge.workloads import Workload
from streamgauge.workloads.parameters import choose_variant

ONLINE_SHARE = 0.5


@dataclass(frozen=True)
class Run:
    """A finished run: its numbers, and where the rest of it is stored."""

    run_id: str
    path: Path
    summary: Summary

    @property
    def verdict(self) -> Verdict:
        """Pass, fail or unknown."""
        return Verdict(self.summary["verdict"])

    def stored(self) -> StoredRun:
        """Open the run directory."""
        return open_run(self.path.parent, str(self.path))

    def to_pandas(self, table: str = "batches") -> Any:
        """Return a table of the run as a pandas DataFrame: micro-batches, or "tasks", "resources", "latency"."""
        return self.stored().to_pandas(table)

    def _repr_html_(self) -> str:
        return self.stored()._repr_html_()


def prepare(
    workload: str, settings: Mapping[str, Any], *, command: str = "run", import_code: bool = True
) -> tuple[Workload, Parameters, RunSettings]:
    """Read what a user asks for, and refuse what cannot run, before anything is started.

    Settings that are not given, or None, are those of the workload, or else the usual ones of the command.
    Without `import_code`, a user's file is read and nothing in it is executed.
    """
    found = resolve_workload(workload, settings.get("events"), import_code=import_code)
    chosen, checked = choose_variant(found, settings.get("parameters") or {})
    parsed = parse_settings(**with_defaults(settings, chosen.rules.defaults, command))
    if is_user_function(workload):
        parsed = replace(parsed, events=chosen.events.name)
    chosen.check(checked, parsed.law.mean_rate_per_s(parsed.load_s))
    check_mode(chosen, checked, parsed)
    find_engine(parsed.engine).refuse(parsed)
    return chosen, checked, parsed


@takes_settings("run")
def run(
    workload: str,
    *,
    runs: str | Path | None = None,
    monitor: Monitor | None = None,
    session: Session | None = None,
    **settings: Unpack[RunKeywords],
) -> Run:
    """Measure a workload. Settings are those of the command line: `rate="200k", duration="60s", cores=2`.

    >>> import streamgauge as sg
    >>> sg.run("ysb", rate="200k", duration="60s").verdict  # doctest: +SKIP
    'pass'
    """
    chosen, checked, parsed = prepare(workload, settings)
    return execute(new_run(chosen, checked, parsed, runs_root(runs), monitor or NoMonitor(), session=session))


def new_run(
    workload: Workload,
    parameters: Parameters,
    settings: RunSettings,
    root: Path,
    monitor: Monitor,
    *,
    clock: Clock | None = None,
    session: Session | None = None,
) -> RunState:
    """Compose the run that the settings ask for; the clock is by default that of its engine."""
    engine = find_engine(settings.engine)
    return RunState(
        workload=workload,
        parameters=parameters,
        settings=settings,
        root=root,
        monitor=monitor,
        clock=clock or engine.clock(),
        engine=engine,
        feed=_feed(settings),
        timing=_timing(settings),
        given_session=session,
    )


def _feed(settings: RunSettings) -> Feed:
    if settings.source != "kafka":
        return EmbeddedFeed()
    from streamgauge.running.feeds.kafka import KafkaFeed

    return KafkaFeed()


def _timing(settings: RunSettings) -> Timing:
    if settings.timing != "record":
        return ByCommit()
    from streamgauge.running.timing.by_record import ByRecord

    return ByRecord(is_unbatched(settings))


def execute(state: RunState) -> Run:
    """Make a run, and store it whatever happens."""
    create(state)
    with stored_failure(state), failing_by_name(state.engine):
        evidence = measure(state)
    return conclude(state, evidence)


def create(state: RunState) -> None:
    """Make the run directory."""
    sweep_scratch(state.root)
    document: dict[str, Any] = {"engine": state.engine.name}
    if state.engine.is_rehearsal:
        document["rehearsal"] = True
    state.writer = RunWriter.create(
        state.root,
        workload=state.workload.name,
        document={"configuration": state.configuration(), "environment": describe_environment(), **document},
        clock=state.clock,
    )


@contextmanager
def stored_failure(state: RunState, when: str = "before the load had ended") -> Iterator[None]:
    """Store a run that fails or is interrupted."""
    writer = state.writer
    try:
        yield
    except KeyboardInterrupt as error:
        writer.finish("interrupted", verdict="unknown", reasons=[f"interrupted {when}"])
        error.add_note(f"partial results are in {writer.path}")
        raise
    except BaseException as error:
        reason = f"{type(error).__name__}: {error}"
        if isinstance(error, StreamgaugeError):
            reason, error.run_id = str(error), writer.run_id
        writer.finish("failed", verdict="unknown", reasons=[reason])
        error.add_note(f"partial results are in {writer.path}")
        raise


def measure(state: RunState) -> Evidence:
    """Go through all phases that need the engine."""
    with ExitStack() as stack:
        start(state, stack)
        stack.enter_context(state.session.explaining(state.moment))
        state.feed.resolve(state)
        state.timing.check_slots(state, None)
        state.session.set_shuffle_partitions(state.settings.shuffle_partitions or state.cores)
        answer, generator = verify(state)
        if state.settings.load == "online":
            find_maximum(state)
        state.schedule = state.writer.write_schedule(state.settings.law.schedule(state.settings.load_s))
        start_query(state)
        evidence = replace(measure_query(state), answer=answer, generator=generator)
        return state.timing.complete(state, evidence)


def start(state: RunState, stack: ExitStack) -> None:
    """Open the sink, find the source, and start the engine."""
    state.interrupts = stack.enter_context(counted_interrupts())
    state.sink = open_sink(state.settings, state.workload, state.parameters)
    state.settings = state.timing.settle(state.workload, state.settings)
    state.feed.look_up(state)
    stack.callback(state.feed.close)
    state.enter(phases.START)
    session = state.given_session
    if session is None:
        scratch, log = state.writer.work, state.writer.log
        session = stack.enter_context(
            state.engine.open(_with_connector(state), scratch=scratch, log=log, clock=state.clock)
        )
    state.session = conforming(session, Session, state.engine.name)
    state.cores = state.session.cores
    state.interrupts.hurry = state.session.hurry


def _with_connector(state: RunState) -> RunSettings:
    """Add Spark's Kafka connector where source or sink need it."""
    if not (state.feed.needs_connector or state.sink.needs_connector):
        return state.settings
    from streamgauge.running.sinks.kafka import connector_conf

    return replace(state.settings, conf=connector_conf(state.settings, state.note))


def verify(state: RunState) -> tuple[Verification | None, GeneratorCost | None]:
    """Verify the answer on a short finite stream, and measure what the generator costs by itself.

    On the way the fields are found that the dataflow reads: it is planned once.
    """
    workload, session = state.workload, state.session
    is_asked = state.settings.verify and state.feed.is_verified and not state.engine.is_rehearsal
    is_compared = is_asked and workload.answer.is_known
    if is_compared:
        state.enter(phases.VERIFY)
    if state.fields is None and (state.feed.is_embedded or is_compared):
        state.fields = session.fields_read(workload, state.parameters, state.writer.work / "empty")
    if not is_asked:
        return None, None
    answer = None
    if is_compared:
        folder = state.writer.work / "verification"
        stream = default_stream(workload)
        answer = verify_workload(session, workload, state.parameters, stream, folder=folder, fields=state.fields)
    if not state.feed.is_embedded or state.fields is None:
        return answer, None
    state.enter(phases.GENERATOR)
    cost = session.generator_cost(workload, state.parameters, state.fields)
    return answer, None if cost is None else GeneratorCost(cost, state.fields)


def find_maximum(state: RunState) -> None:
    """Process the load offline, as a run inside this one, and go on at half of the rate that it reached."""
    inner = new_run(
        state.workload,
        state.parameters,
        replace(state.settings, load="offline", verify=False),
        state.writer.path / "offline",
        state.monitor,
        clock=state.clock,
        session=state.session,
    )
    inner.fields = state.fields
    found = execute(inner)
    if found.stored().status == "interrupted":
        raise KeyboardInterrupt
    rate_per_s = found.summary["processed_rate_per_s"]
    if rate_per_s is None:
        raise RunFailedError(
            f"the offline load of {found.summary['events']:,} events had too few micro-batches to show the maximum",
            remedy="raise --rate or --duration, or lower --max-rows-per-batch",
        )
    state.maximum = Maximum(rate_per_s, found.run_id, found.verdict, tuple(found.summary["reasons"]))
    state.settings = replace(state.settings, rate_per_s=ONLINE_SHARE * rate_per_s)
    mean_per_s = state.settings.law.mean_rate_per_s(state.settings.load_s)
    state.parameters = state.workload.at_rate(state.parameters, mean_per_s)
    state.writer.update(configuration=state.configuration())


def start_query(state: RunState) -> None:
    """Start the query over the feed into the sink; the gate is closed, so its first micro-batch is empty."""
    state.timing.check_slots(state, state.cores)
    state.enter(phases.QUERY)
    state.sink.prepare()
    try:
        order = query_order(state)
        state.query = conforming(state.session.start(order, state.take_progress), Query, state.engine.name)
        _await_start(state)
    except RunFailedError as error:
        raise state.feed.explain(error) from error


def query_order(state: RunState) -> QueryOrder:
    """Return the query that the settings ask for."""
    return QueryOrder(
        workload=state.workload,
        parameters=state.parameters,
        seed=state.settings.seed,
        feed=state.feed.offer(state),
        checkpoint=state.writer.work / "checkpoint",
        results=state.sink.results,
        output_mode=state.timing.output_mode(state),
        trigger_s=state.settings.trigger_s,
        mode=state.settings.mode,
        carry=state.timing.carry,
    )


def _await_start(state: RunState) -> None:
    try:
        state.timing.await_start(state)
        plan = state.query.executed_plan() if state.workload.rules.check_plan is not None else None
        if plan is not None and state.workload.rules.check_plan is not None:
            state.workload.rules.check_plan(plan)
    except StreamgaugeError:
        state.query.stop()
        raise


def measure_query(state: RunState) -> Evidence:
    """Let the load run over the query, stop it, and collect what the engine knows about its work."""
    state.interrupts.allow_drain()
    executors = state.session.executors()
    sampler = state.session.sampler(executors, running_pids(state_folder()))
    sampler.start()
    try:
        load(state)
        drain(state)
        sampler.stop()
        is_interrupted = state.interrupts.count > 0
        explore(state)
    finally:
        sampler.stop()
        stop(state)
    if not state.interrupts.count:
        state.session.check()
    used = executors.use() if executors else []
    state.enter(phases.EVIDENCE)
    found = replace(evidence_of_engine(state, sampler.samples), is_interrupted=is_interrupted, executors=used)
    if executors is None:
        return found
    return replace(found, clocks=list(executors.clocks), lost=state.query.lost_executors())


def load(state: RunState) -> None:
    """Open the gate, and let the load run until its end or the first interrupt."""
    open_load(state)
    if not state.settings.is_offline:
        state.enter(phases.WARM_UP)
    await_end(state)


def await_end(state: RunState) -> None:
    """Let the load run until its end or the first interrupt."""
    measure_us = state.origin_us + round(state.settings.warmup_s * 1e6)
    while (now_us := state.now_us()) < state.closed_us and not state.interrupts.count:
        if state.phase == phases.WARM_UP and now_us >= measure_us:
            state.enter(phases.MEASURE)
        state.tick()
    if state.interrupts.count:
        state.closed_us = min(state.closed_us, state.now_us())
        _open_gate(state)
    state.feed.end_load(state)


def open_load(state: RunState) -> None:
    """Let the load begin, and store when it does."""
    state.wall = BoundedClock(state.clock)
    state.feed.await_load(state)
    state.begin(state.feed.begin(state), state.settings.load_s)
    _open_gate(state)


def _open_gate(state: RunState) -> None:
    state.feed.open(state)
    document = {
        "origin_us": state.origin_us,
        "closed_us": state.closed_us,
        "cores": state.cores,
        "output_mode": state.query.output_mode,
        "maximum": asdict(state.maximum) if state.maximum else None,
    }
    # A load that the run follows decides some of its settings.
    state.writer.update(load=document, configuration=state.configuration())


def drain(state: RunState) -> bool:
    """Wait until all of the load is processed, the deadline passes or the user asks again; return whether it is."""
    state.enter(phases.OFFLINE if state.settings.is_offline else phases.DRAIN)
    # There is no load to end early where all events exist: the first interrupt ends the wait.
    patience = 1 if state.settings.is_offline else 2
    offered = state.offered
    deadline_s = state.clock.monotonic_s() + state.settings.deadline_s
    while not state.timing.has_processed(state, offered):
        if state.interrupts.count >= patience or state.clock.monotonic_s() >= deadline_s:
            return False
        state.tick()
    return True


def stop(state: RunState) -> None:
    """Stop the query."""
    state.enter(phases.STOP)
    state.query.stop()


def evidence_of_engine(state: RunState, resources: list[ResourceSample]) -> Evidence:
    """Return what was offered and what the engine did with it."""
    query = state.query
    tasks, state.explored_tasks = query.tasks({batch.batch_id for batch in state.explored})
    if query.unreadable_events:
        state.note(f"{query.unreadable_events} lines of Spark's event log cannot be read: tasks may be missing")
    # Asynchronous progress leaves out entries of the commit log.
    committed = None if state.settings.mode == "micro-batch-async" else query.batches_run()
    return Evidence(
        settings=state.settings,
        schedule=state.schedule,
        origin_us=state.origin_us,
        closed_us=state.closed_us,
        batches=state.batches,
        cores=state.cores,
        output_mode=query.output_mode,
        window=state.workload.window(state.parameters) if state.workload.window else None,
        watermark_delay_s=state.workload.watermark_delay_s(state.parameters),
        tasks=tasks,
        resources=resources,
        maximum=state.maximum,
        convergence=query.convergence,
        reported_batches=None if committed is None else committed - len(state.explored),
    )


def conclude(state: RunState, evidence: Evidence, amend: Callable[[Summary], Summary] = lambda summary: summary) -> Run:
    """Turn the evidence into a summary, which `amend` completes, and tables, and end the run."""
    writer = state.writer
    found = conclusion_of(evidence)
    summary: Summary = {**summary_head(writer.path, state.workload.name), **found.summary}
    rehearsal = [REHEARSAL] if state.engine.is_rehearsal else []
    if state.engine.is_rehearsal:
        summary["rehearsal"] = True
    summary["warnings"] = [*rehearsal, *state.workload.rules.warnings, *state.notes, *summary["warnings"]]
    summary = amend(summary)
    writer.write_table("batches", batches_table(evidence))
    writer.write_table("tasks", tables_of(TaskRecord, evidence.tasks))
    writer.write_table("resources", resources_table(evidence.resources))
    writer.write_table("latency", latency_table(evidence, found.latency))
    explored = informative(state.batches, state.explored)
    if explored:
        writer.write_table("explored", explored_table(explored))
        writer.write_table("explored_tasks", tables_of(TaskRecord, state.explored_tasks))
    writer.finish(
        "interrupted" if evidence.is_interrupted else "finished",
        summary=summary,
        verdict=summary["verdict"],
        reasons=summary["reasons"],
    )
    return Run(writer.run_id, writer.path, summary)
