"""Read run directories, also those of killed runs and other people: data, never code."""

import json
import reprlib
from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, fields
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge.errors import InvalidExperimentError, StreamgaugeError, UsageError, closest
from streamgauge.store.layout import (
    EVENTS_FILE,
    ORIGINS,
    RUN_FILE,
    SCHEDULE_FILE,
    SCHEMA_VERSION,
    STATUSES,
    disk_access,
    looks_like_run,
    table_file,
)
from streamgauge.store.process import is_alive
from streamgauge.units import format_count, format_duration, format_rate

if TYPE_CHECKING:
    import pandas as pd
    import pyarrow as pa

    from streamgauge.arrivals.schedule import Schedule
    from streamgauge.measure.batch import Batch

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
_TYPE_WORDS = {str: "text", dict: "an object", list: "a list"}
_SHOWN = 10
# What a notebook shows; it is written as on the terminal, and everything from a run is escaped.
_RATES = ("offered", "ingested", "processed")
_LATENCIES = ("mean", "p50", "p90", "p95", "p99", "max")
_SHOWN_RUNS = 50


def _damaged(what: str, where: object) -> InvalidExperimentError:
    remedy = "restore the file from a copy, or remove the run with `streamgauge runs remove`"
    return InvalidExperimentError(what, where=str(where), remedy=remedy)


@dataclass(frozen=True)
class StoredRun:
    """One run on disk; what is large is read when asked for.

    `status` is running, finished, interrupted or failed. A run whose process has vanished
    without ending it is interrupted, whatever its document says.
    """

    run_id: str
    path: Path
    status: str
    document: dict[str, Any]

    @property
    def origin(self) -> str:
        """Where the run comes from: run, attach or import."""
        return str(self.document.get("origin") or ORIGINS[0])

    @property
    def is_observed(self) -> bool:
        """The query ran by itself: its load is not ours, and not known."""
        return self.origin != ORIGINS[0]

    def progress(self) -> list[dict[str, Any]]:
        """Return the raw progress documents; a last line that a kill cut short is left out."""
        path = self.path / EVENTS_FILE
        if not path.exists():
            return []
        *whole, rest = _read(path).split(b"\n")
        documents = [_parse_object(line, path, number) for number, line in enumerate(whole, 1)]
        with suppress(InvalidExperimentError):
            documents.append(_parse_object(rest, path, len(whole) + 1))
        return documents

    def batches(self) -> "list[Batch]":
        """Return the micro-batches that the progress documents report."""
        from streamgauge.measure.batch import batches_from_progress, observed_batches

        documents = self.progress()
        try:
            return observed_batches(documents) if self.is_observed else batches_from_progress(documents)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            what = f"a progress document is not one of Spark's ({type(error).__name__}: {error})"
            raise _damaged(what, self.path / EVENTS_FILE) from error

    def schedule(self) -> "Schedule":
        """Return the compiled arrival process; of a query that was observed, when its rows came as far as is known."""
        from streamgauge.arrivals.schedule import Schedule

        if self.is_observed:
            return self._observed_schedule()
        path = self.path / SCHEDULE_FILE
        try:
            return Schedule.load(path)
        except OSError as error:
            raise _damaged(f"the schedule cannot be read: {error.strerror or error}", path) from error
        except Exception as error:  # NumPy's answers to a foreign file are of many kinds
            raise _damaged(f"not a schedule ({error})", path) from error

    def _observed_schedule(self) -> "Schedule":
        from streamgauge.measure.observed import observed_schedule

        batches = self.batches()
        if not batches:
            raise InvalidExperimentError(
                "the run has no micro-batch", where=str(self.path), remedy="choose a run in which something was read"
            )
        trigger_s = (self.document.get("configuration") or {}).get("trigger_s")
        return observed_schedule(batches, trigger_s if isinstance(trigger_s, int | float) else None)

    def table(self, name: str) -> "pa.Table | None":
        """Return the table NAME.parquet, or None when the run has none."""
        import pyarrow as pa
        import pyarrow.parquet as pq

        path = self.path / table_file(name)
        if not path.exists():
            return None
        try:
            # Not `read_table`: it takes folders named "key=value" above the file for columns.
            with pq.ParquetFile(path) as file:
                return file.read()
        except (OSError, pa.ArrowException) as error:
            raise _damaged(f"not a Parquet table ({error})", path) from error

    def to_pandas(self, table: str = "batches") -> "pd.DataFrame":
        """Return a table as a DataFrame, by default a row per micro-batch.

        Of a run that was killed, the micro-batches are those that its reports tell.
        """
        import pandas as pd

        found = self.table(table)
        if found is not None:
            return found.to_pandas()
        if table != "batches":
            return pd.DataFrame()
        return pd.DataFrame([_batch_row(batch) for batch in self.batches()])

    def _repr_html_(self) -> str:
        """Show the run in a notebook: verdict and key numbers, as the terminal writes them."""
        return _run_html(self)


