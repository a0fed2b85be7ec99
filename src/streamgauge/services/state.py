"""State files: what was started, kept where `services status` and `services down` find it after the starter is gone."""

import os
import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from pathlib import Path

from streamgauge.errors import EnvironmentNotReadyError
from streamgauge.files import cache_folder, disk_access, locked, write_text_whole
from streamgauge.machine.process import current_place
from streamgauge.services.service import Service

REMEDY = "choose another folder with STREAMGAUGE_CACHE"


def state_folder() -> Path:
    """Return where state files are kept: those of this host and PID namespace, within which process numbers count."""
    place = current_place()
    namespace = re.sub(r"\D", "", place["pid_namespace"] or "")
    return cache_folder(os.environ) / "services" / "-".join(filter(None, (place["host"], namespace)))


def write_state(path: Path, service: Service) -> None:
    """Record a service in one step: a kill leaves the old or the new state."""
    from pydantic import TypeAdapter

    intent = "record the service"
    with disk_access(intent, path, REMEDY):
        path.parent.mkdir(parents=True, exist_ok=True)
    text = TypeAdapter(Service).dump_json(service, indent=2).decode() + "\n"
    write_text_whole(path, text, intent=intent, remedy=REMEDY)


def read_state(path: Path) -> Service | None:
    """Return the service of a state file, or None when there is none."""
    from pydantic import TypeAdapter, ValidationError

    try:
        with disk_access("read the state of a service", path, REMEDY):
            text = path.read_bytes()
    except EnvironmentNotReadyError:
        if not path.exists():
            return None
        raise
    try:
        return TypeAdapter(Service).validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        raise EnvironmentNotReadyError(
            f"this is not the state of a service: {first['msg']}",
            where=str(path),
            remedy="end the service by hand if it runs, then delete the file",
        ) from error


def read_states(folder: Path) -> dict[Path, Service]:
    """Return all recorded services by their files."""
    found = {path: read_state(path) for path in sorted(folder.glob("[!.]*.json"))}
    return {path: service for path, service in found.items() if service is not None}


def running_pids(folder: Path) -> tuple[int, ...]:
    """Return the recorded servers that run; a state that cannot be read names none."""
    try:
        services = read_states(folder).values()
    except EnvironmentNotReadyError:
        return ()
    return tuple(process.pid for service in services for process in service.processes if process.alive)


def changing(folder: Path, say: Callable[[str], None]) -> AbstractContextManager[None]:
    """Let one command at a time change what is up."""
    return locked(folder, "record services", REMEDY, lambda: say("waiting for another `streamgauge services` command"))
