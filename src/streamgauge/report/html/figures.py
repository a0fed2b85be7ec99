"""The charts of one run."""

from collections.abc import Callable, Sequence

import numpy as np

from streamgauge.conclude.summary import busy_by_batch
from streamgauge.machine.process import ROLES
from streamgauge.measure.batch import Phases
from streamgauge.metrics import METRIC, PHASES
from streamgauge.report.content.facts import role_name
from streamgauge.report.content.series import Floats, Mark, RunSeries
from streamgauge.report.content.stages import StageRow
from streamgauge.report.html.axes import Axis, Unit, category_axis, log_axis, percentile_axis, range_axis, value_axis
from streamgauge.report.html.chart import Band, Canvas, Chart, Level, Missing, Path
from streamgauge.units import format_bytes, format_count, format_duration, format_rate

Figure = Chart | Missing

SINCE_START = "time since the load began"
SINCE_FIRST = "time since the first micro-batch began"
SINCE_OPEN = "time since the query was let at the events"
NO_BATCHES = "The run has no micro-batches: it ended before any was reported."
OFFLINE = "All events were there from the start: latency and backlog mean nothing then and are not reported."
NOT_OURS = "The query ran by itself, under a load that is not ours, so this is unknown."
BINS = 48
# From this ratio of largest to median latency on, a linear axis would squeeze most events into a corner.
LONG_TAIL = 6.0
MIN_BEYOND = 10


def time_axis(runs: Sequence[RunSeries]) -> Axis:
    """Return the axis of time over all of some runs."""
    return range_axis(0.0, max((run.end_s for run in runs), default=0.0), "duration")


def time_title(run: RunSeries) -> str:
    """Name the axis of time."""
    if run.stored.is_observed:
        return SINCE_FIRST
    return SINCE_OPEN if run.is_offline else SINCE_START


def _no_schedule(run: RunSeries) -> str:
    if not run.points:
        return NO_BATCHES
    return NOT_OURS if run.stored.is_observed else "The schedule is not stored, so this is unknown."


def _merged(run: RunSeries) -> str:
    count = run.batches_per_point
    return f" Each point stands for {count} micro-batches: peaks are kept, the rest is averaged." if count > 1 else ""


def _bands(canvas: Canvas, run: RunSeries, besides: Sequence[Mark] = ()) -> tuple[Band, ...]:
    marks = [*run.marks(), *besides]
    return tuple(canvas.band(m.name, m.start_s, m.end_s, m.name.replace("-", "")) for m in marks)


def _fault_levels(canvas: Canvas, run: RunSeries) -> tuple[Level, ...]:
    """Mark each fault with a line across the time, and its name."""
    return tuple(
        Level(fault.name, canvas.x.place(fault.at_s), is_vertical=True, is_before=canvas.x.place(fault.at_s) > 0.5)
        for fault in run.faults()
        if 0 <= fault.at_s <= run.end_s
    )


def _band_keys(marks: Sequence[Mark]) -> tuple[tuple[str, str], ...]:
    """Return the legend of shaded spans: the names in narrow ones are not shown."""
    return tuple((name, f"{name} shaded") for name in dict.fromkeys(mark.name for mark in marks))


def _highest(*series: Floats) -> float:
    known = [float(np.nanmax(values)) for values in series if len(values) and np.isfinite(values).any()]
    return max(known, default=0.0)


def _name(run: RunSeries, row: int) -> str:
    """Name a point by its micro-batch and its time."""
    points, at_s = run.points, run.seconds(run.points["emitted_us"])
    first = int(points["batch_id"][row])
    count = run.batches_per_point
    which = f"micro-batch {first}" if count == 1 else f"micro-batches {first} to {first + count - 1}"
    return f"{which}, {at_s[row]:.1f} s"


