"""Verification on the terminal."""

from rich.console import Console
from rich.text import Text

from streamgauge.experiments.verify_all import Verifications
from streamgauge.report.terminal.console import console, plain_table, verdict_text


def print_verifications(results: Verifications, out: Console | None = None) -> None:
    """Print a row per workload, and what differs where something does."""
    out = out or console()
    numbers = ("events", "batches", "expected", "got", "missing", "extra")
    rows: list[tuple[str | Text, ...]] = []
    for v in results.workloads:
        counts = (v.stream.events, v.batches, v.rows_expected, v.rows_got, v.rows_missing, v.rows_extra)
        rows.append((v.name, verdict_text(v.verdict.value), *(f"{n:,}" for n in counts)))
    # With the usual space between columns, long names would be broken.
    out.print(plain_table(("workload", "verdict", *numbers), rows, numbers=numbers, padding=1))
    for v in results.workloads:
        for reason in v.reasons:
            out.print(Text(f"{v.name}: {reason}"))
        for kind, examples in v.examples.items():
            for row in examples:
                out.print(Text(f"  {kind}: {row}"))
