"""What a report says in words and numbers, the same in HTML and in Markdown, and to the digit as on the terminal."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from streamgauge.errors import StreamgaugeError
from streamgauge.report import terminal
from streamgauge.store import StoredRun
from streamgauge.units import format_bytes, format_count, format_duration, format_rate

LATENCY_COLUMNS = ("mean", "p50", "p90", "p95", "p99", "max")
NOT_REPEATED = "The query ran by itself, so no command of streamgauge repeats it."
_ORIGINS = {"attach": "watched in its own application", "import": "read from the event log of its application"}


@dataclass(frozen=True)
class Metric:
    """One number of the summary: where it is, what it is called, how it is written, and the unit behind it.

    The change of one that `has_ratio` not, such as a share or a slope, is not told in percent.
    """

    path: str
    name: str
    form: Callable[[float], str]
    unit: str = ""
    has_ratio: bool = True

    def value(self, summary: Mapping[str, Any]) -> float | None:
        """Return the number, or None when the run does not have it."""
        found: Any = summary
        for key in self.path.split("."):
            found = found.get(key) if isinstance(found, Mapping) else None
        return found if isinstance(found, int | float) else None

    def text(self, summary: Mapping[str, Any]) -> str:
        """Return the number as people read it."""
        value = self.value(summary)
        return "unknown" if value is None else f"{self.form(value)} {self.unit}".rstrip()


def _percent(value: float) -> str:
    return f"{value:.0%}"


def _whole(value: float) -> str:
    return f"{value:,}"


def _each(path: str, name: str, form: Callable[[float], str], keys: Sequence[str]) -> tuple[Metric, ...]:
    return tuple(Metric(f"{path}.{key}", f"{name} {key}", form) for key in keys)


METRICS = (
    Metric("offered_rate_per_s", "offered rate", format_rate),
    Metric("ingested_rate_per_s", "ingested rate", format_rate),
    Metric("processed_rate_per_s", "processed rate", format_rate),
    Metric("offline_rate_per_s", "offline maximum", format_rate),
    *_each("end_to_end_latency_s", "end-to-end latency", format_duration, LATENCY_COLUMNS),
    *_each("window_latency_s", "window latency", format_duration, ("mean", "max")),
    *_each("source_to_sink_latency_s", "estimated latency from source to sink", format_duration, ("mean", "p95")),
    *_each("backlog_events", "backlog", format_count, ("mean", "max")),
    Metric("backlog_events.slope_per_s", "backlog slope", format_count, "events/s", has_ratio=False),
    Metric("back_pressure.total_s", "time behind", format_duration, has_ratio=False),
    Metric("batches", "measured micro-batches", _whole, has_ratio=False),
    *_each("batch_duration_s", "batch duration", format_duration, ("mean", "p95", "max")),
    Metric("non_functional_share", "non-functional work", _percent, has_ratio=False),
    Metric("events", "events offered", _whole),
    Metric("events_processed", "events processed", _whole),
    Metric("events_unprocessed", "events not processed", _whole),
    Metric("state.rows_max", "state, most rows", format_count),
    Metric("state.bytes_max", "state, most bytes", format_bytes),
    Metric("core_use.used", "cores used by Spark", lambda value: f"{value:.2f}"),
    Metric("core_use.events_per_s_per_core", "rate per core", format_count, "events/s"),
    Metric("core_use.core_seconds", "core seconds", lambda value: f"{value:.3g}"),
    Metric("resources.peak_memory_bytes.java", "java, peak memory", format_bytes),
    Metric("stages.cpu_s_per_event", "CPU time of tasks per event", format_duration),
    Metric("stages.skew.max", "highest skew", lambda value: f"{value:.2f}"),
)
METRIC = {metric.path: metric for metric in METRICS}


@dataclass(frozen=True)
class Comparison:
    """One row of a comparison; `changes` are against the first run, None where nothing can be compared."""

    metric: Metric
    values: tuple[float | None, ...]
    texts: tuple[str, ...]
    changes: tuple[str | None, ...]


def _change(first: float | None, value: float | None) -> str | None:
    if first is None or value is None or first <= 0 or value < 0:
        return None
    change = value / first - 1
    return "same" if abs(change) < 0.0005 else f"{change:+.1%}"


def comparison(summaries: Sequence[Mapping[str, Any]]) -> list[Comparison]:
    """Return the numbers of several runs side by side; those that no run has are left out."""
    rows = []
    for metric in METRICS:
        values = tuple(metric.value(s) for s in summaries)
        if any(value is not None for value in values):
            changes = tuple(_change(values[0], v) if k and metric.has_ratio else None for k, v in enumerate(values))
            rows.append(Comparison(metric, values, tuple(metric.text(s) for s in summaries), changes))
    return rows


def has_numbers(summary: Mapping[str, Any]) -> bool:
    """Tell a run that was measured from one that ended before."""
    return "batches" in summary


def key_facts(s: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the lines that the terminal prints under the verdict."""
    return terminal.key_facts(s) if has_numbers(s) else []


