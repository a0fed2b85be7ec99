"""Rows and documents of a long run: those that came last are in memory, the others on disk.

They lie in a file without a name, which goes with its process, and are read again part by part.
"""

import io
import json
import os
import tempfile
import zlib
from abc import abstractmethod
from collections.abc import Collection, Iterable, Iterator
from dataclasses import fields
from functools import cache
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, TypeVar

from streamgauge.files import disk_access

if TYPE_CHECKING:
    import pyarrow as pa

T = TypeVar("T")
Document = dict[str, Any]

PART_ROWS = 8192
# Progress documents are some kilobytes each.
PART_DOCUMENTS = 64
_TYPES: dict[str, type] = {"int": int, "str": str, "float": float, "bool": bool}
_MAX_INT = 2**63
REMEDY = "free some space there; TMPDIR chooses another folder for what is read of logs"


class Spool(Collection[T]):
    """What was appended, in its order; `folder` is where most of it lies, by default that of the system."""

    _part: int

    def __init__(self, folder: Path | None = None) -> None:
        self._folder = folder
        self._file: IO[bytes] | None = None
        self._places: list[tuple[int, int]] = []
        self._stored = 0
        self._recent: list[T] = []

    @abstractmethod
    def _encode(self, part: list[T]) -> bytes: ...

    @abstractmethod
    def _decode(self, data: bytes) -> list[T]: ...

    def append(self, one: T) -> None:
        """Add one at the end."""
        self._recent.append(one)
        if len(self._recent) >= self._part:
            data = self._encode(self._recent)
            # After a refusal all of it is still in memory, and the next one that comes tries again.
            with disk_access("keep the rows of a long run", self._folder or Path(tempfile.gettempdir()), REMEDY):
                self._write(data)
            self._stored += len(self._recent)
            self._recent = []

    def _write(self, data: bytes) -> None:
        if self._file is None:
            self._file = tempfile.TemporaryFile(dir=self._folder, buffering=0)  # noqa: SIM115
        start = sum(self._places[-1]) if self._places else 0
        written = 0
        while written < len(data):
            written += os.pwrite(self._file.fileno(), data[written:], start + written)
        self._places.append((start, len(data)))

    def _read(self, place: tuple[int, int]) -> bytes:
        assert self._file is not None
        return os.pread(self._file.fileno(), place[1], place[0])

    def __len__(self) -> int:
        return self._stored + len(self._recent)

    def __iter__(self) -> Iterator[T]:
        for place in tuple(self._places):
            yield from self._decode(self._read(place))
        yield from tuple(self._recent)

    def __contains__(self, one: object) -> bool:
        return any(one == other for other in self)


class Documents(Spool[Document]):
    """JSON documents."""

    _part = PART_DOCUMENTS

    def _encode(self, part: list[Document]) -> bytes:
        return zlib.compress(json.dumps(part).encode(), level=1)

    def _decode(self, data: bytes) -> list[Document]:
        return list(json.loads(zlib.decompress(data)))


class Rows(Spool[T]):
    """Values of a dataclass whose fields are numbers and texts."""

    _part = PART_ROWS

    def __init__(self, kind: type[T], folder: Path | None = None) -> None:
        super().__init__(folder)
        self._kind = kind

    def _encode(self, part: list[T]) -> bytes:
        import pyarrow.parquet as pq

        data = io.BytesIO()
        pq.write_table(table_of(self._kind, part), data, compression="zstd")
        return data.getvalue()

    def _table(self, data: bytes) -> "pa.Table":
        import pyarrow as pa
        import pyarrow.parquet as pq

        with pq.ParquetFile(pa.BufferReader(data)) as file:
            return file.read()

    def _decode(self, data: bytes) -> list[T]:
        return [self._kind(**row) for row in self._table(data).to_pylist()]

    def tables(self) -> "Iterator[pa.Table]":
        """Yield all of it as tables, one at least."""
        for place in tuple(self._places):
            yield self._table(self._read(place))
        if self._recent or not self._places:
            yield table_of(self._kind, self._recent)


@cache
def _columns(kind: Any) -> dict[str, tuple[str, bool]]:
    """Return the type of each field in words, and whether it may be missing."""
    found = {}
    for field in fields(kind):
        words = field.type if isinstance(field.type, str) else getattr(field.type, "__name__", str(field.type))
        found[field.name] = (words.split(" ")[0], "None" in words)
    return found


def checked(row: T) -> T:
    """Return a row that can be kept; others are an error of whoever wrote its values down."""
    kind: Any = type(row)
    for name, (word, is_optional) in _columns(kind).items():
        value: Any = getattr(row, name)
        if value is None and is_optional:
            continue
        is_long = isinstance(value, int) and not -_MAX_INT <= value < _MAX_INT
        if is_long or not isinstance(value, _TYPES[word]):
            raise TypeError(f"{name} is {type(value).__name__}")
    return row


def table_of(kind: type, rows: Iterable[Any]) -> "pa.Table":
    """Return rows as a table with one column per field."""
    import pyarrow as pa

    kept = list(rows)
    types = {"int": pa.int64(), "str": pa.string(), "float": pa.float64(), "bool": pa.bool_()}
    return pa.table(
        {
            name: pa.array([getattr(row, name) for row in kept], types[word])
            for name, (word, _) in _columns(kind).items()
        }
    )


def tables_of(kind: type, rows: Iterable[Any]) -> "Iterator[pa.Table]":
    """Yield rows as tables of some thousands each, one at least."""
    if isinstance(rows, Rows):
        yield from rows.tables()
        return
    is_empty = True
    source = iter(rows)
    for part in iter(lambda: list(islice(source, PART_ROWS)), []):
        is_empty = False
        yield table_of(kind, part)
    if is_empty:
        yield table_of(kind, [])
