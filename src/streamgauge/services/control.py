"""Bringing services up, looking at them, and ending them."""

import os
import uuid
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any

from streamgauge.errors import EnvironmentNotReadyError, UsageError, closest
from streamgauge.services.kafka import Kafka
from streamgauge.services.launch import Say, Server, discard, launch_service
from streamgauge.services.redis import Redis
from streamgauge.services.service import Service
from streamgauge.services.spark import Spark
from streamgauge.services.state import changing, read_state, read_states, state_folder

KINDS: Mapping[str, type[Kafka] | type[Redis] | type[Spark]] = {"kafka": Kafka, "redis": Redis, "spark": Spark}


def _silent(text: str) -> None:
    pass


def require_known(names: Iterable[str]) -> None:
    """Refuse names that are no services."""
    for name in names:
        if name not in KINDS:
            raise UsageError(f'"{name}" is no service', remedy=closest(name, KINDS))


def settings_of(name: str) -> set[str]:
    """Return the names of the settings of a service."""
    require_known([name])
    return {field.name for field in fields(KINDS[name])}


def _server(name: str, settings: Mapping[str, Any]) -> Server:
    unknown = sorted(set(settings) - settings_of(name))
    if unknown:
        known = settings_of(name)
        raise UsageError(f"{name} has no setting `{unknown[0]}`", remedy=closest(unknown[0], known))
    return KINDS[name](**settings)


def prepare(name: str, *, say: Say = _silent, **settings: Any) -> None:
    """Raise EnvironmentNotReadyError when a service cannot be started here; fetch what can be fetched."""
    _server(name, settings).prepare(say)


def bring_up(
    name: str, *, folder: Path | None = None, say: Say = _silent, settings: Mapping[str, Any]
) -> tuple[Service, bool]:
    """Start a service unless it is up; return it, and whether it was up already."""
    server = _server(name, settings)
    server.prepare(say)
    state = state_folder() / f"{name}.json"
    with changing(state.parent, say):
        _sweep(state.parent)
        present = read_state(state)
        if present is not None and present.status == "up":
            _refuse_other_settings(present, settings)
            return present, True
        if present is not None:
            _refuse_half(present)
            discard(present, state)
        say(f"starting {name}")
        return launch_service(server, state=state, parent=folder, private=False), False


def up(name: str, *, folder: Path | None = None, say: Say = _silent, **settings: Any) -> Service:
    """Start a service unless it is up, and return it; it stays up until `down`.

    Settings are those of the command line: `brokers`, `workers`, `cores`, `memory`, `port`.
    """
    return bring_up(name, folder=folder, say=say, settings=settings)[0]


@contextmanager
def running(name: str, *, folder: Path | None = None, say: Say = _silent, **settings: Any) -> Iterator[Service]:
    """Run a service of one's own, beside any other, and end it at the end of the block."""
    server = _server(name, settings)
    server.prepare(say)
    states = state_folder()
    with changing(states, say):
        _sweep(states)
    state = states / f"{name}-{os.getpid()}-{uuid.uuid4().hex[:8]}.json"
    service = launch_service(server, state=state, parent=folder, private=True)
    try:
        yield service
    finally:
        discard(service, state)


def status() -> list[Service]:
    """Return all recorded services."""
    return list(read_states(state_folder()).values())


def address_of(name: str) -> str | None:
    """Return the address of the service that is up for everybody on this machine, if there is one."""
    shared = (s.address for s in status() if s.name == name and s.status == "up" and not s.private)
    return next(filter(None, shared), None)


def down(names: Iterable[str] = (), *, say: Say = _silent) -> list[Service]:
    """End the named services, or all, and return those that were recorded.

    Services that a living process runs for itself stay.
    """
    wanted = set(names)
    require_known(wanted)
    folder = state_folder()
    ended = []
    with changing(folder, say):
        for path, service in read_states(folder).items():
            named = not wanted or service.name in wanted
            if named and (not service.private or service.left_behind):
                discard(service, path)
                ended.append(service)
    return ended


def _sweep(folder: Path) -> None:
    """End what processes that are gone have left behind."""
    for path, service in read_states(folder).items():
        if service.left_behind:
            discard(service, path)


def _refuse_other_settings(service: Service, wanted: Mapping[str, Any]) -> None:
    actual = {**service.settings, "port": service.processes[0].port}
    for name, value in wanted.items():
        if value is not None and actual.get(name) != value:
            raise UsageError(
                f"{service.name} is up with {name} {actual.get(name)}, not {value}",
                remedy=f"end it first with `streamgauge services down {service.name}`",
            )


def _refuse_half(service: Service) -> None:
    """Refuse to replace a service of which a part still runs: its data may be wanted."""
    if service.recorded == "up" and len(service.dead) < len(service.processes):
        names = " and ".join(process.name for process in service.dead)
        raise EnvironmentNotReadyError(
            f"{service.name} is only partly up: {names} has ended",
            where=str(service.dead[0].log),
            remedy=f"end the rest with `streamgauge services down {service.name}`, then bring it up again",
        )