def latency_rows(s: Mapping[str, Any]) -> list[tuple[str, str, Mapping[str, Any]]]:
    """Return name, key and numbers of each kind of latency that was measured."""
    if not has_numbers(s) or s.get("load") == "offline":
        return []
    rows = [("end to end", "end_to_end_latency_s", s["end_to_end_latency_s"])]
    if s.get("window_latency_s"):
        windows = s["window_latency_s"]
        rows.append((f"window end ({windows['count']} windows)", "window_latency_s", windows))
    if s.get("source_to_sink_latency_s"):
        rows.append(("source to sink, estimated", "source_to_sink_latency_s", s["source_to_sink_latency_s"]))
    return rows


def duration_text(value: float | None) -> str:
    """Write a duration of a table; what the sample does not support is a dash, as on the terminal."""
    return "-" if value is None else format_duration(value)


def phase_rows(s: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    """Return key, mean and share of each phase of a micro-batch."""
    phases = s.get("phases_s") or {}
    whole = sum(phases.values()) or 1.0
    return [
        (name, format_duration(phases[name]), f"{phases[name] / whole:.0%}")
        for name in terminal.PHASE_ORDER
        if name in phases
    ]


def idle_text(s: Mapping[str, Any]) -> str | None:
    """Say how much of the time no task ran."""
    share = s.get("non_functional_share")
    return None if share is None else f"non-functional work (no task running): {share:.0%} of the time"


def title(stored: StoredRun) -> str:
    """Name the run by its workload, and by its status unless it finished."""
    return f"{stored.document['workload']}{'' if stored.status == 'finished' else f' ({stored.status})'}"


def question(stored: StoredRun) -> str | None:
    """Return the question that the workload asks; None for what is not in the catalogue."""
    from streamgauge.workloads import find_workload

    if stored.is_observed:
        return None
    try:
        return find_workload(stored.document["workload"]).question
    except StreamgaugeError:
        return None


def _load(configuration: Mapping[str, Any], s: Mapping[str, Any]) -> str:
    kind, rate = configuration.get("load", "open"), format_rate(configuration["rate_per_s"])
    arrivals = configuration.get("arrivals", "constant")
    if kind == "offline":
        return f"offline, {s['events']:,} events at once" if "events" in s else "offline, all events at once"
    if kind == "online":
        return f"online, {arrivals} arrivals at half of the offline maximum, {rate}"
    mean_per_s = s.get("offered_rate_per_s")
    if arrivals == "constant" or mean_per_s is None:
        return f"{arrivals} arrivals, {rate}"
    return f"{arrivals}, {format_rate(mean_per_s)} on average in the measured time"


def _time(configuration: Mapping[str, Any]) -> str:
    warmup, measured, drain = (format_duration(configuration[name]) for name in ("warmup_s", "duration_s", "drain_s"))
    return f"{warmup} warm-up, {measured} measured, at most {drain} drain"


def trigger_text(trigger_s: float | None) -> str:
    """Write the trigger interval."""
    if trigger_s is None:
        return "unknown"
    return format_duration(trigger_s) if trigger_s else "as fast as possible"


def _spark(configuration: Mapping[str, Any], environment: Mapping[str, Any], s: Mapping[str, Any]) -> str:
    version = (environment.get("packages") or {}).get("pyspark") or "of unknown version"
    trigger = trigger_text(configuration.get("trigger_s"))
    mode = f", output mode {s['output_mode']}" if s.get("output_mode") else ""
    return f"{version}, {configuration.get('master', 'unknown master')}, trigger {trigger}{mode}"


def _machine(environment: Mapping[str, Any]) -> str:
    memory = environment.get("memory_bytes")
    parts = [
        environment.get("processor"),
        f"{environment['cores']} cores" if environment.get("cores") else None,
        f"{format_bytes(memory)} of memory" if memory else None,
        environment.get("system"),
    ]
    return ", ".join(str(part) for part in parts if part) or "unknown"


def _versions(environment: Mapping[str, Any]) -> str:
    own = {name: environment.get(name) for name in ("streamgauge", "python", "java")}
    known = {**own, **(environment.get("packages") or {})}
    return ", ".join(f"{name} {version}" for name, version in known.items() if version) or "unknown"


def _observed(stored: StoredRun, configuration: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Tell a query that ran by itself."""
    query = stored.document.get("query") or {}
    application = query.get("application") or {}
    known = [
        ("query", query.get("name") or query.get("id")),
        ("application", application.get("name") or application.get("id")),
        ("from", configuration.get("source")),
        ("into", configuration.get("sink")),
    ]
    return [("load", f"not ours: {_ORIGINS[stored.origin]}"), *((name, str(text)) for name, text in known if text)]


def what_was_run(stored: StoredRun, s: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return workload, load, machine and versions; what is not stored is called unknown."""
    document = stored.document
    configuration, environment = document.get("configuration") or {}, document.get("environment") or {}
    asked = question(stored)
    rows = [("workload", document["workload"]), *([("question", asked)] if asked else [])]
    if stored.is_observed:
        rows += _observed(stored, configuration)
        rows.append(("Spark", _spark(configuration, environment, s)))
    elif configuration:
        rows += [("load", _load(configuration, s)), ("time", _time(configuration))]
        rows.append(("Spark", _spark(configuration, environment, s)))
    else:
        rows.append(("load", "unknown: the settings are not stored"))
    rows += [("machine", _machine(environment)), ("versions", _versions(environment))]
    created = str(document.get("created") or "unknown")
    return [*rows, ("started (UTC)", created.partition(".")[0].replace("T", " "))]
