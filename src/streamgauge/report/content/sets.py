"""What a set of runs says, in words and tables: the same in HTML and in Markdown.

Sets are read as other people's data: what a document lacks is left out or called unknown, never an error.
"""

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from statistics import mean, median, stdev
from typing import Any

from streamgauge.conclude.stored_run import summary_of
from streamgauge.errors import StreamgaugeError
from streamgauge.measure.search import Bracket, Search
from streamgauge.metrics import METRIC
from streamgauge.report.content.model_sets import describe_calibration, describe_evaluation
from streamgauge.report.content.search import search_facts
from streamgauge.report.content.series import Mark
from streamgauge.report.content.set_tables import (
    VERDICTS,
    Cell,
    ReportedSet,
    SetTable,
    items,
    mapping,
    number,
    strings,
    verdict_of,
)
from streamgauge.store import StoredRun, StoredSet
from streamgauge.units import format_count, format_duration, format_rate

# Sets with more runs than this are shown by their tables; each run has a report of its own.
MAX_SECTIONS = 4
# More lines than this cannot be distinguished in one chart.
MAX_OVERLAID = 16

_TITLES = {
    "sustain": "Highest rate that {} sustains",
    "scale": "Scaling of {}",
    "surge": "Surge on {}",
    "fault": "Faults on {}",
    "suite": "Suite {}",
    "repeat": "Repetitions of {}",
    "calibrate": "Calibration of the model for {}",
    "evaluate": "Evaluation of predictions, {}",
}
_SPREAD = (
    "processed_rate_per_s",
    "offline_rate_per_s",
    "end_to_end_latency_s.p50",
    "end_to_end_latency_s.p95",
    "end_to_end_latency_s.p99",
    "batch_duration_s.mean",
)


Runs = Mapping[str, StoredRun]


def _text(value: Any, form: Callable[[float], str]) -> str:
    known = number(value)
    return "unknown" if known is None else form(known)


def _verdict(value: Any) -> Cell:
    return Cell(verdict_of(value), is_verdict=True)


def _run_cell(run_id: Any) -> Cell:
    return Cell(str(run_id), run_id=str(run_id)) if run_id else Cell("none")


def _reasons(value: Any) -> str:
    return "; ".join(map(str, value)) if isinstance(value, list | tuple) else str(value or "")


def _whole(value: float) -> str:
    return f"{value:,.0f}"


def _at(value: float) -> str:
    return f"{format_duration(value)} after the load began"


def _share(value: float) -> str:
    return f"{value:.1%}"


def _known_facts(
    result: Mapping[str, Any], names: Iterable[tuple[str, str, Callable[[float], str]]]
) -> list[tuple[str, str]]:
    """Return the numbers that a result mentions; one that is null is unknown, one that is absent is left out."""
    return [(name, _text(result[key], form)) for key, name, form in names if key in result]


def search_of(stored: StoredSet) -> tuple[list[Mapping[str, Any]], Bracket]:
    """Return the probes of a search in their order, and the interval known from them."""
    document = stored.document
    result = mapping(document.get("result"))
    ends = mapping(result.get("sustainable_rate_per_s"))
    probes = items(result.get("probes")) or items(mapping(document.get("search")).get("probes"))
    if ends:
        return probes, Bracket(number(ends.get("low")), number(ends.get("high")))
    search = _search(stored)
    return probes, search.bracket if search else Bracket(None, None)


def _search(stored: StoredSet) -> Search | None:
    """Return the search as it is stored, None where it cannot be read."""
    try:
        return Search.from_dict(mapping(stored.document.get("search")))
    except StreamgaugeError:
        return None


def _at_end(probes: Sequence[Mapping[str, Any]], rate_per_s: float | None, verdict: str, runs: Runs) -> list[StoredRun]:
    """Return the last probe that decided an end of the interval."""
    if rate_per_s is None:
        return []
    deciding = [p for p in probes if number(p.get("rate_per_s")) == rate_per_s and p.get("verdict") == verdict]
    found = [runs[str(p.get("run_id"))] for p in deciding if str(p.get("run_id")) in runs]
    return found[-1:]


