"""A comparison of runs for people: verdict first, then words, numbers, what differs, and what to be careful about."""

from rich.console import Console
from rich.text import Text

from streamgauge.conclude.comparison import Comparison, Comparisons
from streamgauge.report.content import comparison as text
from streamgauge.report.terminal.console import COLOURS, bullets, console, key_values, plain_table, print_verdict


def print_comparisons(found: Comparisons, out: Console | None = None) -> None:
    """Print all pairs, and last the verdict over them when they are several."""
    out = out or console()
    for comparison in found.comparisons:
        _print(comparison, found, out)
    if found.warnings:
        out.print()
        out.print(bullets(found.warnings, "!", style="yellow"))
    if len(found.comparisons) > 1:
        print_verdict(out, found.verdict, text.over_all(found))


def _print(comparison: Comparison, found: Comparisons, out: Console) -> None:
    print_verdict(out, comparison.verdict, text.subject(comparison), comparison.words, mark="-")
    out.print()
    out.print(key_values(text.sides(comparison)))
    out.print()
    head = text.header(comparison)
    rows: list[tuple[str | Text, ...]] = []
    for metric in comparison.metrics:
        *cells, result = text.row(metric)
        rows.append((*cells, Text(result, style=COLOURS[result] if metric.better is not None else "")))
    out.print(plain_table(head, rows, numbers=head[1:-1], no_wrap=True))
    out.print(Text(found.basis(comparison), style="dim"))
    differences = list(text.what_differs(comparison))
    if differences:
        out.print()
        out.print(bullets(differences, "≠"))
    if comparison.warnings:
        out.print()
        out.print(bullets(comparison.warnings, "!", style="yellow"))
