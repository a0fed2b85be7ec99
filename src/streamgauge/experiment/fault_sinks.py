"""Sinks whose rows are counted after a fault: what each of them promises, how it is written, and how it is read.

A reader sees what any reader of the sink would: of Spark's file sink the files that its log names, of a topic every
record, of files by batch id one file for each.
"""

import json
import time
import uuid
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from streamgauge.errors import InvalidExperimentError, RunFailedError
from streamgauge.events import Field, Parameters
from streamgauge.files import write_text_whole
from streamgauge.workloads import Workload

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from streamgauge.experiment.sinks import KafkaSink, RedisSink

Guarantee = Literal["exactly-once", "at-least-once"]
STALL_FILE = "stall"
LINGER_FILE = "linger"
STALLED_FILE = "stalled.json"
POLL_S = 0.01
SPARK_LOG = "_spark_metadata"
TOPIC_PARTITIONS = 2
# Of flat types that text can hold without loss.
DUCKDB_TYPES = {
    "string": "VARCHAR",
    "bigint": "BIGINT",
    "int": "INTEGER",
    "double": "DOUBLE",
    "boolean": "BOOLEAN",
    "timestamp": "TIMESTAMPTZ",
}


@dataclass(frozen=True)
class SinkPlace:
    """Where a sink writes: a folder of its own, or a server; `control` is where it is told to stall."""

    folder: Path
    control: Path
    attempt: int
    address: str | None = None
    topic: str = ""
    workload: Workload | None = None
    parameters: Parameters | None = None


@dataclass(frozen=True)
class CountedSink:
    """One sink.

    `holds` tells whether it shows the rows of a micro-batch; None where only its server could tell. `server` is the
    service that it writes to.
    """

    name: str
    guarantee: Guarantee
    write: "Callable[[SinkPlace, DataFrame], Any]"
    read: "Callable[[SinkPlace, Sequence[Field]], pa.Table]"
    holds: Callable[[Path, int], bool] | None = None
    can_stall: bool = True
    only_append: bool = False
    only_views: bool = False
    as_text: bool = False
    server: Literal["kafka", "redis"] | None = None


def hold_while_told(control: Path) -> None:
    """Block while the sink is to stall; tell when that began and, in the end, how long it was."""
    if not (control / STALL_FILE).exists():
        return
    start_s = time.time()
    _tell_stall(control, start_s, None)
    while (control / STALL_FILE).exists():
        time.sleep(POLL_S)
    _tell_stall(control, start_s, time.time())


def linger_while_told(control: Path) -> None:
    """Block after the rows are written, so that a fault meets the sink between its writing and Spark's commit."""
    while (control / LINGER_FILE).exists():
        time.sleep(POLL_S)


def _tell_stall(control: Path, start_s: float, end_s: float | None) -> None:
    told = json.dumps({"start_s": start_s, "end_s": end_s})
    write_text_whole(control / STALLED_FILE, told, intent="tell that the sink stalls", remedy="make room")


