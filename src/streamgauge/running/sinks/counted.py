"""Sinks whose rows are counted after a fault: what each of them promises, how it is written, and how it is read.

A reader sees what any reader of the sink would: of Spark's file sink the files that its log names, of a topic every
record, of files by batch id one file for each.
"""

import json
import time
import uuid
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, Literal

from streamgauge.connectors.kafka.options import KafkaPlace
from streamgauge.connectors.rows import DUCKDB_TYPES, from_text, whole
from streamgauge.engine.engine import Results
from streamgauge.errors import InvalidExperimentError
from streamgauge.events import Field, Parameters
from streamgauge.files import write_text_whole
from streamgauge.running.sinks.kafka import KafkaSink
from streamgauge.running.sinks.redis import YSB_COLUMNS, RedisSink
from streamgauge.workloads import Workload

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


Guarantee = Literal["exactly-once", "at-least-once"]
STALL_FILE = "stall"
LINGER_FILE = "linger"
LINGER_DEADLINE_S = 20.0
STALLED_FILE = "stalled.json"
POLL_S = 0.01
SPARK_LOG = "_spark_metadata"
TOPIC_PARTITIONS = 2


@dataclass(frozen=True)
class SinkPlace:
    """Where a sink writes: a folder of its own, or a server; `control` is where a stall is requested."""

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

    `count` returns how many rows of a micro-batch its files hold; None where a server must be asked. `shows_whole` says
    that rows of a micro-batch appear all at once, `can_linger` that the writer can be held after its writing. `server`
    is the service that it writes to.
    """

    name: str
    guarantee: Guarantee
    results: Callable[[SinkPlace], Results]
    read: "Callable[[SinkPlace, Sequence[Field]], pa.Table]"
    count: Callable[[SinkPlace, int], int] | None = None
    shows_whole: bool = False
    can_stall: bool = True
    can_linger: bool = True
    only_append: bool = False
    only_views: bool = False
    as_text: bool = False
    server: Literal["kafka", "redis"] | None = None


def hold_while_told(control: Path) -> None:
    """Block while the sink is to stall; record when that began and, in the end, how long it was."""
    if not (control / STALL_FILE).exists():
        return
    start_s = time.time()
    _tell_stall(control, start_s, None)
    while (control / STALL_FILE).exists():
        time.sleep(POLL_S)
    _tell_stall(control, start_s, time.time())


def linger_while_told(control: Path) -> None:
    """Block after rows are written, so that a fault meets the sink between its writing and Spark's commit.

    Not for ever: further tasks of the micro-batch may wait for the cores that the first ones hold.
    """
    end_s = time.monotonic() + LINGER_DEADLINE_S
    while (control / LINGER_FILE).exists() and time.monotonic() < end_s:
        time.sleep(POLL_S)


def _tell_stall(control: Path, start_s: float, end_s: float | None) -> None:
    stall = json.dumps({"start_s": start_s, "end_s": end_s})
    write_text_whole(control / STALLED_FILE, stall, intent="record that the sink stalls", remedy="make room")


def write_rows(sink: Path, name: str, rows: "pa.Table", batch_id: int) -> None:
    """Put the rows of a micro-batch in place in one step, with its id as the column `batch`."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    sink.mkdir(exist_ok=True)
    temporary = sink / f".{name}.new"
    pq.write_table(rows.append_column("batch", pa.array([batch_id] * rows.num_rows, pa.int64())), temporary)
    temporary.replace(sink / f"{name}.parquet")


def _parquet(path: Path) -> "pa.Table":
    import pyarrow.parquet as pq

    with pq.ParquetFile(path) as file:
        return file.read()


def read_rows(sink: Path) -> "pa.Table":
    """Return all rows that came out, with their micro-batch."""
    return whole([_parquet(path) for path in sorted(sink.glob("[0-9]*.parquet"))])


def _by_batch(place: SinkPlace, ending: str, df: "DataFrame") -> Any:
    """Write one file per micro-batch; a repetition overwrites it, unless the ending of its name differs."""

    def keep(batch: "DataFrame", batch_id: int) -> None:
        hold_while_told(place.control)
        rows = batch.toArrow()
        write_rows(place.folder, f"{batch_id:08d}{ending}", rows, batch_id)
        if rows.num_rows:
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
    return whole(tables)


class RowWriter:
    """Writes row by row, as `foreach` does; what a failed attempt has written stays."""

    def __init__(self, folder: Path, control: Path, attempt: int) -> None:
        self.folder, self.control, self.attempt = folder, control, attempt
        self.file: IO[str] | None = None
        self.rows = 0

    def open(self, partition_id: int, epoch_id: int) -> bool:
        """Begin a partition of a micro-batch."""
        hold_while_told(self.control)
        self.folder.mkdir(exist_ok=True)
        name = f"{epoch_id:08d}-{self.attempt}-{partition_id}-{uuid.uuid4().hex[:8]}.jsonl"
        self.file = (self.folder / name).open("w", encoding="utf-8")
        self.rows = 0
        return True

    def process(self, row: Any) -> None:
        """Write one row."""
        assert self.file is not None
        self.file.write(row.value + "\n")
        self.rows += 1

    def close(self, error: Exception | None) -> None:  # noqa: ARG002
        """End a partition."""
        if self.file is not None:
            self.file.close()
            if self.rows:
                linger_while_told(self.control)


