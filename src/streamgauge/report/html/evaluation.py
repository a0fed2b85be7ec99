"""The drawing of an evaluation: predicted against measured latencies."""

from collections.abc import Mapping
from typing import Any

from streamgauge.report.content.set_tables import items, mapping, number
from streamgauge.report.html.axes import log_axis
from streamgauge.report.html.chart import Canvas, Chart, Missing
from streamgauge.report.html.figures import Figure
from streamgauge.report.html.overlays import run_style

_CASES = ("rate or trigger", "adjacent", "other")


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
        canvas.x,
        canvas.y,
        "measured",
        "predicted",
        paths=tuple(paths),
        legend=tuple(legend),
    )
