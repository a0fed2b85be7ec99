"""A service: one or more server processes of ours, their address, and the folder with all they write."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal

from streamgauge.machine.process import is_alive

Status = Literal["starting", "up", "broken"]
Recorded = Literal["starting", "up"]


@dataclass(frozen=True)
class ProcessIdentity:
    """A process; its number alone may be given to another one later."""

    pid: int
    started_s: float

    @property
    def alive(self) -> bool:
        """Whether exactly this process still runs."""
        return is_alive({"pid": self.pid, "started_s": self.started_s})


@dataclass(frozen=True)
class ServerProcess(ProcessIdentity):
    """One server of a service."""

    name: str
    port: int
    log: Path


@dataclass(frozen=True)
class Service:
    """What is known about a service; this is also what its state file holds."""

    name: str
    recorded: Recorded
    settings: Mapping[str, int | str]
    folder: Path
    starter: ProcessIdentity
    # A private service belongs to its starter, which ends it; others stay until `services down`.
    private: bool = False
    address: str | None = None
    processes: tuple[ServerProcess, ...] = ()

    @property
    def status(self) -> Status:
        """Whether all of it runs, is about to, or does not."""
        if self.recorded == "starting":
            return "starting" if self.starter.alive else "broken"
        return "up" if self.processes and not self.dead else "broken"

    @property
    def dead(self) -> tuple[ServerProcess, ...]:
        """Servers that have ended."""
        return tuple(process for process in self.processes if not process.alive)

    @property
    def left_behind(self) -> bool:
        """Whether this is a private service whose owner is gone."""
        return self.private and not self.starter.alive

    def document(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        processes = [{**asdict(process), "alive": process.alive} for process in self.processes]
        return {
            "name": self.name,
            "status": self.status,
            "address": self.address,
            "folder": str(self.folder),
            "settings": dict(self.settings),
            "private": self.private,
            "processes": processes,
        }