def _over_time(
    run: RunSeries,
    title: str,
    explanation: str,
    unit: Unit,
    lines: Sequence[tuple[str, Floats, str]],
    *,
    y_title: str,
    form: Callable[[float], str],
    level: tuple[str, float] | None = None,
    besides: Sequence[Mark] = (),
) -> Figure:
    """Draw columns of the micro-batches at the times of their emissions."""
    at_s = run.seconds(run.points["emitted_us"])
    highest = max(_highest(*(values for _, values, _ in lines)), level[1] if level else 0.0)
    canvas = Canvas(time_axis([run]), value_axis(highest, unit))
    shown = at_s >= 0
    paths: list[Path] = []
    for _, values, style in lines:
        paths += [canvas.line(at_s[shown], values[shown], style), canvas.dots(at_s[shown], values[shown], style)]
    rows = [int(row) for row in np.flatnonzero(shown)]
    texts = [
        f"{_name(run, row)}: " + ", ".join(f"{n} {form(v[row])}" for n, v, _ in lines if np.isfinite(v[row]))
        for row in rows
    ]
    return Chart(
        title,
        explanation + _merged(run),
        canvas,
        time_title(run),
        y_title,
        paths=tuple(paths),
        strips=canvas.strips([float(at_s[row]) for row in rows], texts),
        bands=_bands(canvas, run, besides),
        levels=((Level(level[0], canvas.y.place(level[1])),) if level else ()) + _fault_levels(canvas, run),
        legend=(tuple((name, style) for name, _, style in lines) if len(lines) > 1 else ()) + _band_keys(besides),
    )


def rate_figure(run: RunSeries) -> Figure:
    """Draw what was offered and what was processed."""
    title = "Offered and processed rate"
    offered, processed = run.offered(), run.processed()
    if processed is None:
        return Missing(title, NO_BATCHES if not run.points else "No micro-batch with events was reported.")
    both = [rates for rates in (offered, processed) if rates is not None]
    canvas = Canvas(time_axis([run]), value_axis(_highest(*(rates.rate_per_s for rates in both)), "rate"))
    paths = [canvas.steps(list(processed.start_s), list(processed.end_s), list(processed.rate_per_s), "c1")]
    legend = [("processed, per micro-batch", "c1")]
    if offered is not None:
        paths.append(canvas.steps(list(offered.start_s), list(offered.end_s), list(offered.rate_per_s), "offered"))
        legend.append(("offered", "offered"))
    middles = (processed.start_s + processed.end_s) / 2
    texts = [
        f"{start:.1f} s to {end:.1f} s: processed {format_rate(rate)}"
        for start, end, rate in zip(processed.start_s, processed.end_s, processed.rate_per_s, strict=True)
    ]
    known = "The processed rate is the events of a micro-batch by the time since the emission before it; "
    law = (
        "all events were there at once, so no rate was offered."
        if run.is_offline
        else "while the load is sustained it follows the offered one, and swings around it."
        if offered is not None
        else "the offered rate is not known, because the load is not ours."
        if run.stored.is_observed
        else "the offered rate is not drawn, because the schedule is not stored."
    )
    return Chart(
        title,
        known + law + _merged(run),
        canvas,
        time_title(run),
        "events per second",
        paths=tuple(paths),
        strips=canvas.strips(list(middles), texts),
        bands=_bands(canvas, run, run.spans),
        levels=_fault_levels(canvas, run),
        legend=tuple(legend) + _band_keys(run.spans),
    )


def _pressure_text(run: RunSeries) -> str:
    """Say what the backlog means for the query; nothing for a run without one."""
    pressure = run.summary.get("back_pressure")
    if not pressure:
        return ""
    if not pressure.get("state"):
        return f" Back-pressure is unknown: {pressure.get('reason')}."
    return f" Back-pressure is {pressure['state']}: {pressure.get('reason')}."


def backlog_figure(run: RunSeries) -> Figure:
    """Draw the events that wait."""
    title = "Backlog"
    if run.is_offline:
        return Missing(title, OFFLINE)
    if "backlog_events" not in run.points:
        return Missing(title, _no_schedule(run))
    return _over_time(
        run,
        title,
        "Events created and not yet processed, right after each emission; a load is sustained while this does not "
        f"keep growing.{_pressure_text(run)}",
        "count",
        [("backlog", run.points["backlog_events"], "c1")],
        y_title="events",
        form=lambda value: f"{format_count(value)} events",
        besides=[*run.spans, *run.episodes()],
    )


