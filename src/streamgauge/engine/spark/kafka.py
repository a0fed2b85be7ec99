"""Kafka as source and sink of a query, in Spark's own column expressions.

What a record holds is read as `connectors/kafka/records.py` writes it. Records that cannot be read are counted and left
out of the stream; `malformed_records` fetches them afterwards.
"""

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from streamgauge.connectors.kafka.options import Format, KafkaPlace
from streamgauge.connectors.kafka.records import MAX_TIME_MS, VERSION, WIDTHS, Layout, never_null, record_fields
from streamgauge.connectors.kafka.topic import METRICS, Topic
from streamgauge.events import EventStream, Parameters
from streamgauge.workloads import Workload
from streamgauge.workloads.workload import INTENDED

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import Column, DataFrame, SparkSession

CORRUPT = "_corrupt"
MAX_MALFORMED_KEPT = 10_000
# Kafka's defaults, 500 records and 1 MiB at a time, cost more than all else that reading a record takes.
FETCH = {"kafka.max.poll.records": "5000", "kafka.max.partition.fetch.bytes": "8388608"}
# Milliseconds, the default, would cut the times of events.
TIMES = {"timestampFormat": "yyyy-MM-dd'T'HH:mm:ss.SSSSSSXXX"}

# Where a record is kept beside the fields of its event.
RECORD = "_record"


def read_topic(
    spark: "SparkSession",
    stream: EventStream,
    parameters: Parameters,
    topic: Topic,
    *,
    max_rows_per_batch: int | None = None,
    counted: bool = True,
    carry: Sequence[str] = (),
) -> "DataFrame":
    """Return the events of a topic as a streaming DataFrame; its metrics count records and those left out.

    Without `counted` there are no metrics, for modes that have none. `carry` names further columns: `INTENDED`.
    """
    from pyspark.sql import functions as F

    reader = (
        spark.readStream.format("kafka")
        .options(**FETCH | topic.place.spark())
        .option("subscribe", topic.name)
        .option("startingOffsets", _offsets(topic, topic.base))
        .option("failOnDataLoss", "true")
    )
    if max_rows_per_batch is not None:
        reader = reader.option("maxOffsetsPerTrigger", max_rows_per_batch)
    read = with_fields(reader.load(), stream, parameters, topic.format)
    chosen = [*(F.col(field.name) for field in stream.fields), *(_carried(name) for name in carry)]
    if counted:
        records, malformed = F.count(F.lit(1)).alias("records"), F.count_if("is_malformed").alias("malformed")
        read = read.observe(METRICS, records, malformed)
    return read.where("NOT is_malformed").select(*chosen)


def _offsets(topic: Topic, ends: Mapping[int, int]) -> str:
    """Write offsets as Spark reads them."""
    return json.dumps({topic.name: {str(partition): offset for partition, offset in ends.items()}})


def _carried(name: str) -> "Column":
    """Return the intended time of an event, which is the time of its record."""
    from pyspark.sql import functions as F

    assert name == INTENDED
    return F.unix_micros(f"{RECORD}.timestamp").alias(INTENDED)


def with_fields(records: "DataFrame", stream: EventStream, parameters: Parameters, format: Format) -> "DataFrame":  # noqa: A002
    """Read the values of records: the events' fields, `is_malformed`, and the record itself in one column.

    Fields may have the names that Kafka has for parts of a record, such as `timestamp`.
    """
    from pyspark.sql import functions as F

    fields, is_broken, rows = (_from_json if format == "json" else _from_binary)(records, stream)
    needed = [fields[name].isNull() for name in never_null(stream, parameters)]
    malformed = is_broken
    for is_null in needed:
        malformed = malformed | is_null
    if stream.text is not None:
        text = F.col("value").cast("string") if format == "json" else F.lit(None).cast("string")
        fields[stream.text] = text
    names = [column for column in ("key", "timestamp", "partition", "offset") if column in records.columns]
    return rows.select(
        F.struct(*names, F.col("value").alias("raw")).alias(RECORD),
        *(fields[field.name].alias(field.name) for field in stream.fields),
        F.coalesce(malformed, F.lit(True)).alias("is_malformed"),
    )


