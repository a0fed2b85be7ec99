"""Charts that show several runs at once, a colour for each."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from streamgauge.report.content.series import Floats, RunSeries
from streamgauge.report.html.axes import Unit, percentile_axis, value_axis
from streamgauge.report.html.chart import Band, Canvas, Chart, Missing, Path
from streamgauge.report.html.figures import SINCE_START, Figure, percentile_curve, time_axis

COLOURS = 8

Curve = tuple[Floats, Floats]


def run_style(number: int) -> str:
    """Return the style of the run with this place in the list; the ninth has the colour of the first, dashed."""
    return f"c{number % COLOURS + 1}" + (" dashed" if number >= COLOURS else "")


def _finite(curve: Curve) -> Curve:
    known = np.isfinite(curve[1]) & (curve[0] >= 0)
    return curve[0][known], curve[1][known]


def _column(name: str) -> Callable[[RunSeries], Curve | None]:
    def read(run: RunSeries) -> Curve | None:
        # The backlog of an offline run only counts down what was there from the start.
        is_idle = run.is_offline and name == "backlog_events"
        if is_idle or name not in run.points or not np.isfinite(run.points[name]).any():
            return None
        return _finite((run.seconds(run.points["emitted_us"]), run.points[name]))

    return read


def _processed(run: RunSeries) -> Curve | None:
    rates = run.processed()
    return None if rates is None else ((rates.start_s + rates.end_s) / 2, rates.rate_per_s)


def _cores(run: RunSeries) -> Curve | None:
    found = run.cores_used()
    if found is None:
        return None
    at_s, used = found
    shown = at_s <= run.end_s
    curve = _finite((at_s[shown], np.sum([values[shown] for values in used.values()], axis=0)))
    return curve if len(curve[0]) else None


def _legend(names: Sequence[str], styles: Sequence[str], drawn: Sequence[int]) -> tuple[tuple[str, str], ...]:
    """Name what is drawn; runs of the same name share a key."""
    return tuple(dict.fromkeys((names[number], styles[number]) for number in drawn))


def _paths(canvas: Canvas, run: RunSeries, curve: Curve, style: str) -> list[Path]:
    """Draw what is measured strongly, and faintly what comes before and after it."""
    steady = run.summary.get("steady_state")
    from_s, until_s = (steady["from_s"], steady["until_s"]) if steady else (0.0, np.inf)
    xs, ys = curve
    inside = (xs >= from_s) & (xs <= until_s)
    return [
        canvas.line(xs, ys, f"{style} faint"),
        canvas.line(xs[inside], ys[inside], style),
        canvas.dots(xs[inside], ys[inside], style),
    ]


def _common_warmup(runs: Sequence[RunSeries], canvas: Canvas) -> tuple[Band, ...]:
    """Mark the warm-up when all runs have the same one."""
    ends = {mark.end_s for run in runs for mark in run.marks() if mark.name == "warm-up"}
    return (canvas.band("warm-up", 0.0, ends.pop(), "warmup"),) if len(ends) == 1 else ()


def _absent(names: Sequence[str]) -> str:
    if not names:
        return ""
    listed = ", ".join(dict.fromkeys(names))
    return f" Not drawn, because {'it has' if len(names) == 1 else 'they have'} no such numbers: {listed}."


@dataclass(frozen=True)
class _Overlay:
    """A chart of one curve for each run."""

    title: str
    explanation: str
    unit: Unit
    y_title: str
    read: Callable[[RunSeries], Curve | None]

    def draw(self, runs: Sequence[RunSeries], names: Sequence[str], styles: Sequence[str]) -> Figure:
        curves = [self.read(run) for run in runs]
        drawn = [(number, curve) for number, curve in enumerate(curves) if curve is not None]
        if not drawn:
            return Missing(self.title, "None of the runs has such numbers.")
        chosen = [runs[number] for number, _ in drawn]
        canvas = Canvas(time_axis(chosen), value_axis(max(float(ys.max()) for _, (_, ys) in drawn), self.unit))
        absent = _absent([names[number] for number, curve in enumerate(curves) if curve is None])
        return Chart(
            self.title,
            f"{self.explanation} Faint: what is not measured (warm-up, cut and drain).{absent}",
            canvas,
            SINCE_START,
            self.y_title,
            paths=tuple(path for n, curve in drawn for path in _paths(canvas, runs[n], curve, styles[n])),
            bands=_common_warmup(chosen, canvas),
            legend=_legend(names, styles, [number for number, _ in drawn]),
        )


_RATES_AND_LATENCY = (
    _Overlay(
        "Processed rate", "Events of each micro-batch by the time since the emission before it.",
        "rate", "events per second", _processed,
    ),
    _Overlay(
        "Mean end-to-end latency", "Mean over the events of each micro-batch.",
        "duration", "latency", _column("end_to_end_latency_mean_s"),
    ),
)  # fmt: skip
_WORK = (
    _Overlay(
        "Backlog", "Events created and not yet processed, right after each emission.",
        "count", "events", _column("backlog_events"),
    ),
    _Overlay(
        "Duration of micro-batches", "From start to end of each trigger.", "duration", "duration", _column("duration_s")
    ),
    _Overlay("Cores in use", "CPU time by elapsed time, over all processes of a run.", "number", "cores", _cores),
)  # fmt: skip


def _percentiles(runs: Sequence[RunSeries], names: Sequence[str], styles: Sequence[str]) -> Figure:
    title = "Percentiles of end-to-end latency"
    drawn = [(number, percentile_curve(run)) for number, run in enumerate(runs) if run.latency]
    if not drawn:
        return Missing(title, "None of the runs has a latency histogram.")
    highest = max(float(ys.max()) for _, (_, ys) in drawn)
    canvas = Canvas(percentile_axis(max(float(xs[-1]) for _, (xs, _) in drawn)), value_axis(highest, "duration"))
    return Chart(
        title,
        "The share of measured events on the axis has at most this latency; lower is better."
        + _absent([names[number] for number, run in enumerate(runs) if not run.latency]),
        canvas,
        "share of events",
        "latency",
        paths=tuple(canvas.line(xs, ys, styles[number]) for number, (xs, ys) in drawn),
        legend=_legend(names, styles, [number for number, _ in drawn]),
    )


def overlay_figures(
    runs: Sequence[RunSeries], names: Sequence[str], styles: Sequence[str] | None = None
) -> list[Figure]:
    """Return the charts of a comparison; `names` and `styles` distinguish the runs, or groups of them."""
    styles = styles or [run_style(number) for number in range(len(runs))]
    return [
        *(overlay.draw(runs, names, styles) for overlay in _RATES_AND_LATENCY),
        _percentiles(runs, names, styles),
        *(overlay.draw(runs, names, styles) for overlay in _WORK),
    ]
