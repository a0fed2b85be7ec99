"""What faults did to the results, on the terminal."""

from rich.console import Console

from streamgauge.faults.kinds import Strike
from streamgauge.faults.result import Fault, Outage
from streamgauge.report.terminal.console import console, key_values, print_verdict
from streamgauge.units import format_count, format_duration


def _counted(rows: int, what: str) -> str:
    return f"{rows:,} {what}" if rows else f"nothing {what}"


def results_in_words(fault: Fault) -> str:
    """Say what became of the results: lost, doubled unless that is hidden, and foreign."""
    found = fault.differences
    if found is None:
        return "not compared"
    doubled = "doubling not visible" if fault.rows_doubled is None else _counted(fault.rows_doubled, "doubled")
    words = f"{_counted(found.rows_missing, 'lost')}, {doubled}"
    if found.rows_foreign:
        words += f", {found.rows_foreign:,} foreign"
    if found.rows_missing or found.rows_extra:
        return f"{words}; {found.rows_expected:,} results expected"
    late = f", {fault.recovered:,} of them begun before the fault and out after it" if fault.recovered else ""
    return f"{words}; {found.rows_expected:,} results as expected{late}"


def fault_in_words(found: Fault, strike: Strike) -> str:
    """Say what happened, when, and by which proof."""
    point = f" ({strike.point})" if strike.point else ""
    hit = "with nothing in flight"
    if strike.in_flight is not None:
        events = strike.in_flight.last - strike.in_flight.first
        hit = f"with micro-batch {strike.in_flight.batch_id} ({events:,} events) in flight"
    proof = f"not proven: {strike.doubt}" if strike.doubt else strike.proof
    if strike.point_doubt:
        proof += f"; point not proven: {strike.point_doubt}"
    elif strike.point_proof:
        proof += f"; {strike.point_proof}"
    return (
        f"{strike.kind}{point} {format_duration(found.at_s(strike.at_us))} into the load, {hit} "
        f"and {strike.batches_committed:,} committed; {proof}"
    )


def _recovery(outage: Outage | None) -> str:
    if outage is None or outage.recovery_s is None:
        return "not seen"
    words = f"first results {format_duration(outage.recovery_s)} after the fault, "
    if outage.caught_up_s is None:
        return f"{words}not seen to catch up ({outage.caught_up_reason})"
    return f"{words}backlog and latency as before after {format_duration(outage.caught_up_s)}"


def _peaks(outage: Outage | None) -> str:
    if outage is None or outage.peak_latency_s is None or outage.peak_backlog_events is None:
        return "not seen"
    return (
        f"end-to-end latency {format_duration(outage.peak_latency_s)}, "
        f"backlog {format_count(outage.peak_backlog_events)} events"
    )


def _events(found: Fault) -> str:
    replayed = "" if found.events_replayed is None else f", {found.events_replayed:,} read again after the restart"
    return f"{found.events:,} offered{replayed}"


def print_fault(found: Fault, out: Console | None = None) -> None:
    """Print verdict, results, the fault, and the time to recover."""
    out = out or console()
    print_verdict(out, found.verdict, found.workload, found.reasons)
    rows = [
        ("results", results_in_words(found)),
        ("sink", f"{found.sink}, {found.guarantee}"),
    ]
    for number, strike in enumerate(found.strikes):
        outage = found.outages[number] if number < len(found.outages) else None
        rows += [("fault", fault_in_words(found, strike)), ("recovery", _recovery(outage)), ("peaks", _peaks(outage))]
    if not found.strikes:
        rows.append(("fault", "did not fire"))
    rows.append(("events", _events(found)))
    if len(found.planned) > 1:
        rows.append(("to repeat it", f'--faults "{"; ".join(map(str, found.planned))}"'))
    if found.smallest is not None:
        rows.append(("still fails", f'--faults "{"; ".join(map(str, found.smallest))}"'))
    for kind, examples in (found.differences.examples if found.differences else {}).items():
        rows += [(kind, example) for example in examples]
    rows += [("note", note) for note in found.warnings]
    rows += [
        ("stored as", f"{found.set_id}, run {found.run_id}"),
        ("see it", f"streamgauge report {found.set_id}"),
    ]
    out.print(key_values(rows))
