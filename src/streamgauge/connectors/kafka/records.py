"""Events as records: what travels through a broker, made in bulk.

The key of a record holds the number of the event and its intended time in microseconds, both as 64-bit integers in
network order; the record's own time is the intended time in milliseconds. The value is the event.

`json`: the field that holds all others as text, where the stream has one, else an object with all fields.
`binary`: a byte 1; one bit per field, from the lowest, for the nulls; numbers and times (microseconds) with 8
bytes, `int` with 4, in network order; the lengths of the texts with 2 bytes; the texts in UTF-8. Doubles are texts.
"""

import struct
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from streamgauge.connectors.kafka.options import Format
from streamgauge.errors import UsageError
from streamgauge.events import EventStream, Field, Parameters
from streamgauge.workloads.reference import connect

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

    from streamgauge.arrivals import Arrivals

KEY = struct.Struct(">qq")
VERSION = 1
WIDTHS = {"bigint": 8, "timestamp": 8, "int": 4}
MAX_TEXT_BYTES = 65_535
# The year 9999; the numbers of microseconds of all times up to there fit in 64 bits.
MAX_TIME_MS = 253_402_300_799_999
SAMPLE_EVENTS = 500
Render = Callable[["Arrivals"], list[bytes]]


def record_fields(stream: EventStream) -> tuple[Field, ...]:
    """Return the fields that a record holds: not the one that repeats all others as text."""
    return tuple(field for field in stream.fields if field.name != stream.text)


def of_stream(stream: EventStream, values: Mapping[str, Any]) -> Parameters:
    """Return the parameters of events, from those of a workload over them."""
    known = stream.parameters.model_fields
    return stream.parameters.model_validate({name: value for name, value in values.items() if name in known})


def never_null(stream: EventStream, parameters: Parameters) -> tuple[str, ...]:
    """Return the fields that every event has, found in the first ones."""
    from streamgauge.arrivals import Arrivals

    arrivals = Arrivals.spaced(np.arange(SAMPLE_EVENTS), load_us=1_436_918_400_000_000, period_us=1000)
    sample = stream.table(of_stream(stream, parameters.model_dump()), seed=1, arrivals=arrivals)
    return tuple(field.name for field in record_fields(stream) if sample[field.name].null_count == 0)


def renderer(stream: EventStream, parameters: Parameters, *, seed: int, format: Format) -> Render:  # noqa: A002
    """Return what turns arrivals into values of records."""
    if format == "binary":
        layout = Layout.of(record_fields(stream))
        return lambda arrivals: layout.encode(stream.table(parameters, seed=seed, arrivals=arrivals))
    if stream.lines is not None:
        lines = stream.lines
        return lambda arrivals: lines(parameters, seed, arrivals)
    # Opening one takes longer than a slice of events may.
    connection = connect()
    return lambda arrivals: json_values(stream.table(parameters, seed=seed, arrivals=arrivals), connection)


def json_values(table: "pa.Table", connection: "duckdb.DuckDBPyConnection") -> list[bytes]:
    """Return one JSON object per row."""
    connection.register("slice", table)
    rows = connection.execute("SELECT to_json(slice)::VARCHAR FROM slice").fetchall()
    return [row[0].encode() for row in rows]


def keys(arrivals: "Arrivals") -> list[bytes]:
    """Return the keys of the records of some events."""
    packed = np.stack([arrivals.n, arrivals.time_us], axis=1).astype(">i8").tobytes()
    return [packed[start : start + KEY.size] for start in range(0, len(packed), KEY.size)]


