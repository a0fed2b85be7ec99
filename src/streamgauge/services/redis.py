"""Redis: one server from the system's package, in memory only."""

import shutil
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

from streamgauge.errors import EnvironmentNotReadyError
from streamgauge.services.launch import Launch, Say
from streamgauge.services.ports import LOOPBACK, wanted_ports

DEADLINE_S = 20.0


@dataclass(frozen=True)
class Redis:
    """Settings of Redis."""

    port: int | None = None
    name: ClassVar[str] = "redis"

    def prepare(self, say: Say) -> None:  # noqa: ARG002
        """Make sure of `redis-server`."""
        self._program()

    def settings(self) -> Mapping[str, int | str]:
        """Return what holds besides the port."""
        return {}

    def start(self, launch: Launch) -> str:
        """Start the server and wait for its PONG."""
        (port,) = wanted_ports(self.port, 1)
        options = {
            "bind": LOOPBACK,
            "port": str(port),
            "dir": str(launch.folder),
            "save": "",
            "appendonly": "no",
            "daemonize": "no",
            "protected-mode": "yes",
        }
        words = [word for name, value in options.items() for word in (f"--{name}", value)]
        launch.start("server", [self._program(), *words], port=port, environment={})
        launch.wait_until({"server": lambda: answers(port)}, DEADLINE_S)
        return f"{LOOPBACK}:{port}"

    def _program(self) -> str:
        program = shutil.which("redis-server")
        if program is None:
            raise EnvironmentNotReadyError(
                "redis-server was not found on the PATH",
                remedy="install Redis (Debian and Ubuntu: `apt-get install redis-server`; macOS: `brew install redis`)",
            )
        return program


def answers(port: int) -> bool:
    """Return whether a Redis on loopback answers a PING."""
    try:
        with socket.create_connection((LOOPBACK, port), timeout=1.0) as connection:
            connection.sendall(b"PING\r\n")
            return connection.recv(16).startswith(b"+PONG")
    except OSError:
        return False
