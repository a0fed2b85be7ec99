"""How everything is printed: one console, one look."""

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

COLOURS = {"pass": "green", "fail": "red", "unknown": "yellow"}
WIDTH = 100


def console() -> Console:
    """Return a console for standard output; it keeps to plain text when that is no terminal or NO_COLOR is set."""
    # No mark-up: names, paths and messages of others are printed as they are.
    wide = Console(highlight=False, soft_wrap=False, markup=False, emoji=False)
    if wide.is_terminal:
        return wide
    return Console(highlight=False, width=WIDTH, no_color=True, markup=False, emoji=False)


def key_values(rows: Iterable[tuple[str, str]]) -> Table:
    """Return names and texts as two columns."""
    table = Table.grid(padding=(0, 2))
    table.add_column(style="bold", min_width=12)
    table.add_column()
    for name, text in rows:
        table.add_row(name, Text(text))
    return table


def plain_table(*columns: str, numbers: Iterable[str] = ()) -> Table:
    """Return an empty table without lines; columns in `numbers` are aligned to the right."""
    right = set(numbers)
    table = Table(box=None, pad_edge=False, padding=(0, 2), header_style="bold")
    for column in (*columns, *numbers):
        table.add_column(column, justify="right" if column in right else "left")
    return table
