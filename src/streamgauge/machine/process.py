"""Which process writes a run, where, and whether it still does.

A process number means something on one host, since its last start, and in one PID namespace: a container on the same
folder has its own numbers. Where those differ, the lock that a writer holds in the run directory decides.
"""

import os
import socket
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

from streamgauge.machine.lock import probe

# The boot time, on which a process's start is based, is rounded to seconds and may be corrected by one.
START_TOLERANCE_S = 2.0
_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")
_PID_NAMESPACE = Path("/proc/self/ns/pid")

# Whose resources are sampled: this process, Spark's Java processes, and their Python workers.
ROLES = ("tool", "java", "python_workers")
SPARK_ROLES = ("java", "python_workers")

# "unknown" has neither a place nor a lock: runs of earlier versions whose process number is not in use here.
Life = Literal["alive", "gone", "unknown"]


def current_place() -> dict[str, str | None]:
    """Return within what process numbers are unique; None where the system does not have such a thing."""
    try:
        boot_id: str | None = _BOOT_ID.read_text().strip()
    except OSError:
        boot_id = None
    try:
        namespace: str | None = str(_PID_NAMESPACE.readlink())
    except OSError:
        namespace = None
    return {"host": socket.gethostname(), "boot_id": boot_id, "pid_namespace": namespace}


def current_process() -> dict[str, Any]:
    """Identify this process: a number alone may be given to another process later, or mean another one elsewhere."""
    import psutil

    return {"pid": os.getpid(), "started_s": psutil.Process().create_time(), **current_place()}


def is_alive(process: Any) -> bool:
    """Return whether the process of a run document exists here; anything but a process does not.

    >>> is_alive(current_process())
    True
    >>> is_alive(None)
    False
    """
    import psutil

    try:
        found = psutil.Process(process["pid"])
        # A killed process that its parent has not collected yet writes nothing any more.
        if found.status() == psutil.STATUS_ZOMBIE:
            return False
        return bool(abs(found.create_time() - process["started_s"]) <= START_TOLERANCE_S)
    except psutil.AccessDenied:
        return True
    except (psutil.Error, KeyError, TypeError, ValueError, OverflowError):
        return False


def is_here(process: Any) -> bool:
    """Return whether the number of a process means the same here as where it was written down."""
    here = current_place()
    return isinstance(process, Mapping) and {name: process.get(name) for name in here} == here


def has_place(process: Any) -> bool:
    """Return whether a process says where it runs; those of earlier versions do not."""
    return isinstance(process, Mapping) and isinstance(process.get("host"), str)


def life_of(process: Any, lock: Path) -> Life:
    """Judge whether the writer of a run that has not ended is still at work.

    Here both its number and its lock must speak for it; elsewhere it counts as alive unless its lock is free.
    """
    held = probe(lock)
    if is_here(process):
        return "alive" if is_alive(process) and held != "free" else "gone"
    if has_place(process):
        return "gone" if held == "free" else "alive"
    if held == "unknown":
        return "alive" if is_alive(process) else "unknown"
    return "alive" if held == "held" else "gone"
