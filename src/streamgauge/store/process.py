"""Which process writes a run, and whether it still exists."""

import os
from typing import Any

# The boot time, on which a process's start is based, is rounded to seconds and may be corrected by one.
START_TOLERANCE_S = 2.0


def current_process() -> dict[str, Any]:
    """Identify this process: a number alone may be given to another process later."""
    import psutil

    return {"pid": os.getpid(), "started_s": psutil.Process().create_time()}


def is_alive(process: Any) -> bool:
    """Tell whether the process of a run document exists; anything but a process does not.

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
