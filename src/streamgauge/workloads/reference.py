"""The reference answer: the workload's SQL, run by DuckDB over the finite table of its events."""

from typing import TYPE_CHECKING, Any

from streamgauge.events import Parameters
from streamgauge.events.identifiers import identifier
from streamgauge.workloads.workload import Workload

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa


def connect() -> "duckdb.DuckDBPyConnection":
    """Open an empty in-memory database in UTC, without access to the network or to extensions."""
    import duckdb

    connection = duckdb.connect(config={"autoinstall_known_extensions": "false"})
    connection.execute("SET TimeZone = 'UTC'")
    return connection


def reference_answer(workload: Workload, parameters: Parameters, events: "pa.Table") -> "pa.Table":
    """Compute the answer that the stream must give in the end."""
    connection = connect()
    connection.create_function("identifier", identifier, ["VARCHAR", "BIGINT"], "VARCHAR")
    connection.register("events", events)
    values: dict[str, Any] = parameters.model_dump()
    sql = workload.answer.sql
    assert sql is not None
    used = {name: value for name, value in values.items() if f"${name}" in sql}
    return connection.sql(sql, params=used).to_arrow_table()