def write_rows(sink: Path, name: str, rows: "pa.Table", batch_id: int) -> None:
    """Put the rows of a micro-batch in place in one step, with its id as the column `batch`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink.mkdir(exist_ok=True)
    temporary = sink / f".{name}.new"
    pq.write_table(rows.append_column("batch", pa.array([batch_id] * rows.num_rows, pa.int64())), temporary)
    temporary.replace(sink / f"{name}.parquet")


def _whole(tables: "Sequence[pa.Table]") -> "pa.Table":
    import pyarrow as pa

    if not tables:
        raise RunFailedError("no micro-batch has put anything out", remedy="see Spark's log in the run directory")
    return pa.concat_tables(tables)


def _parquet(path: Path) -> "pa.Table":
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        return file.read()


def read_rows(sink: Path) -> "pa.Table":
    """Return all rows that came out, with their micro-batch."""
    return _whole([_parquet(path) for path in sorted(sink.glob("[0-9]*.parquet"))])


def _by_batch(place: SinkPlace, df: "DataFrame", ending: str = "") -> Any:
    """Write one file per micro-batch; a repetition overwrites it, unless the ending of its name differs."""

    def keep(batch: "DataFrame", batch_id: int) -> None:
        hold_while_told(place.control)
        write_rows(place.folder, f"{batch_id:08d}{ending}", batch.toArrow(), batch_id)
        linger_while_told(place.control)

    return df.writeStream.foreachBatch(keep)


def _files(place: SinkPlace, df: "DataFrame") -> Any:
    return df.writeStream.format("parquet").option("path", str(place.folder))


def committed_files(sink: Path) -> dict[Path, int]:
    """Return the files that the log of Spark's file sink names, with the micro-batch that added each."""
    found: dict[Path, int] = {}
    logs = {int(path.name.partition(".")[0]): path for path in (sink / SPARK_LOG).glob("[0-9]*")}
    for batch_id, log in sorted(logs.items()):
        for line in log.read_text().splitlines()[1:]:
            entry = json.loads(line)
            # A compacted log names the files of earlier micro-batches once more.
            found.setdefault(Path(entry["path"].removeprefix("file://")), batch_id)
    return found


def read_files(sink: Path) -> "pa.Table":
    """Return the rows that a reader of Spark's file sink sees, with their micro-batch."""
    import pyarrow as pa

    tables = []
    for path, batch_id in committed_files(sink).items():
        rows = _parquet(path)
        tables.append(rows.append_column("batch", pa.array([batch_id] * rows.num_rows, pa.int64())))
    return _whole(tables)


class RowWriter:
    """Writes row by row, as `foreach` does; what a failed attempt has written stays."""

    def __init__(self, folder: Path, control: Path) -> None:
        self.folder, self.control = folder, control
        self.file: IO[str] | None = None

    def open(self, partition_id: int, epoch_id: int) -> bool:
        """Begin a partition of a micro-batch."""
        hold_while_told(self.control)
        self.folder.mkdir(exist_ok=True)
        name = f"{epoch_id:08d}-{partition_id}-{uuid.uuid4().hex[:8]}.jsonl"
        self.file = (self.folder / name).open("w", encoding="utf-8")
        return True

    def process(self, row: Any) -> None:
        """Write one row."""
        assert self.file is not None
        self.file.write(row.value + "\n")

    def close(self, error: Exception | None) -> None:  # noqa: ARG002
        """End a partition."""
        if self.file is not None:
            self.file.close()
            linger_while_told(self.control)


def _row_by_row(place: SinkPlace, df: "DataFrame") -> Any:
    from streamgauge.engine.kafka import as_json

    return df.select(as_json("*").alias("value")).writeStream.foreach(RowWriter(place.folder, place.control))


def from_text(lines: Iterable[tuple[int, str]], output: Sequence[Field]) -> "pa.Table":
    """Return rows from their JSON, each with its micro-batch or its place."""
    import pyarrow as pa

    from streamgauge.workloads.reference import connect

    batches, texts = [], []
    for batch, text in lines:
        batches.append(batch)
        texts.append(text)
    if not texts:
        return _whole([])
    connection = connect()
    connection.register("lines", pa.table({"batch": pa.array(batches, pa.int64()), "value": texts}))
    columns = ", ".join(f"(value ->> '$.{f.name}')::{DUCKDB_TYPES[f.type]} AS {f.name}" for f in output)
    return connection.sql(f"SELECT {columns}, batch FROM lines").to_arrow_table()


def read_lines(sink: Path, output: Sequence[Field]) -> "pa.Table":
    """Return the rows of all files; a line that breaks off was never whole, and is no row."""
    found = []
    for path in sorted(sink.glob("[0-9]*.jsonl")):
        whole, _, _ = path.read_text(encoding="utf-8").rpartition("\n")
        found += [(int(path.name.partition("-")[0]), line) for line in whole.splitlines()]
    return from_text(found, output)


