"""Recorded loads in files: rates over time, or the times of single events, as CSV or Parquet."""

import csv
import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import lru_cache
from pathlib import Path
from typing import Any, NoReturn

import numpy as np
import numpy.typing as npt

from streamgauge.errors import InvalidExperimentError
from streamgauge.units import MAX_RATE_PER_S, format_rate

Floats = npt.NDArray[np.float64]

TIME, RATE, TIMESTAMP = "time_s", "rate_per_s", "timestamp"
_COLUMNS = "use the columns time_s and rate_per_s, or one column alone: time_s or timestamp of each event"


@dataclass(frozen=True)
class Recording:
    """Rates from times on, or (without rates) the times of events; seconds since the first row."""

    time_s: Floats
    rate_per_s: Floats | None


@dataclass(frozen=True)
class _Column:
    """One column as it stands in the file: values, and where each of them stands."""

    name: str
    values: Sequence[Any]
    places: Sequence[str]

    def fail(self, row: int, what: str, remedy: str) -> NoReturn:
        raise InvalidExperimentError(f"{self.name} {what}", where=self.places[row], remedy=remedy)

    def numbers(self) -> Floats:
        """Return finite numbers, or say which row has none."""
        return np.array([self._number(row, value) for row, value in enumerate(self.values)], dtype=np.float64)

    def _number(self, row: int, value: Any) -> float:
        if value is None or (isinstance(value, str) and not value.strip()):
            self.fail(row, "is missing", "fill the gap or delete the row")
        try:
            number = _seconds(value) if self.name == TIMESTAMP else float(value)
        except (TypeError, ValueError):
            wanted = "a time such as 2024-05-01T12:00:00" if self.name == TIMESTAMP else "a number"
            self.fail(row, f'"{value}" is not {wanted}', "correct the row or delete it")
        if not math.isfinite(number):
            self.fail(row, f"is {number}", "fill the gap or delete the row")
        return number


def _seconds(value: Any) -> float:
    moment = value if isinstance(value, datetime) else datetime.fromisoformat(value.strip())
    return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()


def _broken(path: Path, what: str, where: str | None = None) -> NoReturn:
    raise InvalidExperimentError(what, where=where or str(path), remedy=_COLUMNS)


def _csv_rows(path: Path) -> list[tuple[int, list[str]]]:
    """Return the rows with their line numbers, without empty lines at the end."""
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            reader = csv.reader(file, strict=True)
            rows = [(reader.line_num, row) for row in reader]
    except (UnicodeDecodeError, csv.Error) as error:
        raise InvalidExperimentError(
            f"is neither CSV nor Parquet: {error}", where=str(path), remedy="use a file of one of these formats"
        ) from error
    while rows and not any(value.strip() for value in rows[-1][1]):
        rows.pop()
    return rows


def _csv_columns(path: Path) -> list[_Column]:
    rows = _csv_rows(path)
    if not rows:
        _broken(path, "is empty")
    header = [name.strip() for name in rows[0][1]]
    for line, row in rows[1:]:
        if len(row) != len(header) and row:
            _broken(path, f"has {len(row)} values instead of {len(header)}", f"{path}:{line}")
    places = [f"{path}:{line}" for line, _ in rows[1:]]
    # An empty line is a row without values.
    values = [row or [""] * len(header) for _, row in rows[1:]]
    return [_Column(name, [row[k] for row in values], places) for k, name in enumerate(header)]


def _parquet_columns(path: Path) -> list[_Column]:
    import pyarrow as pa
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(path)
        columns = [(name, column.to_pylist()) for name, column in zip(table.column_names, table.columns, strict=True)]
    # Names and texts that are not UTF-8 are a `ValueError`, times out of range an `OverflowError`.
    except (pa.ArrowException, ArithmeticError, OSError, ValueError) as error:
        raise InvalidExperimentError(
            f"cannot be read as Parquet: {error}", where=str(path), remedy="write the file again"
        ) from error
    places = [f"{path}, row {row}" for row in range(1, table.num_rows + 1)]
    return [_Column(name, values, places) for name, values in columns]


def _chosen(path: Path, columns: list[_Column]) -> tuple[_Column, _Column | None]:
    """Return the column of times and, where there is one, that of rates."""
    named = {column.name: column for column in columns}
    if TIME in named and RATE in named:
        return named[TIME], named[RATE]
    if len(columns) == 1 and (TIME in named or TIMESTAMP in named):
        return columns[0], None
    _broken(path, f"has the columns {', '.join(named)}" if named else "has no columns")


def _check_times(times: _Column, time_s: Floats, *, may_repeat: bool) -> None:
    steps = np.diff(time_s)
    for row in np.flatnonzero((steps < 0) | ((steps == 0) & (not may_repeat)))[:1] + 1:
        if steps[row - 1] == 0:
            times.fail(row, f"is {times.values[row]} again", "give every time one rate")
        times.fail(row, f"goes back from {times.values[row - 1]} to {times.values[row]}", "sort the rows by time")


def _check_rates(rates: _Column, rate_per_s: Floats) -> None:
    for row in np.flatnonzero((rate_per_s < 0) | (rate_per_s > MAX_RATE_PER_S))[:1]:
        rates.fail(row, f"is {rates.values[row]}", f"use 0 to {format_rate(MAX_RATE_PER_S)}")


@lru_cache(maxsize=4)
def _read(path: Path, modified_ns: int, size: int) -> Recording:  # noqa: ARG001  (a changed file is read again)
    with path.open("rb") as file:
        is_parquet = file.read(4) == b"PAR1"
    times, rates = _chosen(path, _parquet_columns(path) if is_parquet else _csv_columns(path))
    if len(times.values) < 2:
        rows = "one row" if times.values else "no rows"
        raise InvalidExperimentError(
            f"has {rows}", where=str(path), remedy="use two or more: the last one lasts as long as the one before"
        )
    time_s = times.numbers()
    _check_times(times, time_s, may_repeat=rates is None)
    if rates is None:
        return Recording(time_s - time_s[0], None)
    rate_per_s = rates.numbers()
    _check_rates(rates, rate_per_s)
    return Recording(time_s - time_s[0], rate_per_s)


def read_recording(path: Path) -> Recording:
    """Read a recorded load; a file that did not change is read once."""
    status = path.stat()
    return _read(path, status.st_mtime_ns, status.st_size)