def _row_by_row(place: SinkPlace, df: "DataFrame") -> Any:
    from streamgauge.engine.spark.kafka import as_json

    writer = RowWriter(place.folder, place.control, place.attempt)
    return df.select(as_json("*").alias("value")).writeStream.foreach(writer)


def read_lines(sink: Path, output: Sequence[Field]) -> "pa.Table":
    """Return the rows of all files; a line that breaks off was never whole, and is no row."""
    found = []
    for path in sorted(sink.glob("[0-9]*.jsonl")):
        whole, _, _ = path.read_text(encoding="utf-8").rpartition("\n")
        found += [(int(path.name.partition("-")[0]), line) for line in whole.splitlines()]
    return from_text(found, output)


def kafka_sink(place: SinkPlace) -> KafkaSink:
    """Return the sink of `run` that writes to a topic, of which all records are new."""
    assert place.workload is not None
    sink = KafkaSink(KafkaPlace(str(place.address)), place.topic, place.workload, TOPIC_PARTITIONS)
    sink.base = dict.fromkeys(range(TOPIC_PARTITIONS), 0)
    return sink


def redis_sink(place: SinkPlace) -> RedisSink:
    """Return the sink of `run` that writes to Redis."""
    assert place.parameters is not None
    return RedisSink(str(place.address), place.parameters, after=partial(linger_while_told, place.control))


def _read_topic(place: SinkPlace, _: Sequence[Field]) -> "pa.Table":
    rows = kafka_sink(place).read()
    return whole([] if rows is None else [rows])


class TopicReader:
    """Counts the records of a topic, over one connection."""

    def __init__(self, sink: KafkaSink) -> None:
        from streamgauge.connectors.kafka.client import Broker

        self._topic, self._partitions = sink.topic, sink.partitions
        self._broker = Broker(sink.place)
        self._consumer = self._broker.consumer()

    def records(self) -> int:
        """Return how many records the topic has had so far."""
        return sum(self._broker.ends(self._topic, self._partitions, self._consumer).values())

    def close(self) -> None:
        """Close the connection."""
        self._consumer.close()


def topic_reader(place: SinkPlace) -> TopicReader:
    """Return what counts the records of the sink's topic."""
    return TopicReader(kafka_sink(place))


def windows_updated_since(place: SinkPlace, since_ms: int) -> int:
    """Return how many counts in Redis were written at a time or later, by the clock of Redis."""
    updated = redis_sink(place).windows()["updated_ms"].to_pylist()
    return sum(1 for updated_ms in updated if updated_ms >= since_ms)


def _count_parquet(path: Path) -> int:
    import pyarrow.parquet as pq

    if not path.exists():
        return 0
    with pq.ParquetFile(path) as file:
        return int(file.metadata.num_rows)


def _count_logged(place: SinkPlace, batch_id: int) -> int:
    names = (str(batch_id), f"{batch_id}.compact")
    if not any((place.folder / SPARK_LOG / name).exists() for name in names):
        return 0
    return sum(_count_parquet(path) for path, batch in committed_files(place.folder).items() if batch == batch_id)


def _count_lines(place: SinkPlace, batch_id: int) -> int:
    written = place.folder.glob(f"{batch_id:08d}-{place.attempt}-*.jsonl")
    return sum(path.read_bytes().count(b"\n") for path in written)


SINKS: Mapping[str, CountedSink] = {
    sink.name: sink
    for sink in (
        CountedSink(
            "foreach-batch",
            "exactly-once",
            lambda place: partial(_by_batch, place, ""),
            lambda place, _: read_rows(place.folder),
            count=lambda place, batch_id: _count_parquet(place.folder / f"{batch_id:08d}.parquet"),
            shows_whole=True,
        ),
        CountedSink(
            "parquet",
            "exactly-once",
            lambda place: partial(_files, place),
            lambda place, _: read_files(place.folder),
            count=_count_logged,
            shows_whole=True,
            # Spark writes the files itself: there is nothing to hold up.
            can_stall=False,
            can_linger=False,
            only_append=True,
        ),
        CountedSink(
            "foreach",
            "at-least-once",
            lambda place: partial(_row_by_row, place),
            lambda place, output: read_lines(place.folder, output),
            count=_count_lines,
            as_text=True,
        ),
        CountedSink(
            "append",
            "at-least-once",
            lambda place: partial(_by_batch, place, f"-{place.attempt}"),
            lambda place, _: read_rows(place.folder),
            count=lambda place, batch_id: _count_parquet(place.folder / f"{batch_id:08d}-{place.attempt}.parquet"),
            shows_whole=True,
        ),
        CountedSink(
            "kafka",
            "at-least-once",
            lambda place: kafka_sink(place).results,
            _read_topic,
            can_linger=False,
            as_text=True,
            server="kafka",
        ),
        CountedSink(
            "redis",
            "exactly-once",
            lambda place: redis_sink(place).results,
            lambda place, _: redis_sink(place).read(),
            only_views=True,
            server="redis",
        ),
    )
}


def refuse_sink(sink: CountedSink, output: Sequence[Field], output_mode: str | None) -> None:
    """Refuse a workload whose rows the sink cannot take, before anything is started."""
    if sink.only_views and tuple(f.name for f in output) != YSB_COLUMNS:
        raise InvalidExperimentError(
            f"the sink {sink.name} has the layout of YSB, and this query emits other columns",
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
