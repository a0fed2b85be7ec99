"""The calibration of loads on the terminal."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from streamgauge.prototype.calibration import Calibration
from streamgauge.report.console import COLOURS, bullets, console, key_values, plain_table
from streamgauge.units import format_count, format_duration


@contextmanager
def calibration_progress(*, quiet: bool) -> Iterator[Callable[[str], None]]:
    """Tell what is being measured, on standard error."""

    def tell(step: str) -> None:
        if not quiet:
            sys.stderr.write(f"calibrate: {step}\n")
            sys.stderr.flush()

    yield tell


def _points(found: Calibration) -> Table:
    table = plain_table()
    table.add_column("form")
    for name in ("processing", "tuples", "time per tuple", "from the line"):
        table.add_column(name, justify="right")
    for form, line in found.lines.items():
        for point in line.points:
            taken = format_duration(point.ns_per_tuple * 1e-9)
            processing = format_count(point.cycles / 1000)
            table.add_row(form, processing, f"{point.tuples:,}", taken, f"{point.error:+.1%}")
    return table


def _cost(found: Calibration) -> Iterator[tuple[str, str]]:
    for form, line in found.lines.items():
        interval = f"{line.ns_per_cycle_low:.4g} to {line.ns_per_cycle_high:.4g}"
        besides = format_duration(max(0.0, line.ns_per_tuple) * 1e-9)
        yield form, f"{line.ns_per_cycle:.4g} ns per cycle ({interval}), and {besides} per tuple"


def print_calibration(found: Calibration, path: Path, out: Console | None = None) -> None:
    """Print verdict, the cost of a cycle in each form, and every load that it comes from."""
    out = out or console()
    verdict = found.verdict.value
    out.print()
    out.print(Text.assemble((verdict.upper(), f"bold {COLOURS[verdict]}"), "  CPU time of one core per cycle of load"))
    out.print(bullets(found.reasons, "  -"))
    out.print(_points(found))
    out.print()
    machine = found.machine
    on = f"{machine.processor}, Java {machine.java}, Spark {machine.spark}"
    out.print(key_values([*_cost(found), ("measured on", on), ("kept in", str(path))]))
