"""Starting, finding and ending server processes: by identity, never by name."""

import os
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

from streamgauge.clock import Clock, SystemClock
from streamgauge.errors import EnvironmentNotReadyError
from streamgauge.services.service import Service

if TYPE_CHECKING:
    import psutil

# Every process of a service, and what that starts in turn, has this in its environment, with the service's folder.
# It identifies those that were started but not recorded when streamgauge was killed.
MARK = "STREAMGAUGE_SERVICE_FOLDER"
END_DEADLINE_S = 20.0


def spawn(
    command: Sequence[str], *, folder: Path, log: Path, environment: Mapping[str, str]
) -> "subprocess.Popen[bytes]":
    """Start a server that outlives this process, and keep the terminal's Ctrl-C away from it."""
    with log.open("ab") as output:
        return subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            cwd=folder,
            env={**os.environ, **environment, MARK: str(folder)},
            start_new_session=True,
        )


def started_at_s(pid: int) -> float:
    """Return when a process of ours started; one that has ended already counts as started at 0."""
    import psutil

    try:
        return float(psutil.Process(pid).create_time())
    except psutil.Error:
        return 0.0


def _is_marked(process: "psutil.Process", folder: Path) -> bool:
    import psutil

    try:
        return bool(process.environ().get(MARK) == str(folder))
    except (psutil.Error, OSError):
        return False


def _runs(process: "psutil.Process") -> bool:
    import psutil

    try:
        return bool(process.is_running() and process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def processes_of(service: Service) -> list["psutil.Process"]:
    """Return everything that runs for a service: what is recorded, their children, and what carries its mark."""
    import psutil

    found = set()
    for recorded in service.processes:
        if recorded.alive:
            with suppress(psutil.Error):
                process = psutil.Process(recorded.pid)
                found |= {process, *process.children(recursive=True)}
    found |= {process for process in psutil.process_iter() if _is_marked(process, service.folder)}
    return [process for process in found if _runs(process)]


def end(service: Service, clock: Clock | None = None) -> None:
    """Kill all processes of a service and return when none is left: what they hold is temporary anyway."""
    import psutil

    clock = clock or SystemClock()
    end_s = clock.monotonic_s() + END_DEADLINE_S
    while left := processes_of(service):
        if clock.monotonic_s() > end_s:
            pids = ", ".join(str(process.pid) for process in left)
            raise EnvironmentNotReadyError(
                f"processes of {service.name} do not end within {END_DEADLINE_S:.0f} s: {pids}",
                remedy=f"end them by hand, then call `streamgauge services down {service.name}`",
            )
        for process in left:
            with suppress(psutil.Error):
                process.kill()
        # Short: what another process must collect stays visible for a while after its end.
        psutil.wait_procs(left, timeout=0.1)