def _batch_row(batch: "Batch") -> dict[str, Any]:
    own = {name: value for name, value in vars(batch).items() if name != "phases_s"}
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


class RunList(list[RunListing]):
    """Runs, newest first, that a notebook shows as a table."""

    def to_pandas(self) -> "pd.DataFrame":
        """Return a row per run."""
        import pandas as pd

        names = [field.name for field in fields(RunListing)]
        return pd.DataFrame([[getattr(run, name) for name in names] for run in self], columns=names)

    def _repr_html_(self) -> str:
        return _list_html(self)


def list_runs(root: str | Path) -> RunList:
    """List the runs below `root`, newest first; a root that does not exist has none."""
    # Times and run ids begin with the same digits once the punctuation is gone.
    compact = str.maketrans("", "", "-:")
    listings = [_listing(folder) for folder in _folders(Path(root))]
    newest_first = sorted(listings, key=lambda r: ((r.created or r.run_id).translate(compact), r.run_id), reverse=True)
    return RunList(newest_first)


def open_run(root: str | Path, reference: str) -> StoredRun:
    """Open a run by its id or the beginning of it, the word `latest`, or the path of its directory."""
    return read_run(find_run(Path(root), reference))


def find_run(root: Path, reference: str) -> Path:
    """Return the run directory that a reference means; it may be damaged."""
    names = sorted((folder.name for folder in _folders(root)), reverse=True)
    if reference == "latest" and names:
        return list_runs(root)[0].path
    if reference in names:
        return root / reference
    if reference and _is_path_of_run(reference):
        return Path(reference).resolve()
    matches = [name for name in names if reference and name.startswith(reference)]
    if len(matches) > 1:
        shown = ", ".join(matches[:_SHOWN]) + (", …" if len(matches) > _SHOWN else "")
        what = f'"{reference}" is the beginning of {len(matches)} runs'
        raise UsageError(what, where=str(root), remedy=f"write more of one of these: {shown}")
    if not matches:
        raise UsageError(f'unknown run "{reference}"', where=str(root), remedy=_suggestion(reference, names))
    return root / matches[0]


def read_run(folder: Path) -> StoredRun:
    """Read the run in a folder."""
    document = _read_document(folder)
    _check(document, folder / RUN_FILE)
    status = document["status"]
    if status == "running" and not is_alive(document.get("process")):
        status = "interrupted"
    return StoredRun(folder.name, folder, status, document)


def running_process(folder: Path) -> int | None:
    """Return the process that still writes a run, of whatever schema version, or None."""
    try:
        document = _read_document(folder)
    except InvalidExperimentError:
        return None
    if document.get("status") != "running" or not is_alive(document.get("process")):
        return None
    return int(document["process"]["pid"])


def _folders(root: Path) -> list[Path]:
    with disk_access("read the folder of runs", root):
        try:
            children = list(root.iterdir())
        except FileNotFoundError:
            return []
    return [child for child in children if _may_be_run(child)]


def _may_be_run(folder: Path) -> bool:
    try:
        return looks_like_run(folder)
    except OSError:
        return True  # listed as unreadable, with the reason


def _is_path_of_run(reference: str) -> bool:
    """A word is a path only if a run is there; with a separator it can mean nothing else."""
    folder = Path(reference)
    try:
        return folder.is_dir() and ("/" in reference or looks_like_run(folder))
    except OSError:
        return False


def _listing(folder: Path) -> RunListing:
    try:
        run = read_run(folder)
    except StreamgaugeError as error:
        return RunListing(folder.name, folder, "unreadable", reason=error.what)
    document = run.document
    return RunListing(
        run.run_id, folder, run.status, document["workload"], document["created"], document.get("verdict")
    )


def _suggestion(reference: str, names: list[str]) -> str:
    if not names:
        return "there are no runs here; start one with `streamgauge run`, or choose a place with --runs"
    remedy = closest(reference, names)
    if remedy.startswith("did you mean") or len(names) <= _SHOWN:
        return remedy
    return f"see `streamgauge runs list`; the newest are {', '.join(names[:_SHOWN])}"


