"""The numbers of a run's summary that thresholds may name, and their units."""

from collections.abc import Mapping
from typing import Any, Literal

from streamgauge.units import format_bytes, format_count, format_duration, format_rate

# None is a plain number: a count, a share, a ratio.
Unit = Literal["seconds", "per second", "bytes"] | None

_PERCENTILES = ("mean", "p50", "p90", "p95", "p99", "max")
_DISTRIBUTION = ("mean", "p50", "p95", "max")
_SPREAD = ("throughput", "latency")
_ROLES = ("tool", "java", "python_workers")
_PHASES = (
    *("source_offsets", "offset_log", "source_plan", "query_planning", "execution", "tasks", "scheduling"),
    *("commit_log", "other"),
)

# (where the numbers stand, their unit, their names)
_TABLE: tuple[tuple[str, Unit, tuple[str, ...]], ...] = (
    ("", "per second", ("offered_rate_per_s", "ingested_rate_per_s", "processed_rate_per_s", "offline_rate_per_s")),
    ("", "per second", ("capacity_per_s",)),
    ("end_to_end_latency_s", None, ("count",)),
    ("end_to_end_latency_s", "seconds", _PERCENTILES),
    ("window_latency_s", None, ("count",)),
    ("window_latency_s", "seconds", _PERCENTILES),
    ("backlog_events", None, ("mean", "max")),
    ("backlog_events", "per second", ("slope_per_s", "slope_low_per_s", "slope_high_per_s")),
    ("back_pressure", None, ("overruns", "share")),
    ("back_pressure", "seconds", ("total_s", "longest_s")),
    ("back_pressure.spread", None, _SPREAD),
    ("back_pressure.spread_in_episodes", None, _SPREAD),
    ("back_pressure.spread_between_episodes", None, _SPREAD),
    ("", None, ("batches",)),
    ("batch_duration_s", "seconds", _DISTRIBUTION),
    ("batch_interval_s", "seconds", _DISTRIBUTION),
    ("phases_s", "seconds", _PHASES),
    ("", None, ("non_functional_share", "events", "events_processed", "events_unprocessed")),
    ("steady_state", None, ("change", "cut_batches")),
    ("steady_state", "seconds", ("from_s", "until_s")),
    ("state", None, ("rows_max", "late_rows")),
    ("state", "bytes", ("bytes_max",)),
    ("stages", None, ("tasks", "failed_tasks", "missing_tasks", "executors")),
    ("stages", "seconds", ("run_s", "cpu_s", "gc_s", "cpu_s_per_event")),
    ("stages", "bytes", ("shuffle_bytes", "spilled_bytes")),
    ("stages.skew", None, ("median", "max")),
    ("resources.cores_used", None, _ROLES),
    ("resources.peak_memory_bytes", "bytes", _ROLES),
    ("resources", None, ("stolen_share", "slowdown")),
    ("resources", "seconds", ("clock_jump_s",)),
    ("core_use", None, ("used",)),
    ("core_use", "per second", ("events_per_s_per_core",)),
    ("core_use", "seconds", ("core_seconds",)),
    ("generator", "seconds", ("core_s_per_event",)),
    ("generator", None, ("share_of_cores",)),
    ("answer", None, ("rows_expected", "rows_got", "rows_missing", "rows_extra", "events")),
    ("", None, ("cores",)),
)

METRICS: dict[str, Unit] = {
    f"{group}.{name}" if group else name: unit for group, unit, names in _TABLE for name in names
}


def metric_value(summary: Mapping[str, Any], path: str) -> float | None:
    """Return a number of the summary; None when it, or the group that it is in, is missing.

    >>> metric_value({"state": {"rows_max": 7}, "stages": None}, "state.rows_max")
    7.0
    >>> metric_value({"state": {"rows_max": 7}, "stages": None}, "stages.skew.max") is None
    True
    """
    found: Any = summary
    for name in path.split("."):
        found = found.get(name) if isinstance(found, Mapping) else None
    is_number = isinstance(found, int | float) and not isinstance(found, bool)
    return float(found) if is_number else None


def format_metric(value: float, unit: Unit) -> str:
    """Print a number with its unit.

    >>> format_metric(0.25, "seconds"), format_metric(20_000, "per second"), format_metric(3, None)
    ('250 ms', '20k/s', '3')
    """
    formats = {"seconds": format_duration, "per second": format_rate, "bytes": format_bytes}
    return formats[unit](value) if unit else format_count(value)
