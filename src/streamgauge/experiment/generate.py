"""Writing an event stream to files: the same events as a run's, with a digest that no partitioning changes."""

import hashlib
import itertools
import shutil
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO, Protocol

import numpy as np

from streamgauge.errors import EnvironmentNotReadyError, UsageError, closest
from streamgauge.events import EventStream, Parameters, event_stream
from streamgauge.experiment.settings import parse_seed, parse_settings
from streamgauge.experiment.verify import BASE_TIME_US, FiniteStream
from streamgauge.units import parse_count, parse_rate
from streamgauge.workloads import catalogue, find_workload, is_prototype
from streamgauge.workloads.parameters import parse_parameters
from streamgauge.workloads.reference import connect

if TYPE_CHECKING:
    import pyarrow as pa

    from streamgauge.engine.session import Session

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


def generate(
    stream: str,
    *,
    events: str | int = "10k",
    rate: str | float = "1000",
    format: str = "parquet",  # noqa: A002
    output: str | Path = "events",
    source_partitions: int = 1,
    parameters: Mapping[str, Any] | None = None,
    seed: int = 1,
    cores: int | None = None,
    tell: Callable[[int, int], None] = lambda _done, _all: None,
    session: "Session | None" = None,
) -> Generation:
    """Write `events` events in `source_partitions` files; `tell` gets the events done and all."""
    from streamgauge.engine.session import SessionSettings, temporary_session

    chosen = _stream_of(stream)
    checked = parse_parameters(chosen.parameters, parameters or {}, owner=chosen.name)
    finite = FiniteStream(parse_count(events, where="--events"), parse_rate(rate), parse_seed(seed))
    chosen.check(checked, finite.rate_per_s)
    settings = parse_settings(cores=cores, source_partitions=source_partitions)
    known = (*FORMATS, *chosen.texts)
    if format not in known:
        what = f'the {chosen.name} events have no format "{format}"'
        raise UsageError(what, where="--format", remedy=closest(format, known))
    if source_partitions > finite.events:
        what = f"{finite.events} events cannot fill {source_partitions} files"
        raise UsageError(what, where="--source-partitions", remedy=f"use 1 to {finite.events}")
    output = Path(output)
    _make_output(output)
    try:
        if session is not None:
            return _write(session, chosen, checked, finite, format, output, source_partitions, tell)
        with temporary_session(SessionSettings(settings.master, {}, event_log=False)) as opened:
            return _write(opened, chosen, checked, finite, format, output, source_partitions, tell)
    except BaseException as error:
        shutil.rmtree(output, ignore_errors=True)
        if isinstance(error, OSError):
            raise EnvironmentNotReadyError(
                f"the events cannot be written: {error.strerror}",
                where=str(output),
                remedy="free space or choose --output",
            ) from error
        raise


def _make_output(output: Path) -> None:
    try:
        output.mkdir(parents=True)
    except FileExistsError:
        raise UsageError(
            f"{output} exists already",
            where="--output",
            remedy="name a folder that does not exist, or remove it",
        ) from None
    except OSError as error:
        raise EnvironmentNotReadyError(
            f"the folder cannot be made: {error.strerror}",
            where=str(output),
            remedy="choose another with --output",
        ) from error


def _write(
    session: "Session",
    stream: EventStream,
    parameters: Parameters,
    finite: FiniteStream,
    format_: str,
    output: Path,
    partitions: int,
    tell: Callable[[int, int], None],
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
            tell(int(table.num_rows), finite.events)
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
    from streamgauge.engine.source import finite_events

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
