"""Write a run directory while the run happens."""

import errno
import json
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import UTC, datetime
from itertools import chain
from pathlib import Path
from threading import RLock
from typing import TYPE_CHECKING, Any, Literal, Self

from streamgauge.clock import Clock
from streamgauge.files import write_whole
from streamgauge.machine.lock import RunLock
from streamgauge.machine.process import current_process
from streamgauge.store.layout import (
    EVENTS_FILE,
    LOCK_FILE,
    LOG_FILE,
    ORIGINS,
    REMEDY,
    RUN_FILE,
    SCHEDULE_FILE,
    SCHEMA_VERSION,
    WORK_FOLDER,
    disk_access,
    table_file,
)

if TYPE_CHECKING:
    import pyarrow as pa

    from streamgauge.arrivals.schedule import Schedule

_ATTEMPTS = 100


def _write(path: Path, write: Callable[[Path], object]) -> None:
    write_whole(path, write, intent=f"write {path.name}", remedy=REMEDY)


def write_json(path: Path, document: Mapping[str, Any]) -> None:
    """Put a document in place in one step: a kill leaves the old or the new one."""
    text = json.dumps(document, indent=2, allow_nan=False) + "\n"
    _write(path, lambda file: file.write_text(text, encoding="utf-8"))


def _make_root(root: Path) -> None:
    with disk_access("make the folder of runs", root):
        try:
            root.mkdir(parents=True, exist_ok=True)
        except FileExistsError as error:
            raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR)) from error


def _make_folder(root: Path, workload: str, created: datetime) -> Path:
    slug = re.sub(r"[^a-z0-9]+", "-", workload.lower())[:40].strip("-") or "run"
    with disk_access("make a run directory", root):
        for _ in range(_ATTEMPTS):
            folder = root / f"{created:%Y%m%dT%H%M%S}-{slug}-{secrets.token_hex(2)}"
            with suppress(FileExistsError):
                # Rows of verified answers and logs of the user's application are nobody else's business.
                folder.mkdir(mode=0o700)
                return folder
        raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST))


def _write_parts(parts: "Iterable[pa.Table]", file: Path) -> None:
    import pyarrow.parquet as pq

    rest = iter(parts)
    first = next(rest)
    with pq.ParquetWriter(file, first.schema, compression="zstd") as writer:
        for part in chain([first], rest):
            writer.write_table(part)


class RunWriter:
    """The only writer of one run directory; its methods may be called from several threads.

    A refusal of the operating system (full disk, no permission) is an `EnvironmentNotReadyError`.
    """

    def __init__(self, path: Path, document: dict[str, Any]) -> None:
        """Take over the fresh folder `path`; use `create` to make one."""
        self.path = path
        self._document = document
        self._lock = RLock()
        # Before the document, so that no reader sees a run that goes on without its lock.
        with disk_access(f"make {LOCK_FILE}", path):
            self._held = RunLock.hold(path / LOCK_FILE)
        # Then the document: a folder that looks like a run always says whose it is.
        write_json(path / RUN_FILE, document)
        with disk_access(f"make {WORK_FOLDER}", self.work):
            self.work.mkdir()
        with disk_access(f"write {EVENTS_FILE}", path):
            # Buffered, so that a line cut short by a full disk is completed by the next append.
            self._events = (path / EVENTS_FILE).open("ab")

    @classmethod
    def create(cls, root: Path, *, workload: str, document: dict[str, Any], clock: Clock) -> Self:
        """Make a fresh run directory below `root`, with `document` in its run.json."""
        created = datetime.fromtimestamp(clock.wall_s(), UTC)
        _make_root(root)
        folder = _make_folder(root, workload, created)
        identity = {
            "schema_version": SCHEMA_VERSION,
            "run_id": folder.name,
            "status": "running",
            "workload": workload,
            "created": created.isoformat(timespec="microseconds"),
        }
        later = dict.fromkeys(("configuration", "environment", "load", "summary", "verdict"))
        # The identity stands first for people who open the file, and wins over what the caller gives.
        usual: dict[str, Any] = {"origin": ORIGINS[0], **later, "reasons": []}
        whole = {**identity, **usual, **document, **identity, "process": current_process()}
        try:
            return cls(folder, whole)
        except BaseException:
            shutil.rmtree(folder, ignore_errors=True)
            raise

    @property
    def run_id(self) -> str:
        """The name of the run directory."""
        return self.path.name

    @property
    def work(self) -> Path:
        """The folder for checkpoints and temporary files, gone when the run ends; absolute, as Spark wants it."""
        return self.path.absolute() / WORK_FOLDER

    @property
    def log(self) -> Path:
        """Where Spark's own log belongs."""
        return self.path / LOG_FILE

    def update(self, **fields: Any) -> None:
        """Replace top-level fields of run.json; a kill leaves the old or the new document."""
        with self._lock:
            self._check_open()
            changed = {**self._document, **fields}
            write_json(self.path / RUN_FILE, changed)
            self._document = changed

    def append_progress(self, document: Mapping[str, Any]) -> None:
        """Add one progress document; it survives a kill of this process once this returns."""
        line = json.dumps(dict(document), separators=(",", ":")).encode() + b"\n"
        with self._lock:
            self._check_open()
            with disk_access(f"write {EVENTS_FILE}", self.path / EVENTS_FILE):
                self._events.write(line)
                self._events.flush()

    def write_table(self, name: str, table: "pa.Table | Iterable[pa.Table]") -> None:
        """Write NAME.parquet, from a table or from its parts: no more than one of them need be in memory."""
        import pyarrow as pa

        path = self.path / table_file(name)
        parts = [table] if isinstance(table, pa.Table) else table
        with self._lock:
            self._check_open()
            _write(path, lambda file: _write_parts(parts, file))

    def write_schedule(self, schedule: "Schedule") -> "Schedule":
        """Write the compiled arrival process, and return it as it is read again: a long one stays on disk."""
        from streamgauge.arrivals.schedule import Schedule

        with self._lock:
            self._check_open()
            _write(self.path / SCHEDULE_FILE, schedule.save)
            with disk_access(f"read {SCHEDULE_FILE}", self.path / SCHEDULE_FILE):
                return Schedule.load(self.path / SCHEDULE_FILE)

    def finish(self, status: Literal["finished", "interrupted", "failed"], **fields: Any) -> None:
        """End the run: nothing can be written afterwards. After an error it may be called again."""
        with self._lock:
            self._check_open()
            # First of all, because it may free the space that the rest needs; a leftover is swept later.
            shutil.rmtree(self.work, ignore_errors=True)
            with disk_access(f"write {EVENTS_FILE}", self.path / EVENTS_FILE):
                self._events.close()
            self.update(**fields, status=status)
            if self._held is not None:
                self._held.release()
            with suppress(OSError):
                (self.path / LOCK_FILE).unlink(missing_ok=True)

    def discard(self) -> None:
        """Delete the run, ended or not: nothing of it is worth keeping."""
        with self._lock:
            with suppress(OSError):
                self._events.close()
            if self._held is not None:
                self._held.release()
            shutil.rmtree(self.path, ignore_errors=True)

    def _check_open(self) -> None:
        if self._document["status"] != "running":
            raise RuntimeError(f"run {self.run_id} has ended, nothing can be written to it")
