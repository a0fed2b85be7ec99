"""What a spike did, on the terminal."""

from rich.console import Console

from streamgauge.experiments.surge import Surge
from streamgauge.report.terminal.console import console, key_values, print_verdict
from streamgauge.units import format_count, format_duration, format_rate


def _load(found: Surge) -> str:
    capacity = found.capacity_per_s
    of = "" if capacity is None else f"; the capacity is about {format_rate(capacity)}, the offline maximum"
    spike = f"{format_rate(found.spike_rate_per_s)} for {format_duration(found.spike_end_s - found.spike_start_s)}"
    return f"{format_rate(found.base_rate_per_s)}, then {spike}, then {format_rate(found.base_rate_per_s)} again{of}"


def _peak(value: float | None, at_s: float | None, unit: str, spike_start_s: float) -> str:
    if value is None or at_s is None:
        return "unknown"
    number = format_duration(value) if unit == "s" else f"{format_count(value)} events"
    return f"{number}, {format_duration(at_s - spike_start_s)} after the spike began"


def _recovered(found: Surge) -> str:
    time_s = found.recovery.time_to_recover_s
    if time_s is None:
        return f"no: {found.recovery.reason}"
    return f"{format_duration(time_s)} after the spike had ended ({found.recovery.reason})"


def print_surge(found: Surge, out: Console | None = None) -> None:
    """Print verdict, load, peaks and the time to recover."""
    out = out or console()
    backlog, latency = found.recovery.backlog, found.recovery.latency
    latest = "unknown" if found.peak_latency_s is None else format_duration(found.peak_latency_s)
    print_verdict(out, found.verdict, found.workload, found.reasons)
    rows = [
        ("load", _load(found)),
        ("backlog", f"at most {_peak(backlog.peak, backlog.peak_at_s, 'events', found.spike_start_s)}"),
        (
            "latency",
            f"mean of a micro-batch at most {_peak(latency.peak, latency.peak_at_s, 's', found.spike_start_s)}; "
            f"of an event {latest}",
        ),
        ("recovered", _recovered(found)),
        ("stored as", f"{found.set_id}, run {found.run_id}"),
        ("see it", f"streamgauge report {found.set_id}"),
    ]
    out.print(key_values(rows))
