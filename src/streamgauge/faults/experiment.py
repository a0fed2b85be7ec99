"""A run with faults in the making: a driver process of its own, faults at their times, and a restart where it died."""

from collections.abc import Mapping, Sequence
from contextlib import ExitStack, closing
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from streamgauge.clock import Clock, clock_motion
from streamgauge.conclude.findings import Finding, judge_clock
from streamgauge.conclude.verification import FiniteStream, Verification
from streamgauge.engine.engine import find_engine
from streamgauge.engine.spark.gate import GateFile
from streamgauge.events import Parameters
from streamgauge.faults.driver import (
    DrivenQuery,
    Driver,
    DriverOrder,
    DriverPlace,
    InFlight,
    batches_committed,
    planned_offset,
)
from streamgauge.faults.judgement import (
    OfferedLoad,
    compare_rows,
    count_due,
    count_recovered,
    doubt_point,
    find_caught_up,
    judge_doubles,
    judge_events,
    judge_point,
    judge_replay,
    judge_results,
    judge_strike,
    why_doubles_are_hidden,
)
from streamgauge.faults.kinds import FAULTS, PAUSE_S, Strike, small_disk
from streamgauge.faults.plan import BETWEEN_SINK_AND_COMMIT, PlannedFault
from streamgauge.faults.point import rows_before
from streamgauge.faults.result import Fault, Outage
from streamgauge.measure import Batch, batch_from_progress
from streamgauge.running import phases
from streamgauge.running.feeds.embedded import EmbeddedFeed
from streamgauge.running.interrupts import counted_interrupts
from streamgauge.running.lifecycle import (
    await_end,
    conclude,
    create,
    drain,
    evidence_of_engine,
    open_load,
    stored_failure,
)
from streamgauge.running.monitor import Monitor
from streamgauge.running.sinks.counted import SINKS, CountedSink, SinkPlace, kafka_sink, redis_sink, topic_reader
from streamgauge.running.sinks.kafka import connector_conf
from streamgauge.running.state import POLL_S, RunState
from streamgauge.running.timing.by_commit import ByCommit
from streamgauge.running.verify import CLOSING_AFTER_S
from streamgauge.services import Service, running
from streamgauge.services.restart import KilledServer, start_again
from streamgauge.services.spark import worker_answers
from streamgauge.settings.run_settings import RunSettings
from streamgauge.store import SetWriter
from streamgauge.summary import Summary
from streamgauge.units import format_duration
from streamgauge.verdict import Verdict
from streamgauge.workloads import Workload

END_DEADLINE_S = 120.0
WORKER_DEADLINE_S = 60.0
ON_CLUSTER = ("executor", "worker")
OWN_WORKERS = 2


