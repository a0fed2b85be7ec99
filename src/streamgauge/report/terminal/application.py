"""A prototype on the terminal: its graph, its components, what a tuple costs, and what Spark makes of it."""

from collections.abc import Sequence
from io import StringIO

from rich.cells import cell_len
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from streamgauge.prototype.graph.application import Application, PrototypeTask, Source
from streamgauge.prototype.graph.costs import Costs
from streamgauge.prototype.graph.layout import lay_out
from streamgauge.report.content import application as words
from streamgauge.report.terminal.console import CleanConsole, bullets, console, key_values, plain_table
from streamgauge.report.terminal.graph import Label, draw_graph

# Wider drawings are hard to follow, and narrower tables hard to read.
MAX_WIDTH, LEAST_TABLE_WIDTH = 140, 72
LONG_NAME = 24
_ASCII = str.maketrans({"─": "-", "│": "|", "▼": "v", "µ": "u", "→": ">"} | dict.fromkeys("┌└┐┘├┤┬┴┼", "+"))


def _labels(costs: Costs) -> dict[str, Label]:
    return {
        one.name: Label(
            one.name, tuple(words.component_facts(one, costs)), "" if isinstance(one, Source) else one.routing
        )
        for one in costs.application.components
    }  # fmt: skip


def _print_list(costs: Costs, out: Console) -> None:
    """Print the components below each other, for want of room."""
    for component in costs.application.components:
        out.print(Text(f"{component.level}  {component.name}", style="bold"))
        lines = [", ".join(words.component_facts(component, costs))]
        if isinstance(component, PrototypeTask):
            lines.append(f"from {words.parents_text(component)}")
        out.print(Padding(Text("\n".join(lines)), (0, 0, 0, 3)))


def _print_components(costs: Costs, out: Console) -> None:
    table = plain_table()
    table.padding = (0, 1)
    rows = words.component_rows(costs)
    is_long = max(cell_len(row[0]) for row in rows) > LONG_NAME
    table.add_column("component", overflow="fold", no_wrap=not is_long)
    for name in words.COMPONENT_COLUMNS[1:-1]:
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column(words.COMPONENT_COLUMNS[-1], overflow="fold")
    for row in rows:
        table.add_row(*map(Text, row))
    out.print(table)
    out.print(Text(f"{words.COMPONENT_COLUMNS[3]}: {words.TUPLES_MEANING}", style="dim"))


def _print(costs: Costs, warnings: Sequence[str], out: Console) -> None:
    application = costs.application
    out.print(Text(f"{application.name}: a prototype ({application.schema})\n", style="bold"))
    drawn = draw_graph(lay_out(application), _labels(costs), min(out.width, MAX_WIDTH))
    if drawn is None:
        _print_list(costs, out)
    else:
        out.print(Text(drawn), soft_wrap=True)
    out.print()
    if out.width >= LEAST_TABLE_WIDTH:
        _print_components(costs, out)
        out.print()
    rows = words.total_rows(costs)
    if costs.total_cpu_us is None:
        rows.append(("CPU time", "unknown; `streamgauge prototype calibrate` measures what a cycle takes here"))
    out.print(key_values(rows))
    out.print()
    out.print(Text("a micro-batch on Spark", style="bold"))
    out.print(key_values(words.stage_rows(costs)))
    if warnings:
        out.print()
        out.print(bullets(warnings, "!", style="yellow"))


def print_application(
    application: Application,
    ns_per_cycle: float | None = None,
    notes: Sequence[str] = (),
    out: Console | None = None,
) -> None:
    """Print the graph of a prototype and everything that follows from its file, with notes besides its warnings."""
    out, costs, warnings = out or console(), Costs(application, ns_per_cycle), (*application.warnings, *notes)
    if not out.options.ascii_only:
        _print(costs, warnings, out)
        return
    text = StringIO()
    _print(costs, warnings, CleanConsole(file=text, width=out.width))
    # A terminal that is not in Unicode has other characters for lines, and may have none for a name.
    out.out(text.getvalue().translate(_ASCII).encode("ascii", "replace").decode(), end="", highlight=False)