def latency_figure(run: RunSeries) -> Figure:
    """Draw mean and longest latency of each micro-batch."""
    title = "End-to-end latency over time"
    if run.is_offline:
        return Missing(title, OFFLINE)
    if "end_to_end_latency_mean_s" not in run.points:
        return Missing(title, _no_schedule(run))
    return _over_time(
        run,
        title,
        "From the intended time of an event to the emission of its micro-batch: mean over its events, and its "
        "oldest one.",
        "duration",
        [
            ("mean", run.points["end_to_end_latency_mean_s"], "c1"),
            ("oldest event", run.points["end_to_end_latency_max_s"], "c2"),
        ],
        y_title="latency",
        form=format_duration,
        besides=run.spans,
    )


def _no_latency(run: RunSeries) -> str:
    if run.is_offline:
        return OFFLINE
    if run.stored.is_observed:
        return NOT_OURS
    return "The run has no latency histogram: it ended before one was stored, or no event was due in the measured time."


def _bin_counts(rows: Sequence[tuple[int, int, int]], edges_us: Floats) -> Floats:
    """Spread the counts of buckets over other bins, evenly within each bucket."""
    ends = np.array([high for _, high, _ in rows], dtype=float)
    starts = np.array([low for low, _, _ in rows], dtype=float)
    counts = np.array([count for _, _, count in rows], dtype=float)
    # The cumulative count is linear in each bucket and flat between them.
    knots = np.stack([starts, ends], axis=1).ravel()
    totals = np.stack([np.cumsum(counts) - counts, np.cumsum(counts)], axis=1).ravel()
    return np.diff(np.interp(edges_us, knots, totals))


def distribution_figure(run: RunSeries) -> Figure:
    """Draw how many events had which latency."""
    title = "Distribution of end-to-end latency"
    if not run.latency:
        return Missing(title, _no_latency(run))
    known = run.summary["end_to_end_latency_s"]
    low_us, high_us = run.latency[0][0], run.latency[-1][1]
    median_s, most_s = known["p50"], known["max"]
    is_log = bool(median_s and most_s and most_s > LONG_TAIL * median_s and low_us > 0)
    edges_us = np.geomspace(low_us, high_us, BINS + 1) if is_log else np.linspace(low_us, high_us, BINS + 1)
    shares = _bin_counts(run.latency, edges_us) / sum(count for _, _, count in run.latency)
    make = log_axis if is_log else range_axis
    canvas = Canvas(make(low_us / 1e6, high_us / 1e6, "duration"), value_axis(_highest(shares), "share"))
    bars = tuple(
        canvas.bar(a / 1e6, b / 1e6, 0.0, share, "c1", _bin_text(a, b, share))
        for a, b, share in zip(edges_us, edges_us[1:], shares, strict=False)
    )
    marks = tuple(
        Level(f"{name} {format_duration(value_s)}", at, is_vertical=True, is_before=at > 0.5)
        for name, value_s in (("p50", median_s), ("p99", known["p99"]))
        if value_s is not None
        for at in [canvas.x.place(value_s)]
    )
    scale = " The axis of latency is logarithmic." if is_log else ""
    return Chart(
        title,
        f"Share of the {known['count']:,} events that were due in the measured time, by latency.{scale}",
        canvas,
        "latency",
        "share of events",
        boxes=bars,
        levels=marks,
    )


def _bin_text(low_us: float, high_us: float, share: float) -> str:
    return f"{format_duration(low_us / 1e6)} to {format_duration(high_us / 1e6)}: {share:.2%} of the events"


def percentile_curve(run: RunSeries) -> tuple[Floats, Floats]:
    """Return 1 / (1 - q) and the latency in seconds of quantiles that at least ten events lie beyond."""
    counts = np.array([count for _, _, count in run.latency], dtype=float)
    middles_s = np.array([(low + high - 1) / 2e6 for low, high, _ in run.latency])
    # The largest is exact; the middle of the last bucket may lie above it.
    most_s = run.summary["end_to_end_latency_s"]["max"]
    middles_s = middles_s if most_s is None else np.minimum(middles_s, most_s)
    beyond = counts.sum() - np.cumsum(counts)
    chosen = beyond >= MIN_BEYOND
    # Each bucket is reached at the share of events before it.
    before = np.append(counts.sum(), beyond[:-1])
    xs, ys = counts.sum() / before, middles_s
    keep = chosen | (before >= MIN_BEYOND)
    return xs[keep], ys[keep]