def _from_json(records: "DataFrame", stream: EventStream) -> "tuple[dict[str, Column], Column, DataFrame]":
    from pyspark.sql import functions as F

    is_text = stream.text is not None
    types = {f.name: "string" if is_text or f.type == "timestamp" else f.type for f in record_fields(stream)}
    schema = ", ".join(f"`{name}` {type_}" for name, type_ in types.items())
    # As strict as other readers of JSON.
    strict = {"allowSingleQuotes": "false", "allowNonNumericNumbers": "false"}
    options = {"mode": "PERMISSIVE", "columnNameOfCorruptRecord": CORRUPT, **strict}
    parsed = F.from_json(F.col("value").cast("string"), f"{schema}, {CORRUPT} string", options)
    rows = records.withColumn("e", parsed)
    fields = {f.name: F.col("e").getField(f.name) for f in record_fields(stream)}
    for field in record_fields(stream):
        if field.type == "timestamp":
            fields[field.name] = _time(fields[field.name], is_text=is_text)
    return fields, F.col("e").isNull() | F.col(f"e.{CORRUPT}").isNotNull(), rows


def _time(text: "Column", *, is_text: bool) -> "Column":
    from pyspark.sql import functions as F

    if not is_text:
        return text.try_cast("timestamp")
    # A time that no timestamp can hold is malformed, and must not be an error.
    time_ms = text.try_cast("bigint")
    return F.timestamp_millis(F.when(time_ms.between(-MAX_TIME_MS, MAX_TIME_MS), time_ms))


def _from_binary(records: "DataFrame", stream: EventStream) -> "tuple[dict[str, Column], Column, DataFrame]":
    from pyspark.sql import functions as F

    layout = Layout.of(record_fields(stream))
    value = F.col("value")
    fields: dict[str, Column] = {}
    place = 2 + layout.null_bytes
    for field in layout.numbers:
        width = WIDTHS[field.type]
        fields[field.name] = _signed(value, place, width)
        place += width
    start: Column = F.lit(layout.header_bytes + 1)
    for field in layout.texts:
        length = _unsigned(value, place, 2).cast("int")
        fields[field.name] = F.substring(value, start, length).cast("string")
        start = start + length
        place += 2
    for index, field in enumerate(layout.fields):
        is_null = F.shiftright(_unsigned(value, 2 + index // 8, 1), index % 8).bitwiseAND(1) == 1
        typed = _typed(fields[field.name], field.type)
        fields[field.name] = F.when(~is_null, typed)
    is_whole = (F.length(value) >= layout.header_bytes) & (_unsigned(value, 1, 1) == VERSION)
    is_broken = ~F.coalesce(is_whole & (F.length(value) == start - 1), F.lit(False))
    return fields, is_broken, records


def _typed(column: "Column", type_: str) -> "Column":
    from pyspark.sql import functions as F

    if type_ == "timestamp":
        return F.timestamp_micros(column)
    return column if type_ in ("bigint", "string") else column.try_cast(type_)


def _unsigned(value: "Column", place: int, width: int) -> "Column":
    """Read a whole number without a sign of at most 4 bytes; null where the value ends before it."""
    from pyspark.sql import functions as F

    return F.conv(F.hex(F.substring(value, place, width)), 16, 10).try_cast("bigint")


def _signed(value: "Column", place: int, width: int) -> "Column":
    from pyspark.sql import functions as F

    high = _unsigned(value, place, 4)
    signed = F.when(high >= 2**31, high - 2**32).otherwise(high)
    return signed if width == 4 else signed * F.lit(2**32) + _unsigned(value, place + 4, 4)


def malformed_records(
    spark: "SparkSession", stream: EventStream, parameters: Parameters, topic: Topic, ends: Mapping[int, int]
) -> "pa.Table":
    """Return the records up to `ends` that cannot be read, raw, with their places; not more than can be looked at."""
    records = (
        spark.read.format("kafka")
        .options(**topic.place.spark())
        .option("subscribe", topic.name)
        .option("startingOffsets", _offsets(topic, topic.base))
        .option("endingOffsets", _offsets(topic, ends))
        .load()
    )
    read = with_fields(records, stream, parameters, topic.format).where("is_malformed")
    parts = (f"{RECORD}.{name}" for name in ("partition", "offset", "timestamp", "key", "raw"))
    kept = read.select(*parts).limit(MAX_MALFORMED_KEPT)
    return kept.toArrow()


def write_topic(df: "DataFrame", workload: Workload, place: KafkaPlace, topic: str) -> Any:
    """Return a writer of a query that puts each row as a JSON object into a topic, keyed by the workload's keys.

    At least once: a micro-batch that is repeated writes its rows again. Of rows with one key, the last one counts.
    """
    from pyspark.sql import functions as F

    names: Sequence[str] = workload.answer.keys or ()
    key = as_json(*names) if names else F.lit(None).cast("string")
    rows = df.select(key.alias("key"), as_json("*").alias("value"))
    return rows.writeStream.format("kafka").options(**place.spark()).option("topic", topic)


def as_json(*names: str) -> "Column":
    """Return columns as the text of one JSON object, times in microseconds."""
    from pyspark.sql import functions as F

    return F.to_json(F.struct(*names), TIMES)
