"""The lock that a writer holds in its run directory: it goes with the process, however that ends.

`flock` is kept by the kernel of one machine and, on NFS, by the server for all machines. It belongs to an open file:
programs that are started do not get the file, and copies of this process close it.
"""

import fcntl
import os
import weakref
from contextlib import suppress
from pathlib import Path
from typing import Literal, Self

# Held, free, or not to be known: no such file, no permission, or a file system without locks.
Held = Literal["held", "free", "unknown"]


class RunLock:
    """A lock held by this process until `release`, its end, or the end of this object."""

    def __init__(self, handle: int) -> None:
        self._handle: int | None = handle
        _LOCKS.add(self)

    @classmethod
    def hold(cls, path: Path) -> Self | None:
        """Take the lock of a fresh file; None on a file system without locks."""
        handle = os.open(path, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW, 0o644)
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(handle)
            return None
        return cls(handle)

    def release(self) -> None:
        """Let go of the lock; in a copy of the process that took it, only of the copy."""
        if self._handle is not None:
            # Not LOCK_UN, which would unlock for all copies of the process.
            with suppress(OSError):
                os.close(self._handle)
            self._handle = None

    __del__ = release


_LOCKS: "weakref.WeakSet[RunLock]" = weakref.WeakSet()


def _release_in_child() -> None:
    for lock in list(_LOCKS):
        lock.release()


os.register_at_fork(after_in_child=_release_in_child)


def probe(path: Path) -> Held:
    """Return whether someone holds the lock, on this machine or another."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except OSError:
        return "unknown"
    try:
        # Shared, because on NFS an exclusive one needs permission to write.
        fcntl.flock(handle, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return "held"
    except OSError:
        return "unknown"
    finally:
        os.close(handle)
    return "free"
