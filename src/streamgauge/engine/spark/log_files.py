"""Spark's event log on disk, as lines: one file or a folder of rolled ones, plain or compressed.

Spark compresses with the stream formats of its Java libraries. Those of Zstandard and gzip are the usual ones. LZ4 and
Snappy have frames of their own around the usual blocks, which are read here. What begins like none of them is no log.
"""

import gzip
import re
import struct
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, TYPE_CHECKING

from streamgauge.errors import InvalidExperimentError, UsageError

if TYPE_CHECKING:
    import pyarrow as pa

CHUNK_BYTES = 1 << 20
# When a compressed file breaks off, what was decoded of the last chunk is lost: it must not be large.
DECODED_BYTES = 1 << 13
# Events that are read are some kilobytes long; reports of a query with thousands of partitions can be longer.
MAX_LINE_BYTES = 1 << 24
# What decides whether a line is read at all.
HEAD_BYTES = 256
# The longest block that the compressors of Spark write.
MAX_BLOCK_BYTES = 1 << 25
_ROLLED = re.compile(r"events_(\d+)_.*?(\.compact)?$")
_REMOTE = re.compile(r"[a-z][a-z0-9+.-]+:/", re.IGNORECASE)
_SHOWN = 10

_LZ4_MAGIC = b"LZ4Block"
_SNAPPY_MAGIC = b"\x82SNAPPY\x00"


class TornError(Exception):
    """The file ends, or is damaged, in the middle of what it holds."""


def _exactly(file: IO[bytes], size: int) -> bytes:
    data = file.read(size)
    if len(data) < size:
        raise TornError
    return data


def _plain(file: IO[bytes]) -> Iterator[bytes]:
    yield from iter(lambda: file.read(CHUNK_BYTES), b"")


def _gzip(file: IO[bytes]) -> Iterator[bytes]:
    try:
        with gzip.open(file) as stream:
            yield from iter(lambda: stream.read(DECODED_BYTES), b"")
    except (OSError, EOFError, zlib.error) as error:
        raise TornError from error


def _zstd(file: IO[bytes]) -> Iterator[bytes]:
    import pyarrow as pa

    try:
        with pa.CompressedInputStream(pa.PythonFile(file), "zstd") as stream:
            yield from iter(lambda: stream.read(DECODED_BYTES), b"")
    except (OSError, pa.ArrowException) as error:
        raise TornError from error


def _decode(codec: "pa.Codec", data: bytes, size: int) -> bytes:
    try:
        return bytes(codec.decompress(data, decompressed_size=size, asbytes=True))
    except (OSError, ValueError) as error:
        raise TornError from error


def _lz4(file: IO[bytes]) -> Iterator[bytes]:
    """Read blocks of lz4-java: magic, how it is packed, both lengths, a checksum, the data."""
    import pyarrow as pa

    codec = pa.Codec("lz4_raw")
    while magic := file.read(len(_LZ4_MAGIC)):
        if magic != _LZ4_MAGIC:
            raise TornError
        token, packed, size, _ = struct.unpack("<BiiI", _exactly(file, 13))
        if not 0 <= packed <= MAX_BLOCK_BYTES or not 0 <= size <= MAX_BLOCK_BYTES:
            raise TornError
        data = _exactly(file, packed)
        is_packed = token & 0xF0 == 0x20
        yield _decode(codec, data, size) if is_packed and size else data


def _snappy_size(data: bytes) -> int:
    """Return the length before packing, which a block begins with, seven bits in a byte."""
    size = 0
    for place, byte in enumerate(data[:5]):
        size |= (byte & 0x7F) << 7 * place
        if byte < 0x80:
            return size
    raise TornError


def _snappy(file: IO[bytes]) -> Iterator[bytes]:
    """Read blocks of snappy-java: a header, then the length of each block and its data."""
    import pyarrow as pa

    codec = pa.Codec("snappy")
    while head := file.read(4):
        if head == _SNAPPY_MAGIC[:4]:
            _exactly(file, 12)
            continue
        if len(head) < 4:
            raise TornError
        (packed,) = struct.unpack(">i", head)
        if not 0 < packed <= MAX_BLOCK_BYTES:
            raise TornError
        data = _exactly(file, packed)
        size = _snappy_size(data)
        if size > MAX_BLOCK_BYTES:
            raise TornError
        yield _decode(codec, data, size)


# What files begin with, and who reads them.
_DECODERS: dict[bytes, Callable[[IO[bytes]], Iterator[bytes]]] = {
    b"{": _plain,
    b"\x1f\x8b": _gzip,
    b"\x28\xb5\x2f\xfd": _zstd,
    _LZ4_MAGIC: _lz4,
    _SNAPPY_MAGIC: _snappy,
}
_LZF_MAGIC = b"ZV"


def _decoder(head: bytes, path: Path) -> Callable[[IO[bytes]], Iterator[bytes]]:
    if head.startswith(_LZF_MAGIC):
        raise InvalidExperimentError(
            "the log is compressed with LZF, which cannot be read here",
            where=str(path),
            remedy="set spark.eventLog.compression.codec to zstd, lz4 or snappy, or unpack the file first",
        )
    for magic, decoder in _DECODERS.items():
        if head.startswith(magic):
            return decoder
    raise not_a_log(path)


def not_a_log(path: Path) -> InvalidExperimentError:
    """Return what to say about a file that holds no event of Spark."""
    return InvalidExperimentError(
        "this is no event log of Spark",
        where=str(path),
        remedy="name a log that Spark wrote with spark.eventLog.enabled=true, plain, rolled or compressed",
    )


