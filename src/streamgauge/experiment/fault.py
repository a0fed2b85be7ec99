"""A fault in mid-run: what is lost, what is doubled, how long it takes to get over it.

The query runs in a driver process of its own, and the load goes on by the wall clock whatever happens to it. Faults are
made at chosen times and points of a micro-batch, each with a proof; a driver that dies is started again from its
checkpoint. In the end what the sink holds is compared with the reference over exactly the events of the load. Without
proof that every fault has fired the verdict is unknown.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge.arrivals import Schedule
from streamgauge.clock import Clock, SystemClock
from streamgauge.errors import InvalidExperimentError, RunFailedError, StreamgaugeError, UsageError, closest
from streamgauge.events import Parameters
from streamgauge.experiment.driver import (
    Driver,
    InFlight,
    Order,
    Place,
    planned_offset,
)
from streamgauge.experiment.evidence import Evidence
from streamgauge.experiment.fault_kinds import FAULTS, PAUSE_S, Strike, small_disk
from streamgauge.experiment.fault_plan import PlannedFault, draw_faults, parse_at, parse_faults, parse_kind, shrink
from streamgauge.experiment.fault_sinks import SINKS, CountedSink, Guarantee, kafka_sink, redis_sink, refuse_sink
from streamgauge.experiment.interrupts import counted_interrupts
from streamgauge.experiment.monitor import Monitor, NoMonitor, Snapshot
from streamgauge.experiment.run import prepare
from streamgauge.experiment.settings import RunSettings
from streamgauge.experiment.sinks import connector_conf
from streamgauge.experiment.summary import Finding, summarise
from streamgauge.experiment.verify import (
    CLOSING_AFTER_S,
    Differences,
    FiniteStream,
    Verification,
    closing_time_us,
    event_table,
    expected_answer,
    final_answer,
    find_differences,
)
from streamgauge.measure import Batch, batch_from_progress, check_batches, recovery_of_batches
from streamgauge.measure.recovery import MIN_POINTS_BACK
from streamgauge.services import Service, running, status
from streamgauge.services.restart import KilledServer, start_again
from streamgauge.services.spark import worker_answers
from streamgauge.store import SCHEMA_VERSION, RunWriter, SetWriter, default_root, sweep_scratch
from streamgauge.units import format_count, format_duration, parse_duration
from streamgauge.verdict import Verdict
from streamgauge.workloads import Workload
from streamgauge.workloads.reference import connect

if TYPE_CHECKING:
    import pyarrow as pa

RATE = "20k"
START_DEADLINE_S = 180.0
END_DEADLINE_S = 120.0
WORKER_DEADLINE_S = 60.0
POLL_S = 0.1
# The reference is computed over a table of all events.
MAX_EVENTS = 5_000_000
# Before this share of the time until the fault, latencies are those of a cold engine.
SETTLED_SHARE = 1 / 3
MIN_SPIKE_S = 1e-6
ON_CLUSTER = ("executor", "worker")
OWN_WORKERS = 2


@dataclass(frozen=True)
class Outage:
    """How long it took; times in seconds of the load, durations since the fault, None for what was not seen."""

    restarted_at_s: float | None
    ready_s: float | None
    recovery_s: float | None
    caught_up_s: float | None
    caught_up_reason: str | None
    peak_latency_s: float | None
    peak_backlog_events: int | None


@dataclass(frozen=True)
class Fault:
    """What faults did to the results; None for what is not known.

    `recovered` counts the results of events created before the first fault that came out, or out again, after it.
    `smallest` is the smallest part of a drawn sequence that still fails, if it was looked for.
    """

    set_id: str
    run_id: str
    workload: str
    findings: tuple[Finding, ...]
    origin_us: int
    events: int
    strikes: tuple[Strike, ...] = ()
    outages: tuple[Outage, ...] = ()
    differences: Differences | None = None
    recovered: int | None = None
    events_replayed: int | None = None
    sink: str = "foreach-batch"
    guarantee: Guarantee = "exactly-once"
    planned: tuple[PlannedFault, ...] = ()
    smallest: tuple[PlannedFault, ...] | None = None

    @property
    def verdict(self) -> Verdict:
        """Pass when every fault fired and the sink's promise is kept."""
        return Verdict.combine(f.verdict for f in self.findings)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is no pass."""
        return tuple(f.reason for f in self.findings if f.verdict is not Verdict.PASS)

    @property
    def first(self) -> Strike | None:
        """The first fault that was made."""
        return self.strikes[0] if self.strikes else None

    @property
    def killed_at_s(self) -> float | None:
        """When the first fault was made, in seconds of the load."""
        return None if self.first is None else self.at_s(self.first.at_us)

    def at_s(self, at_us: int) -> float:
        """Return a time in seconds of the load."""
        return (at_us - self.origin_us) / 1e6

    def document(self) -> dict[str, Any]:
        """Return the answer; the keys are those of `fault --json`."""
        found, first = self.differences, self.first
        outage = self.outages[0] if self.outages else None
        return {
            "set_id": self.set_id,
            "run_id": self.run_id,
            "workload": self.workload,
            "sink": self.sink,
            "guarantee": self.guarantee,
            "verdict": self.verdict.value,
            "reason": "; ".join(self.reasons) or None,
            "planned": [str(fault) for fault in self.planned],
            "smallest": None if self.smallest is None else [str(fault) for fault in self.smallest],
            "faults": self._faults(),
            "killed_at_s": self.killed_at_s,
            "batch_in_flight": first and first.in_flight and first.in_flight.batch_id,
            "batches_committed": first and first.batches_committed,
            "driver_return_code": first and first.return_code,
            "processes_killed": first and list(first.processes),
            "restarted_at_s": outage and outage.restarted_at_s,
            "ready_s": outage and outage.ready_s,
            "recovery_s": outage and outage.recovery_s,
            "caught_up_s": outage and outage.caught_up_s,
            "caught_up_reason": outage and outage.caught_up_reason,
            "peak_latency_s": outage and outage.peak_latency_s,
            "peak_backlog_events": outage and outage.peak_backlog_events,
            "rows_expected": found and found.rows_expected,
            "rows_lost": found and found.rows_missing,
            "rows_doubled": found and found.rows_doubled,
            "rows_foreign": found and found.rows_foreign,
            "rows_recovered": self.recovered,
            "events": self.events,
            "events_replayed": self.events_replayed,
            "examples": found.examples if found else {},
        }

    def _faults(self) -> list[dict[str, Any]]:
        """Return each fault with its proof and what it did to the latency."""
        outages = [*self.outages, *[None] * (len(self.strikes) - len(self.outages))]
        return [
            {
                "name": strike.kind,
                "at_s": self.at_s(strike.at_us),
                "ended_at_s": self.at_s(strike.ended_us),
                "point": strike.point,
                "is_proven": strike.doubt is None,
                "detail": strike.proof if strike.doubt is None else strike.doubt,
                "batch_in_flight": strike.in_flight and strike.in_flight.batch_id,
                "batches_committed": strike.batches_committed,
                "restarted_at_s": outage and outage.restarted_at_s,
                "recovery_s": outage and outage.recovery_s,
                "peak_latency_s": outage and outage.peak_latency_s,
                "peak_backlog_events": outage and outage.peak_backlog_events,
            }
            for strike, outage in zip(self.strikes, outages, strict=True)
        ]


def fault(
    workload: str,
    *,
    fault: str = "driver",
    sink: str = "foreach-batch",
    rate: str | float | None = None,
    duration: str | float = "75s",
    at: str | float | None = None,
    down: str | float = "0s",
    pause: str | float = PAUSE_S,
    faults: str | None = None,
    sequence: int | None = None,
    count: int = 3,
    parameters: Mapping[str, Any] | None = None,
    runs: str | Path | None = None,
    monitor: Monitor | None = None,
    **settings: Any,
) -> Fault:
    """Make a fault `at` a time or point of the load, after a third of it by default, and count what comes out.

    `faults` is a list of them, `sequence` the seed of one that is drawn; where that fails, the smallest part that still
    does is looked for. Other settings are those of `run`; the rate is 20k where neither it nor a prototype file gives
    one.

    >>> import streamgauge as sg
    >>> sg.fault("ysb").verdict  # doctest: +SKIP
    <Verdict.PASS: 'pass'>
    """
    asked = {**settings, "load": "open", "rate": rate, "duration": duration, "warmup": 0.0, "verify": False}
    chosen, checked, parsed = prepare(workload, None, parameters, asked, usual={"rate": RATE})
    if sink not in SINKS:
        raise UsageError(f'"{sink}" is no sink whose rows can be counted', where="--sink", remedy=closest(sink, SINKS))
    refuse(chosen, parsed)
    refuse_sink(SINKS[sink], chosen.output, chosen.output_mode(checked))
    is_clustered = not parsed.master.startswith("local[")
    if sequence is not None:
        possible = possible_faults(SINKS[sink], is_clustered=is_clustered)
        planned = draw_faults(sequence, possible, load_s=parsed.load_s, count=count)
    elif faults is not None:
        planned = parse_faults(faults)
    else:
        # What follows is longer than what goes before: there is a backlog to work off.
        at_s, point = parse_at(at, otherwise_s=parsed.load_s / 3)
        planned = (PlannedFault(at_s, parse_kind(fault, where="--fault"), point),)
    for one in planned:
        refuse_fault(one, SINKS[sink], parsed)
    cluster = _cluster(parsed.master) if is_clustered else None
    if any(one.kind in ON_CLUSTER for one in planned) and not is_clustered and settings.get("cores") is not None:
        raise UsageError(
            "executors and workers are processes of their own only on a cluster",
            where="--cores",
            remedy="leave it out: a cluster of two workers is started; or name one with --master",
        )

    def experiment(part: tuple[PlannedFault, ...]) -> Fault:
        return FaultExperiment(
            workload=chosen,
            parameters=checked,
            given=dict(parameters or {}),
            settings=replace(parsed, load="open"),
            planned=part,
            down_s=parse_duration(down, where="--down"),
            pause_s=parse_duration(pause, where="--pause"),
            root=Path(runs) if runs is not None else default_root(os.environ),
            monitor=monitor or NoMonitor(),
            clock=SystemClock(),
            sink=SINKS[sink],
            cluster=cluster,
        ).execute()

    found = experiment(planned)
    if sequence is None or found.verdict is not Verdict.FAIL:
        return found
    smallest = shrink(planned, lambda part: experiment(part).verdict is Verdict.FAIL)
    return replace(found, smallest=smallest)


def possible_faults(sink: CountedSink, *, is_clustered: bool) -> list[str]:
    """Return the faults that a drawn sequence may hold."""
    found = ["driver", "pause"]
    if sink.can_stall:
        found.append("sink-stall")
    if is_clustered:
        found.append("executor")
    return found


def _cluster(master: str) -> Service:
    """Return the cluster on this machine that a master belongs to."""
    for service in status():
        if service.name == "spark" and service.address == master and service.status == "up":
            return service
    raise UsageError(
        f"the processes of {master} cannot be killed from here",
        where="--master",
        remedy="use --cores, or a cluster from `streamgauge services up spark`: then all of them are on this machine",
    )


def refuse(workload: Workload, settings: RunSettings) -> None:
    """Refuse what cannot be judged, before anything is started."""
    if not workload.has_reference:
        raise InvalidExperimentError(
            f"{workload.name} has no reference against which lost and doubled results could be counted",
            remedy="choose a workload of the catalogue; see `streamgauge list`",
        )
    if workload.each_batch is not None:
        raise InvalidExperimentError(
            f"{workload.name} keeps its state in the driver, where no checkpoint saves it from a kill",
            remedy="choose a workload whose state Spark keeps; `streamgauge describe` tells",
        )
    events = settings.law.mean_rate_per_s(settings.load_s) * settings.load_s
    if events > MAX_EVENTS:
        raise UsageError(
            f"{format_count(events)} events are too many to compute the reference over",
            where="--rate",
            remedy=f"lower --rate or --duration to {format_count(MAX_EVENTS)} events or fewer",
        )


def refuse_fault(fault: PlannedFault, sink: CountedSink, settings: RunSettings) -> None:
    """Refuse a fault that cannot be made here."""
    if fault.at_s >= settings.load_s:
        raise UsageError(
            f"{format_duration(fault.at_s)} is not inside the load",
            where="--at",
            remedy=f"use less than the --duration of {format_duration(settings.load_s)}",
        )
    if fault.kind == "sink-stall" and not sink.can_stall:
        raise UsageError(
            f"the sink {sink.name} cannot be held up: Spark writes its files by itself",
            where="--fault",
            remedy=f"use --sink {' or '.join(s.name for s in SINKS.values() if s.can_stall)}",
        )
    if fault.kind == "broker" and sink.server != "kafka":
        raise UsageError(
            f"no broker takes part in a run with the sink {sink.name}",
            where="--fault",
            remedy="use --sink kafka",
        )


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
    batches: list[Batch] = field(default_factory=list)
    # With stand-ins for those that were committed and whose report was lost.
    accounted: list[Batch] = field(default_factory=list)
    killed_servers: list[KilledServer] = field(default_factory=list)
    replays: list[Finding] = field(default_factory=list)
    # By the time of the death: when the driver was started again, and the new one.
    restarts: dict[int, tuple[int, Driver]] = field(default_factory=dict)
    driver: Driver | None = None
    attempts: int = 0
    events_replayed: int | None = None
    phase: str = "start"

    def execute(self) -> Fault:
        """Run it, and store it whatever happens: one run, and a set that holds the answer."""
        from streamgauge.engine.environment import describe_environment, mask_secrets

        sweep_scratch(self.root)
        configuration = self.settings.document() | {"parameters": self.parameters.model_dump()}
        configuration |= {"conf": mask_secrets(configuration["conf"])}
        self.writer = RunWriter.create(
            self.root,
            workload=self.workload.name,
            document={"configuration": configuration, "environment": describe_environment()},
            clock=self.clock,
        )
        asked = {
            "workload": self.workload.name,
            "configuration": configuration,
            "faults": [str(fault) for fault in self.planned],
            "sink": self.sink.name,
            "down_s": self.down_s,
        }
        members = SetWriter.create(self.root, kind="fault", title=self.workload.name, document=asked, clock=self.clock)
        members.add(self.writer.run_id, role="fault")
        self.started_s = self.phase_started_s = self.clock.monotonic_s()
        try:
            with counted_interrupts():
                found = self._measure(members.set_id)
        except BaseException as error:
            self._store_broken(error)
            members.update(status="interrupted")
            raise
        members.update(status="finished", result=found.document())
        return found

    def _store_broken(self, error: BaseException) -> None:
        is_interrupted = isinstance(error, KeyboardInterrupt)
        reason = str(error) if isinstance(error, StreamgaugeError) else f"{type(error).__name__}: {error}"
        if is_interrupted:
            reason = "interrupted before the results were compared"
        self.writer.finish("interrupted" if is_interrupted else "failed", verdict="unknown", reasons=[reason])
        error.add_note(f"what there is of the run is stored in {self.writer.path}")

    @property
    def log(self) -> Path:
        """Where Spark writes its log."""
        return self.writer.log

    def _measure(self, set_id: str) -> Fault:
        self._prepare()
        with ExitStack() as stack:
            self._set_up(stack)
            stack.callback(self._end_driver)
            self.cores, self.output_mode = self._start()
            self._open_gate()
            strikes = self._strike_all()
            found = Fault(
                set_id,
                self.writer.run_id,
                self.workload.name,
                tuple(judge_strike(fault, strike) for fault, strike in zip(self.planned, strikes, strict=True)),
                self.origin_us,
                self.schedule.total,
                strikes=tuple(strike for strike in strikes if strike is not None),
                sink=self.sink.name,
                guarantee=self.sink.guarantee,
                planned=self.planned,
            )
            if found.strikes:
                found = self._conclude(found)
        return self._store(found)

    def _set_up(self, stack: ExitStack) -> None:
        """Bring up what the faults need and is not there: a cluster, a small disk."""
        kinds = {fault.kind for fault in self.planned}
        if self.cluster is None and kinds & set(ON_CLUSTER):
            self._enter("starting a cluster")
            self.cluster = stack.enter_context(running("spark", workers=OWN_WORKERS))
            self.settings = replace(self.settings, master=str(self.cluster.address))
        elif self.cluster is not None:
            stack.callback(self._heal_cluster)
        if self.sink.server is not None:
            self._enter(f"starting {self.sink.server}")
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

    def _end_driver(self) -> None:
        if self.driver is not None:
            self.driver.kill()

    def _prepare(self) -> None:
        self.schedule: Schedule = self.settings.law.schedule(self.settings.load_s)
        self.place = Place(self.writer.work)
        self.place.control.mkdir()
        closing = self.workload.closing_events
        whole = self.schedule.with_tail(closing, after_s=CLOSING_AFTER_S) if closing else self.schedule
        whole.save(self.place.control / "schedule.npy")
        self.writer.write_schedule(self.schedule)

    def _order(self, fields: Sequence[str] | None) -> Order:
        self.attempts += 1
        return Order(
            attempt=self.attempts,
            workload=self.workload.name,
            parameters=self.given,
            settings=self.settings.document(),
            log=str(self.writer.log.absolute()),
            fields=None if fields is None else tuple(fields),
            sink=self.sink.name,
            address=self.server.address if self.server else None,
            topic=f"streamgauge-fault-{self.writer.run_id}" if self.server else "",
        )

    def _start(self) -> tuple[int, str]:
        self._enter("starting the driver")
        self.order = self._order(None)
        driver = self.driver = Driver(self.order, self.place)
        self._wait(lambda: bool(self.batches) and driver.started() is not None, "the first micro-batch")
        said = driver.started() or {}
        self.fields = said["fields"]
        return int(said["cores"]), str(said["output_mode"])

    def _open_gate(self) -> None:
        from streamgauge.engine.source import Gate

        self.origin_us = self.now_us()
        self.closed_us = self.origin_us + round(self.settings.load_s * 1e6)
        for folder in (self.writer.path, self.place.control):
            Gate(self.origin_us, self.closed_us).write(folder)
        load = {"origin_us": self.origin_us, "closed_us": self.closed_us}
        self.writer.update(load={**load, "cores": self.cores, "output_mode": self.output_mode})

    def _strike_all(self) -> list[Strike | None]:
        """Make the faults one after the other; None for one that found no moment before the load ended."""
        strikes: list[Strike | None] = []
        for fault in self.planned:
            self._enter(f"load before the fault: {fault.kind}")
            while self.now_us() < self.origin_us + round(fault.at_s * 1e6):
                self.tick()
            self._enter(f"fault: {fault.kind}")
            strike = FAULTS[fault.kind](self, fault)
            strikes.append(strike)
            if strike is not None and strike.is_driver_dead:
                self._restart(strike)
        return strikes

    def _restart(self, strike: Strike) -> None:
        """Start the driver again on its checkpoint, and judge where it goes on."""
        self._take_in_unreported(strike)
        self._enter("driver dead")
        while self.now_us() < strike.at_us + round(self.down_s * 1e6):
            self.clock.sleep(POLL_S)
            self._show()
        self._enter("restarting from the checkpoint")
        restarted_us, before = self.now_us(), len(self.batches)
        self.order = self._order(self.fields)
        self.driver = Driver(self.order, self.place)
        self.restarts[strike.at_us] = restarted_us, self.driver
        self._wait(lambda: len(self.batches) > before, "the first micro-batch after the restart")
        replayed = self.batches[before]
        if strike.in_flight is not None and self.events_replayed is None:
            self.events_replayed = replayed.events
        expected = strike.in_flight
        if expected is None:
            end = planned_offset(self.place.checkpoint, strike.batches_committed - 1)
            expected = InFlight(strike.batches_committed, end, replayed.last)
        self.replays.append(judge_replay(expected, replayed))

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
        driver = self.driver
        assert driver is not None
        self._enter("load after the fault")
        while self.now_us() < self.closed_us:
            self.tick()
        is_drained = self._drain()
        if is_drained:
            self._finish(driver)
        found = replace(
            found,
            outages=self._outages(found.strikes),
            events_replayed=self.events_replayed,
            findings=(
                *found.findings,
                *self.replays,
                judge_events(self.accounted, self.schedule.total, self.settings.drain_s),
            ),
        )
        return self._compare(found) if is_drained else found

    def _drain(self) -> bool:
        self._enter("drain")
        end_s = self.clock.monotonic_s() + self.settings.drain_s
        while self.batches[-1].last < self.schedule.total:
            if self.clock.monotonic_s() > end_s:
                return False
            self.tick()
        return True

    def _finish(self, driver: Driver) -> None:
        """Let the events come that close all windows, and wait until the driver has ended by itself."""
        from streamgauge.engine.source import Gate

        self._enter("closing the windows")
        Gate(self.origin_us, self.closed_us, is_complete=True).write(self.place.control)
        driver.finish()
        self._wait(lambda: driver.process.poll() == 0, "the end of the driver", deadline_s=END_DEADLINE_S)

    def _compare(self, found: Fault) -> Fault:
        self._enter("comparing with the reference")
        output = self.sink.read(self.place.of_sink(self.order, self.workload, self.parameters), self.workload.output)
        differences = compare_rows(
            output,
            self.workload,
            self.parameters,
            self.schedule,
            seed=self.settings.seed,
            origin_us=self.origin_us,
            output_mode=self.output_mode,
        )
        strike = found.strikes[0]
        recovered = None
        if self.sink.server is None:
            last = self._last_batch_before(strike)
            recovered = count_recovered(output, self.workload, self.parameters, strike, last, self.output_mode)
        return replace(
            found,
            differences=differences,
            recovered=recovered,
            findings=(*found.findings, judge_results(differences, self.sink.guarantee)),
        )

    def _last_batch_before(self, strike: Strike) -> int:
        """Return the last micro-batch that holds an event created before the fault."""
        created = int(self.schedule.created(strike.at_us - self.origin_us))
        return max((b.batch_id for b in self.batches if b.events and b.first < created), default=-1)

    def _outages(self, strikes: Sequence[Strike]) -> tuple[Outage, ...]:
        ends_us = [*(strike.at_us for strike in strikes[1:]), None]
        is_alone = len(strikes) == 1
        return tuple(self._outage(s, end_us, is_alone=is_alone) for s, end_us in zip(strikes, ends_us, strict=True))

    def _outage(self, strike: Strike, end_us: int | None, *, is_alone: bool) -> Outage:
        """Tell what one fault did until the next one, or the end."""
        after = [b for b in self.batches if b.events and strike.at_us < b.emitted_us]
        after = [b for b in after if end_us is None or b.emitted_us <= end_us]
        caught_up: tuple[float | None, str | None] = (None, "there were several faults")
        if is_alone:
            caught_up = find_caught_up(self.batches, self.schedule, self.origin_us, self.closed_us, strike.at_us)
        restart = self.restarts.get(strike.at_us)
        ages_s = [(b.emitted_us - self.origin_us - int(self.schedule.times_us(b.first))) / 1e6 for b in after]
        said = restart[1].started() if restart else None
        back = [b.emitted_us for b in after if b.emitted_us >= strike.ended_us]
        return Outage(
            restarted_at_s=(restart[0] - self.origin_us) / 1e6 if restart else None,
            ready_s=(said["at_us"] - strike.at_us) / 1e6 if said else None,
            recovery_s=(back[0] - strike.at_us) / 1e6 if back else None,
            caught_up_s=caught_up[0],
            caught_up_reason=caught_up[1],
            peak_latency_s=max(ages_s, default=None),
            # Until its emission, the events of a micro-batch wait too.
            peak_backlog_events=max((self._created(b.emitted_us) - b.first for b in after), default=None),
        )

    def _store(self, found: Fault) -> Fault:
        from streamgauge.engine.eventlog import tasks_table
        from streamgauge.engine.resources import resources_table
        from streamgauge.experiment.tables import batches_table, latency_table

        evidence = Evidence(
            settings=self.settings,
            schedule=self.schedule,
            origin_us=self.origin_us,
            closed_us=self.closed_us,
            batches=self.batches,
            cores=self.cores,
            output_mode=self.output_mode,
            window=self.workload.window(self.parameters) if self.workload.window else None,
            watermark_delay_s=self.workload.watermark_delay_s(self.parameters),
            answer=self._answer(found),
        )
        summary = summarise(evidence)
        summary |= {
            "schema_version": SCHEMA_VERSION,
            "run_id": found.run_id,
            "run_dir": str(self.writer.path),
            "workload": found.workload,
            "verdict": found.verdict.value,
            "reasons": list(found.reasons),
            "findings": [
                {"question": f.question, "verdict": f.verdict.value, "reason": f.reason} for f in found.findings
            ],
            "warnings": [_note(found), *summary["warnings"]],
            "fault": found.document(),
            "faults": found.document()["faults"],
        }
        self.writer.write_table("batches", batches_table(evidence))
        self.writer.write_table("tasks", tasks_table([]))
        self.writer.write_table("resources", resources_table([]))
        self.writer.write_table("latency", latency_table(evidence))
        self.writer.finish("finished", summary=summary, verdict=summary["verdict"], reasons=summary["reasons"])
        return found

    def _answer(self, found: Fault) -> Verification | None:
        if found.differences is None:
            return None
        judged = judge_results(found.differences, found.guarantee)
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
            stream=FiniteStream(self.schedule.total, self.settings.rate_per_s, self.settings.seed),
            examples=found.differences.examples,
        )

    def now_us(self) -> int:
        """Return the time."""
        return round(self.clock.wall_s() * 1e6)

    def is_over(self) -> bool:
        """Tell whether the load has ended and all of it is processed, or should be."""
        late_s = (self.now_us() - self.closed_us) / 1e6
        return late_s >= 0 and (self.batches[-1].last >= self.schedule.total or late_s >= self.settings.drain_s)

    def _created(self, at_us: int) -> int:
        return int(self.schedule.created(min(at_us, self.closed_us) - self.origin_us))

    def _enter(self, phase: str) -> None:
        self.phase, self.phase_started_s = phase, self.clock.monotonic_s()
        self._show()

    def _show(self) -> None:
        now_s = self.clock.monotonic_s()
        snapshot = Snapshot(self.phase, now_s - self.started_s, now_s - self.phase_started_s, batches=len(self.batches))
        if self.batches and self.batches[-1].events:
            snapshot = replace(snapshot, backlog_events=self._created(self.now_us()) - self.batches[-1].last)
        self.monitor.show(snapshot)

    def look(self, driver: Driver) -> None:
        """Take in what a driver has reported about the load; the events that close windows are no part of it."""
        for document in driver.progress.new():
            batch = batch_from_progress(document)
            if batch is not None and batch.last <= self.schedule.total:
                self.writer.append_progress(document)
                self.batches.append(batch)
                self.accounted.append(batch)

    def tick(self, sleep_s: float = POLL_S) -> None:
        """Let a little time pass, and take in what the driver reports; raises when it has failed."""
        assert self.driver is not None
        self.driver.check()
        self.look(self.driver)
        self._show()
        self.clock.sleep(sleep_s)

    def _wait(self, condition: Callable[[], bool], what: str, *, deadline_s: float = START_DEADLINE_S) -> None:
        end_s = self.clock.monotonic_s() + deadline_s
        while not condition():
            if self.clock.monotonic_s() > end_s:
                raise RunFailedError(
                    f"{what} did not happen within {deadline_s:.0f} s",
                    where=str(self.writer.log),
                    remedy="see Spark's log there",
                )
            self.tick()


def _note(found: Fault) -> str:
    if not found.strikes:
        return "a fault was to be made, and was not"
    made = ", ".join(
        f"{strike.kind} {format_duration(found.at_s(strike.at_us))} into the load" for strike in found.strikes
    )
    return f"faults were made ({made}): rates and latencies are those of a run with them"


def compare_rows(
    output: "pa.Table",
    workload: Workload,
    parameters: Parameters,
    schedule: Schedule,
    *,
    seed: int,
    origin_us: int,
    output_mode: str,
) -> Differences:
    """Compare what a sink holds in the end with the reference over exactly the events of the load.

    Where rows are only ever added, each counts: a key that comes twice is doubled. Otherwise the last row of each key
    is what a reader knows.
    """
    read = replace(workload, keys=()) if output_mode == "append" else workload
    connection = connect()
    connection.register("output", output)
    got = final_answer(connection, read, parameters, closing_time_us(schedule, origin_us))
    events = event_table(workload, parameters, schedule, seed=seed, load_us=origin_us)
    connection.register("got", got)
    connection.register("expected", expected_answer(workload, parameters, events, seed=seed))
    return find_differences(connection, workload)


def count_recovered(
    output: "pa.Table",
    workload: Workload,
    parameters: Parameters,
    strike: Strike,
    last_batch: int,
    output_mode: str,
) -> int:
    """Count the results of events from before the kill that came out, or out again, after the restart.

    Results are rows or, where later rows replace earlier ones, keys. They are those of windows that began before the
    kill or, without windows, of micro-batches up to `last_batch`, the last one with an event from before the kill.
    """
    hit = strike.in_flight.batch_id if strike.in_flight else strike.batches_committed
    connection = connect()
    connection.register("output", output)
    is_before = f"batch <= {last_batch}"
    if workload.window is not None:
        is_before = f"epoch_us({workload.window(parameters).column}) < {strike.at_us}"
    result = f"DISTINCT {', '.join(workload.keys)}" if workload.keys and output_mode != "append" else "batch"
    rows = f"SELECT {result} FROM output WHERE batch >= {hit} AND {is_before}"
    (count,) = connection.execute(f"SELECT count(*) FROM ({rows})").fetchone() or (0,)
    return int(count)


def find_caught_up(
    batches: Sequence[Batch], schedule: Schedule, origin_us: int, closed_us: int, killed_us: int
) -> tuple[float | None, str | None]:
    """Return how long after the fault backlog and latency were as before again, or None and why that was not seen.

    Only micro-batches emitted under load count: after it, any backlog is worked off.
    """
    busy = [b for b in batches if b.events and b.emitted_us <= closed_us]
    killed_s = (killed_us - origin_us) / 1e6
    found = recovery_of_batches(
        busy,
        schedule,
        origin_us=origin_us,
        closed_us=closed_us,
        spike_start_s=killed_s,
        spike_end_s=killed_s + MIN_SPIKE_S,
        settled_from_s=SETTLED_SHARE * killed_s,
    )
    if found.time_to_recover_s is not None:
        return found.time_to_recover_s, None
    under_load = sum(1 for b in busy if b.emitted_us > killed_us)
    if found.backlog.band is not None and under_load < MIN_POINTS_BACK:
        return None, "the load had ended before that could be told; raise --duration"
    return None, found.reason.replace("the spike", "the fault")


def judge_strike(fault: PlannedFault, strike: Strike | None) -> Finding:
    """Judge whether a fault has fired."""
    if strike is None:
        reason = f"{fault.kind} did not fire: no moment for it came between {format_duration(fault.at_s)} and the end"
        return Finding("fault", Verdict.UNKNOWN, reason)
    if strike.doubt is not None:
        return Finding("fault", Verdict.UNKNOWN, f"{fault.kind} is not proven: {strike.doubt}")
    hit = f", with micro-batch {strike.in_flight.batch_id} in flight" if strike.in_flight else ""
    return Finding("fault", Verdict.PASS, f"{fault.kind}: {strike.proof}{hit}")


def judge_replay(hit: InFlight, replayed: Batch) -> Finding:
    """Judge whether the restarted query began with the micro-batch that the kill has hit, and with the same events."""
    if (replayed.batch_id, replayed.first, replayed.last) == (hit.batch_id, hit.first, hit.last):
        return Finding("replay", Verdict.PASS, "the micro-batch in flight was repeated with the same events")
    reason = (
        f"micro-batch {hit.batch_id} with the events [{hit.first}, {hit.last}) was in flight, but after the restart "
        f"micro-batch {replayed.batch_id} came first, with [{replayed.first}, {replayed.last})"
    )
    return Finding("replay", Verdict.FAIL, reason)


def judge_events(batches: Sequence[Batch], offered: int, drain_s: float) -> Finding:
    """Judge whether every event was in exactly one micro-batch."""
    missing = offered - batches[-1].last
    if missing > 0:
        reason = (
            f"{format_count(missing)} of {format_count(offered)} events were not processed within "
            f"{format_duration(drain_s)} after the load had ended, so results cannot be compared; raise --drain"
        )
        return Finding("events", Verdict.UNKNOWN, reason)
    holes = check_batches(batches)
    if batches[0].first > 0:
        holes = [f"events before {batches[0].first} are missing", *holes]
    if holes:
        return Finding("events", Verdict.UNKNOWN, f"progress has holes: {'; '.join(holes[:3])}")
    return Finding("events", Verdict.PASS, "every event was in exactly one micro-batch")


def judge_results(found: Differences, guarantee: Guarantee = "exactly-once") -> Finding:
    """Judge the results by what the sink promises; where none are expected, none can be missed."""
    counts = (
        f"{found.rows_missing:,} results lost, {found.rows_doubled:,} doubled and {found.rows_foreign:,} foreign, "
        f"of {found.rows_expected:,} expected"
    )
    is_allowed = guarantee == "at-least-once" and not found.rows_missing and not found.rows_foreign
    if (found.rows_missing or found.rows_extra) and not is_allowed:
        return Finding("results", Verdict.FAIL, counts)
    if found.rows_expected == 0:
        reason = "the reference expects no results at all, so nothing was compared; raise --rate or --duration"
        return Finding("results", Verdict.UNKNOWN, reason)
    if found.rows_doubled:
        return Finding("results", Verdict.PASS, f"{counts}, as a sink of at-least-once may")
    return Finding("results", Verdict.PASS, f"all {found.rows_expected:,} results are right")
