"""The driver is killed in mid-run and restarted from its checkpoint: what is lost, what is doubled, how long it takes.

The load goes on by the wall clock while nobody reads it. All processes of the driver are frozen, looked at, and killed
with SIGKILL only while a micro-batch is in flight: in Spark's offset log, but not in its commit log. Without proof that
the fault has fired the verdict is unknown.
"""

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from signal import SIGKILL
from typing import TYPE_CHECKING, Any

from streamgauge.arrivals import Schedule
from streamgauge.clock import Clock, SystemClock
from streamgauge.errors import InvalidExperimentError, RunFailedError, StreamgaugeError, UsageError
from streamgauge.events import Parameters
from streamgauge.experiment.driver import (
    Driver,
    InFlight,
    Order,
    Place,
    SinkKind,
    batches_committed,
    find_in_flight,
    freeze,
    planned_offset,
    read_rows,
    thaw,
)
from streamgauge.experiment.evidence import Evidence
from streamgauge.experiment.interrupts import counted_interrupts
from streamgauge.experiment.monitor import Monitor, NoMonitor, Snapshot
from streamgauge.experiment.run import prepare
from streamgauge.experiment.settings import RunSettings
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
POLL_S = 0.1
# A micro-batch is in flight for tens of milliseconds at least.
WATCH_S = 0.002
# The reference is computed over a table of all events.
MAX_EVENTS = 5_000_000
# Before this share of the time until the kill, latencies are those of a cold engine.
SETTLED_SHARE = 1 / 3
MIN_SPIKE_S = 1e-6


@dataclass(frozen=True)
class Kill:
    """One kill of a driver, and the proof of it: the code of the driver and the names of all processes that ended."""

    at_us: int
    in_flight: InFlight
    batches_committed: int
    return_code: int
    processes: tuple[str, ...]

    @property
    def reason_in_doubt(self) -> str | None:
        """Why it is not proven that the fault has fired."""
        if self.return_code != -SIGKILL:
            return f"the driver ended with code {self.return_code} before it was killed"
        if "java" not in self.processes:
            return "no Java process was killed with the driver"
        return None


@dataclass(frozen=True)
class Outage:
    """How long it took; times in seconds of the load, durations since the kill, None for what was not seen."""

    restarted_at_s: float
    ready_s: float | None
    recovery_s: float | None
    caught_up_s: float | None
    caught_up_reason: str | None
    peak_latency_s: float | None
    peak_backlog_events: int | None


