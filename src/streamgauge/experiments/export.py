"""A stored run as files for other tools: its tables and its summary, in Parquet, CSV or one JSON document."""

import json
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge.conclude.stored_run import evidence_of, summary_of
from streamgauge.errors import UsageError, closest
from streamgauge.files import disk_access, write_whole
from streamgauge.metrics import METRIC
from streamgauge.store import StoredRun
from streamgauge.summary import Summary

if TYPE_CHECKING:
    import pyarrow as pa

TABLES = ("batches", "tasks", "resources", "latency")
# What only some runs have: those of queries that were observed, and those that went on after their load.
FURTHER_TABLES = ("stages", "explored", "explored_tasks")
FORMATS = ("parquet", "csv", "json")


@dataclass(frozen=True)
class Export:
    """What was written; `missing` are the tables that the run does not have."""

    run_id: str
    files: tuple[Path, ...]
    missing: tuple[str, ...]


def _rebuilt(stored: StoredRun) -> "dict[str, pa.Table]":
    """Return the tables of a run that was killed before it stored them, as far as its reports show."""
    from streamgauge.conclude.tables import batches_table, latency_table
    from streamgauge.conclude.window import latency_histogram, measured_part

    if not stored.load or not stored.batches():
        return {}
    evidence = evidence_of(stored)
    latency = latency_histogram(evidence, measured_part(evidence))
    return {"batches": batches_table(evidence), "latency": latency_table(evidence, latency)}


def _tables(stored: StoredRun) -> "dict[str, pa.Table]":
    found = {name: table for name in (*TABLES, *FURTHER_TABLES) if (table := stored.table(name)) is not None}
    if "batches" in found:
        return found
    return _rebuilt(stored) | found


def flatten(document: Any, prefix: str = "") -> dict[str, Any]:
    """Return a document as keys with dots; the entries of a list are numbered.

    >>> flatten({"rate": {"mean": 2.5}, "reasons": ["late"]})
    {'rate.mean': 2.5, 'reasons.0': 'late'}
    """
    if isinstance(document, Mapping):
        pairs = [(str(key), value) for key, value in document.items()]
    elif isinstance(document, list | tuple):
        pairs = [(str(place), value) for place, value in enumerate(document)]
    else:
        return {prefix: document}
    return {
        name: found
        for key, value in pairs
        for name, found in flatten(value, f"{prefix}.{key}" if prefix else key).items()
    }


def _number(value: Any) -> float | None:
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def _text(value: Any) -> str | None:
    return None if value is None else value if isinstance(value, str) else json.dumps(value)


def summary_table(summary: Summary) -> "pa.Table":
    """Return a summary with one row per number or text: `key`, `value` where it is a number, and `text`.

    Metrics have their `title` and `unit` besides, where they have one.
    """
    import pyarrow as pa

    flat = flatten(summary)
    metrics = [METRIC.get(key) for key in flat]
    return pa.table(
        {
            "key": pa.array(list(flat), pa.string()),
            "value": pa.array([_number(value) for value in flat.values()], pa.float64()),
            "text": pa.array([_text(value) for value in flat.values()], pa.string()),
            "title": pa.array([metric.title if metric else None for metric in metrics], pa.string()),
            "unit": pa.array([metric.unit if metric else None for metric in metrics], pa.string()),
        }
    )


def _plain(value: Any) -> Any:
    """Return a cell as JSON has it: what is not a number is null."""
    return None if isinstance(value, float) and not math.isfinite(value) else value


def run_document(stored: StoredRun, tables: "Mapping[str, pa.Table]") -> dict[str, Any]:
    """Return the whole run as one document: what `run.json` holds, and each table as a list of rows."""
    kept = ("schema_version", "run_id", "origin", "workload", "created", "configuration", "environment", "load")
    head = {key: stored.document.get(key) for key in kept} | {"run_id": stored.run_id, "status": stored.status}
    rows = {
        name: [{key: _plain(value) for key, value in row.items()} for row in table.to_pylist()]
        for name, table in tables.items()
    }
    return head | {"summary": summary_of(stored), "tables": rows}


def _write_json(document: Mapping[str, Any], path: Path) -> None:
    path.write_text(json.dumps(document, indent=1, allow_nan=False, default=str) + "\n", encoding="utf-8")


def _write_table(table: "pa.Table", path: Path) -> None:
    if path.suffix == ".csv":
        from pyarrow import csv

        csv.write_csv(table, path)
    else:
        import pyarrow.parquet as pq

        pq.write_table(table, path)


def _replace(path: Path, write: Callable[[Path], None]) -> None:
    """Write a file in one step."""
    remedy = "choose another place with --output"
    with disk_access("write the export", path.parent, remedy):
        path.parent.mkdir(parents=True, exist_ok=True)
    write_whole(path, write, intent="write the export", remedy=remedy)


def _refuse(paths: list[Path], *, overwrite: bool) -> None:
    there = [path for path in paths if path.exists()]
    if any(path.is_dir() for path in there):
        raise UsageError(f'"{there[0]}" is a folder', where="--output", remedy="name a file with --output")
    if there and not overwrite:
        names = ", ".join(str(path) for path in there)
        remedy = "choose another place with --output, or replace them with --overwrite"
        raise UsageError(f"there already: {names}", where="--output", remedy=remedy)


def export_run(
    stored: StoredRun,
    *,
    format: str = "parquet",  # noqa: A002
    output: Path | None = None,
    overwrite: bool = False,
) -> Export:
    """Write a run for other tools; files that are there already are replaced only with `overwrite`."""
    if format not in FORMATS:
        raise UsageError(f'"{format}" is not a format', where="--format", remedy=closest(format, FORMATS))
    tables = _tables(stored)
    missing = tuple(name for name in TABLES if name not in tables)
    target = output or Path(f"export-{stored.run_id}{'.json' if format == 'json' else ''}")
    if format == "json":
        _refuse([target], overwrite=overwrite)
        document = run_document(stored, tables)
        _replace(target, lambda path: _write_json(document, path))
        return Export(stored.run_id, (target,), missing)
    if target.is_file():
        raise UsageError(f'"{target}" is a file', where="--output", remedy="name a folder with --output")
    whole = {**tables, "summary": summary_table(summary_of(stored))}
    paths = {name: target / f"{name}.{format}" for name in whole}
    _refuse(list(paths.values()), overwrite=overwrite)
    for name, path in paths.items():
        _replace(path, partial(_write_table, whole[name]))
    return Export(stored.run_id, tuple(paths.values()), missing)
