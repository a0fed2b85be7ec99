"""The numbers of a run's summary: what each is called, what it means, how it is written, and whether more is better.

Thresholds, orders, comparisons, reports and exports read this table; nothing else describes a metric.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal

from streamgauge.machine.process import ROLES
from streamgauge.units import format_bytes, format_count, format_duration, format_rate

# None is a plain number: a count, a share, a ratio.
Unit = Literal["seconds", "per second", "bytes"] | None
Direction = Literal["higher", "lower"]

PERCENTILES = ("mean", "p50", "p90", "p95", "p99", "max")
DISTRIBUTION = ("mean", "p50", "p95", "max")
# In the order in which reports list them, the work on events first.
PHASES = (
    *("tasks", "execution", "scheduling", "query_planning", "offset_log", "commit_log"),
    *("source_offsets", "source_plan", "other"),
)
_SPREAD = ("throughput", "latency")
_FORMS: Mapping[Unit, Callable[[float], str]] = {
    None: format_count,
    "seconds": format_duration,
    "per second": format_rate,
    "bytes": format_bytes,
}


def _hundredths(value: float) -> str:
    return f"{value:.2f}"


def _percent(value: float) -> str:
    return f"{value:.0%}"


def _permille(value: float) -> str:
    return f"{value:.1%}"


def _nanoseconds(value: float) -> str:
    return f"{value * 1e9:.0f} ns"


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _events_per_s(value: float) -> str:
    return f"{format_count(value)} events/s"


@dataclass(frozen=True)
class Metric:
    """One number of a summary.

    `better` is None where neither direction is. What is in seconds or per second rests on times; of the others,
    `rests_on_times` says so. Reports show the `is_key` ones of several runs side by side, with a change in percent if
    it `has_ratio`. Those with a sentence in `change` decide comparisons.
    """

    path: str
    title: str
    unit: Unit
    meaning: str
    written: Callable[[float], str] | None = None
    better: Direction | None = None
    rests_on_times: bool = False
    is_key: bool = False
    has_ratio: bool = True
    change: str = ""

    @property
    def is_timed(self) -> bool:
        """Whether a busy machine or a wrong clock changes it."""
        return self.rests_on_times or self.unit in ("seconds", "per second")

    def form(self, value: float) -> str:
        """Write a value as people read it.

        >>> METRIC["end_to_end_latency_s.p95"].form(0.25), METRIC["offered_rate_per_s"].form(20_000)
        ('250 ms', '20k/s')
        """
        return (self.written or _FORMS[self.unit])(value)

    def value(self, summary: Mapping[str, Any]) -> float | None:
        """Return the number; None when it, or the group that it is in, is missing.

        >>> METRIC["state.rows_max"].value({"state": {"rows_max": 7}, "stages": None})
        7
        >>> METRIC["stages.skew.max"].value({"state": {"rows_max": 7}, "stages": None}) is None
        True
        """
        found: Any = summary
        for key in self.path.split("."):
            found = found.get(key) if isinstance(found, Mapping) else None
        return found if isinstance(found, int | float) and not isinstance(found, bool) else None

    def text(self, summary: Mapping[str, Any], missing: str = "unknown") -> str:
        """Return the number of a summary as people read it."""
        value = self.value(summary)
        return missing if value is None else self.form(value)


def _family(
    each: Metric, names: Iterable[str], *, key: Iterable[str] = (), changes: Mapping[str, str] | None = None
) -> Iterator[Metric]:
    """Yield a metric for each name, which takes the place of {} in path and title; those in `key` are key."""
    for name in names:
        yield replace(
            each,
            path=each.path.format(name),
            title=each.title.format(name.replace("_", " ")),
            is_key=name in key,
            change=(changes or {}).get(name, ""),
        )


def _latency(
    group: str, title: str, counted: str, meaning: str, key: Iterable[str], changes: Mapping[str, str] | None = None
) -> Iterator[Metric]:
    """Yield the metrics of a kind of latency; `counted` is what its sample consists of."""
    yield Metric(f"{group}.count", f"{counted} of the {title}", None, f"{counted} behind the latency")
    each = Metric(f"{group}.{{}}", f"{title} {{}}", "seconds", meaning, better="lower")
    yield from _family(each, PERCENTILES, key=key, changes=changes)


_AS_MANY = "{b} processes {times} times as many events per second as {a}"
_LATENCY_CHANGE = "{} of the end-to-end latency of {{b}} is {{times}} times that of {{a}}"

METRICS: tuple[Metric, ...] = (
    Metric("offered_rate_per_s", "offered rate", "per second", "events that the load offers", is_key=True),
    Metric("ingested_rate_per_s", "ingested rate", "per second", "events that micro-batches take in", is_key=True),
    Metric(
        "processed_rate_per_s", "processed rate", "per second", "events whose results are emitted", better="higher",
        is_key=True, change=_AS_MANY,
    ),
    Metric(
        "offline_rate_per_s", "offline maximum", "per second", "events processed when all are there at once",
        better="higher", is_key=True, change=f"{_AS_MANY} when all events are there at once",
    ),
    Metric(
        "capacity_per_s", "estimated capacity", "per second",
        "the highest sustainable rate, estimated from the length of micro-batches", better="higher",
    ),
    *_latency(
        "end_to_end_latency_s", "end-to-end latency", "events",
        "from the intended time of an event to the emission of its results", key=PERCENTILES,
        changes={
            "mean": _LATENCY_CHANGE.format("the mean"),
            **{name: _LATENCY_CHANGE.format(name) for name in ("p50", "p95", "p99")},
        },
    ),
    *_latency(
        "window_latency_s", "window latency", "windows", "from the end of a window to its final result",
        key=("mean", "max"),
    ),
    *_latency(
        "yahoo_latency_s", "Yahoo's latency", "counts",
        "from the end of a window to the last update of its count in Redis, as Yahoo's benchmark has it",
        key=("mean", "max"),
    ),
    *_latency(
        "source_to_sink_latency_s", "estimated latency from source to sink", "rows",
        "of a query that ran by itself: from a row's arrival at the source to the emission of its results",
        key=("mean", "p95"),
    ),
    *_family(
        Metric(
            "backlog_events.{}", "backlog {}", None, "events that wait after a micro-batch", better="lower",
            rests_on_times=True,
        ),
        ("mean", "max"), key=("mean", "max"),
    ),
    Metric(
        "backlog_events.slope_per_s", "backlog slope", "per second", "growth of the backlog", written=_events_per_s,
        better="lower", is_key=True, has_ratio=False,
    ),
    *_family(
        Metric(
            "backlog_events.slope_{}_per_s", "backlog slope, {} end", "per second",
            "ends of the interval in which the growth of the backlog lies", written=_events_per_s, has_ratio=False,
        ),
        ("low", "high"),
    ),
    Metric(
        "back_pressure.total_s", "time behind", "seconds", "time in which the query was behind its load",
        better="lower", is_key=True, has_ratio=False,
    ),
    Metric("back_pressure.longest_s", "longest episode", "seconds", "longest time behind", better="lower"),
    Metric(
        "back_pressure.share", "share of time behind", None, "share of the load's time in which the query was behind",
        written=_percent, better="lower", rests_on_times=True, has_ratio=False,
    ),
    Metric(
        "back_pressure.overruns", "overruns", None, "micro-batches that took longer than the trigger interval",
        better="lower", rests_on_times=True,
    ),
    *_family(
        Metric(
            "back_pressure.spread.{}", "spread of {}", None, "standard deviation over micro-batches by their mean",
            written=_hundredths, rests_on_times=True,
        ),
        _SPREAD,
    ),
    *_family(
        Metric(
            "back_pressure.spread_in_episodes.{}", "spread of {} while behind", None,
            "the same of micro-batches while the query was behind", written=_hundredths, rests_on_times=True,
        ),
        _SPREAD,
    ),
    *_family(
        Metric(
            "back_pressure.spread_between_episodes.{}", "spread of {} else", None,
            "the same of all other micro-batches", written=_hundredths, rests_on_times=True,
        ),
        _SPREAD,
    ),
    Metric(
        "batches", "measured micro-batches", None, "micro-batches in the measured time", written=_whole, is_key=True,
        has_ratio=False,
    ),
    *_family(
        Metric(
            "batch_duration_s.{}", "batch duration {}", "seconds", "from start to end of a micro-batch",
            better="lower",
        ),
        DISTRIBUTION, key=("mean", "p95", "max"),
        changes={"mean": "the mean duration of a micro-batch of {b} is {times} times that of {a}"},
    ),
    *_family(
        Metric(
            "batch_interval_s.{}", "batch interval {}", "seconds",
            "from the start of a micro-batch to that of the next",
        ),
        DISTRIBUTION,
    ),
    *_family(Metric("phases_s.{}", "{} of a batch", "seconds", "mean time of a micro-batch in this phase"), PHASES),
    Metric(
        "non_functional_share", "engine overhead", None,
        "share of the time of micro-batches in which no task ran", written=_percent, better="lower",
        rests_on_times=True, is_key=True, has_ratio=False,
    ),
    Metric("events", "events offered", None, "events of the whole run", written=_whole, is_key=True),
    Metric("events_processed", "events processed", None, "events with results", written=_whole, is_key=True),
    Metric(
        "events_unprocessed", "events not processed", None, "events without results at the end of the run",
        written=_whole, better="lower", rests_on_times=True, is_key=True,
    ),
    Metric(
        "steady_state.change", "change of latency", None, "how much the latency changes over the measured time",
        written=_percent, rests_on_times=True, has_ratio=False,
    ),
    Metric("steady_state.cut_batches", "cut", None, "micro-batches dropped after the warm-up", rests_on_times=True),
    *_family(
        Metric("steady_state.{}_s", "measured {}", "seconds", "ends of the measured time of the load", has_ratio=False),
        ("from", "until"),
    ),
    Metric("state.rows_max", "state, most rows", None, "rows kept between micro-batches, at most", is_key=True),
    Metric("state.bytes_max", "state, most bytes", "bytes", "memory of the state, at most", is_key=True),
    Metric("state.late_rows", "late rows", None, "rows dropped because they came after the watermark"),
    Metric(
        "core_use.used", "cores used by Spark", None, "cores that Java and Python workers used on average",
        written=_hundredths, is_key=True,
    ),
    Metric(
        "core_use.events_per_s_per_core", "rate per core", "per second", "processed rate by the cores used",
        written=_events_per_s, better="higher", is_key=True,
        change="{b} processes {times} times as many events per second and core used as {a}",
    ),
    Metric(
        "core_use.core_seconds", "core seconds", "seconds", "CPU time of Spark in the measured time",
        written="{:.3g}".format, is_key=True,
    ),
    *_family(
        Metric(
            "resources.cores_used.{}", "{}, cores used", None, "cores that these processes used on average",
            written=_hundredths,
        ),
        ROLES,
    ),
    *_family(
        Metric("resources.peak_memory_bytes.{}", "{}, peak memory", "bytes", "memory of these processes, at most"),
        ROLES, key=("java",),
    ),
    Metric("resources.stolen_share", "stolen time", None, "share of time that the hypervisor took", written=_permille),
    Metric(
        "resources.slowdown", "slowdown", None, "time of the reference loop by its time when nothing disturbs it",
        written=_hundredths,
    ),
    Metric("resources.clock_jump_s", "jump of the clock", "seconds", "by which the wall clock jumped"),
    Metric("resources.clock_drift_s", "drift of the clock", "seconds", "by which the wall clock drifted"),
    Metric("stages.tasks", "tasks", None, "tasks of the measured micro-batches"),
    Metric("stages.failed_tasks", "failed tasks", None, "tasks that failed", better="lower"),
    Metric("stages.missing_tasks", "missing tasks", None, "tasks that Spark did not log", better="lower"),
    Metric("stages.executors", "executors", None, "executors that ran tasks"),
    Metric("stages.run_s", "run time of tasks", "seconds", "time in tasks, summed up"),
    Metric("stages.cpu_s", "CPU time of tasks", "seconds", "CPU time of tasks, summed up"),
    Metric("stages.gc_s", "garbage collection", "seconds", "time in which tasks waited for garbage collection"),
    Metric(
        "stages.cpu_s_per_event", "CPU time per event", "seconds",
        "CPU time of tasks by the events of the micro-batches", better="lower", is_key=True,
        change="an event takes {times} times the CPU time in {b} that it takes in {a}",
    ),
    Metric("stages.shuffle_bytes", "shuffled bytes", "bytes", "written between stages"),
    Metric("stages.spilled_bytes", "spilled bytes", "bytes", "written to disk for lack of memory", better="lower"),
    *_family(
        Metric(
            "stages.skew.{}", "skew, {}", None, "the slowest task of a stage by the mean of its tasks",
            written=_hundredths, better="lower", rests_on_times=True,
        ),
        ("median", "max"), key=("max",),
    ),
    Metric("machine.level", "contention", None, "how contended the machine was; above 1 is above a limit"),
    Metric("machine.cores", "cores of the machine", None, "cores of this machine"),
    Metric("machine.foreign_cores", "foreign cores", None, "cores that other processes used", written=_hundredths),
    Metric("machine.quota_cores", "quota", None, "cores that a quota allows"),
    Metric("machine.slowdown", "slowdown of the machine", None, "slowdown of the reference loop", written=_hundredths),
    Metric("machine.frequency_hz", "clock frequency", None, "mean frequency of the processors, in Hz"),
    Metric(
        "machine.waited_share", "wait for cores", None, "share of time in which Spark's threads waited for a core",
        written=_permille,
    ),
    Metric("machine.stolen_share", "stolen share", None, "share of time that the hypervisor took", written=_permille),
    Metric("machine.throttled_share", "throttled share", None, "share of time that a quota took", written=_permille),
    *_family(
        Metric(
            "machine.{}_share", "stalls: {}", None,
            "share of time in which some, or all, tasks of the machine waited for it", written=_permille,
        ),
        ("cpu_some", "io_some", "io_full", "memory_some", "memory_full"),
    ),
    Metric(
        "generator.core_s_per_event", "cost of the generator", "seconds", "CPU time to generate an event",
        written=_nanoseconds,
    ),
    Metric(
        "generator.share_of_cores", "share of the generator", None, "share of all cores that generate events",
        written=_permille,
    ),
    *_family(
        Metric("answer.rows_{}", "rows {}", None, "rows of the answer against those of the reference"),
        ("expected", "got", "missing", "extra"),
    ),
    Metric("answer.events", "events of the answer", None, "events of the stream on which the answer was checked"),
    *_family(
        Metric("recount.rows_{}", "recounted rows {}", None, "rows of the sink against those recounted from the topic"),
        ("expected", "got", "missing", "extra"),
    ),
    Metric("recount.events", "recounted events", None, "events in the topic"),
    *_family(
        Metric("recount.events_{}", "events {}", None, "events that the topic lacks, or has twice", better="lower"),
        ("lost", "doubled"),
    ),
    *_family(
        Metric("delivery.{}", "events {}", None, "events that the load generator sent, sent late, or failed to send"),
        ("sent", "late", "failed"),
    ),
    Metric(
        "delivery.late_share", "share of late events", None, "share of the events that were sent late",
        written="{:.2%}".format, better="lower", rests_on_times=True, has_ratio=False,
    ),
    *_family(
        Metric("delivery.{}_late_s", "lateness {}", "seconds", "how late the generator sent events", better="lower"),
        ("mean", "max"),
    ),
    Metric("records", "records read", None, "records that the query read from Kafka"),
    Metric("malformed_records", "malformed records", None, "records that are not events", better="lower"),
    Metric("partitions_apart_s", "lag between partitions", "seconds", "by the times of their events, at most"),
    Metric("results", "results", None, "records of the result topic, each timed by the broker", written=_whole),
    Metric("cores", "cores", None, "cores that Spark may use"),
)  # fmt: skip
METRIC: Mapping[str, Metric] = {metric.path: metric for metric in METRICS}
