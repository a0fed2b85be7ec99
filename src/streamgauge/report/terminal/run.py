"""The summary of a run on one screen, verdict first."""

from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from streamgauge.conclude.stored_run import summary_of
from streamgauge.metrics import PERCENTILES
from streamgauge.report.content import facts
from streamgauge.report.content.configuration import LIST_COLUMNS, list_row, title
from streamgauge.report.terminal.console import bullets, console, key_values, plain_table, print_verdict
from streamgauge.store import RunListing, StoredRun
from streamgauge.summary import Summary, is_measured


def print_summary(stored: StoredRun, out: Console | None = None) -> None:
    """Print verdict, numbers, warnings and where the run is."""
    out = out or console()
    s = summary_of(stored)
    print_verdict(out, s["verdict"], title(stored), s["reasons"])
    if is_measured(s):
        _print_numbers(s, out)
    out.print(bullets(s.get("warnings", ()), "note:", style="yellow"))
    out.print(key_values([("stored in", _near(stored.path))]))


def _near(path: Path) -> str:
    """Return a path as seen from the current folder, when it lies in it."""
    return str(path.relative_to(Path.cwd()) if path.is_relative_to(Path.cwd()) else path)


def _print_numbers(s: Summary, out: Console) -> None:
    out.print(key_values(facts.key_facts(s)))
    out.print()
    if latencies := facts.latency_rows(s):
        out.print(_number_table("latency", PERCENTILES, [(row.name, *row.texts) for row in latencies]))
        out.print()
    if phases := facts.phase_rows(s):
        rows = [(name.replace("_", " "), mean, share) for name, mean, share in phases]
        out.print(_number_table("phase of a batch", ("mean", "share"), rows))
        if idle := facts.idle_text(s):
            out.print(Text(idle))
        out.print()


def _number_table(name: str, columns: Sequence[str], rows: Sequence[Sequence[str]]) -> Table:
    table = plain_table((name, *columns), rows, numbers=columns)
    table.columns[0].min_width = 12
    return table


def print_runs(listings: Sequence[RunListing], root: Path, out: Console | None = None) -> None:
    """Print a table of stored runs."""
    out = out or console()
    if not listings:
        out.print(Text(f"no runs in {root}; `streamgauge run ysb` makes one"))
        return
    out.print(plain_table(LIST_COLUMNS, map(list_row, listings)))
