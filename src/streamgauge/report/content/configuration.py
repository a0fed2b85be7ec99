"""What was run, in words: workload, load, time, Spark, machine, versions; what is not stored is called unknown."""

from collections.abc import Mapping
from typing import Any

from streamgauge.conclude.stored_run import workload_of
from streamgauge.store import RunListing, StoredRun
from streamgauge.summary import Summary
from streamgauge.units import format_bytes, format_duration, format_rate

LIST_COLUMNS = ("run", "workload", "status", "verdict")
NOT_REPEATED = "The query ran by itself, so no command of streamgauge repeats it."
_ORIGINS = {"attach": "watched in its own application", "import": "read from the event log of its application"}


def list_row(listing: RunListing) -> tuple[str, ...]:
    """Return a line of a list of runs, the cells of `LIST_COLUMNS`."""
    mark = " (rehearsal)" if listing.rehearsal else ""
    conclusion = f"{listing.verdict or listing.reason or '-'}{mark}"
    return listing.run_id, listing.workload or "-", listing.status, conclusion


def title(stored: StoredRun) -> str:
    """Name the run by its workload, by its status unless it finished, and as a rehearsal where it is one."""
    marks = [stored.status] * (stored.status != "finished") + ["rehearsal"] * stored.is_rehearsal
    return " ".join([stored.document["workload"], *([f"({', '.join(marks)})"] if marks else [])])


def question(stored: StoredRun) -> str | None:
    """Return the question that the workload asks; None for what is not in the catalogue."""
    known = workload_of(stored)
    return None if known is None else known.question


def _load(configuration: Mapping[str, Any], s: Summary) -> str:
    kind, asked = configuration.get("load", "open"), configuration.get("rate_per_s")
    rate = "unknown rate" if asked is None else format_rate(asked)
    arrivals = configuration.get("arrivals", "constant")
    if kind == "offline":
        return f"offline, {s['events']:,} events at once" if "events" in s else "offline, all events at once"
    if kind == "online":
        return f"online, {arrivals} arrivals at half of the offline maximum, {rate}"
    mean_per_s = s.get("offered_rate_per_s")
    if arrivals == "constant" or mean_per_s is None:
        return f"{arrivals} arrivals, {rate}"
    return f"{arrivals}, {format_rate(mean_per_s)} on average in the measured time"


def time_text(configuration: Mapping[str, Any]) -> str:
    """Write how long the parts of a run are."""
    values = [configuration.get(name) for name in ("warmup_s", "duration_s", "drain_s")]
    warmup, measured, drain = ("unknown" if value is None else format_duration(value) for value in values)
    return f"{warmup} warm-up, {measured} measured, at most {drain} drain"


def trigger_text(trigger_s: float | None) -> str:
    """Write the trigger interval."""
    if trigger_s is None:
        return "unknown"
    return format_duration(trigger_s) if trigger_s else "as fast as possible"


def _spark(configuration: Mapping[str, Any], environment: Mapping[str, Any], s: Summary) -> str:
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
    """Return whether the query ran by itself."""
    query = stored.document.get("query") or {}
    application = query.get("application") or {}
    known = [
        ("query", query.get("name") or query.get("id")),
        ("application", application.get("name") or application.get("id")),
        ("from", configuration.get("source")),
        ("into", configuration.get("sink")),
    ]
    return [("load", f"not ours: {_ORIGINS[stored.origin]}"), *((name, str(text)) for name, text in known if text)]


def what_was_run(stored: StoredRun, s: Summary) -> list[tuple[str, str]]:
    """Return workload, load, machine and versions; what is not stored is called unknown."""
    document = stored.document
    configuration, environment = stored.configuration, document.get("environment") or {}
    asked = question(stored)
    rows = [("workload", document["workload"]), *([("question", asked)] if asked else [])]
    if stored.is_observed:
        rows += _observed(stored, configuration)
        rows.append(("Spark", _spark(configuration, environment, s)))
    elif configuration:
        rows += [("load", _load(configuration, s)), ("time", time_text(configuration))]
        rows.append(("Spark", _spark(configuration, environment, s)))
    else:
        rows.append(("load", "unknown: the settings are not stored"))
    rows += [("machine", _machine(environment)), ("versions", _versions(environment))]
    created = str(document.get("created") or "unknown")
    return [*rows, ("started (UTC)", created.partition(".")[0].replace("T", " "))]
