"""The doctor's findings on the terminal."""

from rich.console import Console
from rich.text import Text

from streamgauge.experiments.doctor import Examination
from streamgauge.report.terminal.console import console, plain_table, verdict_text


def print_checks(result: Examination, out: Console | None = None) -> None:
    """Print a row per check, with its remedy where it needs one."""
    out = out or console()
    rows = []
    for check in result.checks:
        detail = check.detail if check.verdict == "pass" else f"{check.detail}; {check.remedy}"
        rows.append((check.name, verdict_text(check.verdict), detail))
    out.print(plain_table(("check", "verdict", "detail"), rows))
    out.print(Text(f"this machine is {'ready' if result.verdict == 'pass' else 'not ready'}", style="bold"))
