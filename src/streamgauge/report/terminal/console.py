"""How everything is printed: one console, one look."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from rich.console import Console, ConsoleOptions, JustifyMethod, RenderableType
from rich.segment import Segment
from rich.table import Table
from rich.text import Text

from streamgauge.printable import on_one_line, printable

COLOURS = {
    **{"pass": "green", "fail": "red", "unknown": "yellow"},
    **{"better": "green", "worse": "red", "mixed": "red", "no change": "green", "undecided": "yellow"},
}
WIDTH = 100


class CleanConsole(Console):
    """A console that prints names, paths and messages of others as they are: no mark-up, no controls of the terminal.

    Colours are ours: they come from styles, never from a text.
    """

    def __init__(self, **settings: Any) -> None:
        super().__init__(highlight=False, markup=False, emoji=False, **settings)

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Render anything; this is where all text passes."""
        for text, style, control in super().render(renderable, options):
            yield Segment(text if control else printable(text), style, control)


def console() -> Console:
    """Return a console for standard output; it keeps to plain text when that is no terminal or NO_COLOR is set."""
    wide = CleanConsole()
    return wide if wide.is_terminal else CleanConsole(width=WIDTH, no_color=True)


def print_verdict(
    out: Console, verdict: str, subject: str, reasons: Iterable[str] = (), *, word: str = "", mark: str = "  -"
) -> None:
    """Print a verdict, or the `word` for it, what it is about, and why."""
    out.print()
    out.print(_headline(word or verdict, COLOURS[verdict], subject))
    out.print(bullets(reasons, mark))


def _headline(word: str, colour: str, subject: str) -> Text:
    """Return a verdict in its colour, and what it is about on the same line, whatever its name holds."""
    return Text.assemble((word.upper(), f"bold {colour}"), f"  {on_one_line(subject)}")


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


def plain_table(
    head: Iterable[str] = (),
    rows: Iterable[Sequence[str | Text]] = (),
    *,
    numbers: Collection[str] = (),
    padding: int = 2,
    no_wrap: bool = False,
) -> Table:
    """Return a table without lines; the columns of `numbers` are aligned to the right, and nothing is cut off."""
    table = Table(box=None, pad_edge=False, padding=(0, padding), header_style="bold")
    for name in head:
        justify: JustifyMethod = "right" if name in numbers else "left"
        table.add_column(name, justify=justify, no_wrap=no_wrap, overflow="ellipsis" if no_wrap else "fold")
    for row in rows:
        table.add_row(*row)
    return table


def verdict_text(verdict: str) -> Text:
    """Return a verdict in its colour."""
    return Text(verdict, style=COLOURS.get(verdict, ""))