def _sustain(set_: ReportedSet, runs: Runs) -> ReportedSet:
    probes, bracket = search_of(set_.stored)
    spent_s = sum(number(probe.get("duration_s")) or 0.0 for probe in probes)
    configuration = mapping(set_.stored.document.get("configuration"))
    # Its name in earlier versions.
    limit = configuration.get("limit", configuration.get("latency"))
    search = _search(set_.stored)
    lines = search_facts(bracket, search, len(probes), spent_s)
    lines[1:1] = [("latency limit", str(limit))] if limit else []
    rows = tuple(
        (
            Cell(str(place)),
            Cell(_text(probe.get("rate_per_s"), format_rate)),
            _verdict(probe.get("verdict")),
            Cell(_reasons(probe.get("reasons"))),
            _run_cell(probe.get("run_id")),
        )
        for place, probe in enumerate(probes, 1)
    )
    table = SetTable(
        "Probes in their order",
        ("probe", "rate", "verdict", "why", "run"),
        rows,
        "Each probe is a run at one rate; the runs at the ends of the interval are shown below. A probe passes when "
        "the load is sustained, although the run itself may be too short for all questions behind its verdict.",
        words_at_end=3,
    )
    ends = _at_end(probes, bracket.low_per_s, "pass", runs) + _at_end(probes, bracket.high_per_s, "fail", runs)
    return replace(set_, facts=tuple(lines), tables=(table,), sections=tuple(ends))


def _law_facts(law: Mapping[str, Any]) -> list[tuple[str, str]]:
    lines = _known_facts(
        law,
        (
            ("per_core", "one core", format_rate),
            ("contention", "contention", lambda v: f"{v:.3g} of the work waits for something shared"),
            ("coherence", "coherence", lambda v: f"{v:.3g} for each pair of cores that must agree"),
        ),
    )
    if number(law.get("peak_cores")) is not None:
        lines.append(("peak", f"at {law['peak_cores']:.3g} cores, by the fitted law"))
    if number(law.get("r_squared")) is not None:
        lines.append(("fit", f"R² {law['r_squared']:.4f}"))
    return [*lines, *([("law", str(law["reason"]))] if law.get("reason") else [])]


def capacity_interval(row: Mapping[str, Any]) -> str:
    """Write the interval of a capacity, which a single run does not have."""
    low, high = number(row.get("low_per_s")), number(row.get("high_per_s"))
    if low is None or high is None:
        return "one run" if row.get("runs") == 1 else "unknown"
    return f"{format_rate(max(0.0, low))} to {format_rate(high)}"


def _core_cells(row: Mapping[str, Any]) -> list[Cell]:
    """Return the setting of a run or of a capacity, and its rate."""
    cores, partitions = _text(row.get("cores"), "{:g}".format), row.get("shuffle_partitions")
    rate = _text(row.get("rate_per_s"), format_rate)
    return [Cell(cores), Cell("one per core" if partitions is None else str(partitions)), Cell(rate)]


def _scale(set_: ReportedSet, _: Runs) -> ReportedSet:
    result = set_.result
    capacity = SetTable(
        "Capacity by cores",
        ("cores", "shuffle partitions", "capacity", "interval", "speed-up", "efficiency", "runs"),
        tuple(
            (
                *_core_cells(row),
                Cell(capacity_interval(row)),
                Cell(_text(row.get("speed_up"), "{:.2f}".format)),
                Cell(_text(row.get("efficiency"), "{:.0%}".format)),
                Cell(_text(row.get("runs"), "{:g}".format)),
            )
            for row in items(result.get("capacity"))
        ),
        "Speed-up is the capacity by that of the fewest cores, efficiency the speed-up by the cores that were added.",
    )
    points = SetTable(
        "Runs",
        ("cores", "shuffle partitions", "rate", "verdict", "run"),
        tuple(
            (*_core_cells(point), _verdict(point.get("verdict")), _run_cell(point.get("run_id")))
            for point in items(result.get("points"))
        ),
        words_at_end=2,
    )
    lines = _law_facts(mapping(result.get("law")))
    return replace(set_, facts=tuple(lines), tables=tuple(t for t in (capacity, points) if t.rows))