@dataclass
class FaultExperiment:
    """A fault in the making."""

    workload: Workload
    parameters: Parameters
    given: Mapping[str, Any]
    settings: RunSettings
    planned: tuple[PlannedFault, ...]
    down_s: float
    root: Path
    monitor: Monitor
    clock: Clock
    pause_s: float = PAUSE_S
    sink: CountedSink = SINKS["foreach-batch"]
    cluster: Service | None = None
    # What the sink writes to, where that is a server.
    server: Service | None = None
    # Micro-batches of the load, with stand-ins for those that were committed and whose report was lost.
    accounted: list[Batch] = field(default_factory=list)
    killed_servers: list[KilledServer] = field(default_factory=list)
    replays: list[Finding] = field(default_factory=list)
    # By the time of the death: when the driver was started again, and the new one.
    restarts: dict[int, tuple[int, Driver]] = field(default_factory=dict)
    attempts: int = 0
    events_replayed: int | None = None
    due: dict[InFlight, int | None] = field(default_factory=dict)
    # The first micro-batch of the running driver, and how many records the sink's topic had before it.
    first_batch: tuple[int, int] = 0, 0

    def __post_init__(self) -> None:
        self.feed = EmbeddedFeed()
        self.state = RunState(
            self.workload,
            self.parameters,
            self.settings,
            self.root,
            self.monitor,
            self.clock,
            find_engine(self.settings.engine),
            self.feed,
            ByCommit(),
        )

    def execute(self) -> Fault:
        """Run it, and store it whatever happens: one run, and a set that holds the answer."""
        state = self.state
        create(state)
        asked = {
            "workload": self.workload.name,
            "configuration": state.configuration(),
            "faults": [str(fault) for fault in self.planned],
            "sink": self.sink.name,
            "down_s": self.down_s,
        }
        members = SetWriter.create(self.root, kind="fault", title=self.workload.name, document=asked, clock=self.clock)
        members.add(state.writer.run_id, role="fault")
        try:
            with stored_failure(state, "before the results were compared"), counted_interrupts():
                found = self._measure(members.set_id)
        except BaseException:
            members.update(status="interrupted")
            raise
        members.update(status="finished", result=found.document())
        return found

    @property
    def log(self) -> Path:
        """Where Spark writes its log."""
        return self.state.writer.log

    @property
    def driver(self) -> Driver:
        """The driver that runs, or ran last."""
        return self.query.driver

    @property
    def batches(self) -> list[Batch]:
        """The micro-batches of the load that were reported."""
        return self.state.batches

    def _measure(self, set_id: str) -> Fault:
        state = self.state
        self._prepare()
        with ExitStack() as stack:
            self._set_up(stack)
            self._start(stack)
            open_load(state)
            strikes = self._strike_all()
            found = Fault(
                set_id,
                state.writer.run_id,
                self.workload.name,
                tuple(judge_strike(fault, strike) for fault, strike in zip(self.planned, strikes, strict=True)),
                state.origin_us,
                state.schedule.total,
                strikes=tuple(strike for strike in strikes if strike is not None),
                sink=self.sink.name,
                guarantee=self.sink.guarantee,
                planned=self.planned,
                doubles_hidden=why_doubles_are_hidden(self.workload, self.output_mode, self.sink),
            )
            if found.strikes:
                found = self._conclude(found)
        return self._store(found)

    def _set_up(self, stack: ExitStack) -> None:
        """Bring up what the faults need and is not there: a cluster, a small disk."""
        kinds = {fault.kind for fault in self.planned}
        if self.cluster is None and kinds & set(ON_CLUSTER):
            self.state.enter(phases.CLUSTER)
            self.cluster = stack.enter_context(running("spark", workers=OWN_WORKERS))
            self.settings = replace(self.settings, master=str(self.cluster.address))
        elif self.cluster is not None:
            stack.callback(self._heal_cluster)
        if self.sink.server is not None:
            self.state.enter(phases.SERVER, server=self.sink.server)
            self.server = stack.enter_context(running(self.sink.server))
            self._prepare_server()
        if "disk-full" in kinds:
            stack.enter_context(small_disk(self.place.checkpoint))

    def _prepare_server(self) -> None:
        """Make the topic and give Spark the connector, or write what Redis must hold before."""
        place = self.place.of_sink(self._order(None), self.workload, self.parameters)
        self.attempts = 0
        if self.sink.server == "redis":
            redis_sink(place).prepare()
            return
        self.settings = replace(self.settings, conf=connector_conf(self.settings, lambda _: None))
        kafka_sink(place).prepare()

    def _heal_cluster(self) -> None:
        """Start the workers of a user's cluster again that were killed."""
        for killed in self.killed_servers:
            answers = partial(worker_answers, killed.server.port)
            start_again(killed, answers=answers, deadline_s=WORKER_DEADLINE_S)

    def _prepare(self) -> None:
        state, closing = self.state, self.workload.answer.closing_events
        schedule = self.settings.law.schedule(self.settings.load_s)
        state.schedule = state.writer.write_schedule(schedule)
        self.place = DriverPlace(state.writer.work)
        self.place.control.mkdir()
        whole = schedule.with_tail(closing, after_s=CLOSING_AFTER_S) if closing else schedule
        whole.save(self.place.control / "schedule.npy")
        self.feed.offered = GateFile(self.place.control)

    def _order(self, fields: Sequence[str] | None) -> DriverOrder:
        self.attempts += 1
        return DriverOrder(
            attempt=self.attempts,
            workload=self.workload.name,
            parameters=self.given,
            settings=self.settings.document(),
            log=str(self.state.writer.log.absolute()),
            fields=None if fields is None else tuple(fields),
            sink=self.sink.name,
            address=self.server.address if self.server else None,
            topic=f"streamgauge-fault-{self.state.writer.run_id}" if self.server else "",
        )

    def _start(self, stack: ExitStack) -> None:
        state = self.state
        state.enter(phases.DRIVER)
        self.order = self._order(None)
        driver = Driver(self.order, self.place, self.clock)
        state.query = self.query = DrivenQuery(driver, self._take)
        stack.callback(lambda: self.query.stop())  # noqa: PLW0108 (the driver may be replaced)
        state.wait(lambda: bool(state.batches) and driver.started() is not None, "the first micro-batch")
        started = driver.started() or {}
        self.fields, state.cores, self.output_mode = started["fields"], int(started["cores"]), self.query.output_mode

    def _take(self, document: dict[str, Any]) -> None:
        """Count a micro-batch of the load; the events that close windows are not part of it."""
        batch = batch_from_progress(document)
        if batch is not None and batch.last <= self.state.schedule.total:
            self.state.take_progress(document)
            self.accounted.append(batch)

    def _strike_all(self) -> list[Strike | None]:
        """Make the faults one after the other; None for one that found no moment before the load ended."""
        strikes: list[Strike | None] = []
        for fault in self.planned:
            self.state.enter(phases.BEFORE_FAULT, kind=fault.kind)
            while self.now_us() < self.state.origin_us + round(fault.at_s * 1e6):
                self.tick()
            self.state.enter(phases.FAULT, kind=fault.kind)
            strike = FAULTS[fault.kind](self, fault)
            rows_repeated = None
            if strike is not None and strike.is_driver_dead:
                rows_repeated = self._restart(strike).output_rows
            if strike is not None and strike.point == BETWEEN_SINK_AND_COMMIT:
                strike = replace(strike, point_doubt=doubt_point(strike, self.sink, rows_repeated))
            strikes.append(strike)
        return strikes

    def _restart(self, strike: Strike) -> Batch:
        """Start the driver again on its checkpoint, judge where it resumes, and return its first micro-batch."""
        self._take_in_unreported(strike)
        self.state.enter(phases.DEAD)
        while self.now_us() < strike.at_us + round(self.down_s * 1e6):
            self.clock.sleep(POLL_S)
            self.state.show()
        self.state.enter(phases.RESTART)
        self._count_records()
        restarted_us, before = self.now_us(), len(self.batches)
        self.order = self._order(self.fields)
        self.query.driver = Driver(self.order, self.place, self.clock)
        self.restarts[strike.at_us] = restarted_us, self.driver
        self.state.wait(lambda: len(self.batches) > before, "the first micro-batch after the restart")
        replayed = self.batches[before]
        if strike.in_flight is not None and self.events_replayed is None:
            self.events_replayed = replayed.events
        expected = strike.in_flight
        if expected is None:
            end = planned_offset(self.place.checkpoint, strike.batches_committed - 1)
            expected = InFlight(strike.batches_committed, end, replayed.last)
        self.replays.append(judge_replay(expected, replayed))
        return replayed

    def _take_in_unreported(self, strike: Strike) -> None:
        """Add stand-ins for micro-batches that were committed and whose report was lost with the driver."""
        last = self.accounted[-1]
        missing = range(last.batch_id + 1, strike.batches_committed)
        ends = {n: planned_offset(self.place.checkpoint, n) for n in [last.batch_id, *missing]}
        self.accounted += [
            replace(last, batch_id=b, first=ends[a], last=ends[b]) for a, b in pairwise([last.batch_id, *missing])
        ]

    def _conclude(self, found: Fault) -> Fault:
        """Let the load end, and compare what came out with the reference."""
        self.state.enter(phases.AFTER_FAULT)
        await_end(self.state)
        is_drained = drain(self.state)
        if is_drained:
            self._finish(self.driver)
        found = replace(
            found,
            outages=self._outages(found.strikes),
            events_replayed=self.events_replayed,
            findings=(
                *found.findings,
                *filter(None, map(judge_point, found.strikes)),
                *self.replays,
                judge_clock(clock_motion(self.query.readings)),
                judge_events(self.accounted, self.state.schedule.total, self.settings.drain_s),
            ),
        )
        return self._compare(found) if is_drained else found

    def _finish(self, driver: Driver) -> None:
        """Let the events come that close all windows, and wait until the driver has ended by itself."""
        self.state.enter(phases.CLOSE_WINDOWS)
        every = self.state.schedule.total + self.workload.answer.closing_events
        self.feed.offered.open(self.state.origin_us, self.state.closed_us, every)
        driver.finish()
        self.state.wait(lambda: driver.process.poll() == 0, "the end of the driver", deadline_s=END_DEADLINE_S)

    def _load(self) -> OfferedLoad:
        state = self.state
        offered = (self.workload, self.parameters, state.schedule, self.settings.seed, state.origin_us)
        return OfferedLoad(*offered, self.output_mode)

    def _compare(self, found: Fault) -> Fault:
        self.state.enter(phases.COMPARE)
        output = self.sink.read(self.sink_place(), self.workload.output)
        differences = compare_rows(output, self._load())
        strike = found.strikes[0]
        recovered = None
        if self.sink.server is None:
            last = self._last_batch_before(strike)
            recovered = count_recovered(output, self.workload, self.parameters, strike, last, self.output_mode)
        promise = self.sink.guarantee, found.doubles_hidden
        doubles = judge_doubles(differences, found.strikes, *promise)
        findings = (*found.findings, judge_results(differences, *promise), *filter(None, [doubles]))
        return replace(found, differences=differences, recovered=recovered, findings=findings)

    def _last_batch_before(self, strike: Strike) -> int:
        """Return the last micro-batch that holds an event created before the fault."""
        created = int(self.state.schedule.created(strike.at_us - self.state.origin_us))
        return max((b.batch_id for b in self.batches if b.events and b.first < created), default=-1)

    def _outages(self, strikes: Sequence[Strike]) -> tuple[Outage, ...]:
        ends_us = [*(strike.at_us for strike in strikes[1:]), None]
        is_alone = len(strikes) == 1
        return tuple(self._outage(s, end_us, is_alone=is_alone) for s, end_us in zip(strikes, ends_us, strict=True))

    def _outage(self, strike: Strike, end_us: int | None, *, is_alone: bool) -> Outage:
        """Return what one fault did until the next one, or the end."""
        state = self.state
        after = [b for b in self.batches if b.events and strike.at_us < b.emitted_us]
        after = [b for b in after if end_us is None or b.emitted_us <= end_us]
        caught_up: tuple[float | None, str | None] = (None, "there were several faults")
        if is_alone:
            caught_up = find_caught_up(self.batches, state.schedule, state.origin_us, state.closed_us, strike.at_us)
        restart = self.restarts.get(strike.at_us)
        ages_s = [(b.emitted_us - state.origin_us - int(state.schedule.times_us(b.first))) / 1e6 for b in after]
        said = restart[1].started() if restart else None
        back = [b.emitted_us for b in after if b.emitted_us >= strike.ended_us]
        return Outage(
            restarted_at_s=(restart[0] - state.origin_us) / 1e6 if restart else None,
            ready_s=(said["at_us"] - strike.at_us) / 1e6 if said else None,
            recovery_s=(back[0] - strike.at_us) / 1e6 if back else None,
            caught_up_s=caught_up[0],
            caught_up_reason=caught_up[1],
            peak_latency_s=max(ages_s, default=None),
            # Until its emission, the events of a micro-batch wait too.
            peak_backlog_events=max((state.created(b.emitted_us) - b.first for b in after), default=None),
        )

    def _store(self, found: Fault) -> Fault:
        document = found.document()

        def amend(summary: Summary) -> Summary:
            summary |= {
                "verdict": found.verdict.value,
                "reasons": list(found.reasons),
                "findings": [
                    {"question": f.question, "verdict": f.verdict.value, "reason": f.reason} for f in found.findings
                ],
                "warnings": [_note(found), *found.warnings, *summary["warnings"]],
                "fault": document,
                "faults": document["faults"],
            }
            return summary

        evidence = replace(evidence_of_engine(self.state, []), settings=self.settings, answer=self._answer(found))
        conclude(self.state, evidence, amend)
        return found

    def _answer(self, found: Fault) -> Verification | None:
        if found.differences is None:
            return None
        judged = judge_results(found.differences, found.guarantee, found.doubles_hidden)
        return Verification(
            name=found.workload,
            verdict=judged.verdict,
            reasons=() if judged.verdict is Verdict.PASS else (judged.reason,),
            rows_expected=found.differences.rows_expected,
            rows_got=found.differences.rows_got,
            rows_missing=found.differences.rows_missing,
            rows_extra=found.differences.rows_extra,
            batches=len(self.batches),
            sha256=None,
            stream=FiniteStream(self.state.schedule.total, self.settings.rate_per_s, self.settings.seed),
            examples=found.differences.examples,
        )

    def sink_place(self) -> SinkPlace:
        """Return where the sink of the running driver writes."""
        return self.place.of_sink(self.order, self.workload, self.parameters)

    def _count_records(self) -> None:
        """Remember how many records the topic has while no driver writes to it."""
        if self.sink.server == "kafka":
            with closing(topic_reader(self.sink_place())) as reader:
                self.first_batch = batches_committed(self.place.checkpoint), reader.records()

    def rows_before(self, batch_id: int) -> int | None:
        """Return how many records the sink's topic had before a micro-batch, None where that is not known."""
        return rows_before(*self.first_batch, self.batches, batch_id)

    def rows_due(self, hit: InFlight) -> int | None:
        """Return how many rows a micro-batch must give, None where that does not follow from its events alone."""
        if hit not in self.due:
            self.due[hit] = count_due(hit, self._load())
        return self.due[hit]

    def now_us(self) -> int:
        """Return the time; it goes on even if the wall clock is set back."""
        return self.state.now_us()

    def is_over(self) -> bool:
        """Return whether the load has ended and all of it is processed, or should be."""
        late_s = (self.now_us() - self.state.closed_us) / 1e6
        return late_s >= 0 and (self.batches[-1].last >= self.state.schedule.total or late_s >= self.settings.drain_s)

    def look(self) -> None:
        """Take in what the driver has reported, whether it lives or not."""
        self.query.take()

    def tick(self, sleep_s: float = POLL_S) -> None:
        """Let a little time pass, and take in what the driver reports; raises when it has failed."""
        self.state.tick(sleep_s)


def _note(found: Fault) -> str:
    if not found.strikes:
        return "a fault was to be made, and was not"
    made = ", ".join(
        f"{strike.kind} {format_duration(found.at_s(strike.at_us))} into the load" for strike in found.strikes
    )
    return f"faults were made ({made}): rates and latencies are those of a run with them"
