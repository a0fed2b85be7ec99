"""Generation on the terminal."""

from collections.abc import Callable

from rich.console import Console
from rich.text import Text

from streamgauge.experiments.generate import Generation
from streamgauge.printable import echo
from streamgauge.report.terminal.console import console, key_values


def generation_progress(*, quiet: bool) -> Callable[[int, int], None]:
    """Return what shows how many events are written, on standard error, with every slice."""
    done = 0

    def report_progress(written: int, total: int) -> None:
        nonlocal done
        done += written
        if not quiet:
            echo(f"generate: {done:,} of {total:,} events", err=True)

    return report_progress


def print_generation(result: Generation, out: Console | None = None) -> None:
    """Print what was written."""
    out = out or console()
    more = f" and {len(result.files) - 1} more" if len(result.files) > 1 else ""
    rows = [("events", f"{result.events:,} of {result.stream}"), ("files", f"{result.files[0]}{more}")]
    out.print(key_values([*rows, ("sha256", result.sha256)]))
    form = "in this form" if result.format.startswith("canonical") else "as JSON lines, whatever the format"
    out.print(Text(f"the digest is over the events {form}, and does not depend on the number of files"))
