"""What came of an event log: a line for each of its queries."""

from rich.console import Console
from rich.text import Text

from streamgauge.clock import Clock
from streamgauge.observe.import_log import Imported
from streamgauge.printable import echo
from streamgauge.report.terminal.console import bullets, console, plain_table

TELL_EVERY_S = 5.0


class ReadingProgress:
    """Says on standard error how much of a log has been read, every few seconds; of a short log it says nothing."""

    def __init__(self, clock: Clock) -> None:
        self._clock = clock
        self._told_s = clock.monotonic_s()

    def __call__(self, done: int, size: int) -> None:
        """Take note of how many bytes have been read, of how many."""
        now_s = self._clock.monotonic_s()
        if now_s - self._told_s >= TELL_EVERY_S:
            self._told_s = now_s
            echo(f"reading the log: {done / 1e6:.1f} of {size / 1e6:.1f} MB", err=True)


def print_imported(imported: Imported, out: Console | None = None) -> None:
    """Print the runs that were stored, and what is to be said about the log."""
    out = out or console()
    spark = f" of Spark {imported.spark_version}" if imported.spark_version else ""
    out.print(Text(f"{imported.application or 'an application without a name'}{spark}"))
    numbers = ("micro-batches", "tasks")
    rows = [
        (run["run_id"], run["workload"], run["verdict"], f"{run['batches']:,}", f"{run['tasks']:,}")
        for run in imported.document()["runs"]
    ]
    out.print(plain_table(("run", "query", "verdict", *numbers), rows, numbers=numbers))
    out.print(bullets(imported.notes, "note:", style="yellow"))
    if imported.runs:
        out.print(Text(f"see `streamgauge runs show {imported.runs[0].run_id}`"))
