"""Ports on loopback: free ones, and one that the user wants."""

import socket
from contextlib import ExitStack

from streamgauge.errors import EnvironmentNotReadyError, UsageError

LOOPBACK = "127.0.0.1"
HIGHEST_PORT = 65535


def _bind(port: int) -> socket.socket:
    holder = socket.socket()
    try:
        # As servers do: a port whose last connections are just closing is free.
        holder.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        holder.bind((LOOPBACK, port))
    except BaseException:
        holder.close()
        raise
    return holder


def free_ports(count: int) -> list[int]:
    """Return different ports that nobody uses now.

    >>> len(set(free_ports(3)))
    3
    """
    with ExitStack() as held:
        return [held.enter_context(_bind(0)).getsockname()[1] for _ in range(count)]


def wanted_ports(first: int | None, count: int) -> list[int]:
    """Return `count` ports, from `first` on, all of them free; without `first`, any."""
    if first is None:
        return free_ports(count)
    last = first + count - 1
    if first < 1 or last > HIGHEST_PORT:
        asked = f"port {first}" if count == 1 else f"ports {first} to {last}"
        raise UsageError(f"there is no {asked}", where="--port", remedy=f"use 1 to {HIGHEST_PORT - count + 1}")
    for port in range(first, last + 1):
        try:
            _bind(port).close()
        except OSError as error:
            raise EnvironmentNotReadyError(
                f"port {port} cannot be used: {error.strerror or error}",
                where="--port",
                remedy="choose another one, or leave it out for a free one",
            ) from error
    return list(range(first, last + 1))
