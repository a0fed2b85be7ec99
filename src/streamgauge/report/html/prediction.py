"""Predictions as one HTML page: the curve of latency against load, and a table of all settings."""

import math
from collections.abc import Sequence
from importlib.resources import files

from streamgauge.model import Estimate, Prediction
from streamgauge.predicting.predict import Predictions
from streamgauge.report.content import prediction as text
from streamgauge.report.content.set_tables import Cell, SetTable
from streamgauge.report.html.axes import log_axis
from streamgauge.report.html.chart import Canvas, Chart, Level, Missing
from streamgauge.report.html.figures import Figure
from streamgauge.report.html.overlays import run_style
from streamgauge.report.html.page import environment
from streamgauge.units import format_duration, format_rate


def _known(estimate: Estimate) -> bool:
    return all(math.isfinite(value) and value > 0 for value in (estimate.value, estimate.low, estimate.high))


def curve_figure(predictions: Sequence[Prediction]) -> Figure:
    """Draw mean and p95 latency against the rate, with the interval of the mean, and the limit."""
    title = "Latency against load"
    shown = [p for p in predictions if _known(p.latency_mean_s) and _known(p.latency_p95_s)]
    if len(shown) < 2:
        return Missing(title, "Fewer than two rates have a latency.")
    rates = [p.settings.rate_per_s for p in shown]
    means = [p.latency_mean_s for p in shown]
    p95 = [p.latency_p95_s.value for p in shown]
    limit = text.limit_of(shown)
    high = max(*(mean.high for mean in means), *p95)
    canvas = Canvas(log_axis(rates[0], rates[-1], "rate"), log_axis(min(m.low for m in means), high, "duration"))
    is_inside = rates[0] <= limit.value <= rates[-1]
    levels = (Level(f"limit {format_rate(limit.value)}", canvas.x.place(limit.value), is_vertical=True),)
    texts = [
        f"{format_rate(rate)}: mean {format_duration(m.value)}, {text.interval_text(m)}; p95 {format_duration(late)}"
        for rate, m, late in zip(rates, means, p95, strict=True)
    ]
    return Chart(
        title,
        "Predicted latency for every rate; between the dashed lines lie 90 % of the means that one new run would "
        f"measure. The limit is {limit.text(format_rate)}. Both axes are logarithmic.",
        canvas,
        "offered rate",
        "end-to-end latency",
        paths=(
            canvas.line(rates, [m.low for m in means], f"{run_style(0)} dashed"),
            canvas.line(rates, [m.high for m in means], f"{run_style(0)} dashed"),
            canvas.line(rates, [m.value for m in means], run_style(0)),
            canvas.line(rates, p95, run_style(1)),
        ),
        strips=canvas.strips(rates, texts),
        levels=levels if is_inside else (),
        legend=(("mean", run_style(0)), ("its interval", f"{run_style(0)} dashed"), ("p95", run_style(1))),
    )


def _table(found: Predictions) -> SetTable:
    rows = tuple(
        (
            *map(Cell, text.cells(one, found.varied)),
            Cell(text.answer(one) + ("" if one.inside else ", outside of what was measured")),
            Cell(text.bottleneck_text(one)),
        )
        for one in found.predictions
    )
    names = text.names_of_varied(found)
    head = (*names, *text.PREDICTED, "answer", "bottleneck")
    return SetTable("Predictions", head, rows, f"The {text.INTERVALS}.", words=len(names), words_at_end=2)


def _common(found: Predictions) -> list[tuple[str, str]]:
    """Return the settings that all of several predictions share."""
    if len(found.predictions) == 1:
        return []
    first = found.predictions[0].settings
    return [
        (text.WORDS.get(name, name), text.setting_text(first, name))
        for name in ("rate_per_s", "arrivals", "trigger_s", "cores", "shuffle_partitions", "max_rows_per_batch")
        if name not in found.varied
    ]


def render_predictions(found: Predictions) -> str:
    """Return the page; it needs no other file."""
    first = found.predictions[0]
    facts = [
        ("from", ", ".join(found.calibrated_from)),
        *([("settings", text.settings_text(first.settings)), *first.rows()] if len(found.predictions) == 1 else []),
        *_common(found),
    ]
    template = environment().get_template("prediction.jinja")
    return template.render(
        title=f"Prediction of {found.workload}",
        facts=facts,
        notes=[*found.reasons, *found.notes],
        figures=[curve_figure(found.predictions)] if text.is_curve(found) else [],
        table=_table(found),
        anchors={},
        style=files("streamgauge.report.html").joinpath("style.css").read_text(encoding="utf-8"),
    )
