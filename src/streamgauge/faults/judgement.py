"""What came out of a run with faults, judged: did they fire, was anything lost or doubled, when was all as before."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from streamgauge.arrivals import Schedule
from streamgauge.conclude.findings import Finding
from streamgauge.events import Parameters
from streamgauge.faults.driver import InFlight
from streamgauge.faults.kinds import Strike
from streamgauge.faults.plan import BETWEEN_SINK_AND_COMMIT, PlannedFault
from streamgauge.measure import Batch, check_batches, recovery_of_batches
from streamgauge.measure.recovery import MIN_POINTS_BACK
from streamgauge.running.sinks.counted import CountedSink, Guarantee
from streamgauge.running.verify import (
    Differences,
    closing_time_us,
    event_table,
    expected_answer,
    final_answer,
    find_differences,
)
from streamgauge.units import format_count, format_duration
from streamgauge.verdict import Verdict
from streamgauge.workloads import Workload
from streamgauge.workloads.reference import connect

if TYPE_CHECKING:
    import pyarrow as pa

# Before this share of the time until the fault, latencies are those of a cold engine.
SETTLED_SHARE = 1 / 3
MIN_SPIKE_S = 1e-6


@dataclass(frozen=True)
class OfferedLoad:
    """What was offered to a query, and how it emits: all that its right results follow from."""

    workload: Workload
    parameters: Parameters
    schedule: Schedule
    seed: int
    origin_us: int
    output_mode: str


def compare_rows(output: "pa.Table", load: OfferedLoad) -> Differences:
    """Compare what a sink holds in the end with the reference over exactly the events of the load.

    Where rows are only ever added, each counts: a key that comes twice is doubled. Otherwise the last row of each key
    is what a reader knows.
    """
    workload, parameters, schedule, origin_us = load.workload, load.parameters, load.schedule, load.origin_us
    answer = replace(workload.answer, keys=()) if load.output_mode == "append" else workload.answer
    read = replace(workload, answer=answer)
    connection = connect()
    connection.register("output", output)
    got = final_answer(connection, read, parameters, closing_time_us(schedule, origin_us))
    events = event_table(workload, parameters, schedule, seed=load.seed, load_us=origin_us)
    connection.register("got", got)
    connection.register("expected", expected_answer(workload, parameters, events, seed=load.seed))
    return find_differences(connection, workload)


def count_due(hit: InFlight, load: OfferedLoad) -> int | None:
    """Count the rows that a micro-batch must give, None where that does not follow from its events alone.

    It does where there is no state, and in update mode for counts per key: each key of the events gives one row.
    """
    workload, parameters = load.workload, load.parameters
    is_count = workload.name == "ysb" and load.output_mode == "update"
    if workload.answer.reference is None or workload.answer.invariant or (workload.traits.is_stateful and not is_count):
        return None
    arrivals = load.schedule.arrivals(np.arange(hit.first, hit.last), load_us=load.origin_us)
    events = workload.events.table(parameters, seed=load.seed, arrivals=arrivals)
    return int(expected_answer(workload, parameters, events, seed=load.seed).num_rows)


def why_doubles_are_hidden(workload: Workload, output_mode: str, sink: CountedSink) -> str | None:
    """Return why a reader of the sink cannot see a row that was written twice, None where it can."""
    if sink.only_views:
        return f"the sink {sink.name} keeps one value per key"
    if workload.answer.keys and output_mode != "append":
        return f"in output mode {output_mode} a later row replaces the earlier one with its key"
    return None


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
    result = (
        f"DISTINCT {', '.join(workload.answer.keys)}" if workload.answer.keys and output_mode != "append" else "batch"
    )
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
        return None, "the load ended before that could be seen; raise --duration"
    return None, found.reason.replace("the spike", "the fault")


def judge_strike(fault: PlannedFault, strike: Strike | None) -> Finding:
    """Judge whether a fault has fired."""
    if strike is None:
        moment = "moment for it"
        if fault.point == BETWEEN_SINK_AND_COMMIT:
            moment = "micro-batch whose rows the sink was seen to hold before their commit"
        reason = f"{fault.kind} did not fire: no {moment} came between {format_duration(fault.at_s)} and the end"
        return Finding("fault", Verdict.UNKNOWN, reason)
    if strike.doubt is not None:
        return Finding("fault", Verdict.UNKNOWN, f"{fault.kind} is not proven: {strike.doubt}")
    hit = f", with micro-batch {strike.in_flight.batch_id} in flight" if strike.in_flight else ""
    return Finding("fault", Verdict.PASS, f"{fault.kind}: {strike.proof}{hit}")


def doubt_point(strike: Strike, sink: CountedSink, rows_repeated: int | None) -> str | None:
    """Return why it is not proven that a fault came between sink and commit, None where it is.

    The sink must have held all rows of the micro-batch in flight: as many as follow from its events, or else as the
    micro-batch gave when it was repeated, unless the sink shows rows of a micro-batch only all at once.
    """
    hit = strike.in_flight
    if not strike.is_driver_dead:
        return "the driver lived on"
    if hit is None:
        return "no micro-batch was in flight"
    if strike.batches_committed > hit.batch_id:
        return f"micro-batch {hit.batch_id} is in the commit log"
    due = strike.rows_due if strike.rows_due is not None else rows_repeated
    if strike.rows_in_sink and (sink.shows_whole or strike.rows_in_sink == due):
        return None
    held = f"{strike.rows_in_sink or 0:,}" if due is None else f"{strike.rows_in_sink or 0:,} of {due:,}"
    unknown = ", and how many it had to give is not known" if due is None else ""
    return f"the sink was seen to hold {held} rows of micro-batch {hit.batch_id}{unknown}"


def judge_point(strike: Strike) -> Finding | None:
    """Judge whether a fault came between sink and commit, where it was to."""
    if strike.point != BETWEEN_SINK_AND_COMMIT:
        return None
    if strike.point_doubt is not None or strike.in_flight is None:
        reason = f"{strike.kind} between sink and commit is not proven: {strike.point_doubt}"
        return Finding("point", Verdict.UNKNOWN, reason)
    return Finding("point", Verdict.PASS, f"{strike.kind} between sink and commit: {strike.point_proof}")


def judge_doubles(
    found: Differences, strikes: Sequence[Strike], guarantee: Guarantee, doubles_hidden: str | None
) -> Finding | None:
    """Doubt the point where a sink of at-least-once shows no double after a driver died between sink and commit."""
    is_due = any(s.point == BETWEEN_SINK_AND_COMMIT and s.is_driver_dead for s in strikes)
    if guarantee == "exactly-once" or doubles_hidden or not is_due or found.rows_doubled:
        return None
    reason = (
        "the point between sink and commit was not hit: a sink of at-least-once takes the rows of the repeated "
        "micro-batch once more, and no result is doubled"
    )
    return Finding("point", Verdict.UNKNOWN, reason)


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


def judge_results(
    found: Differences, guarantee: Guarantee = "exactly-once", doubles_hidden: str | None = None
) -> Finding:
    """Judge the results by what the sink promises; where none are expected, none can be missed.

    Where doubles are hidden, the promise is judged without them, and the reason says so.
    """
    doubled = "an unknown number" if doubles_hidden else f"{found.rows_doubled:,}"
    counts = (
        f"{found.rows_missing:,} results lost, {doubled} doubled and {found.rows_foreign:,} foreign, "
        f"of {found.rows_expected:,} expected"
    )
    is_allowed = guarantee == "at-least-once" and not found.rows_missing and not found.rows_foreign
    if (found.rows_missing or found.rows_extra) and not is_allowed:
        return Finding("results", Verdict.FAIL, counts)
    if found.rows_expected == 0:
        reason = "the reference expects no results at all, so nothing was compared; raise --rate or --duration"
        return Finding("results", Verdict.UNKNOWN, reason)
    if doubles_hidden:
        reason = f"nothing lost and nothing wrong; doubling was not visible: {doubles_hidden}"
        return Finding("results", Verdict.PASS, reason)
    if found.rows_doubled:
        return Finding("results", Verdict.PASS, f"{counts}, as a sink of at-least-once may")
    return Finding("results", Verdict.PASS, f"all {found.rows_expected:,} results are right")
