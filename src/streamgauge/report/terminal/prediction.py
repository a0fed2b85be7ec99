"""Predictions on the terminal: one in full, several as a table, a sweep over rates also as a curve."""

import math
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from streamgauge.model import Prediction
from streamgauge.predicting.predict import Predictions
from streamgauge.printable import on_one_line
from streamgauge.report.content import prediction as text
from streamgauge.report.terminal.console import COLOURS, bullets, console, key_values, plain_table, print_verdict
from streamgauge.units import format_duration, format_rate

CURVE_WIDTH, CURVE_HEIGHT = 72, 14


def print_predictions(found: Predictions, out: Console | None = None) -> None:
    """Print what is predicted, from which runs, and how far that can be trusted."""
    out = out or console()
    if len(found.predictions) == 1:
        _print_one(found, out)
    else:
        out.print()
        _print_several(found, out)
    out.print(bullets(found.reasons, "  -"))
    out.print(bullets(found.notes, "note:", style="yellow"))


def _print_one(found: Predictions, out: Console) -> None:
    (one,) = found.predictions
    print_verdict(out, one.verdict, found.workload, word=text.answer(one))
    rows = [("settings", text.settings_text(one.settings)), *one.rows()]
    rows += [("load", one.load.text("{:.0%}".format)), ("bottleneck", text.bottleneck_text(one))]
    out.print(key_values([*rows, ("from", ", ".join(found.calibrated_from))]))
    out.print(Text(text.INTERVALS, style="dim"))


def _print_several(found: Predictions, out: Console) -> None:
    out.print(Text.assemble((f"{len(found.predictions)} predictions", "bold"), f"  {on_one_line(found.workload)}"))
    out.print(key_values([("from", ", ".join(found.calibrated_from))]))
    out.print()
    out.print(_table(found))
    if text.is_curve(found):
        out.print()
        out.print(Text(draw_curve(found.predictions, width=min(out.width, CURVE_WIDTH))))
    out.print()
    out.print(Text(text.INTERVALS, style="dim"))
    if not all(one.inside for one in found.predictions):
        out.print(Text("* outside of what was measured: the interval is wider", style="dim"))


def _table(found: Predictions) -> Table:
    numbers = (*text.names_of_varied(found), *text.PREDICTED)
    rows: list[tuple[str | Text, ...]] = []
    for one in found.predictions:
        outside = "" if one.inside else " *"
        said = Text(f"{text.answer(one)}{outside}", style=COLOURS[one.verdict.value])
        rows.append((*text.cells(one, found.varied), said))
    return plain_table((*numbers, ""), rows, numbers=numbers, padding=1, no_wrap=True)


def draw_curve(predictions: Sequence[Prediction], *, width: int = CURVE_WIDTH, height: int = CURVE_HEIGHT) -> str:
    """Draw mean latencies with their intervals against rates, both logarithmic, and mark the limit."""
    rates = [p.settings.rate_per_s for p in predictions]
    limit = text.limit_of(predictions)
    known = [
        v for p in predictions for v in (p.latency_mean_s.low, p.latency_mean_s.high) if math.isfinite(v) and v > 0
    ]
    if not known:
        return "no latency is known"
    gutter = max(len(format_duration(v)) for v in (min(known), max(known))) + 1
    columns = max(24, width - gutter - 2)
    x = _Scale(min(rates), max(rates), columns)
    y = _Scale(min(known), max(known), height)
    cells = [[" "] * columns for _ in range(height)]
    if min(rates) <= limit.value <= max(rates):
        for row in cells:
            row[x.place(limit.value)] = "┊"
    for rate, one in zip(rates, predictions, strict=True):
        estimate = one.latency_mean_s
        if math.isfinite(estimate.value) and estimate.low > 0:
            for place in range(y.place(estimate.low), y.place(estimate.high) + 1):
                cells[height - 1 - place][x.place(rate)] = "│"
            cells[height - 1 - y.place(estimate.value)][x.place(rate)] = "●"
    labels = [format_duration(max(known)), *[""] * (height - 2), format_duration(min(known))]
    lines = [f"{label:>{gutter}} ┤{''.join(row).rstrip()}" for label, row in zip(labels, cells, strict=True)]
    low, high = format_rate(min(rates)), format_rate(max(rates))
    axis = low + high.rjust(columns - len(low))
    limit_text = limit.text(format_rate)
    where = "┊" if min(rates) <= limit.value <= max(rates) else "outside of the curve"
    caption = f"mean latency against the offered rate; the limit {where} is {limit_text}"
    return "\n".join([*lines, " " * gutter + " └" + "─" * columns, " " * (gutter + 2) + axis, "", caption])


class _Scale:
    """Places on a logarithmic axis of that many characters."""

    def __init__(self, low: float, high: float, places: int) -> None:
        self.low, self.span, self.places = math.log(low), math.log(max(high / low, 1.0001)), places

    def place(self, value: float) -> int:
        share = (math.log(value) - self.low) / self.span
        return min(self.places - 1, max(0, round(share * (self.places - 1))))
