"""The embedded source: an open-loop stream made inside Spark from a schedule.

It sends no events. It sends chunks of event numbers with the line on which their creation times lie, and the
engine unrolls them in compiled code. The offset is the number of events, so a batch replays exactly after a
crash, and a slow query never slows the load: the latest offset is N(now). An offset also says how many events were
left out by the admission limit, so that overload can be distinguished from a busy moment.

Two small files in a control folder steer it from outside: `schedule.npy` holds the law, and `gate.json` says
when the load starts and, if it is to end early, when, or how many events there are now. Until the gate is there, no
event exists: Spark then runs one empty micro-batch, after which the query is planned, compiled and ready.
"""

import gc
import itertools
import json
import os
import time
from collections.abc import Iterator, MutableMapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import (
    ReadLimit,
    ReadMaxRows,
    SupportsTriggerAvailableNow,
)

from streamgauge.arrivals import Chunks, Schedule
from streamgauge.arrivals.admission import ADMIT_S
from streamgauge.engine.admission import admission_of
from streamgauge.engine.spark.gate import Gate
from streamgauge.events import EventStream, Parameters

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame, SparkSession

FORMAT = "streamgauge"
SCHEMA = "first bigint, last bigint, base bigint, events bigint, segment_us bigint, span_us bigint, load_us bigint"
# Chunks of this size keep the unrolled numbers in the processor's cache.
CHUNK_EVENTS = 2048


class EventRange(InputPartition):
    """The chunks of one partition; they travel to the task that reads them."""

    def __init__(self, columns: list[Any]) -> None:
        super().__init__(None)
        self.columns = columns


class EmbeddedReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Plans on the driver's machine; `read` runs in the tasks."""

    def __init__(self, options: MutableMapping[str, str]) -> None:
        self.control = Path(options["control"])
        self.schedule = Schedule.load(self.control / "schedule.npy")
        self.source_partitions = int(options["partitions"])
        self.admission = admission_of(options)
        self.gate: Gate | None = None
        self.gate_version: tuple[int, int] | None = None
        self.target: int | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802, D102
        return {"n": 0}

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802, D102
        return ReadMaxRows(self.admission.limit)

    def latestOffset(self, start: dict[str, int], limit: ReadLimit) -> dict[str, int]:  # noqa: N802, D102
        created = self._created()
        if created <= start["n"]:
            return start
        allowed = created
        if isinstance(limit, ReadMaxRows):
            allowed = start["n"] + self.admission.allow(start["n"], time.monotonic())
        return {"n": min(created, allowed), "left": max(0, created - allowed)}

    def reportLatestOffset(self) -> dict[str, int]:  # noqa: N802, D102
        return {"n": self._created()}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802, D102
        self.target = self._created()

    def _created(self) -> int:
        """N(now): how many events exist."""
        if self.target is not None:
            return self.target
        gate = self._read_gate()
        if gate is None:
            return 0
        if gate.created is not None:
            return min(gate.created, self.schedule.total)
        now_us = time.time_ns() // 1000
        until_us = now_us if gate.closed_us is None else min(now_us, gate.closed_us)
        return int(self.schedule.created(until_us - gate.origin_us))

    def _read_gate(self) -> Gate | None:
        try:
            status = (self.control / "gate.json").stat()
        except FileNotFoundError:
            return None
        version = (status.st_mtime_ns, status.st_ino)
        if version != self.gate_version:
            self.gate = Gate(**json.loads((self.control / "gate.json").read_text()))
            self.gate_version = version
        return self.gate

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:  # noqa: D102
        gate = self._read_gate()
        if gate is None or start["n"] >= end["n"]:
            return []
        borders = np.linspace(start["n"], end["n"], self.source_partitions + 1).astype(np.int64).tolist()
        return [EventRange(self._columns(a, b, gate.origin_us)) for a, b in itertools.pairwise(borders) if a < b]

    def _columns(self, first: int, last: int, origin_us: int) -> list[Any]:
        chunks = self.schedule.chunks(first, last, CHUNK_EVENTS)
        return [
            chunks.first,
            chunks.last,
            chunks.base,
            chunks.events,
            chunks.origin_us + origin_us,
            chunks.span_us,
            np.full(len(chunks.first), origin_us),
        ]

    def read(self, partition: InputPartition) -> Iterator["pa.RecordBatch"]:  # noqa: D102
        import pyarrow as pa

        assert isinstance(partition, EventRange)
        # Spark's worker collects garbage after every task; over all imported modules that takes longer than the task.
        gc.freeze()
        names = [column.split()[0] for column in SCHEMA.split(", ")]
        yield pa.RecordBatch.from_arrays([pa.array(column) for column in partition.columns], names)


