"""A fault in mid-run: what is lost, what is doubled, how long it takes to get over it.

The query runs in a driver process of its own, and the load goes on by the wall clock whatever happens to it. Faults are
made at chosen times and points of a micro-batch, each with a proof; a driver that dies is started again from its
checkpoint. In the end what the sink holds is compared with the reference over exactly the events of the load. Without
proof that every fault has fired the verdict is unknown.
"""

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Unpack, get_args

from streamgauge.clock import SystemClock
from streamgauge.engine.engine import find_engine
from streamgauge.errors import InvalidExperimentError, UsageError, closest
from streamgauge.faults.experiment import ON_CLUSTER, FaultExperiment
from streamgauge.faults.kinds import PAUSE_S
from streamgauge.faults.plan import (
    BETWEEN_SINK_AND_COMMIT,
    PlannedFault,
    draw_faults,
    parse_at,
    parse_faults,
    parse_kind,
    shrink,
)
from streamgauge.faults.result import Fault
from streamgauge.running.lifecycle import prepare
from streamgauge.running.monitor import Monitor, NoMonitor
from streamgauge.running.sinks.counted import SINKS, CountedSink, refuse_sink
from streamgauge.services import Service, status
from streamgauge.settings.keywords import FaultKeywords
from streamgauge.settings.run_settings import RunSettings
from streamgauge.settings.signature import takes_settings
from streamgauge.store import runs_root
from streamgauge.units import format_count, format_duration, parse_duration
from streamgauge.verdict import Verdict
from streamgauge.workloads import Workload

# The reference is computed over a table of all events.
MAX_EVENTS = 5_000_000


@takes_settings("fault")
def fault(
    workload: str,
    *,
    fault: str = "driver",
    sink: str = "foreach-batch",
    at: str | float | None = None,
    down: str | float = "0s",
    pause: str | float = PAUSE_S,
    faults: str | None = None,
    sequence: int | None = None,
    length: int = 3,
    runs: str | Path | None = None,
    monitor: Monitor | None = None,
    **settings: Unpack[FaultKeywords],
) -> Fault:
    """Make a fault `at` a time or point of the load, and count what comes out.

    By default that is after a third of the load, a driver between sink and commit. Where the workload offers the choice
    and the sink shows doubles, its output mode is append unless `parameters` say otherwise: update mode hides doubles.
    `faults` is a list of them, `sequence` the seed of one that is drawn; where that fails, the smallest part that still
    does is looked for. Other settings are those of `run`; the rate is 20k where neither it nor a prototype file gives
    one.

    >>> import streamgauge as sg
    >>> sg.fault("ysb").verdict  # doctest: +SKIP
    <Verdict.PASS: 'pass'>
    """
    asked: dict[str, Any] = {**settings, "load": "open", "warmup": 0.0, "verify": False}
    chosen, checked, parsed = prepare(workload, asked, command="fault")
    if sink not in SINKS:
        raise UsageError(f'"{sink}" is not a sink', where="--sink", remedy=closest(sink, SINKS))
    refuse(chosen, parsed)
    if find_engine(parsed.engine).name != "spark":
        what = f"the engine {parsed.engine} has no processes to kill"
        raise InvalidExperimentError(what, where="--engine", remedy="leave --engine out")
    given = with_append_mode(chosen, settings.get("parameters") or {}, SINKS[sink])
    chosen, checked, parsed = prepare(workload, {**asked, "parameters": given}, command="fault")
    refuse_sink(SINKS[sink], chosen.output, chosen.output_mode(checked))
    is_clustered = not parsed.master.startswith("local[")
    if sequence is not None:
        possible = possible_faults(SINKS[sink], is_clustered=is_clustered)
        planned = draw_faults(sequence, possible, load_s=parsed.load_s, count=length)
    elif faults is not None:
        planned = parse_faults(faults)
    else:
        # What follows is longer than what goes before: there is a backlog to work off.
        at_s, point = parse_at(at, otherwise_s=parsed.load_s / 3)
        kind = parse_kind(fault, where="--fault")
        if at is None and kind == "driver":
            point = BETWEEN_SINK_AND_COMMIT
        planned = (PlannedFault(at_s, kind, point),)
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
            given=given,
            settings=parsed,
            planned=part,
            down_s=parse_duration(down, where="--down"),
            pause_s=parse_duration(pause, where="--pause"),
            root=runs_root(runs),
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


def with_append_mode(workload: Workload, given: Mapping[str, Any], sink: CountedSink) -> dict[str, Any]:
    """Return the parameters with output mode append where that is a choice nobody made, and shows doubles."""
    field = workload.parameters.model_fields.get("output")
    can_append = field is not None and "append" in get_args(field.annotation)
    usual = {"output": "append"} if can_append and not sink.only_views else {}
    return {**usual, **given}


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
    if not workload.answer.is_known:
        raise InvalidExperimentError(
            f"{workload.name} has no reference against which lost and doubled results could be counted",
            remedy="choose a workload of the catalogue; see `streamgauge list`",
        )
    if workload.sink.each_batch is not None:
        raise InvalidExperimentError(
            f"{workload.name} keeps its state in the driver, where no checkpoint saves it from a kill",
            remedy="choose a workload whose state Spark keeps; see `streamgauge describe`",
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
