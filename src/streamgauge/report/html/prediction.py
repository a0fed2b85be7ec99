"""Predictions as one HTML page: the curve of latency against load, and a table of all settings."""

import math
from collections.abc import Sequence
from importlib.resources import files

from streamgauge.model import Estimate, Prediction
from streamgauge.predicting.predict import Predictions
from streamgauge.report.content.prediction import (
    INTERVALS,
    WORDS,
    answer,
    bottleneck_text,
    interval_text,
    is_curve,
    limit_of,
    setting_text,
    settings_text,
)
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
    limit = limit_of(shown)
    high = max(*(mean.high for mean in means), *p95)
    canvas = Canvas(log_axis(rates[0], rates[-1], "rate"), log_axis(min(m.low for m in means), high, "duration"))
    is_inside = rates[0] <= limit.value <= rates[-1]
    levels = (Level(f"limit {format_rate(limit.value)}", canvas.x.place(limit.value), is_vertical=True),)
    texts = [
        f"{format_rate(rate)}: mean {format_duration(m.value)}, {interval_text(m)}; p95 {format_duration(late)}"
        for rate, m, late in zip(rates, means, p95, strict=True)
    ]
    return Chart(
        title,
        "Predicted latency for every rate; between the dashed lines lie 90 % of the means that one new run would "
        f"measure. The limit is {limit.text(format_rate)}. Both axes are logarithmic.",
        canvas.x,
        canvas.y,
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
            *(Cell(setting_text(one.settings, name)) for name in found.varied),
            Cell(format_duration(one.latency_mean_s.value) if _known(one.latency_mean_s) else "unknown"),
            Cell(interval_text(one.latency_mean_s)),
            Cell(format_duration(one.latency_p95_s.value) if _known(one.latency_p95_s) else "unknown"),
            Cell(format_duration(one.batch_duration_s.value) if _known(one.batch_duration_s) else "unknown"),
            Cell(format_rate(one.processed_rate_per_s.value) if _known(one.processed_rate_per_s) else "unknown"),
            Cell(format_rate(one.sustainable_rate_per_s.value) if _known(one.sustainable_rate_per_s) else "unknown"),
            Cell(answer(one) + ("" if one.inside else ", outside of what was measured")),
            Cell(bottleneck_text(one)),
        )
        for one in found.predictions
    )
    head = ("latency", "90 %", "p95", "batch", "processed", "limit", "answer", "bottleneck")
    names = tuple(WORDS.get(name, name) for name in found.varied)
    return SetTable("Predictions", (*names, *head), rows, f"The {INTERVALS}.", words=len(names), words_at_end=2)


def _common(found: Predictions) -> list[tuple[str, str]]:
    """Return the settings that all of several predictions share."""
    if len(found.predictions) == 1:
        return []
    first = found.predictions[0].settings
    return [
        (WORDS.get(name, name), setting_text(first, name))
        for name in ("rate_per_s", "arrivals", "trigger_s", "cores", "shuffle_partitions", "max_rows_per_batch")
        if name not in found.varied
    ]


def render_predictions(found: Predictions) -> str:
    """Return the page; it needs no other file."""
    first = found.predictions[0]
    facts = [
        ("from", ", ".join(found.calibrated_from)),
        *([("settings", settings_text(first.settings)), *first.rows()] if len(found.predictions) == 1 else []),
        *_common(found),
    ]
    template = environment().get_template("prediction.jinja")
    return template.render(
        title=f"Prediction of {found.workload}",
        facts=facts,
        notes=[*found.reasons, *found.notes],
        figures=[curve_figure(found.predictions)] if is_curve(found) else [],
        table=_table(found),
        anchors={},
        style=files("streamgauge.report.html").joinpath("style.css").read_text(encoding="utf-8"),
    )
