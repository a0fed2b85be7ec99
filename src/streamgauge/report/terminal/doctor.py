"""The doctor's findings on the terminal."""

from rich.console import Console
from rich.text import Text

from streamgauge.experiments.doctor import Examination
from streamgauge.report.terminal.console import COLOURS, console, plain_table


def print_checks(result: Examination, out: Console | None = None) -> None:
    """Print a row per check, with its remedy where it needs one."""
    out = out or console()
    table = plain_table()
    for name in ("check", "verdict", "detail"):
        table.add_column(name)
    for check in result.checks:
        detail = check.detail if check.verdict == "pass" else f"{check.detail}; {check.remedy}"
        table.add_row(check.name, Text(check.verdict, style=COLOURS[check.verdict]), detail)
    out.print(table)
    out.print(Text(f"this machine is {'ready' if result.verdict == 'pass' else 'not ready'}", style="bold"))
