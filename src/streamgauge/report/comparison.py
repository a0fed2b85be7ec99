"""A comparison of runs for people: verdict first, then words, numbers, what differs, and what to be careful about."""

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.text import Text

from streamgauge.experiment.changes import MetricChange
from streamgauge.experiment.compare import Comparison, Comparisons
from streamgauge.experiment.stored import Group, short_id
from streamgauge.report.console import bullets, console, key_values, plain_table
from streamgauge.report.html import facts
from streamgauge.report.markdown import _bullets, _plain, _table
from streamgauge.units import format_rate

COLOURS = {"better": "green", "worse": "red", "mixed": "red", "no change": "green", "undecided": "yellow"}
SHOWN_RUNS = 5


def _value(metric: MetricChange, value: float) -> str:
    known = facts.METRIC[metric.name]
    # Shorter than in the summary of a run: six columns must fit.
    return format_rate(value) if known.unit == "events/s" else f"{known.form(value)} {known.unit}".rstrip()


def percent(change: float) -> str:
    """Write a change in percent, with the digits that matter.

    >>> percent(0.9), percent(-0.0123), percent(0), percent(11.5)
    ('+90 %', '-1.2 %', '0 %', '+1150 %')
    """
    shown = 100 * change
    if abs(shown) < 0.005:
        return "0 %"
    return f"{shown:+.0f} %" if abs(shown) >= 10 else f"{shown:+.2g} %"


def _interval(metric: MetricChange) -> str:
    if metric.low is None or metric.high is None:
        return "unknown"
    return f"{percent(metric.low)} to {percent(metric.high)}"


def _decision(metric: MetricChange) -> str:
    return metric.decision if metric.better is None else "better" if metric.better else "worse"


def _header(comparison: Comparison) -> tuple[str, ...]:
    return ("metric", *comparison.labels, "change", "interval", "result")


def _row(metric: MetricChange) -> tuple[str, ...]:
    numbers = (_value(metric, metric.a), _value(metric, metric.b))
    return (metric.title, *numbers, percent(metric.change), _interval(metric), _decision(metric))


def _who(group: Group) -> str:
    """Name a side: a single run by its id, several by their number and where they are from."""
    count, run_id, place = len(group.runs), group.runs[0].run_id, group.reference.partition(":")[0]
    if count == 1:
        return run_id if group.name == short_id(run_id) else f"{group.name}, {run_id}"
    if "," in place:
        names = [short_id(run.run_id) for run in group.runs[:SHOWN_RUNS]]
        return f"{count} runs: {', '.join(names)}{', …' if count > SHOWN_RUNS else ''}"
    return f"{group.name}, {count} runs" + (f" from {place}" if place else "")


def _sides(comparison: Comparison) -> list[tuple[str, str]]:
    return [(comparison.labels[0], _who(comparison.a)), (comparison.labels[1], _who(comparison.b))]


def _what_differs(comparison: Comparison) -> Iterator[str]:
    """Name each difference; a single setting is what the comparison is about."""
    settings = [d for d in comparison.differences if d.kind == "setting"]
    for difference in settings:
        yield f"compared is {difference}" if len(settings) == 1 else str(difference)
    yield from (str(difference) for difference in comparison.differences if difference.kind == "environment")


def _basis(comparison: Comparison, found: Comparisons) -> str:
    text = f"intervals of {100 * found.confidence:g} % confidence; no change is a change of at most "
    text += f"{100 * found.relevant:g} %"
    if comparison.from_s is not None:
        text += f"; all runs count from second {comparison.from_s:.4g} of their load on"
    return text


def print_comparisons(found: Comparisons, out: Console | None = None) -> None:
    """Print all pairs, and last the verdict over them when they are several."""
    out = out or console()
    for comparison in found.comparisons:
        _print(comparison, found, out)
    if found.warnings:
        out.print()
        out.print(bullets(found.warnings, "!", style="yellow"))
    if len(found.comparisons) > 1:
        out.print()
        heading = (found.verdict.upper(), f"bold {COLOURS[found.verdict]}")
        out.print(Text.assemble(heading, f"  {_over_all(found)}"))


def _over_all(found: Comparisons) -> str:
    verdicts = [comparison.verdict for comparison in found.comparisons]
    counts = ", ".join(f"{verdicts.count(verdict)} {verdict}" for verdict in dict.fromkeys(verdicts))
    return f"over all {len(verdicts)} comparisons: {counts}"


def _print(comparison: Comparison, found: Comparisons, out: Console) -> None:
    a, b = comparison.labels
    out.print()
    heading = (comparison.verdict.upper(), f"bold {COLOURS[comparison.verdict]}")
    out.print(Text.assemble(heading, f"  {comparison.b.runs[0].document['workload']}, {b} against {a}"))
    out.print(bullets(comparison.words, "-"))
    out.print()
    out.print(key_values(_sides(comparison)))
    out.print()
    table = plain_table()
    for name in _header(comparison):
        table.add_column(name, justify="left" if name in ("metric", "result") else "right", no_wrap=True)
    for metric in comparison.metrics:
        *cells, result = _row(metric)
        table.add_row(*cells, Text(result, style=COLOURS[result] if metric.significant else ""))
    out.print(table)
    out.print(Text(_basis(comparison, found), style="dim"))
    differences = list(_what_differs(comparison))
    if differences:
        out.print()
        out.print(bullets(differences, "≠"))
    if comparison.warnings:
        out.print()
        out.print(bullets(comparison.warnings, "!", style="yellow"))


def comparison_markdown(found: Comparisons) -> str:
    """Return all pairs as Markdown for a pull request; numbers are those of the terminal."""
    lines: list[str] = []
    for comparison in found.comparisons:
        lines += _markdown(comparison, found)
    if found.warnings:
        lines += _bullets(found.warnings)
    if len(found.comparisons) > 1:
        lines = [f"## {found.verdict.capitalize()}", "", f"{_over_all(found).capitalize()}.", "", *lines]
    return "\n".join(lines).rstrip("\n") + "\n"


def _markdown(comparison: Comparison, found: Comparisons) -> list[str]:
    a, b = comparison.labels
    workload = _plain(comparison.b.runs[0].document["workload"])
    lines = [f"### {comparison.verdict.capitalize()}: {workload}, {b} against {a}", "", *_bullets(comparison.words)]
    lines += _table(["side", "runs"], [[label, _plain(who)] for label, who in _sides(comparison)], words=2)
    rows: list[Sequence[str]] = [[_plain(cell) for cell in _row(metric)] for metric in comparison.metrics]
    lines += [*_table(list(_header(comparison)), rows), f"{_basis(comparison, found).capitalize()}.", ""]
    differences = list(_what_differs(comparison))
    if differences:
        lines += ["What differs:", "", *_bullets(differences)]
    if comparison.warnings:
        lines += ["Be careful:", "", *_bullets(comparison.warnings)]
    return lines