def percentile_figure(run: RunSeries) -> Figure:
    """Draw the latency that a share of the events stays below."""
    title = "Percentiles of end-to-end latency"
    if not run.latency:
        return Missing(title, _no_latency(run))
    xs, ys = percentile_curve(run)
    canvas = Canvas(percentile_axis(float(xs[-1])), value_axis(_highest(ys), "duration"))
    known = [(p, METRIC[f"end_to_end_latency_s.p{p}"].value(run.summary)) for p in (50, 90, 95, 99)]
    reported = [(100 / (100 - p), value_s) for p, value_s in known if value_s is not None]
    texts = [f"{1 - 1 / x:.0%} of the events: at most {format_duration(y)}" for x, y in reported]
    keep = _visible(canvas, xs, ys)
    return Chart(
        title,
        "The share of events on the axis has at most this latency; each further nine takes as much room. The dots "
        "are p50, p90, p95 and p99, as far as enough events lie beyond them.",
        canvas,
        "share of events",
        "latency",
        paths=(
            canvas.line(xs[keep], ys[keep], "c1"),
            canvas.dots([x for x, _ in reported], [y for _, y in reported], "c1 large"),
        ),
        strips=canvas.strips([x for x, _ in reported], texts),
    )


def _visible(canvas: Canvas, xs: Floats, ys: Floats) -> list[int]:
    """Choose the points of a curve that differ from the one before by a pixel or so."""
    kept: list[int] = []
    for row, (x, y) in enumerate(zip(xs, ys, strict=True)):
        place = np.array(canvas.point(x, y))
        if not kept or row == len(xs) - 1 or np.abs(place - canvas.point(xs[kept[-1]], ys[kept[-1]])).max() >= 3:
            kept.append(row)
    return kept


def duration_figure(run: RunSeries) -> Figure:
    """Draw how long micro-batches took, against the trigger."""
    title = "Duration of micro-batches"
    if not run.points:
        return Missing(title, NO_BATCHES)
    trigger_s = run.configuration.get("trigger_s")
    against = (
        "the dashed line is the trigger interval, and batches above it start late."
        if trigger_s
        else "they start back to back, so there is no trigger interval to compare with."
        if trigger_s == 0
        else "the trigger interval is not stored."
    )
    return _over_time(
        run,
        title,
        f"From start to end of each trigger, commit log included; {against}",
        "duration",
        [("duration", run.points["duration_s"], "c1")],
        y_title="duration",
        form=format_duration,
        level=(f"trigger {format_duration(trigger_s)}", trigger_s) if trigger_s else None,
    )


def _split_phases(run: RunSeries) -> dict[str, Floats]:
    """Return seconds per phase of each micro-batch; `execution` is split where all of them have tasks."""
    names = Phases.names
    parts = {name: run.batches[f"{name}_s"] for name in names if f"{name}_s" in run.batches}
    busy_s = busy_by_batch(run.tasks)
    ids = run.batches["batch_id"].astype(int)
    if len(parts) < len(names) or not all(i in busy_s for i, n in zip(ids, run.batches["events"], strict=True) if n):
        return parts
    running = np.array([busy_s.get(int(batch_id), 0.0) for batch_id in ids])
    execution = parts["execution"]
    parts |= {"tasks": np.minimum(running, execution), "scheduling": np.maximum(0.0, execution - running)}
    nothing = np.zeros(len(ids))
    return {name: parts.get(name, nothing) for name in PHASES if name != "execution"}


