"""A plan on the terminal."""

from collections.abc import Mapping
from typing import Any

from rich.console import Console
from rich.text import Text

from streamgauge.report.content.configuration import time_text, trigger_text
from streamgauge.report.terminal.console import bullets, console, key_values
from streamgauge.units import format_count, format_duration, format_rate


def _partitions(value: int | None) -> str:
    return "one per core" if value is None else str(value)


def _time(settings: Mapping[str, Any]) -> str:
    if settings["load"] == "offline":
        share = settings["warmup_s"] / (settings["warmup_s"] + settings["duration_s"])
        return f"the first {share:.0%} of the events are warm-up"
    return time_text(settings)


def _load(plan: Mapping[str, Any]) -> str:
    settings = plan["settings"]
    at_once = f"offline, {plan['events']:,} events at once"
    if settings["load"] == "offline":
        return at_once
    if settings["load"] == "online":
        return f"{at_once}; then {settings['arrivals']} arrivals at half of the rate that they reached"
    mean_per_s, max_per_s = plan["mean_rate_per_s"], plan["max_rate_per_s"]
    if max_per_s == mean_per_s:
        return f"{plan['arrivals']}, {format_rate(mean_per_s)}"
    return f"{plan['arrivals']}, {format_rate(mean_per_s)} on average, {format_rate(max_per_s)} at most"


def _takes(plan: Mapping[str, Any]) -> str:
    longest = format_duration(plan["longest_duration_s"])
    if plan["expected_duration_s"] is None:
        return f"as long as the events need, at most {longest}"
    return f"about {format_duration(plan['expected_duration_s'])}, {longest} when overloaded"


def _engine(plan: Mapping[str, Any]) -> tuple[str, str]:
    settings = plan["settings"]
    query = f"trigger {trigger_text(settings['trigger_s'])}, output mode {plan['output_mode'] or 'found by trial'}"
    if plan["engine"] == "spark":
        return "Spark", f"{settings['master']}, {query}"
    return "engine", f"{settings['engine']}, {query}"


def print_plan(plan: Mapping[str, Any], out: Console | None = None) -> None:
    """Print what would run."""
    out = out or console()
    settings, limit = plan["settings"], plan["max_rows_per_batch"]
    target = format_duration(plan["admission_target_s"])
    source, shuffle = _partitions(plan["source_partitions"]), _partitions(plan["shuffle_partitions"])
    rows = [
        ("load", _load(plan)),
        ("time", _time(settings)),
        ("events", f"{plan['events']:,} in all, {plan['events_measured']:,} measured"),
        ("parameters", ", ".join(f"{k}={v}" for k, v in plan["parameters"].items()) or "none"),
        _engine(plan),
        ("partitions", f"source {source}, shuffle {shuffle}"),
        ("admission", f"{format_count(limit)} events per micro-batch" if limit else f"adapts to batches of {target}"),
        ("takes", _takes(plan)),
        ("stored in", plan["runs"]),
    ]
    out.print(Text(f"{plan['workload']}: {plan['question']}", style="bold"))
    out.print(key_values(rows))
    if plan["warnings"]:
        out.print()
        out.print(bullets(plan["warnings"], "!", style="yellow"))
