"""Predictions on the terminal: one in full, several as a table, a sweep over rates also as a curve."""

import math
from collections.abc import Callable, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from streamgauge.experiment.predict import Predictions
from streamgauge.model import Estimate, Prediction, Settings
from streamgauge.report.console import COLOURS, bullets, console, key_values, plain_table
from streamgauge.units import format_count, format_duration, format_rate

CURVE_WIDTH, CURVE_HEIGHT = 72, 14
# From this many rates on, a curve says more than the table does.
MIN_CURVE = 4
INTERVALS = "intervals hold 90 % of what one new run would measure"

WORDS = {
    "rate_per_s": "rate",
    "trigger_s": "trigger",
    "shuffle_partitions": "shuffle partitions",
    "source_partitions": "source partitions",
    "max_rows_per_batch": "admission limit",
    "duration_s": "duration",
    "warmup_s": "warm-up",
}


def setting_text(settings: Settings, name: str) -> str:
    """Write a setting as a person would.

    >>> setting_text(Settings(rate_per_s=200_000.0, cores=2, trigger_s=0.5), "trigger_s")
    '500 ms'
    """
    value = getattr(settings, name)
    if name.endswith("_per_s"):
        return format_rate(value)
    if name.endswith("_s"):
        return format_duration(value)
    if value is None:
        return "adapts" if name == "max_rows_per_batch" else "one per core"
    return format_count(value) if name == "max_rows_per_batch" else str(value)


def settings_text(settings: Settings) -> str:
    """Write the settings of a prediction in one line."""
    trigger = f"trigger {format_duration(settings.trigger_s)}" if settings.trigger_s else "no trigger interval"
    parts = [f"{format_rate(settings.rate_per_s)} {settings.arrivals}", trigger, f"{settings.cores} cores"]
    if settings.shuffle_partitions is not None:
        parts.append(f"{settings.shuffle_partitions} shuffle partitions")
    if settings.source_partitions is not None:
        parts.append(f"{settings.source_partitions} source partitions")
    if settings.max_rows_per_batch is not None:
        parts.append(f"at most {format_count(settings.max_rows_per_batch)} events per micro-batch")
    return ", ".join(parts)


def answer(prediction: Prediction) -> str:
    """Say in a few words whether the load is sustained."""
    if prediction.verdict.value == "unknown":
        return "unknown"
    return "stable" if prediction.stable else "not sustained"


def print_predictions(found: Predictions, out: Console | None = None) -> None:
    """Print what is predicted, from which runs, and how far that can be trusted."""
    out = out or console()
    out.print()
    if len(found.predictions) == 1:
        _print_one(found, out)
    else:
        _print_several(found, out)
    out.print(bullets(found.reasons, "  -"))
    out.print(bullets(found.notes, "note:", style="yellow"))


def _print_one(found: Predictions, out: Console) -> None:
    (one,) = found.predictions
    word = answer(one)
    out.print(Text.assemble((word.upper(), f"bold {COLOURS[one.verdict.value]}"), f"  {found.workload}"))
    rows = [("settings", settings_text(one.settings)), *one.rows()]
    rows += [("load", one.load.text("{:.0%}".format)), ("bottleneck", bottleneck_text(one))]
    out.print(key_values([*rows, ("from", ", ".join(found.calibrated_from))]))
    out.print(Text(INTERVALS, style="dim"))


def bottleneck_text(one: Prediction) -> str:
    """Name the bottleneck and its share."""
    part = "of the micro-batches" if one.bottleneck == "admission limit" else "of a micro-batch"
    return f"{one.bottleneck}, {one.bottleneck_share:.0%} {part}"


def _print_several(found: Predictions, out: Console) -> None:
    out.print(Text.assemble((f"{len(found.predictions)} predictions", "bold"), f"  {found.workload}"))
    out.print(key_values([("from", ", ".join(found.calibrated_from))]))
    out.print()
    out.print(_table(found))
    if is_curve(found):
        out.print()
        out.print(Text(draw_curve(found.predictions, width=min(out.width, CURVE_WIDTH))))
    out.print()
    out.print(Text(INTERVALS, style="dim"))
    if not all(one.inside for one in found.predictions):
        out.print(Text("* outside of what was measured: the interval is wider", style="dim"))


def _cell(estimate: Estimate, form: Callable[[float], str]) -> str:
    return form(estimate.value) if math.isfinite(estimate.value) else "unknown"


def interval_text(estimate: Estimate) -> str:
    """Write an interval of seconds so that it needs little room.

    >>> interval_text(Estimate(1.0, 0.9371, 1.2684))
    '0.937 to 1.27 s'
    """
    return f"{estimate.low:.3g} to {estimate.high:.3g} s" if math.isfinite(estimate.value) else "unknown"


def _table(found: Predictions) -> Table:
    table = plain_table()
    table.padding = (0, 1)
    for name in (*found.varied, "latency", "90 %", "p95", "batch", "processed", "limit", ""):
        table.add_column(WORDS.get(name, name), justify="left" if name == "" else "right", no_wrap=True)
    for one in found.predictions:
        outside = "" if one.inside else " *"
        table.add_row(
            *(setting_text(one.settings, name) for name in found.varied),
            _cell(one.latency_mean_s, format_duration),
            interval_text(one.latency_mean_s),
            _cell(one.latency_p95_s, format_duration),
            _cell(one.batch_duration_s, format_duration),
            _cell(one.processed_rate_per_s, format_rate),
            _cell(one.sustainable_rate_per_s, format_rate),
            Text(f"{answer(one)}{outside}", style=COLOURS[one.verdict.value]),
        )
    return table


def is_curve(found: Predictions) -> bool:
    """Tell whether latency can be drawn against load: only the rate differs, and there are some of them."""
    return found.varied == ("rate_per_s",) and len(found.predictions) >= MIN_CURVE


def limit_of(predictions: Sequence[Prediction]) -> Estimate:
    """Return the sustainable rate of predictions that differ in their rate only."""
    return predictions[len(predictions) // 2].sustainable_rate_per_s


def draw_curve(predictions: Sequence[Prediction], *, width: int = CURVE_WIDTH, height: int = CURVE_HEIGHT) -> str:
    """Draw mean latencies with their intervals against rates, both logarithmic, and mark the limit."""
    rates = [p.settings.rate_per_s for p in predictions]
    limit = limit_of(predictions)
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
    told = limit.text(format_rate)
    where = "┊" if min(rates) <= limit.value <= max(rates) else "outside of the curve"
    caption = f"mean latency against the offered rate; the limit {where} is {told}"
    return "\n".join([*lines, " " * gutter + " └" + "─" * columns, " " * (gutter + 2) + axis, "", caption])


class _Scale:
    """Places on a logarithmic axis of so many characters."""

    def __init__(self, low: float, high: float, places: int) -> None:
        self.low, self.span, self.places = math.log(low), math.log(max(high / low, 1.0001)), places

    def place(self, value: float) -> int:
        share = (math.log(value) - self.low) / self.span
        return min(self.places - 1, max(0, round(share * (self.places - 1))))
