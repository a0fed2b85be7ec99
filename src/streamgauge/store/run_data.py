"""Read run directories, also those of killed runs and other people: data, never code."""

import reprlib
import stat
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from errno import ENAMETOOLONG
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast

from streamgauge.errors import InvalidExperimentError, StreamgaugeError
from streamgauge.machine.process import is_here, life_of
from streamgauge.store.display import Displayed
from streamgauge.store.json_text import FOREIGN, damaged, foreign, parse_object, problems_of_version
from streamgauge.store.layout import (
    EVENTS_FILE,
    LOCK_FILE,
    OLDER_SETTINGS,
    ORIGINS,
    RUN_FILE,
    SCHEDULE_FILE,
    STATUSES,
    age_order,
    disk_access,
    looks_like_run,
    table_file,
)
from streamgauge.store.table_schema import problems_in_table

if TYPE_CHECKING:
    import numpy.typing as npt
    import pandas as pd
    import pyarrow as pa

    from streamgauge.arrivals.schedule import Schedule
    from streamgauge.measure.batch import Batch
    from streamgauge.measure.records import ResourceSample, StageRecord, TaskRecord
    from streamgauge.summary import Summary

_REQUIRED = {"run_id": str, "status": str, "workload": str, "created": str}
_OPTIONAL = {
    "origin": str,
    "configuration": dict,
    "environment": dict,
    "load": dict,
    "summary": dict,
    "verdict": str,
    "reasons": list,
    "process": dict,
}
# Settings that earlier versions stored under another name.
_NEWER = {"latency": "timing", "format": "record_format"}
_TYPE_WORDS = {str: "text", dict: "an object", list: "a list"}
PART_ROWS = 8192
Row = TypeVar("Row")
Result = TypeVar("Result")


def _kept(read: "Callable[[StoredRun], Result]") -> "Callable[[StoredRun], Result]":
    """Make a method of a run read its files once."""

    @wraps(read)
    def found(run: "StoredRun") -> Result:
        if read.__name__ not in run._found:
            run._found[read.__name__] = read(run)
        result: Result = run._found[read.__name__]
        return result

    return found


