"""Reading what a topic holds, apart from Spark: for recounts."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from streamgauge.connectors.kafka.client import Broker
from streamgauge.connectors.kafka.options import Format
from streamgauge.connectors.kafka.records import KEY, MAX_TIME_MS, Layout, record_fields
from streamgauge.connectors.rows import DUCKDB_TYPES
from streamgauge.errors import RunFailedError
from streamgauge.events import EventStream
from streamgauge.workloads.reference import connect

if TYPE_CHECKING:
    import pyarrow as pa

BATCH = 20_000
IDLE_DEADLINE_S = 30.0


def read_records(
    broker: Broker, topic: str, base: Mapping[int, int], ends: Mapping[int, int]
) -> Iterator[tuple[list[bytes | None], list[bytes]]]:
    """Yield keys and values of all records from `base` up to `ends`, some at a time."""
    for messages in read_messages(broker, topic, base, ends):
        yield [m.key() for m in messages], [m.value() or b"" for m in messages]


def read_messages(broker: Broker, topic: str, base: Mapping[int, int], ends: Mapping[int, int]) -> Iterator[list[Any]]:
    """Yield the client's own form of all records from `base` up to `ends`, some at a time."""
    from confluent_kafka import TopicPartition

    wanted = {partition: end for partition, end in ends.items() if end > base[partition]}
    left = sum(end - base[partition] for partition, end in wanted.items())
    consumer = broker.consumer()
    try:
        consumer.assign([TopicPartition(topic, partition, base[partition]) for partition in wanted])
        heard_s = broker.clock.monotonic_s()
        while left > 0:
            messages = [m for m in consumer.consume(BATCH, timeout=1.0) if not m.error()]
            inside = [m for m in messages if m.offset() < wanted[m.partition()]]
            left -= len(inside)
            if inside:
                heard_s = broker.clock.monotonic_s()
                yield inside
            elif broker.clock.monotonic_s() - heard_s > IDLE_DEADLINE_S:
                raise RunFailedError(
                    f"{left:,} records of the topic cannot be read within {IDLE_DEADLINE_S:.0f} s",
                    where=topic,
                    remedy="check that the brokers are up and keep records for longer than a run",
                )
    finally:
        consumer.close()


def event_numbers(keys: Sequence[bytes | None]) -> npt.NDArray[np.int64]:
    """Return the numbers of events in the keys of records; records of others have none."""
    ours = [key for key in keys if key is not None and len(key) == KEY.size]
    return np.frombuffer(b"".join(ours), dtype=">i8").reshape(-1, 2)[:, 0].astype(np.int64)


def used_fields(stream: EventStream, sql: str | None) -> tuple[str, ...]:
    """Return the fields of events that a query names, all of them where there is no query."""
    words = None if sql is None else set(re.findall(r"\w+", sql))
    return tuple(field.name for field in record_fields(stream) if words is None or field.name in words)


def read_values(
    stream: EventStream, values: Sequence[bytes], form: Format, fields: Sequence[str], needed: Sequence[str] = ()
) -> "pa.Table":
    """Return the events of records without Spark; those that cannot be read, or lack a needed field, are left out."""
    if form == "binary":
        return _read_binary(stream, values, fields)
    import pyarrow as pa

    texts = [text for text in map(_text, values) if text is not None]
    connection = connect()
    connection.register("records", pa.table({"value": pa.array(texts, pa.string())}))
    columns = ", ".join(f"{_column(stream, f.name, f.type)} AS {f.name}" for f in record_fields(stream))
    events = f"SELECT {columns} FROM records WHERE json_valid(value)"
    whole = " AND ".join(f"{name} IS NOT NULL" for name in needed) or "TRUE"
    # A constant column keeps the number of rows where no field is wanted.
    chosen = ", ".join(name for name in fields) or "1 AS one"
    return connection.sql(f"SELECT {chosen} FROM ({events}) WHERE {whole}").to_arrow_table()


def _text(value: bytes) -> str | None:
    try:
        return value.decode()
    except UnicodeDecodeError:
        return None


def _column(stream: EventStream, name: str, type_: str) -> str:
    text = f"(value ->> '$.{name}')"
    if type_ == "timestamp" and stream.text is not None:
        number = f"TRY_CAST({text} AS BIGINT)"
        return f"CASE WHEN {number} BETWEEN -{MAX_TIME_MS} AND {MAX_TIME_MS} THEN make_timestamptz({number} * 1000) END"
    return f"TRY_CAST({text} AS {DUCKDB_TYPES[type_]})"


def _read_binary(stream: EventStream, values: Sequence[bytes], fields: Sequence[str]) -> "pa.Table":
    layout = Layout.of(record_fields(stream))
    whole = []
    for value in values:
        try:
            layout.decode([value])
        except (ValueError, UnicodeDecodeError):
            continue
        whole.append(value)
    return layout.decode(whole).select(list(fields))