class LineCutter:
    """Cuts what is read into lines, without their ends.

    Of a line that is not `wanted` by its head, or is too long, no more than the head is kept and handed out: plans of
    Spark can have any length, and a few compressed bytes can be a line of gigabytes.
    """

    def __init__(self, wanted: Callable[[bytes], bool] = lambda _: True) -> None:
        self._wanted = wanted
        self._parts: list[bytes] = []
        self._size = 0
        self._is_wanted = False
        # What is left of a line whose rest is of no use.
        self._head: bytes | None = None

    def cut(self, chunk: bytes) -> Iterator[bytes]:
        """Take what comes next, and yield the lines that it completes."""
        *whole, rest = chunk.split(b"\n")
        for line in whole:
            self._add(line)
            yield self.rest()
        self._add(rest)

    def rest(self) -> bytes:
        """Return the line so far, and begin a new one."""
        line = b"".join(self._parts) if self._head is None else self._head
        self._parts, self._size, self._is_wanted, self._head = [], 0, False, None
        return line

    def _add(self, part: bytes) -> None:
        if self._head is not None or not part:
            return
        self._parts.append(part)
        self._size += len(part)
        # Lines that come in one piece take no more memory than that.
        if len(self._parts) > 1 and self._size >= HEAD_BYTES:
            self._drop_useless()

    def _drop_useless(self) -> None:
        if not self._is_wanted:
            self._is_wanted = self._wanted(b"".join(self._parts)[:HEAD_BYTES])
        if not self._is_wanted or self._size > MAX_LINE_BYTES:
            self._head = b"".join(self._parts)[:HEAD_BYTES]
            self._parts = []


def read_lines(
    path: Path, wanted: Callable[[bytes], bool] = lambda _: True, at: Callable[[int], None] = lambda _: None
) -> Iterator[bytes]:
    """Yield the lines of one file; raises `TornError` where it breaks off.

    A last line without an end is yielded: it may be whole. Of lines whose head is not `wanted` the rest may be missing.
    `at` is called with how far the file has been read.
    """
    lines = LineCutter(wanted)
    try:
        with path.open("rb") as file:
            head = file.read(len(_LZ4_MAGIC))
            if not head:
                return
            file.seek(0)
            for chunk in _decoder(head, path)(file):
                yield from lines.cut(chunk)
                if not file.closed:
                    at(file.tell())
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror or error}", remedy="check the path") from error
    if rest := lines.rest():
        yield rest


class GrowingLog:
    """A rolled log in `folder`, read while Spark writes it; files that have been read are deleted.

    So it takes some ten megabytes of disk, however long the application runs.
    """

    def __init__(self, folder: Path, wanted: Callable[[bytes], bool] = lambda _: True) -> None:
        self._folder = folder
        self._lines = LineCutter(wanted)
        self._file: Path | None = None
        self._read_until = 0

    def lines(self, *, only_closed: bool = False) -> Iterator[bytes]:
        """Yield the lines that have come since the last call; one that is not whole yet comes later.

        `only_closed` leaves the file to which Spark writes now for later.
        """
        while True:
            files = self._files()
            if self._file is None and files:
                self._file, self._read_until = files[0], 0
            if self._file is None:
                return
            later = files[files.index(self._file) + 1 :] if self._file in files else files
            if only_closed and not later:
                return
            # Spark writes to the last file only: with one after it, this one was complete before it was read.
            yield from self._new_lines(self._file)
            if not later:
                return
            self._file.unlink(missing_ok=True)
            self._file, self._read_until = later[0], 0

    def _files(self) -> list[Path]:
        return [file for folder in self._folder.glob("eventlog_v2_*") for file in rolled_files(folder)]

    def _new_lines(self, path: Path) -> Iterator[bytes]:
        with path.open("rb") as file:
            file.seek(self._read_until)
            while chunk := file.read(CHUNK_BYTES):
                self._read_until += len(chunk)
                yield from self._lines.cut(chunk)


def _rolled(folder: Path) -> list[tuple[int, Path, bool]]:
    found = [(path, _ROLLED.match(path.name)) for path in folder.iterdir() if path.is_file()]
    return sorted((int(match[1]), path, bool(match[2])) for path, match in found if match)


def rolled_files(folder: Path) -> list[Path]:
    """Return the files of a rolled log in their order; what was compacted replaces all before it."""
    found = _rolled(folder)
    start = max((number for number, _, is_compact in found if is_compact), default=0)
    compacted = [path for number, path, is_compact in found if is_compact and number == start]
    return compacted + [path for number, path, is_compact in found if not is_compact and number > start]


def is_compacted(folder: Path) -> bool:
    """Return whether Spark's history server has dropped events of this log."""
    return folder.is_dir() and any(is_compact for _, _, is_compact in _rolled(folder))


def event_log_files(path: Path) -> list[Path]:
    """Return the files that make up the log at `path`, a file or the folder of a rolled log."""
    if path.is_file():
        return [path]
    if path.is_dir():
        return rolled_files(path) or _several(path)
    if _REMOTE.match(str(path)):
        raise UsageError(f"{path} is not on this machine", remedy="copy the log here, and name the copy")
    raise UsageError(f"{path} does not exist", remedy="name the event log of an application, a file or a folder")


def _several(folder: Path) -> list[Path]:
    """Choose from a folder of logs: there must be one."""
    children = [child for child in sorted(folder.iterdir()) if not child.name.startswith(".")]
    logs = [child for child in children if child.is_file() or rolled_files(child)]
    if not logs:
        raise not_a_log(folder)
    if len(logs) == 1:
        return event_log_files(logs[0])
    names = ", ".join(child.name for child in logs[:_SHOWN]) + (", …" if len(logs) > _SHOWN else "")
    raise UsageError(f"{folder} holds {len(logs)} files or logs", remedy=f"name one of them: {names}")
