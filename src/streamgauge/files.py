"""Files that are there whole or not at all, and what to say when the operating system refuses."""

import os
from collections.abc import Callable, Iterator
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