def phase_figure(run: RunSeries) -> Figure:
    """Draw what each micro-batch spent its time on."""
    title = "Phases of micro-batches"
    if not run.batches:
        return Missing(title, NO_BATCHES)
    seconds = _split_phases(run)
    if not seconds:
        return Missing(title, "Spark reported no phases.")
    size = run.batches_per_point
    groups = [slice(start, start + size) for start in range(0, len(run.batches["events"]), size)]
    means = {name: np.array([values[g].mean() for g in groups]) for name, values in seconds.items()}
    total = np.sum(list(means.values()), axis=0)
    # What no bar would be high enough to show.
    smallest = 0.002 * _highest(total)
    shown = [name for name in PHASES if name in means and means[name].max() > smallest]
    ids = run.batches["batch_id"]
    x = range_axis(float(ids[0]), float(ids[0]) + len(ids), "count")
    canvas = Canvas(x, value_axis(_highest(total), "duration"))
    bars, texts, below = [], [], np.zeros(len(groups))
    width = 0.86 * size
    for name in shown:
        for row, (low, value) in enumerate(zip(below, means[name], strict=True)):
            left = float(ids[0]) + row * size + (size - width) / 2
            if value:
                bars.append(canvas.bar(left, left + width, low, low + value, f"phase-{name.replace('_', '-')}"))
        below = below + means[name]
    for row in range(len(groups)):
        parts = ", ".join(f"{n.replace('_', ' ')} {format_duration(means[n][row])}" for n in reversed(shown))
        texts.append(f"{_name(run, row)}: {parts}")
    places = [float(ids[0]) + (row + 0.5) * size for row in range(len(groups))]
    how = (
        "tasks is the time in which a task ran; the rest is work that processes no event."
        if "tasks" in means
        else "execution is not split into tasks and scheduling, because Spark's event log does not show all tasks."
    )
    return Chart(
        title,
        f"One bar per micro-batch, in their order; {how}"
        + (f" Each bar is the mean of {size} micro-batches." if size > 1 else ""),
        canvas,
        "number of the micro-batch",
        "duration",
        boxes=tuple(bars),
        strips=canvas.strips(places, texts),
        bands=_batch_bands(run, canvas),
        legend=tuple((name.replace("_", " "), f"phase-{name.replace('_', '-')}") for name in shown),
    )


def _batch_bands(run: RunSeries, canvas: Canvas) -> tuple[Band, ...]:
    """Mark warm-up, cut and drain on an axis of batch numbers, by when the micro-batches were emitted."""
    emitted_s, ids = run.seconds(run.batches["emitted_us"]), run.batches["batch_id"]
    bands = []
    for mark in run.marks():
        start = -np.inf if mark.name == "warm-up" else mark.start_s
        end = np.inf if mark.name == "drain" else mark.end_s
        inside = ids[(emitted_s > start) & (emitted_s <= end)] if mark.name != "warm-up" else ids[emitted_s < end]
        if len(inside):
            last = float(inside[-1]) + 1
            bands.append(canvas.band(mark.name, float(inside[0]), last, mark.name.replace("-", "")))
    return tuple(bands)


def stage_figure(rows: Sequence[StageRow]) -> Figure:
    """Draw the mean and the slowest task of each stage."""
    title = "Mean and slowest task by stage"
    if not rows:
        return Missing(
            title, "The run has no tasks: Spark's event log was not read, or shows none in the measured time."
        )
    canvas = Canvas(
        category_axis(tuple(f"stage {row.position}" for row in rows)),
        value_axis(max(row.task_slowest_s for row in rows), "duration"),
    )
    bars = []
    for k, row in enumerate(rows):
        for offset, value, style, name in (
            (0.18, row.task_mean_s, "c1", "mean task"),
            (0.5, row.task_slowest_s, "c2", "slowest task"),
        ):
            text = f"stage {row.position}: {name} {format_duration(value)}"
            bars.append(canvas.bar(k + offset, k + offset + 0.3, 0.0, value, style, text))
    return Chart(
        title,
        "Run time of tasks, averaged over the measured micro-batches; where the slowest is much longer than the mean, "
        "work is divided unevenly.",
        canvas,
        "stages in the order in which they began",
        "run time",
        boxes=tuple(bars),
        legend=(("mean task", "c1"), ("slowest task", "c2")),
    )