def _affected(set_: ReportedSet, runs: Runs, spans: Sequence[Mark]) -> ReportedSet:
    """Show the run of a surge or a fault in full, with what happened to it shaded."""
    named = [str(set_.result["run_id"])] if set_.result.get("run_id") else set_.stored.run_ids
    shown = [runs[run_id] for run_id in named if run_id in runs][:MAX_SECTIONS]
    return replace(set_, sections=tuple(shown), spans={run.run_id: tuple(spans) for run in shown})


def _span(name: str, start: Any, end: Any) -> list[Mark]:
    start_s, end_s = number(start), number(end)
    return [] if start_s is None or end_s is None or end_s <= start_s else [Mark(name, start_s, end_s)]


def _surge(set_: ReportedSet, runs: Runs) -> ReportedSet:
    result = set_.result
    lines = _known_facts(
        result,
        (
            ("base_rate_per_s", "base rate", format_rate),
            ("spike_rate_per_s", "spike rate", format_rate),
            ("capacity_per_s", "capacity", format_rate),
            ("spike_start_s", "spike began", _at),
            ("spike_end_s", "spike ended", _at),
            ("peak_latency_s", "peak latency", format_duration),
            ("peak_backlog_events", "peak backlog", lambda v: f"{format_count(v)} events"),
            ("time_to_recover_s", "recovered", lambda v: f"{format_duration(v)} after the spike ended"),
        ),
    )
    spike = _span("spike", result.get("spike_start_s"), result.get("spike_end_s"))
    return _affected(replace(set_, facts=tuple(lines)), runs, spike)


def _fault(set_: ReportedSet, runs: Runs) -> ReportedSet:
    result = set_.result
    lines = _known_facts(
        result,
        (
            ("killed_at_s", "first fault", _at),
            ("batch_in_flight", "in flight then", lambda v: f"micro-batch {v:g}"),
            ("batches_committed", "committed then", lambda v: f"{v:g} micro-batch{'' if v == 1 else 'es'}"),
            ("driver_return_code", "return code", "{:g} of the driver".format),
            ("restarted_at_s", "restarted", _at),
            ("ready_s", "ready", lambda v: f"{format_duration(v)} after the fault"),
            ("recovery_s", "first results", lambda v: f"{format_duration(v)} after the fault"),
            ("caught_up_s", "caught up", lambda v: f"{format_duration(v)} after the fault"),
            ("peak_latency_s", "peak latency", format_duration),
            ("peak_backlog_events", "peak backlog", lambda v: f"{format_count(v)} events"),
            ("rows_expected", "rows expected", _whole),
            ("rows_lost", "rows lost", _whole),
            ("rows_doubled", "rows doubled", _whole),
            ("rows_foreign", "rows foreign", _whole),
            ("rows_recovered", "rows recovered", _whole),
            ("events", "events", _whole),
            ("events_replayed", "events replayed", _whole),
        ),
    )
    if result.get("sink"):
        lines.insert(0, ("sink", f"{result['sink']}, {result.get('guarantee') or 'unknown'}"))
    if result.get("caught_up_reason"):
        lines.append(("catching up", str(result["caught_up_reason"])))
    down = _span("down", result.get("killed_at_s"), result.get("restarted_at_s"))
    return _affected(replace(set_, facts=tuple(lines)), runs, down)


def _baseline_facts(baseline: Mapping[str, Any]) -> list[tuple[str, str]]:
    if not baseline:
        return []
    return [("baseline", f"{baseline.get('reference') or 'unknown'}: {verdict_of(baseline.get('verdict'))}")]


def _baseline_words(row: Mapping[str, Any]) -> str:
    """Return the sentences of a comparison, or why there is none."""
    return "; ".join(strings(mapping(row.get("comparison")).get("words")) or [str(row.get("reason") or "")])