class EmbeddedSource(DataSource):
    """Registered with Spark as `streamgauge`."""

    @classmethod
    def name(cls) -> str:  # noqa: D102
        return FORMAT

    def schema(self) -> str:  # noqa: D102
        return SCHEMA

    def streamReader(self, schema: Any) -> EmbeddedReader:  # noqa: N802, ARG002, D102
        return EmbeddedReader(self.options)


def read_events(
    spark: "SparkSession",
    stream: EventStream,
    parameters: Parameters,
    *,
    seed: int,
    control: Path,
    source_partitions: int,
    max_rows_per_batch: int | None = None,
    admission_target_s: float = ADMIT_S,
    fields: Sequence[str] | None = None,
) -> "DataFrame":
    """Return the event stream as a streaming DataFrame; the control folder must hold `schedule.npy`.

    Only the named fields are made, all of them by default.

    Without `max_rows_per_batch` the limit adapts so that a micro-batch takes about `admission_target_s` at most.
    """
    spark.dataSource.register(EmbeddedSource)
    admission = (
        {"admission_target_s": admission_target_s}
        if max_rows_per_batch is None
        else {"max_rows_per_batch": max_rows_per_batch}
    )
    reader = spark.readStream.format(FORMAT).option("control", os.fspath(control))
    chunks = reader.options(partitions=source_partitions, **admission).load()
    return with_events(_unroll(chunks), stream, parameters, seed=seed, fields=fields)


def finite_events(
    spark: "SparkSession",
    stream: EventStream,
    parameters: Parameters,
    *,
    seed: int,
    chunks: Chunks,
    origin_us: int,
    partitions: int,
) -> "DataFrame":
    """Return the events of some chunks as an ordinary DataFrame, in their order."""
    import pandas as pd

    columns = pd.DataFrame(vars(chunks)).assign(origin_us=chunks.origin_us + origin_us, load_us=origin_us)
    rows = spark.sparkContext.parallelize(columns.to_numpy().tolist(), partitions)
    return with_events(_unroll(spark.createDataFrame(rows, SCHEMA)), stream, parameters, seed=seed)


def _unroll(chunks: "DataFrame") -> "DataFrame":
    """Turn chunks into rows with the columns of `Arrivals`, in compiled code."""
    from pyspark.sql import functions as F

    numbered = chunks.select("*", F.explode(F.sequence("first", "last")).alias("n")).drop("first", "last")
    return numbered.select("*", F.expr("segment_us + (n - base) * span_us div events").alias("time_us"))


def with_events(
    arrivals: "DataFrame",
    stream: EventStream,
    parameters: Parameters,
    *,
    seed: int,
    fields: Sequence[str] | None = None,
) -> "DataFrame":
    """Turn rows with the columns of `Arrivals` into events; fields that nobody reads are null, and cost nothing."""
    from pyspark.sql import functions as F

    every = [field.name for field in stream.fields]
    wanted = every if fields is None else [name for name in every if name in fields]
    made = stream.frame(arrivals, parameters, seed, wanted or every[:1])
    return made.select(
        *(
            F.col(field.name) if field.name in made.columns else F.lit(None).cast(field.type).alias(field.name)
            for field in stream.fields
        )
    )