@dataclass(frozen=True)
class StoredRun(Displayed):
    """One run on disk, and the only reader of its files: each is read when it is asked for, and then kept.

    Tasks and stages may be too many for memory: their rows are read again each time. `status` is running, finished,
    interrupted or failed. A run whose process has vanished without ending it is interrupted, whatever its document
    says.
    """

    run_id: str
    path: Path
    status: str
    document: dict[str, Any]
    _found: dict[str, Any] = field(default_factory=dict, init=False, repr=False, compare=False)

    @property
    def origin(self) -> str:
        """Where the run comes from: run, attach or import."""
        return str(self.document.get("origin") or ORIGINS[0])

    @property
    def is_observed(self) -> bool:
        """The query ran by itself: its load is not ours, and not known."""
        return self.origin != ORIGINS[0]

    @property
    def is_rehearsal(self) -> bool:
        """An engine made the run up: it is evidence of nothing."""
        return bool(self.document.get("rehearsal"))

    @property
    def configuration(self) -> dict[str, Any]:
        """The settings, as far as they are stored, by the names that they have now."""
        stored = self.document.get("configuration") or {}
        return {OLDER_SETTINGS.get(name, name): value for name, value in stored.items()}

    @property
    def load(self) -> dict[str, Any]:
        """When the load began and ended, on how many cores; empty when no event was offered."""
        return self.document.get("load") or {}

    @property
    def summary(self) -> "Summary":
        """What was concluded at the end of the run; empty when it did not get there."""
        return cast("Summary", self.document.get("summary") or {})

    def progress(self) -> list[dict[str, Any]]:
        """Return the raw progress documents; a last line that a kill cut short is left out."""
        return list(self.read_progress())

    def read_progress(self) -> Iterator[dict[str, Any]]:
        """Yield the raw progress documents one by one, as `progress` returns them."""
        path = self.path / EVENTS_FILE
        if not path.exists():
            return
        _refuse_elsewhere(path)
        try:
            with path.open("rb") as file:
                for number, line in enumerate(file, 1):
                    # Spark reports an unknown rate as NaN.
                    if line.endswith(b"\n"):
                        yield parse_object(line[:-1], path, number, is_finite=False)
                        continue
                    with suppress(InvalidExperimentError):
                        yield parse_object(line, path, number, is_finite=False)
        except OSError as error:
            raise damaged(f"{path.name} cannot be read: {error.strerror or error}", path) from error

    @_kept
    def batches(self) -> "list[Batch]":
        """Return the micro-batches of the load: of a run that did not end, those that Spark reported."""
        return self._tabled_batches() or self._reported_batches()

    def _tabled_batches(self) -> "list[Batch]":
        from streamgauge.measure.batch import Batch, Phases, refuse_impossible

        plain = [one.name for one in fields(Batch) if one.name != "phases_s"]
        found = []
        with self._own_table("batches"):
            for row in self._rows("batches"):
                facts = {name: row[name] for name in plain if name in row} | {"left": row.get("left") or 0}
                found.append(Batch(**facts, phases_s=Phases(row[f"{phase}_s"] for phase in Phases.names)))
            refuse_impossible(found)
        return found

    def _reported_batches(self) -> "list[Batch]":
        from streamgauge.measure.batch import batches_from_progress, observed_batches, refuse_impossible

        documents = self.read_progress()
        try:
            found = observed_batches(documents) if self.is_observed else batches_from_progress(documents)
            refuse_impossible(found)
            return found
        except FOREIGN as error:
            what = f"a progress document is not one of Spark's ({type(error).__name__}: {error})"
            raise damaged(what, self.path / EVENTS_FILE) from error

    def tasks(self) -> "Collection[TaskRecord]":
        """Return the tasks of the load; none when the run has no such table."""
        from streamgauge.measure.records import TaskRecord

        return self._records("tasks", TaskRecord)

    def stages(self) -> "Collection[StageRecord]":
        """Return the stages of a query that was observed; others have no such table."""
        from streamgauge.measure.records import StageRecord

        return self._records("stages", StageRecord)

    @_kept
    def resources(self) -> "list[ResourceSample]":
        """Return what the processes of the run used over time."""
        from streamgauge.store.resource_table import sample_from_row

        with self._own_table("resources"):
            return [sample_from_row(row) for row in self._rows("resources")]

    def latency(self) -> list[tuple[int, int, int]]:
        """Return the histogram of end-to-end latencies: the bounds of each bucket in microseconds, and its count."""
        return [(row["low_us"], row["high_us"], row["count"]) for row in self._rows("latency")]

    @_kept
    def schedule(self) -> "Schedule":
        """Return the compiled arrival process; of a query that was observed, when its rows came as far as is known."""
        from streamgauge.arrivals.schedule import Schedule

        if self.is_observed:
            return self._observed_schedule()
        path = self.path / SCHEDULE_FILE
        _refuse_elsewhere(path)
        try:
            return Schedule.load(path)
        except OSError as error:
            raise damaged(f"the schedule cannot be read: {error.strerror or error}", path) from error
        except Exception as error:  # NumPy's answers to a foreign file are of many kinds
            raise damaged(f"not a schedule ({error})", path) from error

    def _observed_schedule(self) -> "Schedule":
        from streamgauge.measure.observed_load import observed_schedule

        batches = self.batches()
        if not batches:
            raise InvalidExperimentError(
                "the run has no micro-batch", where=str(self.path), remedy="choose a run in which something was read"
            )
        trigger_s = self.configuration.get("trigger_s")
        return observed_schedule(batches, trigger_s if isinstance(trigger_s, int | float) else None)

    def columns(self, name: str, wanted: Sequence[str] | None = None) -> "dict[str, npt.NDArray[Any]]":
        """Return the numbers of a table by column, of `wanted` those that it has; none when the run has no table."""
        table = self.table(name, wanted)
        return {} if table is None else number_columns(table)

    def _has(self, name: str) -> bool:
        return (self.path / table_file(name)).exists()

    def _rows(self, name: str) -> Iterator[dict[str, Any]]:
        if self._has(name):
            for part in self.table_parts(name):
                yield from part.to_pylist()

    def _records(self, name: str, kind: type[Row]) -> "Collection[Row]":
        return _Records(self, name, kind) if self._has(name) else ()

    @contextmanager
    def _own_table(self, name: str) -> Iterator[None]:
        """Turn what a table of others does to code that expects one of ours into an error of its file."""
        try:
            yield
        except FOREIGN as error:
            raise foreign("the table is", self.path / table_file(name), error) from error

    def table(self, name: str, columns: Sequence[str] | None = None) -> "pa.Table | None":
        """Return the table NAME.parquet, or None when the run has none; of `columns`, those that it has."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self.path / table_file(name)
        if not path.exists():
            return None
        _refuse_elsewhere(path)
        try:
            # Not `read_table`: it takes folders named "key=value" above the file for columns.
            with pq.ParquetFile(path) as file:
                known = [] if columns is None else [one for one in columns if one in file.schema_arrow.names]
                found = file.read(None if columns is None else known)
                found.validate(full=True)
                # Names that are not UTF-8 are found out when they are asked for.
                _ = found.column_names
        except (OSError, ValueError, pa.ArrowException) as error:
            raise damaged(f"not a Parquet table ({error})", path) from error
        if problems := problems_in_table(name, found, columns):
            raise damaged("; ".join(problems), path)
        return found

    def table_parts(self, name: str) -> "Iterator[pa.RecordBatch]":
        """Yield a table that the run has in parts of some thousand rows, for tables that are too long for memory."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self.path / table_file(name)
        _refuse_elsewhere(path)
        try:
            with pq.ParquetFile(path) as file:
                for part in file.iter_batches(PART_ROWS):
                    part.validate(full=True)
                    if problems := problems_in_table(name, pa.Table.from_batches([part])):
                        raise damaged("; ".join(problems), path)
                    yield part
        except (OSError, ValueError, pa.ArrowException) as error:
            raise damaged(f"not a Parquet table ({error})", path) from error

    def to_pandas(self, table: str = "batches") -> "pd.DataFrame":
        """Return a table as a DataFrame, by default a row per micro-batch.

        Of a run that was killed, the micro-batches are those that its reports show.
        """
        import pandas as pd

        found = self.table(table)
        if found is not None:
            return found.to_pandas()
        if table != "batches":
            return pd.DataFrame()
        return pd.DataFrame([_batch_row(batch) for batch in self.batches()])