@dataclass(frozen=True)
class Fault:
    """What a killed driver did to the results; None for what is not known.

    `recovered` counts the results of events created before the kill that came out, or out again, after the restart.
    """

    set_id: str
    run_id: str
    workload: str
    findings: tuple[Finding, ...]
    origin_us: int
    events: int
    kill: Kill | None = None
    outage: Outage | None = None
    differences: Differences | None = None
    recovered: int | None = None
    events_replayed: int | None = None

    @property
    def verdict(self) -> Verdict:
        """Pass when the fault fired and nothing is lost, doubled or foreign."""
        return Verdict.combine(f.verdict for f in self.findings)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is no pass."""
        return tuple(f.reason for f in self.findings if f.verdict is not Verdict.PASS)

    @property
    def killed_at_s(self) -> float | None:
        """When the driver was killed, in seconds of the load."""
        return None if self.kill is None else (self.kill.at_us - self.origin_us) / 1e6

    def document(self) -> dict[str, Any]:
        """Return the answer; the keys are those of `fault --json`."""
        kill, outage, found = self.kill, self.outage, self.differences
        return {
            "set_id": self.set_id,
            "run_id": self.run_id,
            "workload": self.workload,
            "verdict": self.verdict.value,
            "reason": "; ".join(self.reasons) or None,
            "killed_at_s": self.killed_at_s,
            "batch_in_flight": kill and kill.in_flight.batch_id,
            "batches_committed": kill and kill.batches_committed,
            "driver_return_code": kill and kill.return_code,
            "processes_killed": kill and list(kill.processes),
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


def fault(
    workload: str,
    *,
    rate: str | float | None = None,
    duration: str | float = "75s",
    at: str | float | None = None,
    down: str | float = "0s",
    parameters: Mapping[str, Any] | None = None,
    runs: str | Path | None = None,
    monitor: Monitor | None = None,
    **settings: Any,
) -> Fault:
    """Kill the driver `at` seconds into the load, after a third of it by default, and restart it after `down` seconds.

    Other settings are those of `run`; the rate is 20k where neither it nor a prototype file gives one.

    >>> import streamgauge as sg
    >>> sg.fault("ysb").verdict  # doctest: +SKIP
    <Verdict.PASS: 'pass'>
    """
    asked = {**settings, "load": "open", "rate": rate, "duration": duration, "warmup": 0.0, "verify": False}
    chosen, checked, parsed = prepare(workload, None, parameters, asked, usual={"rate": RATE})
    # What follows is longer than what goes before: after the restart there is a backlog to work off.
    at_s = parsed.load_s / 3 if at is None else parse_duration(at, where="--at")
    refuse(chosen, parsed, at_s)
    return FaultExperiment(
        workload=chosen,
        parameters=checked,
        given=dict(parameters or {}),
        settings=replace(parsed, load="open"),
        at_s=at_s,
        down_s=parse_duration(down, where="--down"),
        root=Path(runs) if runs is not None else default_root(os.environ),
        monitor=monitor or NoMonitor(),
        clock=SystemClock(),
    ).execute()


def refuse(workload: Workload, settings: RunSettings, at_s: float) -> None:
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
    if not settings.master.startswith("local["):
        raise UsageError(
            f"the processes of {settings.master} cannot be killed from here",
            where="--master",
            remedy="use --cores, so that all of them are on this machine",
        )
    if at_s >= settings.load_s:
        raise UsageError(
            f"{format_duration(at_s)} is not inside the load",
            where="--at",
            remedy=f"use less than the --duration of {format_duration(settings.load_s)}",
        )
    events = settings.law.mean_rate_per_s(settings.load_s) * settings.load_s
    if events > MAX_EVENTS:
        raise UsageError(
            f"{format_count(events)} events are too many to compute the reference over",
            where="--rate",
            remedy=f"lower --rate or --duration to {format_count(MAX_EVENTS)} events or fewer",
        )


@dataclass
class FaultExperiment:
    """A fault in the making."""

    workload: Workload
    parameters: Parameters
    given: Mapping[str, Any]
    settings: RunSettings
    at_s: float
    down_s: float
    root: Path
    monitor: Monitor
    clock: Clock
    sink: SinkKind = "replace"
    batches: list[Batch] = field(default_factory=list)
    driver: Driver | None = None
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
            "at_s": self.at_s,
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

    def _measure(self, set_id: str) -> Fault:
        self._prepare()
        try:
            self.cores, self.output_mode = self._start()
            self._open_gate()
            kill = self._strike()
            found = Fault(
                set_id,
                self.writer.run_id,
                self.workload.name,
                (_judge_kill(kill),),
                self.origin_us,
                self.schedule.total,
            )
            if kill is not None:
                found = self._recover(replace(found, kill=kill), kill)
        finally:
            if self.driver is not None:
                self.driver.kill()
        return self._store(found)

    def _prepare(self) -> None:
        self.schedule: Schedule = self.settings.law.schedule(self.settings.load_s)
        self.place = Place(self.writer.work)
        self.place.control.mkdir()
        closing = self.workload.closing_events
        whole = self.schedule.with_tail(closing, after_s=CLOSING_AFTER_S) if closing else self.schedule
        whole.save(self.place.control / "schedule.npy")
        self.writer.write_schedule(self.schedule)

    def _new_driver(self, attempt: int, fields: Sequence[str] | None = None) -> Driver:
        order = Order(
            attempt=attempt,
            workload=self.workload.name,
            parameters=self.given,
            settings=self.settings.document(),
            log=str(self.writer.log.absolute()),
            fields=None if fields is None else tuple(fields),
            sink=self.sink,
        )
        self.driver = Driver(order, self.place)
        return self.driver

    def _start(self) -> tuple[int, str]:
        self._enter("starting the driver")
        driver = self._new_driver(1)
        self._wait(lambda: bool(self.batches) and driver.started() is not None, "the first micro-batch")
        said = driver.started() or {}
        return int(said["cores"]), str(said["output_mode"])

    def _open_gate(self) -> None:
        from streamgauge.engine.source import Gate

        self.origin_us = self._now_us()
        self.closed_us = self.origin_us + round(self.settings.load_s * 1e6)
        for folder in (self.writer.path, self.place.control):
            Gate(self.origin_us, self.closed_us).write(folder)
        load = {"origin_us": self.origin_us, "closed_us": self.closed_us}
        self.writer.update(load={**load, "cores": self.cores, "output_mode": self.output_mode})

    def _strike(self) -> Kill | None:
        """Kill the driver at the first moment from `at_s` on at which a micro-batch is in flight, if there is one."""
        driver = self.driver
        assert driver is not None
        self._enter("load before the kill")
        while self._now_us() < self.origin_us + round(self.at_s * 1e6):
            self._tick()
        self._enter("looking for a micro-batch in flight")
        # Found before they are needed: that takes longer than to stop them.
        processes = driver.processes()
        while self._now_us() < self.closed_us:
            if self.target() is not None:
                freeze(processes)
                # Between the look and the freeze it may have ended.
                if (hit := self.target()) is not None:
                    return self._kill(driver, hit)
                thaw(processes)
            self._tick(WATCH_S)
        return None

    def target(self) -> InFlight | None:
        """Return the micro-batch that a kill would hit now, if there is one."""
        return find_in_flight(self.place.checkpoint)

    def _kill(self, driver: Driver, hit: InFlight) -> Kill:
        at_us, committed = self._now_us(), batches_committed(self.place.checkpoint)
        code, names = driver.kill()
        self._look(driver)
        self.before = len(self.batches)
        return Kill(at_us, hit, committed, code, tuple(sorted(names)))

    def _recover(self, found: Fault, kill: Kill) -> Fault:
        """Restart the driver, let the load end, and compare what came out with the reference."""
        unreported = self._unreported(kill)
        assert self.driver is not None
        fields = (self.driver.started() or {}).get("fields")
        self._enter("driver killed")
        while self._now_us() < kill.at_us + round(self.down_s * 1e6):
            self.clock.sleep(POLL_S)
            self._show()
        self._enter("restarting from the checkpoint")
        restarted_us = self._now_us()
        driver = self._new_driver(2, fields)
        self._wait(lambda: len(self.batches) > self.before, "the first micro-batch after the restart")
        self._enter("load after the restart")
        while self._now_us() < self.closed_us:
            self._tick()
        is_drained = self._drain()
        if is_drained:
            self._finish(driver)
        outage = self._outage(kill, restarted_us, driver.started())
        replayed, after = self.batches[self.before], self.batches[self.before :]
        accounted = [*self.batches[: self.before], *unreported, *after]
        found = replace(
            found,
            outage=outage,
            events_replayed=replayed.events,
            findings=(
                *found.findings,
                judge_replay(kill.in_flight, replayed),
                judge_events(accounted, self.schedule.total, self.settings.drain_s),
            ),
        )
        return self._compare(found, kill) if is_drained else found

    def _unreported(self, kill: Kill) -> list[Batch]:
        """Return stand-ins for micro-batches that were committed and whose report was lost in the kill."""
        last = self.batches[-1]
        missing = range(last.batch_id + 1, kill.in_flight.batch_id)
        ends = {n: planned_offset(self.place.checkpoint, n) for n in [last.batch_id, *missing]}
        return [replace(last, batch_id=b, first=ends[a], last=ends[b]) for a, b in pairwise([last.batch_id, *missing])]

    def _drain(self) -> bool:
        self._enter("drain")
        end_s = self.clock.monotonic_s() + self.settings.drain_s
        while self.batches[-1].last < self.schedule.total:
            if self.clock.monotonic_s() > end_s:
                return False
            self._tick()
        return True

    def _finish(self, driver: Driver) -> None:
        """Let the events come that close all windows, and wait until the driver has ended by itself."""
        from streamgauge.engine.source import Gate

        self._enter("closing the windows")
        Gate(self.origin_us, self.closed_us, is_complete=True).write(self.place.control)
        driver.finish()
        self._wait(lambda: driver.process.poll() == 0, "the end of the driver", deadline_s=END_DEADLINE_S)

    def _compare(self, found: Fault, kill: Kill) -> Fault:
        self._enter("comparing with the reference")
        output = read_rows(self.place.sink)
        differences = compare_rows(
            output,
            self.workload,
            self.parameters,
            self.schedule,
            seed=self.settings.seed,
            origin_us=self.origin_us,
            output_mode=self.output_mode,
        )
        recovered = count_recovered(
            output, self.workload, self.parameters, kill, self._last_batch_before(kill), self.output_mode
        )
        return replace(
            found,
            differences=differences,
            recovered=recovered,
            findings=(*found.findings, judge_results(differences)),
        )

    def _last_batch_before(self, kill: Kill) -> int:
        """Return the last micro-batch that holds an event created before the kill."""
        created = int(self.schedule.created(kill.at_us - self.origin_us))
        return max((b.batch_id for b in self.batches if b.events and b.first < created), default=-1)

    def _outage(self, kill: Kill, restarted_us: int, said: Mapping[str, Any] | None) -> Outage:
        after = [b for b in self.batches[self.before :] if b.events]
        caught_up_s, reason = find_caught_up(self.batches, self.schedule, self.origin_us, self.closed_us, kill.at_us)
        ages_s = [(b.emitted_us - self.origin_us - int(self.schedule.times_us(b.first))) / 1e6 for b in after]
        return Outage(
            restarted_at_s=(restarted_us - self.origin_us) / 1e6,
            ready_s=(said["at_us"] - kill.at_us) / 1e6 if said else None,
            recovery_s=(after[0].emitted_us - kill.at_us) / 1e6 if after else None,
            caught_up_s=caught_up_s,
            caught_up_reason=reason,
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
        judged = judge_results(found.differences)
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

    def _now_us(self) -> int:
        return round(self.clock.wall_s() * 1e6)

    def _created(self, at_us: int) -> int:
        return int(self.schedule.created(min(at_us, self.closed_us) - self.origin_us))

    def _enter(self, phase: str) -> None:
        self.phase, self.phase_started_s = phase, self.clock.monotonic_s()
        self._show()

    def _show(self) -> None:
        now_s = self.clock.monotonic_s()
        snapshot = Snapshot(self.phase, now_s - self.started_s, now_s - self.phase_started_s, batches=len(self.batches))
        if self.batches and self.batches[-1].events:
            snapshot = replace(snapshot, backlog_events=self._created(self._now_us()) - self.batches[-1].last)
        self.monitor.show(snapshot)

    def _look(self, driver: Driver) -> None:
        """Take in what a driver has reported about the load; the events that close windows are no part of it."""
        for document in driver.progress.new():
            batch = batch_from_progress(document)
            if batch is not None and batch.last <= self.schedule.total:
                self.writer.append_progress(document)
                self.batches.append(batch)

    def _tick(self, sleep_s: float = POLL_S) -> None:
        assert self.driver is not None
        self.driver.check()
        self._look(self.driver)
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
            self._tick()


def _note(found: Fault) -> str:
    if found.kill is None:
        return "the driver was to be killed, and was not"
    return (
        f"the driver was killed {format_duration(found.killed_at_s or 0.0)} into the load: rates and latencies are "
        "those of a run with this fault"
    )


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
    kill: Kill,
    last_batch: int,
    output_mode: str,
) -> int:
    """Count the results of events from before the kill that came out, or out again, after the restart.

    Results are rows or, where later rows replace earlier ones, keys. They are those of windows that began before the
    kill or, without windows, of micro-batches up to `last_batch`, the last one with an event from before the kill.
    """
    connection = connect()
    connection.register("output", output)
    is_before = f"batch <= {last_batch}"
    if workload.window is not None:
        is_before = f"epoch_us({workload.window(parameters).column}) < {kill.at_us}"
    result = f"DISTINCT {', '.join(workload.keys)}" if workload.keys and output_mode != "append" else "batch"
    rows = f"SELECT {result} FROM output WHERE batch >= {kill.in_flight.batch_id} AND {is_before}"
    (count,) = connection.execute(f"SELECT count(*) FROM ({rows})").fetchone() or (0,)
    return int(count)


def find_caught_up(
    batches: Sequence[Batch], schedule: Schedule, origin_us: int, closed_us: int, killed_us: int
) -> tuple[float | None, str | None]:
    """Return how long after the kill backlog and latency were as before again, or None and why that was not seen.

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
    return None, found.reason.replace("the spike", "the kill")


def _judge_kill(kill: Kill | None) -> Finding:
    """Judge whether the fault has fired."""
    if kill is None:
        reason = "the driver was not killed: no micro-batch with events was in flight between --at and the load's end"
        return Finding("fault", Verdict.UNKNOWN, reason)
    if kill.reason_in_doubt is not None:
        return Finding("fault", Verdict.UNKNOWN, f"the fault is not proven: {kill.reason_in_doubt}")
    return Finding("fault", Verdict.PASS, f"killed with micro-batch {kill.in_flight.batch_id} in flight")


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


def judge_results(found: Differences) -> Finding:
    """Judge the results; where none are expected, none can be missed."""
    if found.rows_missing or found.rows_extra:
        reason = (
            f"{found.rows_missing:,} results lost, {found.rows_doubled:,} doubled and {found.rows_foreign:,} foreign, "
            f"of {found.rows_expected:,} expected"
        )
        return Finding("results", Verdict.FAIL, reason)
    if found.rows_expected == 0:
        reason = "the reference expects no results at all, so nothing was compared; raise --rate or --duration"
        return Finding("results", Verdict.UNKNOWN, reason)
    return Finding("results", Verdict.PASS, f"all {found.rows_expected:,} results are right")
