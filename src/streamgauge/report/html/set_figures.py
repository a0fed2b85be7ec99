"""The charts of sets of runs: probes of a search, capacity by cores, predicted against measured latencies."""

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from streamgauge.measure.search import Bracket
from streamgauge.report.content.set_tables import ReportedSet, items, mapping, number, strings, verdict_of
from streamgauge.report.content.sets import search_of
from streamgauge.report.html.axes import Axis, log_axis, range_axis, value_axis
from streamgauge.report.html.chart import Box, Canvas, Chart, Level, Missing, Path
from streamgauge.report.html.figures import Figure
from streamgauge.report.html.overlays import run_style
from streamgauge.units import format_rate

MAX_PROBE_TICKS = 12
# From this ratio of the highest to the lowest rate on, a linear axis would squeeze the low ones together.
WIDE = 8.0
_NAMES = {"pass": "passes", "fail": "fails", "unknown": "no verdict"}
# How far the step that is predicted lies from the one that was measured.
_CASES = ("rate or trigger", "adjacent", "other")

Probe = tuple[int, float, str, str]


def _probes(rows: Sequence[Mapping[str, Any]]) -> list[Probe]:
    """Return number, rate, verdict and first reason of the probes that have a rate."""
    found = []
    for place, row in enumerate(rows, 1):
        rate_per_s = number(row.get("rate_per_s"))
        if rate_per_s is not None and rate_per_s > 0:
            reasons = strings(row.get("reasons"))
            found.append((place, rate_per_s, verdict_of(row.get("verdict")), reasons[0] if reasons else ""))
    return found


def _probe_axis(count: int) -> Axis:
    step = math.ceil(count / MAX_PROBE_TICKS)
    return Axis(0.4, count + 0.6, tuple((float(n), str(n)) for n in range(1, count + 1, step)), has_grid=False)


def _rate_axis(rates_per_s: Sequence[float]) -> Axis:
    low, high = min(rates_per_s), max(rates_per_s)
    if high > WIDE * low:
        return log_axis(low / 1.25, high * 1.25, "rate")
    margin = 0.15 * (high - low) or 0.1 * high
    return range_axis(max(0.0, low - margin), high + margin, "rate")


def _marks(canvas: Canvas, probes: Sequence[Probe]) -> list[Path]:
    """Draw a shape for each verdict: a disc, a square and a ring."""
    paths = [canvas.line([p[0] for p in probes], [p[1] for p in probes], "way")]
    for verdict in _NAMES:
        xs, ys = [p[0] for p in probes if p[2] == verdict], [p[1] for p in probes if p[2] == verdict]
        paths.append(canvas.dots(xs, ys, f"mark {verdict}-mark"))
        if verdict == "unknown":
            paths.append(canvas.dots(xs, ys, "hole"))
    return [path for path in paths if path.data]


def _interval(canvas: Canvas, bracket: Bracket) -> tuple[Box, ...]:
    low, high = bracket.low_per_s, bracket.high_per_s
    if low is None and high is None:
        return ()
    text = "the highest sustained rate lies here"
    # An end that is not known lies beyond the chart.
    ends = canvas.y.low if low is None else low, canvas.y.high if high is None else high
    return (canvas.bar(canvas.x.low, canvas.x.high, *ends, "interval", text),)


def _ends(canvas: Canvas, bracket: Bracket) -> tuple[Level, ...]:
    low, high = bracket.low_per_s, bracket.high_per_s
    found = []
    if low is not None:
        found.append(Level(f"passes at {format_rate(low)}", canvas.y.place(low), is_below=True))
    if high is not None:
        found.append(Level(f"fails at {format_rate(high)}", canvas.y.place(high)))
    return tuple(found)


def probe_figure(rows: Sequence[Mapping[str, Any]], bracket: Bracket) -> Figure:
    """Draw the rates of a search in their order."""
    title = "Probes"
    probes = _probes(rows)
    if not probes:
        return Missing(title, "The search ended before its first probe did.")
    canvas = Canvas(_probe_axis(len(rows)), _rate_axis([rate_per_s for _, rate_per_s, _, _ in probes]))
    texts = [
        f"probe {place}: {format_rate(rate)} {_NAMES[verdict]}" + (f", {reason}" if reason else "")
        for place, rate, verdict, reason in probes
    ]
    scale = "The axis of rates is logarithmic." if canvas.y.is_log else "The axis of rates does not begin at 0."
    return Chart(
        title,
        "The rate of each probe, in their order; the highest sustained rate lies in the shaded interval. " + scale,
        canvas,
        "probe",
        "offered rate",
        paths=tuple(_marks(canvas, probes)),
        boxes=_interval(canvas, bracket),
        strips=canvas.strips([float(place) for place, _, _, _ in probes], texts),
        levels=_ends(canvas, bracket),
        legend=tuple((_NAMES[v], f"{v}-mark") for v in _NAMES if any(p[2] == v for p in probes)),
    )


