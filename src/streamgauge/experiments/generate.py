"""Writing an event stream to files: the same events as a run's, with a digest that no partitioning changes."""

import hashlib
import itertools
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO, Protocol, Unpack

import numpy as np

from streamgauge.conclude.verification import FiniteStream
from streamgauge.errors import UsageError, closest
from streamgauge.events import EventStream, Parameters, event_stream
from streamgauge.files import disk_access
from streamgauge.lookup import find_workload, is_prototype
from streamgauge.running.verify import BASE_TIME_US
from streamgauge.settings.keywords import GenerateKeywords
from streamgauge.settings.run_settings import parse_settings
from streamgauge.settings.signature import takes_settings
from streamgauge.settings.table import with_defaults
from streamgauge.units import parse_count
from streamgauge.workloads import catalogue
from streamgauge.workloads.parameters import parse_parameters
from streamgauge.workloads.reference import connect

if TYPE_CHECKING:
    import pyarrow as pa

    from streamgauge.engine.spark.session import Session

SLICE_EVENTS = 250_000


@dataclass(frozen=True)
class Generation:
    """What was written.

    `sha256` is over the events in their order, as JSON lines whatever the format; the text formats that some streams
    have, to compare data sets by, are digested as they are.
    """

    stream: str
    events: int
    format: str
    files: tuple[str, ...]
    sha256: str


class FileWriter(Protocol):
    """Writes events to one file, slice by slice."""

    def write(self, table: "pa.Table", lines: bytes) -> None:
        """Add a slice: as a table, and as the lines that the digest is over."""
        ...

    def close(self) -> None:
        """End the file."""
        ...


class LineWriter:
    """JSON lines or canonical lines."""

    def __init__(self, path: Path, _: "pa.Schema") -> None:
        self.file: BinaryIO = path.open("wb")

    def write(self, _: "pa.Table", lines: bytes) -> None:
        """Add the lines."""
        self.file.write(lines)

    def close(self) -> None:
        """Close the file."""
        self.file.close()


class ParquetWriter:
    """Parquet with one row group per slice."""

    def __init__(self, path: Path, schema: "pa.Schema") -> None:
        import pyarrow.parquet as pq

        self.file = pq.ParquetWriter(path, schema, compression="zstd")

    def write(self, table: "pa.Table", _: bytes) -> None:
        """Add a row group."""
        self.file.write_table(table)

    def close(self) -> None:
        """Write the footer."""
        self.file.close()


class CsvWriter:
    """CSV with a header line."""

    def __init__(self, path: Path, schema: "pa.Schema") -> None:
        from pyarrow import csv

        self.file = csv.CSVWriter(path, schema)

    def write(self, table: "pa.Table", _: bytes) -> None:
        """Add the rows."""
        self.file.write_table(table)

    def close(self) -> None:
        """Close the file."""
        self.file.close()


FORMATS: dict[str, Callable[[Path, "pa.Schema"], FileWriter]] = {
    "parquet": ParquetWriter,
    "json": LineWriter,
    "csv": CsvWriter,
}


def _stream_of(name: str) -> EventStream:
    is_workload = name in catalogue() or is_prototype(name)
    return find_workload(name).events if is_workload else event_stream(name, where="generate")


@takes_settings("generate")
def generate(
    stream: str,
    *,
    count: str | int = "10k",
    format: str = "parquet",  # noqa: A002
    output: str | Path = "events",
    report_progress: Callable[[int, int], None] = lambda _done, _all: None,
    session: "Session | None" = None,
    **settings: Unpack[GenerateKeywords],
) -> Generation:
    """Write `count` events in `source_partitions` files; `report_progress` gets the events done and all."""
    from streamgauge.engine.spark.session import SessionSettings, temporary_session

    chosen = _stream_of(stream)
    checked = parse_parameters(chosen.parameters, settings.get("parameters") or {}, owner=chosen.name)
    parsed = parse_settings(**with_defaults(settings, {}, "generate"))
    finite = FiniteStream(parse_count(count, where="--count"), parsed.rate_per_s, parsed.seed)
    files = parsed.source_partitions or 1
    chosen.check(checked, finite.rate_per_s)
    _refuse_wrong_files(chosen, finite, format, files)
    output = Path(output)
    opened = nullcontext(session) if session else temporary_session(SessionSettings(parsed.master, {}, event_log=False))
    with _new_folder(output), opened as spark:
        return _write(spark, chosen, checked, finite, format, output, files, report_progress)


def _refuse_wrong_files(stream: EventStream, finite: FiniteStream, format_: str, files: int) -> None:
    known = (*FORMATS, *stream.texts)
    if format_ not in known:
        what = f'the {stream.name} events have no format "{format_}"'
        raise UsageError(what, where="--format", remedy=closest(format_, known))
    if files > finite.events:
        what = f"{finite.events} events cannot fill {files} files"
        raise UsageError(what, where="--source-partitions", remedy=f"use 1 to {finite.events}")


@contextmanager
def _new_folder(output: Path) -> Iterator[None]:
    """Make a folder; an error removes it."""
    if output.exists():
        remedy = "name a folder that does not exist, or remove it"
        raise UsageError(f"{output} exists already", where="--output", remedy=remedy)
    with disk_access("write the events", output, "free space, or choose another folder with --output"):
        output.mkdir(parents=True)
        try:
            yield
        except BaseException:
            shutil.rmtree(output, ignore_errors=True)
            raise


def _write(
    session: "Session",
    stream: EventStream,
    parameters: Parameters,
    finite: FiniteStream,
    format_: str,
    output: Path,
    partitions: int,
    report_progress: Callable[[int, int], None],
) -> Generation:
    digest = hashlib.sha256()
    as_lines = stream.texts.get(format_, json_lines)
    files = []
    borders = np.linspace(0, finite.events, partitions + 1).astype(np.int64).tolist()
    for part, (first, last) in enumerate(itertools.pairwise(borders)):
        path = output / f"part-{part:05d}.{format_}"
        files.append(str(path))
        writer: FileWriter | None = None
        for table in _slices(session, stream, parameters, finite, first, last, partitions):
            lines = as_lines(table)
            digest.update(lines)
            writer = writer or FORMATS.get(format_, LineWriter)(path, table.schema)
            writer.write(table, lines)
            report_progress(int(table.num_rows), finite.events)
        if writer:
            writer.close()
    return Generation(stream.name, finite.events, format_, tuple(files), digest.hexdigest())


def _slices(
    session: "Session",
    stream: EventStream,
    parameters: Parameters,
    finite: FiniteStream,
    first: int,
    last: int,
    partitions: int,
) -> Iterator["pa.Table"]:
    """Make the events first <= n < last in Spark, a slice at a time, in order."""
    from streamgauge.engine.spark.source import finite_events

    schedule = finite.schedule(stream, parameters)
    for start in range(first, last, SLICE_EVENTS):
        stop = min(start + SLICE_EVENTS, last)
        yield finite_events(
            session.spark,
            stream,
            parameters,
            seed=finite.seed,
            chunks=schedule.chunks(start, stop, SLICE_EVENTS // (session.cores * 4)),
            origin_us=BASE_TIME_US,
            partitions=max(session.cores, partitions),
        ).toArrow()


def json_lines(table: "pa.Table") -> bytes:
    """Return a table as JSON lines in UTF-8."""
    connection = connect()
    connection.register("slice", table)
    rows = connection.execute("SELECT to_json(slice)::VARCHAR FROM slice").fetchall()
    return "".join(f"{row[0]}\n" for row in rows).encode()