@dataclass(frozen=True)
class Layout:
    """Where the binary form has each field."""

    fields: tuple[Field, ...]
    numbers: tuple[Field, ...]
    texts: tuple[Field, ...]

    @classmethod
    def of(cls, fields: Sequence[Field]) -> "Layout":
        """Lay out some fields."""
        numbers = tuple(field for field in fields if field.type in WIDTHS)
        texts = tuple(field for field in fields if field.type not in WIDTHS)
        return cls(tuple(fields), numbers, texts)

    @property
    def null_bytes(self) -> int:
        """How many bytes mark the nulls."""
        return -(-len(self.fields) // 8)

    @property
    def header_bytes(self) -> int:
        """How many bytes stand before the texts."""
        return 1 + self.null_bytes + sum(WIDTHS[field.type] for field in self.numbers) + 2 * len(self.texts)

    def encode(self, table: "pa.Table") -> list[bytes]:
        """Return one value per row of a table that has these fields."""
        rows = table.num_rows
        texts = [self._texts(table, field) for field in self.texts]
        header = np.zeros((rows, self.header_bytes), dtype=np.uint8)
        header[:, 0] = VERSION
        for index, field in enumerate(self.fields):
            nulls = np.asarray(table[field.name].is_null()).astype(np.uint8)
            header[:, 1 + index // 8] |= nulls << (index % 8)
        place = 1 + self.null_bytes
        for field in self.numbers:
            width = WIDTHS[field.type]
            header[:, place : place + width] = self._numbers(table, field).view(np.uint8).reshape(rows, width)
            place += width
        for column in texts:
            lengths = np.array([len(text) for text in column], dtype=">u2")
            header[:, place : place + 2] = lengths.view(np.uint8).reshape(rows, 2)
            place += 2
        heads = header.tobytes()
        size = self.header_bytes
        starts = range(0, rows * size, size)
        if not texts:
            return [heads[start : start + size] for start in starts]
        tails = map(b"".join, zip(*texts, strict=True))
        return [heads[start : start + size] + tail for start, tail in zip(starts, tails, strict=True)]

    def _numbers(self, table: "pa.Table", field: Field) -> Any:
        import pyarrow as pa

        column = table[field.name].combine_chunks()
        whole = column.cast(pa.int64()) if field.type == "timestamp" else column
        return np.ascontiguousarray(whole.fill_null(0).to_numpy().astype(f">i{WIDTHS[field.type]}"))

    def _texts(self, table: "pa.Table", field: Field) -> list[bytes]:
        import pyarrow as pa

        column = table[field.name].combine_chunks()
        texts: list[bytes] = column.cast(pa.string()).fill_null("").cast(pa.binary()).to_pylist()
        if max(map(len, texts), default=0) > MAX_TEXT_BYTES:
            raise UsageError(
                f"{field.name} is longer than {MAX_TEXT_BYTES:,} bytes",
                where="--record-format binary",
                remedy="use json",
            )
        return texts

    def decode(self, values: Sequence[bytes]) -> "pa.Table":
        """Return the rows of some values, as tests and recounts read them; a value that is malformed is an error."""
        import pyarrow as pa

        types = {"bigint": pa.int64(), "timestamp": pa.timestamp("us", "UTC"), "int": pa.int32()}
        columns: dict[str, list[Any]] = {field.name: [] for field in self.fields}
        for value in values:
            for name, found in self._decode(value).items():
                columns[name].append(found)
        arrays = {field.name: pa.array(columns[field.name]) for field in self.fields}
        return pa.table({f.name: arrays[f.name].cast(types.get(f.type, pa.string())) for f in self.fields})

    def _decode(self, value: bytes) -> dict[str, Any]:
        if len(value) < self.header_bytes or value[0] != VERSION:
            raise ValueError("this is no record of this form")
        nulls = int.from_bytes(value[1 : 1 + self.null_bytes], "little")
        found: dict[str, Any] = {}
        place = 1 + self.null_bytes
        for field in self.numbers:
            width = WIDTHS[field.type]
            found[field.name] = int.from_bytes(value[place : place + width], "big", signed=True)
            place += width
        start = self.header_bytes
        for index, field in enumerate(self.texts):
            length = int.from_bytes(value[place + 2 * index : place + 2 * index + 2], "big")
            found[field.name] = value[start : start + length].decode()
            start += length
        if start != len(value):
            raise ValueError("this is no record of this form")
        return {f.name: None if nulls >> i & 1 else found[f.name] for i, f in enumerate(self.fields)}
