"""The summary of a run on one screen, verdict first."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from streamgauge.experiment.stored import summary_of
from streamgauge.report.console import COLOURS, bullets, console, key_values, plain_table
from streamgauge.store import RunListing, StoredRun
from streamgauge.units import format_bytes, format_count, format_duration, format_rate

PHASE_ORDER = (
    "tasks",
    "execution",
    "scheduling",
    "query_planning",
    "offset_log",
    "commit_log",
    "source_offsets",
    "source_plan",
    "other",
)


def _known(value: float | None, form: Any) -> str:
    return "unknown" if value is None else form(value)


def _rates(s: Mapping[str, Any]) -> str:
    if s.get("load") == "offline":
        return f"maximum {_known(s['offline_rate_per_s'], format_rate)}, with all events there at once"
    maximum = s.get("offline_rate_per_s")
    half = f"; the offline maximum is {format_rate(maximum)}" if maximum is not None else ""
    return (
        f"offered {_known(s['offered_rate_per_s'], format_rate)}, "
        f"ingested {_known(s['ingested_rate_per_s'], format_rate)}, "
        f"processed {_known(s['processed_rate_per_s'], format_rate)}{half}"
    )


def _backlog(s: Mapping[str, Any]) -> str:
    backlog = s["backlog_events"]
    return f"mean {_known(backlog['mean'], format_count)}, max {_known(backlog['max'], format_count)}" + (
        "" if backlog["slope_per_s"] is None else f", slope {format_count(backlog['slope_per_s'])} events/s"
    )


def _pressure(s: Mapping[str, Any]) -> str:
    found = s["back_pressure"]
    return f"{found['state'] or 'unknown'}: {found['reason']}"


def _batches(s: Mapping[str, Any]) -> str:
    d = s["batch_duration_s"]
    return (
        f"{s['batches']} measured, duration mean {_known(d['mean'], format_duration)}, "
        f"p95 {_known(d['p95'], format_duration)}, max {_known(d['max'], format_duration)}"
    )


def _results(s: Mapping[str, Any]) -> str:
    counted = f"{s['results']:,} records in {s['result_topic']}, each timed by the broker"
    return f"{counted}; {s['mode']} mode has no micro-batches"


def _answer(s: Mapping[str, Any]) -> str:
    answer = s.get("answer")
    if answer is None:
        return "not checked"
    if answer["verdict"] == "pass":
        return (
            f"right: {format_count(answer['rows_expected'])} rows equal to the reference "
            f"on a stream of {format_count(answer['events'])} events"
        )
    return f"{answer['verdict']}: {answer['rows_missing']} rows missing, {answer['rows_extra']} extra"


def _generator(s: Mapping[str, Any]) -> str:
    cost = s["generator"]
    share = _known(cost["share_of_cores"], lambda value: f"{value:.1%}")
    return f"{cost['core_s_per_event'] * 1e9:.0f} ns of a core per event, {share} of the cores"


def _processes(s: Mapping[str, Any]) -> str:
    used = s["resources"]
    return ", ".join(
        f"{role.replace('_', ' ')} {cores:.2f} cores and {format_bytes(used['peak_memory_bytes'][role])}"
        for role, cores in used["cores_used"].items()
    )


def _core_use(s: Mapping[str, Any]) -> str:
    use = s["core_use"]
    each = _known(use["events_per_s_per_core"], format_count)
    return f"{use['used']:.2f} used by Spark, {each} events/s per core, {use['core_seconds']:.3g} core seconds"


def _delivery(s: Mapping[str, Any]) -> str:
    sent = s["delivery"]
    lateness = f"{sent['late_share'] or 0:.2%} late, the latest by {format_duration(sent['max_late_s'])}"
    return f"{format_count(sent['sent'])} events sent to {s['topic']}, {lateness}"


def _recount(s: Mapping[str, Any]) -> str:
    found = s["recount"]
    counts = (
        f"{found['rows_missing']} rows missing, {found['rows_extra']} extra of {format_count(found['rows_expected'])}"
    )
    return f"{found['verdict']}: {format_count(found['events'])} events in the topic, {counts}"


def _convergence(s: Mapping[str, Any]) -> str:
    first, last = s["convergence"][0], s["convergence"][-1]
    return (
        f"mean distance from true centres {first['mean_distance']:.3g} after {format_count(first['events'])} points, "
        f"{last['mean_distance']:.3g} after {format_count(last['events'])}"
    )


def _state(s: Mapping[str, Any]) -> str:
    return f"up to {format_count(s['state']['rows_max'])} rows, {format_bytes(s['state']['bytes_max'])}"


def _latency_table(s: Mapping[str, Any]) -> Table:
    table = plain_table()
    table.add_column("latency", min_width=12)
    names = ("mean", "p50", "p90", "p95", "p99", "max")
    for name in names:
        table.add_column(name, justify="right")
    rows = [("end to end", s["end_to_end_latency_s"])]
    if s.get("window_latency_s"):
        rows.append((f"window end ({s['window_latency_s']['count']} windows)", s["window_latency_s"]))
    if s.get("yahoo_latency_s"):
        rows.append((f"Yahoo's ({s['yahoo_latency_s']['count']} counts)", s["yahoo_latency_s"]))
    if s.get("source_to_sink_latency_s"):
        rows.append(("source to sink, estimated", s["source_to_sink_latency_s"]))
    for label, values in rows:
        table.add_row(label, *("-" if values[n] is None else format_duration(values[n]) for n in names))
    return table


def _phase_table(s: Mapping[str, Any]) -> Table:
    table = plain_table()
    table.add_column("phase of a batch", min_width=12)
    table.add_column("mean", justify="right")
    table.add_column("share", justify="right")
    whole = sum(s["phases_s"].values()) or 1.0
    for name in PHASE_ORDER:
        if name in s["phases_s"]:
            seconds = s["phases_s"][name]
            table.add_row(name.replace("_", " "), format_duration(seconds), f"{seconds / whole:.0%}")
    return table


def _steady(s: Mapping[str, Any]) -> str:
    steady = s["steady_state"]
    if s.get("load") == "offline":
        return f"{steady['from_s']:.1f} s to {steady['until_s']:.1f} s after the query was let at the events"
    if steady["until_s"] <= steady["from_s"] and s.get("load") != "observed":
        return f"nothing: the load ended in the warm-up, after {steady['until_s']:.1f} s"
    if s.get("load") == "observed":
        return _measured_of_observed(steady)
    cut = steady["cut_batches"]
    dropped = f"; the first {cut} batches after the warm-up were cut" if cut else ""
    return f"{steady['from_s']:.1f} s to {steady['until_s']:.1f} s of the load{dropped}"


def _measured_of_observed(steady: Mapping[str, Any]) -> str:
    cut = steady["cut_batches"]
    dropped = f", nor the {cut} after it" if cut else ""
    span = f"{steady['from_s']:.1f} s to {steady['until_s']:.1f} s after the first micro-batch began"
    return f"{span}, which is not measured itself{dropped}"


def print_summary(stored: StoredRun, out: Console | None = None) -> None:
    """Print verdict, numbers, warnings and where the run is."""
    out = out or console()
    s = summary_of(stored)
    verdict = s["verdict"]
    status = "" if stored.status == "finished" else f" ({stored.status})"
    out.print()
    out.print(Text.assemble((verdict.upper(), f"bold {COLOURS[verdict]}"), f"  {s['workload']}{status}"))
    out.print(bullets(s["reasons"], "  -"))
    if "batches" in s:
        _print_numbers(s, out)
    out.print(bullets(s.get("warnings", ()), "note:", style="yellow"))
    out.print(key_values([("stored in", _near(stored.path))]))


def _near(path: Path) -> str:
    """Return a path as seen from the current folder, when it lies in it."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def key_facts(s: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the numbers of a measured run in words, line by line."""
    unprocessed = f", {s['events_unprocessed']:,} not processed" if s["events_unprocessed"] else ""
    rows = [
        ("throughput", _rates(s)),
        ("events", f"{_known(s['events'], '{:,}'.format)} offered, {s['events_processed']:,} processed{unprocessed}"),
        *([] if s.get("load") == "offline" else [("backlog", _backlog(s))]),
        *([("pressure", _pressure(s))] if s.get("back_pressure") else []),
        ("results", _results(s)) if s["batches"] is None else ("batches", _batches(s)),
        ("measured", _steady(s)),
    ]
    if s["state"]["rows_max"]:
        rows.append(("state", _state(s)))
    if s["resources"]:
        rows.append(("processes", _processes(s)))
    if s.get("core_use"):
        rows.append(("cores", _core_use(s)))
    if s["generator"]:
        rows.append(("generator", _generator(s)))
    if s.get("delivery"):
        rows.append(("load", _delivery(s)))
    if s.get("recount"):
        rows.append(("recount", _recount(s)))
    if s.get("convergence"):
        rows.append(("convergence", _convergence(s)))
    return rows if s.get("load") == "observed" else [*rows, ("answer", _answer(s))]


def _print_numbers(s: Mapping[str, Any], out: Console) -> None:
    out.print(key_values(key_facts(s)))
    out.print()
    if s.get("load") != "offline":
        out.print(_latency_table(s))
        out.print()
    if s["phases_s"]:
        out.print(_phase_table(s))
        if s["non_functional_share"] is not None:
            out.print(Text(f"non-functional work (no task running): {s['non_functional_share']:.0%} of the time"))
        out.print()


def print_runs(listings: Sequence[RunListing], root: Path, out: Console | None = None) -> None:
    """Print a table of stored runs."""
    out = out or console()
    if not listings:
        out.print(Text(f"no runs in {root}; `streamgauge run ysb` makes one"))
        return
    table = plain_table()
    for name in ("run", "workload", "status", "verdict"):
        table.add_column(name, overflow="fold")
    for r in listings:
        table.add_row(r.run_id, r.workload or "-", r.status, r.verdict or (r.reason or "-"))
    out.print(table)