def _read(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise _damaged(f"{path.name} cannot be read: {error.strerror or error}", path) from error


def _read_document(folder: Path) -> dict[str, Any]:
    path = folder / RUN_FILE
    return _parse_object(_read(path), path, 1)


def _parse_object(text: bytes, path: Path, line: int) -> dict[str, Any]:
    """Parse JSON text that begins on a line of a file."""
    try:
        value = json.loads(text)
    except json.JSONDecodeError as error:
        raise _damaged(f"not JSON: {error.msg}", f"{path}:{line + error.lineno - 1}:{error.colno}") from error
    except (ValueError, RecursionError) as error:
        raise _damaged(f"not JSON: {error}", f"{path}:{line}:1") from error
    if not isinstance(value, dict):
        raise _damaged(f"expected a JSON object, found {reprlib.repr(value)}", f"{path}:{line}:1")
    return value


def _check(document: Mapping[str, Any], path: Path) -> None:
    """Report all fields of a wrong type at once."""
    version = document.get("schema_version")
    if type(version) is int and version > SCHEMA_VERSION:
        raise InvalidExperimentError(
            f"schema version {version} is newer than {SCHEMA_VERSION}, the newest known here",
            where=str(path),
            remedy="update streamgauge, or read the run with the version that wrote it",
        )
    problems = [] if type(version) is int and version >= 1 else ['"schema_version" must be a whole number from 1']
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
        raise _damaged("; ".join(problems), path)


def _table_row(cells: Iterable[object], tag: str = "td") -> str:
    return "<tr>" + "".join(f"<{tag}>{escape(str(cell))}</{tag}>" for cell in cells) + "</tr>"


def _html_table(rows: Iterable[Sequence[object]], head: Sequence[object] = ()) -> str:
    return f"<table>{_table_row(head, 'th') if head else ''}{''.join(_table_row(row) for row in rows)}</table>"


def _known(value: Any, form: Any) -> str:
    return "unknown" if value is None else str(form(value))


def _key_numbers(summary: Mapping[str, Any]) -> list[tuple[str, str]]:
    backlog, duration = summary["backlog_events"], summary["batch_duration_s"]
    is_offline = summary.get("load") == "offline"
    rates = _RATES[1:] if is_offline else _RATES
    rows = [(f"{name} rate", _known(summary[f"{name}_rate_per_s"], format_rate)) for name in rates]
    rows += [
        ("backlog", f"mean {_known(backlog['mean'], format_count)}, max {_known(backlog['max'], format_count)}"),
        ("batches", f"{summary['batches']} measured, duration mean {_known(duration['mean'], format_duration)}"),
        ("events", f"{_known(summary['events'], '{:,}'.format)} offered, {summary['events_processed']:,} processed"),
    ]
    return [row for row in rows if not (is_offline and row[0] == "backlog")]


def _latency_table(summary: Mapping[str, Any]) -> str:
    values = summary["end_to_end_latency_s"]
    cells = ["-" if values[name] is None else format_duration(values[name]) for name in _LATENCIES]
    return _html_table([["end to end", *cells]], ["latency", *_LATENCIES])


def _run_html(stored: StoredRun) -> str:
    """Return verdict, reasons and key numbers of a run; a run that did not end has no numbers."""
    document, summary = stored.document, stored.document.get("summary") or {}
    verdict = str(document.get("verdict") or summary.get("verdict") or "unknown")
    status = "" if stored.status == "finished" else f" ({stored.status})"
    head = f"<p><b>{escape(verdict.upper())}</b> {escape(document['workload'] + status)}</p>"
    reasons = document.get("reasons") or summary.get("reasons") or []
    listed = "".join(f"<li>{escape(str(reason))}</li>" for reason in reasons)
    parts = [head, f"<ul>{listed}</ul>" if listed else ""]
    try:
        parts.append(_html_table(_key_numbers(summary)))
        parts.append(_latency_table(summary) if summary.get("load") != "offline" else "")
    except (LookupError, TypeError, ValueError):
        parts.append("<p>The run has no numbers.</p>")
    return f"<div>{''.join(parts)}<p><code>{escape(str(stored.path))}</code></p></div>"


def _list_html(runs: Sequence[RunListing]) -> str:
    """Return runs as a table, the newest of many."""
    rows = [(r.run_id, r.workload or "-", r.status, r.verdict or r.reason or "-") for r in runs[:_SHOWN_RUNS]]
    more = f"<p>and {len(runs) - _SHOWN_RUNS} older ones</p>" if len(runs) > _SHOWN_RUNS else ""
    return f"<div>{_html_table(rows, ('run', 'workload', 'status', 'verdict'))}{more}</div>"
