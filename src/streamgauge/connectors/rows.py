"""Rows of an answer, kept as text."""

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from streamgauge.errors import RunFailedError
from streamgauge.events import Field
from streamgauge.workloads.reference import connect

if TYPE_CHECKING:
    import pyarrow as pa


def whole(tables: "Sequence[pa.Table]") -> "pa.Table":
    """Return several tables as one; a query that emitted none has failed."""
    import pyarrow as pa

    if not tables:
        raise RunFailedError("no micro-batch has emitted anything", remedy="see Spark's log in the run directory")
    return pa.concat_tables(tables)


# Of flat types that text can hold without loss.
DUCKDB_TYPES = {
    "string": "VARCHAR",
    "bigint": "BIGINT",
    "int": "INTEGER",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
    "timestamp": "TIMESTAMPTZ",
}


def from_text(lines: Iterable[tuple[int, str]], output: Sequence[Field]) -> "pa.Table":
    """Return rows from their JSON, each with its micro-batch or its place."""
    import pyarrow as pa

    batches, texts = [], []
    for batch, text in lines:
        batches.append(batch)
        texts.append(text)
    if not texts:
        return whole([])
    connection = connect()
    connection.register("lines", pa.table({"batch": pa.array(batches, pa.int64()), "value": texts}))
    columns = ", ".join(f"(value ->> '$.{f.name}')::{DUCKDB_TYPES[f.type]} AS {f.name}" for f in output)
    return connection.sql(f"SELECT {columns}, batch FROM lines").to_arrow_table()