def state_figures(run: RunSeries) -> list[Figure]:
    """Draw rows and bytes of state."""
    if not run.points:
        return [Missing("State", NO_BATCHES)]
    if not _highest(run.points["state_rows"]):
        return [Missing("State", "The query keeps no state: Spark reported no row in it.")]
    explained = "Over all stateful operators, as Spark reports it after each micro-batch"
    rows = _over_time(
        run,
        "State: rows",
        f"{explained}; state that only grows ends in a full memory.",
        "count",
        [("rows", run.points["state_rows"], "c1")],
        y_title="rows",
        form=lambda value: f"{format_count(value)} rows",
    )
    size = _over_time(
        run,
        "State: memory",
        f"{explained}; old versions of state that Spark keeps are included.",
        "bytes",
        [("memory", run.points["state_bytes"], "c1")],
        y_title="memory",
        form=format_bytes,
    )
    return [rows, size]


def resource_figures(run: RunSeries) -> list[Figure]:
    """Draw cores and memory of the processes."""
    found = run.cores_used()
    if found is None:
        return [Missing("Processes", "The run has no samples of its processes: it ended before they were stored.")]
    at_s, used = found
    x = time_axis([run])
    shown = (at_s >= x.low) & (at_s <= x.high)
    at_s, used = at_s[shown], {role: values[shown] for role, values in used.items()}
    memory = {role: run.resources[f"{role}_memory_bytes"][1:][shown] for role in ROLES}
    if not len(at_s):
        return [Missing("Processes", "No sample of the processes lies in the time of the load.")]
    cores = run.summary.get("cores")
    common = "streamgauge is this process, java is Spark, python workers are what Spark starts besides."
    return [
        _stacked(
            run,
            "Cores in use",
            at_s,
            used,
            "number",
            lambda v: f"{v:.2f} cores",
            f"CPU time by elapsed time; {common}",
            cores,
        ),
        _stacked(run, "Memory of processes", at_s, memory, "bytes", format_bytes, f"Resident memory; {common}", None),
    ]


def _stacked(
    run: RunSeries,
    title: str,
    at_s: Floats,
    values: dict[str, Floats],
    unit: Unit,
    form: Callable[[float], str],
    explanation: str,
    limit: float | None,
) -> Figure:
    order = [role for role in ("java", "python_workers", "tool") if role in values]
    total = np.sum([values[role] for role in order], axis=0)
    canvas = Canvas(time_axis([run]), value_axis(max(_highest(total), limit or 0.0), unit))
    paths, below = [], np.zeros(len(at_s))
    for role in order:
        paths.append(canvas.area(list(at_s), list(below), list(below + values[role]), f"role-{role.replace('_', '-')}"))
        below = below + values[role]
    texts = [
        f"{at:.1f} s: " + ", ".join(f"{role_name(role)} {form(values[role][row])}" for role in order)
        for row, at in enumerate(at_s)
    ]
    return Chart(
        title,
        explanation,
        canvas,
        time_title(run),
        "memory" if unit == "bytes" else "cores",
        paths=tuple(paths),
        strips=canvas.strips(list(at_s), texts),
        bands=_bands(canvas, run),
        levels=(Level(f"{limit:g} cores", canvas.y.place(limit)),) if limit else (),
        legend=tuple((role_name(role), f"role-{role.replace('_', '-')}") for role in order),
    )


def convergence_figure(run: RunSeries) -> Figure | None:
    """Draw how an iterative workload nears its goal; None for the others."""
    series = run.summary.get("convergence")
    if not series:
        return None
    events = np.array([row["events"] for row in series], dtype=float)
    distances = np.array([row["mean_distance"] for row in series], dtype=float)
    canvas = Canvas(range_axis(0.0, float(events[-1]), "count"), value_axis(_highest(distances), "number"))
    keep = _visible(canvas, events, distances)
    events, distances = events[keep], distances[keep]
    return Chart(
        "Convergence",
        "Mean distance of the found centres from the true ones, after the events so far.",
        canvas,
        "events so far",
        "mean distance",
        paths=(canvas.line(events, distances, "c1"),),
        strips=canvas.strips(
            list(events),
            [f"{format_count(n)} events: {d:.3g}" for n, d in zip(events, distances, strict=True)],
        ),
    )
