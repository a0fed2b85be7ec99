"""Keys for a prediction, from a file: which keys an exchange has, and how often each comes.

A column `weight` says how often a key would come, and `measured`, if there is one, how often it came in the run; all
others are the key, in the order of the exchange. Numbers of a CSV file are BIGINT; a Parquet file has types.
"""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from streamgauge.errors import InvalidExperimentError
from streamgauge.model import FittedModel, Keys, explained_stages, with_keys

if TYPE_CHECKING:
    import pyarrow as pa

WEIGHT, MEASURED = "weight", "measured"
MAX_KEYS = 10_000_000


def apply_keys(model: FittedModel, path: Path) -> tuple[FittedModel, str]:
    """Spread rows by the keys of a file, and say so; refuse keys by which no stage was spread."""
    measured, expected = read_keys(path)
    stages = explained_stages(model, measured)
    if not stages:
        raise InvalidExperimentError(
            "these keys do not explain how the rows of any stage were spread",
            where=str(path),
            remedy=f"name the columns of the exchange in its order, with their types, and in {MEASURED} how often each"
            " key came in the run",
        )
    named = ", ".join(model.query.stages[k].name for k in stages)
    return with_keys(model, stages, expected), f"rows are spread by the keys of {path} in {named}"


def read_keys(path: Path) -> tuple[Keys, Keys]:
    """Read the keys as they were measured, and as they would be."""
    table = _read(path)
    names = [name for name in table.column_names if name not in (WEIGHT, MEASURED)]
    if WEIGHT not in table.column_names or not names:
        found = ", ".join(table.column_names) or "none"
        remedy = f"write a header such as key,{WEIGHT} or key,{MEASURED},{WEIGHT}"
        raise InvalidExperimentError(f"the columns are {found}", where=str(path), remedy=remedy)
    if not 1 <= table.num_rows <= MAX_KEYS:
        remedy = f"give 1 to {MAX_KEYS:,} keys, each in a line of its own"
        raise InvalidExperimentError(f"there are {table.num_rows:,} keys", where=str(path), remedy=remedy)
    columns = tuple(_column(table, name, path) for name in names)
    expected = _weights(table, WEIGHT, path)
    measured = _weights(table, MEASURED, path) if MEASURED in table.column_names else expected
    return Keys(columns, measured), Keys(columns, expected)


def _read(path: Path) -> "pa.Table":
    import pyarrow as pa
    from pyarrow import csv, parquet

    try:
        table = parquet.read_table(path) if path.suffix.lower() == ".parquet" else csv.read_csv(path)
        # Names that are not UTF-8 are found out when they are asked for.
        _ = table.column_names
        return table
    except (OSError, ValueError, pa.ArrowException) as error:
        what = "there is no such file" if isinstance(error, FileNotFoundError) else f"the file cannot be read: {error}"
        raise InvalidExperimentError(what, where=str(path), remedy="name a CSV or Parquet file of keys") from error


def _column(table: "pa.Table", name: str, path: Path) -> "np.ndarray[Any, Any]":
    import pyarrow as pa

    column = table[name]
    kinds = (pa.types.is_integer, pa.types.is_string, pa.types.is_timestamp, pa.types.is_boolean, pa.types.is_float64)
    if column.null_count or not any(is_kind(column.type) for is_kind in kinds):
        what = f"{name} has empty values" if column.null_count else f"{name} is {column.type}"
        remedy = "keys are texts, whole numbers, doubles, booleans or timestamps, and none is empty"
        raise InvalidExperimentError(what, where=str(path), remedy=remedy)
    return np.asarray(column.to_numpy())


def _weights(table: "pa.Table", name: str, path: Path) -> "np.ndarray[Any, np.dtype[np.float64]]":
    try:
        values = np.asarray(table[name].to_numpy(), dtype=np.float64)
    except (TypeError, ValueError):
        values = np.array([np.nan])
    if not (np.all(values >= 0) and 0 < values.sum() < np.inf):
        what = f"{name} has values that are not weights"
        raise InvalidExperimentError(what, where=str(path), remedy="use numbers from 0 on, at least one above it")
    return values
