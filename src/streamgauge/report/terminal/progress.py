"""Progress of a run on standard error: one live line on a terminal, a line every few seconds elsewhere."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from streamgauge.printable import echo
from streamgauge.running.monitor import Monitor, NoMonitor, Snapshot
from streamgauge.units import format_count, format_duration, format_rate

if TYPE_CHECKING:
    from rich.live import Live

PLAIN_PERIOD_S = 5.0


def progress_line(snapshot: Snapshot) -> str:
    """Return the state of a run in one line.

    >>> progress_line(Snapshot("measure", 31.4, 12.0, 199_800.0, 61_000, 0.31, 40))
    '[   31 s] measure: 12 s, processed 199.8k/s, backlog 61k, latency 310 ms'
    """
    line = f"[{snapshot.elapsed_s:5.0f} s] {snapshot.phase}: {snapshot.phase_s:.0f} s"
    if snapshot.processed_rate_per_s is not None:
        line += f", processed {format_rate(snapshot.processed_rate_per_s)}"
    if snapshot.backlog_events is not None:
        line += f", backlog {format_count(snapshot.backlog_events)}"
    if snapshot.end_to_end_latency_s is not None:
        line += f", latency {format_duration(snapshot.end_to_end_latency_s)}"
    return line


def step_progress(command: str, *, quiet: bool) -> Callable[[str], None]:
    """Return what shows each step of a command, on standard error."""

    def report_progress(step: str) -> None:
        if not quiet:
            echo(f"{command}: {step}", err=True)

    return report_progress


class PlainProgress:
    """A line whenever the phase changes, and every few seconds in between."""

    def __init__(self) -> None:
        self.phase = ""
        self.next_s = 0.0

    def show(self, snapshot: Snapshot) -> None:
        """Print a line when it is time for one."""
        if snapshot.phase != self.phase or snapshot.elapsed_s >= self.next_s:
            self.phase, self.next_s = snapshot.phase, snapshot.elapsed_s + PLAIN_PERIOD_S
            echo(progress_line(snapshot), err=True)


class LiveProgress:
    """One line that keeps changing."""

    def __init__(self, live: "Live") -> None:
        self.live = live

    def show(self, snapshot: Snapshot) -> None:
        """Renew the line."""
        from rich.text import Text

        self.live.update(Text(progress_line(snapshot)))


@contextmanager
def progress_display(*, quiet: bool) -> Iterator[Monitor]:
    """Choose the display that fits: none, plain lines, or a live line."""
    if quiet:
        yield NoMonitor()
    elif not sys.stderr.isatty():
        yield PlainProgress()
    else:
        from rich.live import Live

        from streamgauge.report.terminal.console import CleanConsole

        with Live(console=CleanConsole(stderr=True), refresh_per_second=4, transient=True) as live:
            yield LiveProgress(live)
