"""What came out of a run with faults, judged: did they fire, was anything lost or doubled, when was all as before."""

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from streamgauge.arrivals import Schedule
from streamgauge.events import Parameters
from streamgauge.experiment.driver import InFlight
from streamgauge.experiment.fault_kinds import Strike
from streamgauge.experiment.fault_plan import PlannedFault
from streamgauge.experiment.fault_sinks import Guarantee
from streamgauge.experiment.findings import Finding
from streamgauge.experiment.verify import (
    Differences,
    closing_time_us,
    event_table,
    expected_answer,
    final_answer,
    find_differences,
)
from streamgauge.measure import Batch, check_batches, recovery_of_batches
from streamgauge.measure.recovery import MIN_POINTS_BACK
from streamgauge.units import format_count, format_duration
from streamgauge.verdict import Verdict
from streamgauge.workloads import Workload
from streamgauge.workloads.reference import connect

if TYPE_CHECKING:
    import pyarrow as pa

# Before this share of the time until the fault, latencies are those of a cold engine.
SETTLED_SHARE = 1 / 3
MIN_SPIKE_S = 1e-6


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
