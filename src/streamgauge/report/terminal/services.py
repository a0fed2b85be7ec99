"""Services on the terminal."""

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

from streamgauge.report.terminal.console import console, plain_table
from streamgauge.services import Service

COLOURS = {"up": "green", "broken": "red", "starting": "yellow"}


def print_up(services: Iterable[tuple[Service, bool]], out: Console | None = None) -> None:
    """Print the address of each service, and whether it was up already."""
    out = out or console()
    for service, already in services:
        out.print(f"{service.name} is up{' already' if already else ''} at {service.address}", soft_wrap=True)


def print_status(services: Sequence[Service], out: Console | None = None) -> None:
    """Print a line per service and a row per process."""
    out = out or console()
    if not services:
        out.print("no service is up")
    for service in services:
        whose = f", private to process {service.starter.pid}" if service.private else ""
        out.print(Text(f"{service.name} {service.status}{whose}", style=COLOURS[service.status]))
        # Addresses and folders are for copying: they are not broken.
        out.print(f"address  {service.address or 'none yet'}", soft_wrap=True)
        out.print(f"folder   {service.folder}", soft_wrap=True)
        rows = [(p.name, str(p.pid), str(p.port), "yes" if p.alive else "no") for p in service.processes]
        if rows:
            out.print(plain_table(("process", "pid", "port", "alive"), rows))
