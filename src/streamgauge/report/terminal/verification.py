"""Verification on the terminal."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.text import Text

from streamgauge.experiments.verify_all import Verifications
from streamgauge.printable import echo
from streamgauge.report.terminal.console import COLOURS, console, plain_table


@contextmanager
def verification_progress(*, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Show which workload is being verified, on standard error."""

    def report_progress(step: str) -> None:
        if not quiet:
            echo(f"verify: {step}", err=True)

    yield report_progress


def print_verifications(results: Verifications, out: Console | None = None) -> None:
    """Print a row per workload, and what differs where something does."""
    out = out or console()
    table = plain_table()
    # With the usual space between columns, long names would be cut.
    table.padding = (0, 1)
    table.add_column("workload")
    table.add_column("verdict")
    for name in ("events", "batches", "expected", "got", "missing", "extra"):
        table.add_column(name, justify="right")
    for v in results.workloads:
        counts = (v.stream.events, v.batches, v.rows_expected, v.rows_got, v.rows_missing, v.rows_extra)
        table.add_row(v.name, Text(v.verdict.value, style=COLOURS[v.verdict.value]), *(f"{n:,}" for n in counts))
    out.print(table)
    for v in results.workloads:
        for reason in v.reasons:
            out.print(Text(f"{v.name}: {reason}"))
        for kind, rows in v.examples.items():
            for row in rows:
                out.print(Text(f"  {kind}: {row}"))