def _baseline_rows(baseline: Mapping[str, Any]) -> SetTable:
    return SetTable(
        "Against the baseline",
        ("configuration", "verdict", "why"),
        tuple(
            (Cell(str(row.get("name") or "unknown")), _verdict(row.get("verdict")), Cell(_baseline_words(row)))
            for row in items(baseline.get("configurations"))
        ),
        "Fail is a change for the worse, unknown that too few runs were made to separate one from chance.",
        words=3,
    )


def _groups(members: Sequence[Mapping[str, Any]], runs: Runs) -> dict[str, list[StoredRun]]:
    """Return the runs of each configuration by its name; without names each has its workload's."""
    names = {str(member.get("run_id")): member.get("name") for member in members}
    found: dict[str, list[StoredRun]] = {}
    for run_id, run in runs.items():
        found.setdefault(str(names.get(run_id) or run.document["workload"]), []).append(run)
    return found


def _spread_rows(name: str, summaries: Sequence[Mapping[str, Any]]) -> list[tuple[Cell, ...]]:
    rows = []
    for metric in (METRIC[path] for path in _SPREAD):
        values = [value for s in summaries if (value := number(metric.value(s))) is not None]
        if len(values) < 2:
            continue
        spread = stdev(values) / mean(values) if mean(values) else None
        numbers = [metric.form(value) for value in (min(values), median(values), max(values))]
        texts = [name, metric.title, str(len(values)), *numbers, _text(spread, _share)]
        rows.append(tuple(map(Cell, texts)))
    return rows


def _spread(groups: Mapping[str, Sequence[StoredRun]]) -> SetTable:
    rows = []
    for name, group in groups.items():
        rows += _spread_rows(name, [summary_of(run) for run in group])
    return SetTable(
        "Spread over repetitions",
        ("configuration", "number", "runs", "lowest", "median", "highest", "spread"),
        tuple(rows),
        "Spread is the standard deviation over the runs by their mean.",
        words=2,
    )


def _run_rows(rows: Sequence[Mapping[str, Any]]) -> SetTable:
    return SetTable(
        "Runs",
        ("configuration", "workload", "verdict", "why", "run"),
        tuple(
            (
                Cell(str(row.get("name") or row.get("workload") or "unknown")),
                Cell(str(row.get("workload") or "unknown")),
                _verdict(row.get("verdict")),
                Cell(_reasons(row.get("reasons"))),
                _run_cell(row.get("run_id")),
            )
            for row in rows
        ),
        words=5,
    )


def _threshold_cell(threshold: Mapping[str, Any] | None) -> Cell:
    """Return the number that a threshold is about, marked where it is not as required."""
    if threshold is None:
        return Cell("")
    named = re.match(r"\s*([\w.]+)", str(threshold.get("text")))
    value = number(threshold.get("value"))
    text = METRIC[named[1]].form(value) if named and named[1] in METRIC and value is not None else ""
    verdict = verdict_of(threshold.get("verdict"))
    return Cell(text if verdict == "pass" and text else f"{text} {verdict}".strip())


def _threshold_rows(rows: Sequence[Mapping[str, Any]]) -> SetTable:
    """Return a row for each run and a column for each threshold; the reasons are with the runs."""
    judged = [{str(t.get("text")): t for t in items(row.get("thresholds"))} for row in rows]
    texts = tuple(dict.fromkeys(text for found in judged for text in found))
    return SetTable(
        "Thresholds",
        ("configuration", *texts),
        tuple(
            (Cell(str(row.get("name") or "unknown")), *(_threshold_cell(found.get(text)) for text in texts))
            for row, found in zip(rows, judged, strict=True)
            if found
        ),
    )


