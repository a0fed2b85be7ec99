"""A run with faults in the making: a driver process of its own, faults at their times, and a restart where it died."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any

from streamgauge.arrivals import Schedule
from streamgauge.clock import Clock
from streamgauge.errors import RunFailedError, StreamgaugeError
from streamgauge.events import Parameters
from streamgauge.experiment.driver import Driver, InFlight, Order, Place, planned_offset
from streamgauge.experiment.evidence import Evidence
from streamgauge.experiment.fault_judgement import (
    compare_rows,
    count_recovered,
    find_caught_up,
    judge_events,
    judge_replay,
    judge_results,
    judge_strike,
)
from streamgauge.experiment.fault_kinds import FAULTS, PAUSE_S, Strike, small_disk
from streamgauge.experiment.fault_plan import PlannedFault
from streamgauge.experiment.fault_result import Fault, Outage
from streamgauge.experiment.fault_sinks import SINKS, CountedSink, kafka_sink, redis_sink
from streamgauge.experiment.findings import Finding
from streamgauge.experiment.interrupts import counted_interrupts
from streamgauge.experiment.monitor import Monitor, Snapshot
from streamgauge.experiment.settings import RunSettings
from streamgauge.experiment.sinks import connector_conf
from streamgauge.experiment.summary import summarise
from streamgauge.experiment.verify import CLOSING_AFTER_S, FiniteStream, Verification
from streamgauge.measure import Batch, batch_from_progress
from streamgauge.services import Service, running
from streamgauge.services.restart import KilledServer, start_again
from streamgauge.services.spark import worker_answers
from streamgauge.store import SCHEMA_VERSION, RunWriter, SetWriter, sweep_scratch
from streamgauge.units import format_duration
from streamgauge.verdict import Verdict
from streamgauge.workloads import Workload

START_DEADLINE_S = 180.0
END_DEADLINE_S = 120.0
WORKER_DEADLINE_S = 60.0
POLL_S = 0.1
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
        Gate(self.origin_us, self.closed_us).write(self.place.control)
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
        every = self.schedule.total + self.workload.closing_events
        Gate(self.origin_us, self.closed_us, every).write(self.place.control)
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