def kafka_sink(place: SinkPlace) -> "KafkaSink":
    """Return the sink of `run` that writes to a topic, of which all records are new."""
    from streamgauge.experiment.sinks import KafkaSink
    from streamgauge.kafka.options import KafkaPlace

    assert place.workload is not None
    sink = KafkaSink(KafkaPlace(str(place.address)), place.topic, place.workload, TOPIC_PARTITIONS)
    sink.base = dict.fromkeys(range(TOPIC_PARTITIONS), 0)
    return sink


def redis_sink(place: SinkPlace) -> "RedisSink":
    """Return the sink of `run` that writes to Redis."""
    from streamgauge.experiment.sinks import RedisSink

    assert place.parameters is not None
    return RedisSink(str(place.address), place.parameters)


def _read_topic(place: SinkPlace, _: Sequence[Field]) -> "pa.Table":
    rows = kafka_sink(place).read()
    return _whole([] if rows is None else [rows])


def _has(pattern: str) -> Callable[[Path, int], bool]:
    return lambda sink, batch_id: any(sink.glob(pattern.format(batch_id)))


def _logged(sink: Path, batch_id: int) -> bool:
    return any((sink / SPARK_LOG / name).exists() for name in (str(batch_id), f"{batch_id}.compact"))


SINKS: Mapping[str, CountedSink] = {
    sink.name: sink
    for sink in (
        CountedSink(
            "foreach-batch",
            "exactly-once",
            _by_batch,
            lambda place, _: read_rows(place.folder),
            holds=_has("{:08d}.parquet"),
        ),
        CountedSink(
            "parquet",
            "exactly-once",
            _files,
            lambda place, _: read_files(place.folder),
            holds=_logged,
            # Spark writes the files itself: there is nothing to hold up.
            can_stall=False,
            only_append=True,
        ),
        CountedSink(
            "foreach",
            "at-least-once",
            _row_by_row,
            lambda place, output: read_lines(place.folder, output),
            holds=_has("{:08d}-*.jsonl"),
            as_text=True,
        ),
        CountedSink(
            "append",
            "at-least-once",
            lambda place, df: _by_batch(place, df, f"-{place.attempt}"),
            lambda place, _: read_rows(place.folder),
            holds=_has("{:08d}-*.parquet"),
        ),
        CountedSink(
            "kafka",
            "at-least-once",
            lambda place, df: kafka_sink(place).write(df),
            _read_topic,
            as_text=True,
            server="kafka",
        ),
        CountedSink(
            "redis",
            "exactly-once",
            lambda place, df: redis_sink(place).write(df),
            lambda place, _: redis_sink(place).read(),
            only_views=True,
            server="redis",
        ),
    )
}


def refuse_sink(sink: CountedSink, output: Sequence[Field], output_mode: str | None) -> None:
    """Refuse a workload whose rows the sink cannot take, before anything is started."""
    from streamgauge.experiment.sinks import YSB_COLUMNS

    if sink.only_views and tuple(f.name for f in output) != YSB_COLUMNS:
        raise InvalidExperimentError(
            f"the sink {sink.name} has the layout of YSB, and this query puts out other columns",
            where="--sink",
            remedy="choose ysb, or --sink foreach-batch",
        )
    if sink.only_append and output_mode not in (None, "append"):
        raise InvalidExperimentError(
            f"the sink {sink.name} takes new rows only, and this query changes rows (output mode {output_mode})",
            where="--sink",
            remedy="choose a query in append mode, e.g. ysb with --set output=append, or --sink foreach-batch",
        )
    odd = [f for f in output if f.type not in DUCKDB_TYPES] if sink.as_text else []
    if odd:
        raise InvalidExperimentError(
            f"the sink {sink.name} writes text, which does not hold {odd[0].name} of the type {odd[0].type}",
            where="--sink",
            remedy="use --sink foreach-batch",
        )