def number_columns(table: "pa.Table") -> "dict[str, npt.NDArray[Any]]":
    """Return the columns of a table that hold numbers; what is missing is not a number. No rows have no columns."""
    import pyarrow as pa

    found = {}
    for column in table.column_names if table.num_rows else ():
        values, kind = table.column(column), table.schema.field(column).type
        if pa.types.is_null(kind):
            values = values.cast(pa.float64())
        elif not (pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_boolean(kind)):
            continue
        found[column] = values.to_numpy()
    return found


class _Records(Collection[Row]):
    """The rows of a long table, read again each time."""

    def __init__(self, stored: StoredRun, name: str, kind: type[Row]) -> None:
        self._stored, self._name, self._kind = stored, name, kind

    def __len__(self) -> int:
        return sum(part.num_rows for part in self._stored.table_parts(self._name))

    def __iter__(self) -> Iterator[Row]:
        for part in self._stored.table_parts(self._name):
            with self._stored._own_table(self._name):
                rows = [self._kind(**row) for row in part.to_pylist()]
            yield from rows

    def __contains__(self, row: object) -> bool:
        return any(row == other for other in self)


def _batch_row(batch: "Batch") -> dict[str, Any]:
    own = {field.name: getattr(batch, field.name) for field in fields(batch) if field.name != "phases_s"}
    derived = {"events": batch.events, "duration_s": batch.duration_s}
    return own | derived | {f"{name}_s": seconds for name, seconds in batch.phases_s.items()}


@dataclass(frozen=True)
class RunListing:
    """One line of a list of runs; an unreadable run has a `reason` and no more."""

    run_id: str
    path: Path
    status: str
    workload: str | None = None
    created: str | None = None
    verdict: str | None = None
    reason: str | None = None
    rehearsal: bool = False


class RunList(Displayed, list[RunListing]):
    """Runs, newest first, that a notebook shows as a table."""

    def to_pandas(self) -> "pd.DataFrame":
        """Return a row per run."""
        import pandas as pd

        names = [field.name for field in fields(RunListing)]
        return pd.DataFrame([[getattr(run, name) for name in names] for run in self], columns=names)


def list_runs(root: str | Path) -> RunList:
    """List the runs below `root`, newest first; a root that does not exist has none."""
    listings = [_listing(folder) for folder in run_folders(Path(root))]
    return RunList(sorted(listings, key=lambda run: age_order(run.created, run.run_id), reverse=True))


def read_run(folder: Path) -> StoredRun:
    """Read the run in a folder."""
    run = _read_identity(folder)
    from streamgauge.store.run_document import problems_in

    if problems := problems_in(run.document):
        raise damaged("; ".join(problems), folder / RUN_FILE)
    return run