def _order_rows(rows: Sequence[Mapping[str, Any]]) -> SetTable:
    return SetTable(
        "Orders",
        ("order", "verdict", "why"),
        tuple(
            (Cell(str(row.get("text") or "unknown")), _verdict(row.get("verdict")), Cell(_reasons(row.get("reason"))))
            for row in rows
        ),
        "An order passes when the medians over the runs have it and the difference is shown at 95 % confidence; with "
        "the medians alone it is unknown.",
        words=3,
    )


def _count_verdicts(rows: Sequence[Mapping[str, Any]]) -> str:
    counts = {verdict: sum(verdict_of(row.get("verdict")) == verdict for row in rows) for verdict in VERDICTS}
    listed = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    return f"{len(rows)}: {listed}" if rows else "none"


def _suite(set_: ReportedSet, runs: Runs) -> ReportedSet:
    rows = items(set_.result.get("runs")) or items(set_.stored.document["members"])
    groups = _groups(items(set_.stored.document["members"]), runs)
    baseline = mapping(set_.result.get("baseline"))
    lines = [("runs", _count_verdicts(rows)), *_baseline_facts(baseline)]
    orders = items(set_.result.get("orders"))
    lines += [("orders", _count_verdicts(orders))] if orders else []
    slowed = strings(set_.result.get("slowed"))
    reason = f"{', '.join(slowed)}: contended, so orders and baseline count quieter runs instead"
    lines += [("re-run", reason)] if slowed else []
    tables = (_order_rows(orders), _threshold_rows(rows), _run_rows(rows), _baseline_rows(baseline), _spread(groups))
    drawn = [(name, run) for name, group in groups.items() for run in group]
    return replace(
        set_,
        facts=tuple(lines),
        tables=tuple(table for table in tables if table.rows),
        sections=tuple(run for _, run in drawn) if len(drawn) <= MAX_SECTIONS else (),
        overlaid=tuple(drawn) if 1 < len(drawn) <= MAX_OVERLAID else (),
    )


def _other(set_: ReportedSet, runs: Runs) -> ReportedSet:
    """Describe what every set has: its runs."""
    table = _run_rows(items(set_.stored.document["members"]))
    return replace(set_, tables=(table,) if table.rows else (), sections=tuple(runs.values())[:MAX_SECTIONS])


_KINDS: Mapping[str, Callable[[ReportedSet, Runs], ReportedSet]] = {
    "sustain": _sustain,
    "scale": _scale,
    "surge": _surge,
    "fault": _fault,
    "suite": _suite,
    "repeat": _suite,
    "calibrate": lambda set_, _: describe_calibration(set_),
    "evaluate": lambda set_, _: describe_evaluation(set_),
}


def _title(stored: StoredSet) -> str:
    document = stored.document
    result = mapping(document.get("result"))
    subject = result.get("suite") or result.get("workload") or document.get("workload") or document.get("title")
    # Not `format`: a kind of others may hold braces.
    title = _TITLES.get(stored.kind, f"{stored.kind} {{}}").replace("{}", str(subject or stored.set_id), 1)
    return f"{title} (rehearsal)" if document.get("rehearsal") else title


def _reason(stored: StoredSet) -> str:
    """Return why the verdict is what it is; a set that did not end says so."""
    result, status = mapping(stored.document.get("result")), stored.document.get("status")
    ending = {"finished": "", "interrupted": "the set was interrupted before its end"}.get(
        str(status), "the set goes on"
    )
    reasons = [ending, *strings(result.get("reasons")), str(result.get("reason") or "")]
    return "; ".join(dict.fromkeys(filter(None, reasons)))


def describe_set(stored: StoredSet, runs: Runs, missing: Sequence[tuple[str, str]] = ()) -> ReportedSet:
    """Describe a set by the command that made it; `runs` are those of its runs that can be read."""
    bare = ReportedSet(
        stored,
        title=_title(stored),
        verdict=verdict_of(mapping(stored.document.get("result")).get("verdict")),
        reason=_reason(stored),
        notes=tuple(strings(mapping(stored.document.get("result")).get("warnings"))),
        missing=tuple(missing),
    )
    return _KINDS.get(stored.kind, _other)(bare, runs)