def _capacities(result: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    rows = items(result.get("capacity")) or items(result.get("points"))
    return [row for row in rows if number(row.get("cores")) and number(row.get("rate_per_s"))]


def _partitions(rows: Sequence[Mapping[str, Any]]) -> list[Any]:
    return list(dict.fromkeys(row.get("shuffle_partitions") for row in rows))


def _partition_name(partitions: Any) -> str:
    return "measured" if partitions is None else f"{partitions} shuffle partitions"


def _curve(law: Mapping[str, Any]) -> list[tuple[float, float]]:
    curve = law.get("curve")
    rows = curve if isinstance(curve, list) else []
    pairs = [row for row in rows if isinstance(row, list | tuple) and len(row) == 2]
    known = [(number(cores), number(rate)) for cores, rate in pairs]
    return [(cores, rate) for cores, rate in known if cores is not None and rate is not None]


def _capacity_paths(canvas: Canvas, rows: Sequence[Mapping[str, Any]]) -> list[Path]:
    """Draw each capacity with its interval, a colour for each number of partitions."""
    paths = []
    for place, partitions in enumerate(_partitions(rows)):
        chosen = [row for row in rows if row.get("shuffle_partitions") == partitions]
        for row in chosen:
            low, high = number(row.get("low_per_s")), number(row.get("high_per_s"))
            if low is not None and high is not None:
                paths.append(canvas.line([row["cores"]] * 2, [low, high], f"{run_style(place)} thick"))
        cores, rates = [row["cores"] for row in chosen], [row["rate_per_s"] for row in chosen]
        paths.append(canvas.dots(cores, rates, f"mark {run_style(place)}"))
    return paths


def _capacity_text(row: Mapping[str, Any]) -> str:
    parts = [f"{row['cores']:g} cores: {format_rate(row['rate_per_s'])}"]
    if (speed_up := number(row.get("speed_up"))) is not None:
        parts.append(f"speed-up {speed_up:.2f}")
    if (efficiency := number(row.get("efficiency"))) is not None:
        parts.append(f"efficiency {efficiency:.0%}")
    return ", ".join(parts)


def capacity_figure(result: Mapping[str, Any]) -> Figure:
    """Draw capacity against cores, with the fitted law and what no loss would give."""
    title = "Capacity by cores"
    rows = sorted(_capacities(result), key=lambda row: float(row["cores"]))
    if not rows:
        return Missing(title, "No number of cores has a capacity.")
    fewest, most = float(rows[0]["cores"]), float(rows[-1]["cores"])
    base = [row["rate_per_s"] for row in rows if row["cores"] == fewest]
    per_core = sum(base) / len(base) / fewest
    curve = _curve(mapping(result.get("law")))
    counts = sorted({float(row["cores"]) for row in rows})
    end = max(most * 1.12, most + 0.3)
    x = Axis(0.0, end, tuple((cores, f"{cores:g}") for cores in counts), has_grid=False)
    curve = [(cores, rate) for cores, rate in curve if cores <= end]
    tops = [number(row.get("high_per_s")) or row["rate_per_s"] for row in rows]
    canvas = Canvas(x, value_axis(max([*tops, per_core * most, *(rate for _, rate in curve)]), "rate"))
    lines = [canvas.line([0.0, most], [0.0, per_core * most], "ideal")]
    legend = [("no loss", "ideal")]
    if curve:
        lines.append(canvas.line([cores for cores, _ in curve], [rate for _, rate in curve], "law"))
        legend.append(("fitted law", "law"))
    legend += [(_partition_name(n), run_style(place)) for place, n in enumerate(_partitions(rows))]
    by_cores = {cores: [row for row in rows if row["cores"] == cores] for cores in counts}
    texts = ["; ".join(map(_capacity_text, group)) for group in by_cores.values()]
    return Chart(
        title,
        "The highest rate that each number of cores reached, with its interval; without loss it would grow with the "
        "cores, as from the fewest of them. The law is Gunther's universal scalability law.",
        canvas,
        "cores",
        "capacity",
        paths=(*lines, *_capacity_paths(canvas, rows)),
        strips=canvas.strips(list(by_cores), texts),
        legend=tuple(legend),
    )


def evaluation_figure(result: Mapping[str, Any]) -> Figure:
    """Draw predicted against measured mean latencies; on the line they are the same."""
    title = "Predicted against measured"
    pairs = [pair for pair in items(result.get("pairs")) if pair.get("case") in _CASES]
    points = []
    for pair in pairs:
        measured = number(mapping(pair.get("measured")).get("latency_mean_s"))
        predicted = number(mapping(pair.get("predicted")).get("latency_mean_s"))
        if measured and predicted and measured > 0 and predicted > 0:
            points.append((str(pair.get("case")), measured, predicted))
    if not points:
        return Missing(title, "No pair has a latency.")
    low = min(min(m, p) for _, m, p in points) / 1.1
    high = max(max(m, p) for _, m, p in points) * 1.1
    canvas = Canvas(log_axis(low, high, "duration"), log_axis(low, high, "duration"))
    paths = [canvas.line([low, high], [low, high], "ideal")]
    legend = [("the same", "ideal")]
    for place, case in enumerate(_CASES):
        own = [(m, p) for c, m, p in points if c == case]
        if own:
            paths.append(canvas.dots([m for m, _ in own], [p for _, p in own], f"mark {run_style(place)}"))
            legend.append((case, run_style(place)))
    return Chart(
        title,
        "Mean latency of every pair of steps; both axes are logarithmic.",
        canvas,
        "measured",
        "predicted",
        paths=tuple(paths),
        legend=tuple(legend),
    )


_KINDS: Mapping[str, Callable[[ReportedSet], Figure]] = {
    "sustain": lambda set_: probe_figure(*search_of(set_.stored)),
    "scale": lambda set_: capacity_figure(set_.result),
    "evaluate": lambda set_: evaluation_figure(set_.result),
}


def set_figures(set_: ReportedSet) -> list[Figure]:
    """Return the charts that a set has besides those of its runs."""
    return [_KINDS[set_.stored.kind](set_)] if set_.stored.kind in _KINDS else []
