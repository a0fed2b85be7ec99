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
    table.add_column(overflow="fold")
    for name, text in rows:
        table.add_row(name, Text(text))
    return table


def bullets(texts: Iterable[str], mark: str, *, style: str = "") -> Table:
    """Return one text per line behind a mark; long ones keep their margin."""
    table = Table.grid(padding=(0, 1))
    table.add_column(style=style, no_wrap=True)
    table.add_column()
    for text in texts:
        table.add_row(mark, Text(text))
    return table


def plain_table() -> Table:
    """Return an empty table without lines."""
    return Table(box=None, pad_edge=False, padding=(0, 2), header_style="bold")
