"""Files that are there whole or not at all, one user of a folder at a time, and what to say when the system refuses."""

import fcntl
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path

from streamgauge.errors import EnvironmentNotReadyError


@contextmanager
def disk_access(intent: str, path: Path, remedy: str) -> Iterator[None]:
    """Turn a refusal of the operating system into a message for users: `intent` failed at `path`."""
    try:
        yield
    except OSError as error:
        reason = os.strerror(error.errno) if error.errno else str(error)
        raise EnvironmentNotReadyError(f"cannot {intent}: {reason}", where=str(path), remedy=remedy) from error


def write_whole(path: Path, write: Callable[[Path], object], *, intent: str, remedy: str) -> None:
    """Let `write` fill a file beside `path`, then put it in place in one step: a kill leaves the old or the new one."""
    # A link stays a link: what it leads to is replaced. The end of the name stays, too: NumPy adds its own without.
    target = path.resolve()
    # Several processes may write the same file, each its own beside it.
    temporary = target.with_name(f".new-{os.getpid()}-{target.name}")
    try:
        with disk_access(intent, path, remedy):
            write(temporary)
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            temporary.replace(target)
    except BaseException:
        with suppress(OSError):
            temporary.unlink(missing_ok=True)
        raise


def write_text_whole(path: Path, text: str, *, intent: str, remedy: str) -> None:
    """Write a text in one step."""
    write_whole(path, lambda file: file.write_text(text, encoding="utf-8"), intent=intent, remedy=remedy)


@contextmanager
def locked(folder: Path, intent: str, remedy: str, on_wait: Callable[[], None]) -> Iterator[None]:
    """Let one process at a time in, and make the folder; the lock goes with its process, however that ends."""
    with disk_access(intent, folder, remedy):
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            on_wait()
            fcntl.flock(handle, fcntl.LOCK_EX)
        yield
    finally:
        os.close(handle)


def cache_folder(environ: Mapping[str, str]) -> Path:
    """Return where things are kept that can be made again.

    >>> str(cache_folder({"STREAMGAUGE_CACHE": "/data/cache"})), str(cache_folder({"XDG_CACHE_HOME": "/x"}))
    ('/data/cache', '/x/streamgauge')
    """
    if chosen := environ.get("STREAMGAUGE_CACHE"):
        return Path(chosen)
    home = environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "streamgauge"