def _read_identity(folder: Path) -> StoredRun:
    """Read a run as far as a list shows it."""
    document = _read_document(folder)
    _check(document, folder / RUN_FILE)
    if document.get("configuration"):
        document["configuration"] = {_NEWER.get(key, key): value for key, value in document["configuration"].items()}
    status = document["status"]
    if status == "running" and life_of(document.get("process"), folder / LOCK_FILE) != "alive":
        status = "interrupted"
    return StoredRun(folder.name, folder, status, document)


@dataclass(frozen=True)
class Writer:
    """The process that still writes a run; elsewhere its number means nothing here."""

    pid: int
    host: str | None
    is_here: bool


def find_writer(folder: Path) -> Writer | None:
    """Return who still writes a run, of whatever schema version, or None."""
    try:
        document = _read_document(folder)
    except InvalidExperimentError:
        return None
    process = document.get("process")
    if document.get("status") != "running" or life_of(process, folder / LOCK_FILE) != "alive":
        return None
    given = process if isinstance(process, dict) else {}
    pid, host = given.get("pid"), given.get("host")
    is_ours = is_here(process) or not isinstance(host, str)
    return Writer(pid if isinstance(pid, int) else 0, host if isinstance(host, str) else None, is_ours)


def is_over(folder: Path) -> bool:
    """Return whether it is certain that no process writes a run any more; unreadable runs are not."""
    try:
        document = _read_document(folder)
    except InvalidExperimentError:
        return False
    return document.get("status") != "running" or life_of(document.get("process"), folder / LOCK_FILE) == "gone"


def run_folders(root: Path) -> list[Path]:
    """Return the folders below `root` that look like runs, damaged ones included; none when there is no root."""
    with disk_access("read the folder of runs", root):
        try:
            children = list(root.iterdir())
        except FileNotFoundError:
            return []
    return [child for child in children if may_be_run(child)]


def may_be_run(folder: Path) -> bool:
    """Return whether a folder may hold a run; one that cannot be read may."""
    try:
        return looks_like_run(folder)
    except OSError as error:
        return error.errno != ENAMETOOLONG  # listed as unreadable, with the reason


def _listing(folder: Path) -> RunListing:
    try:
        run = _read_identity(folder)
    except StreamgaugeError as error:
        return RunListing(folder.name, folder, "unreadable", reason=error.what)
    document = run.document
    return RunListing(
        run.run_id,
        folder,
        run.status,
        document["workload"],
        document["created"],
        document.get("verdict"),
        rehearsal=run.is_rehearsal,
    )


def _read(path: Path) -> bytes:
    _refuse_elsewhere(path)
    try:
        return path.read_bytes()
    except OSError as error:
        raise damaged(f"{path.name} cannot be read: {error.strerror or error}", path) from error


def _refuse_elsewhere(path: Path) -> None:
    """Refuse what is not a file of the run itself: a link out of its folder, or a pipe that never ends."""
    try:
        is_file = stat.S_ISREG(path.stat().st_mode)
        is_inside = path.resolve().is_relative_to(path.parent.resolve())
    except OSError as error:
        raise damaged(f"{path.name} cannot be read: {error.strerror or error}", path) from error
    if not is_inside:
        raise damaged(f"{path.name} is a link that leads out of the run", path)
    if not is_file:
        raise damaged(f"{path.name} is not a file", path)


def _read_document(folder: Path) -> dict[str, Any]:
    path = folder / RUN_FILE
    return parse_object(_read(path), path)


def _check(document: Mapping[str, Any], path: Path) -> None:
    """Report all fields of a wrong type at once."""
    problems = problems_of_version(document, path, "run")
    for key, kind in (_REQUIRED | _OPTIONAL).items():
        value = document.get(key)
        if value is None and key in _REQUIRED:
            problems.append(f'"{key}" is missing')
        elif value is not None and not isinstance(value, kind):
            problems.append(f'"{key}" must be {_TYPE_WORDS[kind]}, not {reprlib.repr(value)}')
    if isinstance(document.get("status"), str) and document["status"] not in STATUSES:
        problems.append(f'"status" must be one of {", ".join(STATUSES)}, not {reprlib.repr(document["status"])}')
    if isinstance(document.get("origin"), str) and document["origin"] not in ORIGINS:
        problems.append(f'"origin" must be one of {", ".join(ORIGINS)}, not {reprlib.repr(document["origin"])}')
    if problems:
        raise damaged("; ".join(problems), path)
