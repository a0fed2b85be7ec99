"""The numbers of a run, in words and tables: the same on the terminal, in HTML, in Markdown and in a notebook."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streamgauge.machine.process import ROLES
from streamgauge.metrics import METRIC, METRICS, PERCENTILES, PHASES, Metric
from streamgauge.summary import (
    ConvergenceStep,
    PressureNumbers,
    RecountNumbers,
    ResourceNumbers,
    Summary,
    is_measured,
)
from streamgauge.units import format_count

# The kinds of latency, with what stands before their numbers; {} is the size of the sample.
_LATENCIES = {
    "end_to_end_latency_s": "end to end",
    "window_latency_s": "window end ({} windows)",
    "yahoo_latency_s": "Yahoo's ({} counts)",
    "source_to_sink_latency_s": "source to sink, estimated",
}


@dataclass(frozen=True)
class SideBySide:
    """One metric of several runs; `changes` are against the first run, None where nothing can be compared."""

    metric: Metric
    values: tuple[float | None, ...]
    texts: tuple[str, ...]
    changes: tuple[str | None, ...]


def role_name(role: str) -> str:
    """Return the name for people of whose resources are sampled.

    >>> role_name("tool"), role_name("python_workers")
    ('streamgauge', 'python workers')
    """
    return {"tool": "streamgauge"}.get(role, role.replace("_", " "))


def _change(first: float | None, value: float | None) -> str | None:
    if first is None or value is None or first <= 0 or value < 0:
        return None
    change = value / first - 1
    return "same" if abs(change) < 0.0005 else f"{change:+.1%}"


def side_by_side(summaries: Sequence[Summary]) -> list[SideBySide]:
    """Return the key numbers of several runs; those that no run has are left out."""
    rows = []
    for metric in (one for one in METRICS if one.is_key):
        values = tuple(metric.value(s) for s in summaries)
        if any(value is not None for value in values):
            changes = tuple(_change(values[0], v) if k and metric.has_ratio else None for k, v in enumerate(values))
            rows.append(SideBySide(metric, values, tuple(metric.text(s) for s in summaries), changes))
    return rows


@dataclass(frozen=True)
class LatencyRow:
    """A kind of latency, with its numbers in the order of `PERCENTILES`; what the sample does not support is a dash."""

    name: str
    metrics: tuple[Metric, ...]
    values: tuple[float | None, ...]
    texts: tuple[str, ...]


def latency_rows(s: Summary) -> list[LatencyRow]:
    """Return each kind of latency that was measured."""
    if not is_measured(s) or s.get("load") == "offline":
        return []
    rows = []
    for key, name in _LATENCIES.items():
        if s.get(key):
            metrics = tuple(METRIC[f"{key}.{column}"] for column in PERCENTILES)
            values = tuple(metric.value(s) for metric in metrics)
            texts = tuple(metric.text(s, missing="-") for metric in metrics)
            rows.append(LatencyRow(name.format(METRIC[f"{key}.count"].value(s)), metrics, values, texts))
    return rows


def phase_rows(s: Summary) -> list[tuple[str, str, str]]:
    """Return key, mean and share of each phase of a micro-batch."""
    phases = s.get("phases_s") or {}
    whole = sum(phases.values()) or 1.0
    return [
        (name, METRIC[f"phases_s.{name}"].text(s), f"{phases[name] / whole:.0%}") for name in PHASES if name in phases
    ]


def idle_text(s: Summary) -> str | None:
    """Say how much of the time no task ran."""
    share = METRIC["non_functional_share"].text(s, missing="")
    return f"engine overhead (no task running): {share} of the time" if share else None


def key_facts(s: Summary) -> list[tuple[str, str]]:
    """Return the numbers of a measured run in words, line by line; a run that ended before has none."""
    if not is_measured(s):
        return []
    rows = [
        ("throughput", _rates(s)),
        ("events", _events(s)),
        *([] if s.get("load") == "offline" else [("backlog", _backlog(s))]),
        *([("pressure", _pressure(pressure))] if (pressure := s.get("back_pressure")) else []),
        ("results", _results(s)) if s["batches"] is None else ("batches", _batches(s)),
        ("measured", _steady(s)),
    ]
    if s["state"]["rows_max"]:
        rows.append(("state", f"up to {_text(s, 'state.rows_max')} rows, {_text(s, 'state.bytes_max')}"))
    if used := s["resources"]:
        rows.append(("processes", _processes(s, used)))
    if s.get("core_use"):
        rows.append(("cores", _core_use(s)))
    if s["generator"]:
        rows.append(("generator", _generator(s)))
    if s.get("delivery"):
        rows.append(("load", _delivery(s)))
    if recount := s.get("recount"):
        rows.append(("recount", _recount(s, recount)))
    if steps := s.get("convergence"):
        rows.append(("convergence", _convergence(steps)))
    return rows if s.get("load") == "observed" else [*rows, ("answer", _answer(s))]


def _text(s: Summary, path: str) -> str:
    return METRIC[path].text(s)


def _rates(s: Summary) -> str:
    maximum = _text(s, "offline_rate_per_s")
    if s.get("load") == "offline":
        return f"maximum {maximum}, with all events there at once"
    half = "" if s.get("offline_rate_per_s") is None else f"; the offline maximum is {maximum}"
    return ", ".join(f"{name} {_text(s, f'{name}_rate_per_s')}" for name in ("offered", "ingested", "processed")) + half


def _events(s: Summary) -> str:
    unprocessed = f", {_text(s, 'events_unprocessed')} not processed" if s["events_unprocessed"] else ""
    return f"{_text(s, 'events')} offered, {_text(s, 'events_processed')} processed{unprocessed}"


def _backlog(s: Summary) -> str:
    slope = METRIC["backlog_events.slope_per_s"].text(s, missing="")
    sizes = f"mean {_text(s, 'backlog_events.mean')}, max {_text(s, 'backlog_events.max')}"
    return f"{sizes}, slope {slope}" if slope else sizes


def _pressure(found: PressureNumbers) -> str:
    return f"{found['state'] or 'unknown'}: {found['reason']}"


def _batches(s: Summary) -> str:
    durations = ", ".join(f"{name} {_text(s, f'batch_duration_s.{name}')}" for name in ("mean", "p95", "max"))
    return f"{_text(s, 'batches')} measured, duration {durations}"


def _results(s: Summary) -> str:
    counted = f"{_text(s, 'results')} records in {s['result_topic']}, each timed by the broker"
    return f"{counted}; {s['mode']} mode has no micro-batches"


def _answer(s: Summary) -> str:
    answer = s.get("answer")
    if answer is None:
        return "not checked"
    if answer["verdict"] == "pass":
        stream = f"a stream of {_text(s, 'answer.events')} events"
        return f"right: {_text(s, 'answer.rows_expected')} rows equal to the reference on {stream}"
    return f"{answer['verdict']}: {answer['rows_missing']} rows missing, {answer['rows_extra']} extra"


def _generator(s: Summary) -> str:
    cost, share = _text(s, "generator.core_s_per_event"), _text(s, "generator.share_of_cores")
    return f"{cost} of a core per event, {share} of the cores"


def _processes(s: Summary, used: ResourceNumbers) -> str:
    return ", ".join(
        f"{role_name(role)} {_text(s, f'resources.cores_used.{role}')} cores "
        f"and {_text(s, f'resources.peak_memory_bytes.{role}')}"
        for role in ROLES
        if role in (used.get("cores_used") or {})
    )


def _core_use(s: Summary) -> str:
    used, each = _text(s, "core_use.used"), _text(s, "core_use.events_per_s_per_core")
    return f"{used} used by Spark, {each} per core, {_text(s, 'core_use.core_seconds')} core seconds"


def _delivery(s: Summary) -> str:
    late, latest = METRIC["delivery.late_share"].text(s, missing="0.00%"), _text(s, "delivery.max_late_s")
    return f"{_text(s, 'delivery.sent')} events sent to {s['topic']}, {late} late, the latest by {latest}"


def _recount(s: Summary, found: RecountNumbers) -> str:
    rows = {name: _text(s, f"recount.rows_{name}") for name in ("missing", "extra", "expected")}
    counts = f"{rows['missing']} rows missing, {rows['extra']} extra of {rows['expected']}"
    return f"{found['verdict']}: {_text(s, 'recount.events')} events in the topic, {counts}"


def _convergence(steps: Sequence[ConvergenceStep]) -> str:
    first, last = steps[0], steps[-1]
    return (
        f"mean distance from true centres {first['mean_distance']:.3g} after {format_count(first['events'])} points, "
        f"{last['mean_distance']:.3g} after {format_count(last['events'])}"
    )


def _steady(s: Summary) -> str:
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
