"""The calibration of CPU work on the terminal."""

from collections.abc import Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table

from streamgauge.prototype.calibration import CycleCalibration
from streamgauge.report.terminal.console import console, key_values, plain_table, print_verdict
from streamgauge.units import format_count, format_duration


def _points(found: CycleCalibration) -> Table:
    numbers = ("processing", "tuples", "time per tuple", "from the line")
    rows = [
        (
            form,
            format_count(point.cycles / 1000),
            f"{point.tuples:,}",
            format_duration(point.ns_per_tuple * 1e-9),
            f"{point.error:+.1%}",
        )
        for form, line in found.lines.items()
        for point in line.points
    ]
    return plain_table(("form", *numbers), rows, numbers=numbers)


def _cost(found: CycleCalibration) -> Iterator[tuple[str, str]]:
    for form, line in found.lines.items():
        interval = f"{line.ns_per_cycle_low:.4g} to {line.ns_per_cycle_high:.4g}"
        besides = format_duration(max(0.0, line.ns_per_tuple) * 1e-9)
        yield form, f"{line.ns_per_cycle:.4g} ns per cycle ({interval}), and {besides} per tuple"


def print_calibration(found: CycleCalibration, path: Path, out: Console | None = None) -> None:
    """Print verdict, the cost of a cycle in each form, and every amount of work that it comes from."""
    out = out or console()
    print_verdict(out, found.verdict, "CPU time of one core per cycle of CPU work", found.reasons)
    out.print(_points(found))
    out.print()
    machine = found.machine
    on = f"{machine.processor}, Java {machine.java}, Spark {machine.spark}"
    out.print(key_values([*_cost(found), ("measured on", on), ("kept in", str(path))]))
