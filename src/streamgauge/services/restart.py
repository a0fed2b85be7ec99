"""One server of a service killed, and started again with the same command on the same data."""

from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from streamgauge.clock import Clock, SystemClock
from streamgauge.errors import EnvironmentNotReadyError
from streamgauge.services.processes import END_DEADLINE_S, spawn, started_at_s
from streamgauge.services.service import ServerProcess, Service
from streamgauge.services.state import read_states, state_folder, write_state

if TYPE_CHECKING:
    import psutil

POLL_S = 0.05


@dataclass(frozen=True)
class KilledServer:
    """A server that was killed, with all that is needed to start it again."""

    service: Service
    server: ServerProcess
    command: tuple[str, ...]
    environment: Mapping[str, str]
    pids: tuple[int, ...]


def _whole(process: ServerProcess) -> "list[psutil.Process]":
    import psutil

    root = psutil.Process(process.pid)
    return [root, *root.children(recursive=True)]


def kill_server(service: Service, name: str) -> KilledServer:
    """Kill a server and all that it has started, and return when none of it runs."""
    import psutil

    (server,) = [process for process in service.processes if process.name == name]
    try:
        found = _whole(server)
        command, environment = tuple(found[0].cmdline()), dict(found[0].environ())
    except psutil.Error as error:
        raise EnvironmentNotReadyError(
            f"{name} of {service.name} does not run",
            where=str(server.log),
            remedy=f"end the rest with `streamgauge services down {service.name}`, then bring it up again",
        ) from error
    for process in found:
        with suppress(psutil.Error):
            process.kill()
    _, left = psutil.wait_procs(found, timeout=END_DEADLINE_S)
    alive = [p for p in left if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]
    if alive:
        raise EnvironmentNotReadyError(
            f"{name} of {service.name} does not end when killed",
            remedy=f"end process {alive[0].pid} by hand",
        )
    return KilledServer(service, server, command, environment, tuple(p.pid for p in found))


def start_again(
    killed: KilledServer, *, answers: Callable[[], bool], deadline_s: float, clock: Clock | None = None
) -> Service:
    """Start a killed server on its data, record it, and return when it answers."""
    service, old = killed.service, killed.server
    child = spawn(killed.command, folder=service.folder, log=old.log, environment=killed.environment)
    new = replace(old, pid=child.pid, started_s=started_at_s(child.pid))
    service = replace(service, processes=tuple(new if p.name == old.name else p for p in service.processes))
    for path in _recorded(service.folder):
        write_state(path, service)
    clock = clock or SystemClock()
    end_s = clock.monotonic_s() + deadline_s
    while not answers():
        if child.poll() is not None or clock.monotonic_s() > end_s:
            raise EnvironmentNotReadyError(
                f"{old.name} of {service.name} did not come back within {deadline_s:.0f} s",
                where=str(old.log),
                remedy="read its log",
            )
        clock.sleep(POLL_S)
    return service


def _recorded(folder: Path) -> list[Path]:
    return [path for path, service in read_states(state_folder()).items() if service.folder == folder]
