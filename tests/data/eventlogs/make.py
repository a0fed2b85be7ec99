"""Make the event logs of this folder: a plain PySpark application, with whichever Spark is installed.

    python make.py FOLDER [--forms]

It needs nothing of streamgauge. Two queries run beside each other, and a batch job that belongs to neither: `clicks`
counts rows in windows, with a trigger of two seconds; the other has no name, no shuffle and no trigger.
What no reader needs is cut out of the log: plans, paths, names of machines. The rest is as Spark wrote it.
With --forms the same log is also written rolled and compressed, by Spark's own codecs.
"""

import argparse
import gzip
import json
import sys
import tempfile
import time
from pathlib import Path

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

DEADLINE_S = 120.0
CLICKS, COPIES = 14, 6
SETTINGS = {
    "spark.ui.enabled": "false",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.memory": "1g",
    "spark.sql.shuffle.partitions": "3",
    "spark.sql.streaming.stateStore.maintenanceInterval": "1h",
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.eventLog.rolling.enabled": "false",
    # A name that sounds secret, with a value that must never be stored.
    "spark.sql.clickstream.password": "open-sesame",
}
EMPTIED = {
    "RDD Info", "Accumulables", "Details", "Classpath Entries", "Hadoop Properties", "Metrics Properties",
    "details", "physicalPlanDescription", "sparkPlanInfo", "modifiedConfigs", "jobTags",
}  # fmt: skip
LEFT_OUT = ("User", "Java Home")
KEPT_PROPERTIES = ("streaming.", "sql.streaming.", "spark.jobGroup.", "spark.job.desc", "spark.sql.shuffle.partitions")
KEPT_SYSTEM = ("os.name", "os.arch")


def session(folder: Path) -> SparkSession:
    """Start Spark with an event log."""
    builder = SparkSession.builder.master("local[2]").appName("clickstream")
    for name, value in SETTINGS.items():
        builder = builder.config(name, value)
    return builder.config("spark.eventLog.dir", folder.as_uri()).getOrCreate()


def start_clicks(spark: SparkSession, checkpoint: Path):
    """Start the query with a name, a shuffle and state."""
    source = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 2000).option("numPartitions", 2)
    rows = source.option("advanceMillisPerBatch", 1000).load().withWatermark("timestamp", "2 seconds")
    counted = rows.groupBy(F.window("timestamp", "5 seconds"), (F.col("value") % 7).alias("page")).count()
    writer = counted.writeStream.queryName("clicks").format("noop").outputMode("append")
    return writer.option("checkpointLocation", str(checkpoint / "clicks")).trigger(processingTime="2 seconds").start()


def start_copy(spark: SparkSession, checkpoint: Path):
    """Start the query without a name."""
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 500).option("numPartitions", 1).load()
    writer = rows.select((F.col("value") * 2).alias("doubled")).writeStream.format("noop")
    return writer.option("checkpointLocation", str(checkpoint / "copy")).start()


def wait(query, batches: int) -> None:
    """Wait until a query has reported this many micro-batches."""
    end_s = time.monotonic() + DEADLINE_S
    while query.lastProgress is None or query.lastProgress["batchId"] < batches - 1:
        if time.monotonic() > end_s or not query.isActive:
            sys.exit("the query did not come that far")
        time.sleep(0.05)


def run_application(spark: SparkSession, checkpoint: Path) -> None:
    """Run both queries, and a job that belongs to neither."""
    clicks = start_clicks(spark, checkpoint)
    wait(clicks, 1)
    copy = start_copy(spark, checkpoint)
    spark.range(1000).repartition(2).count()
    wait(copy, COPIES)
    copy.stop()
    wait(clicks, CLICKS)
    clicks.stop()


def trimmed(value, key: str = ""):
    """Return a part of an event without what is long, or tells where it was made."""
    if key in EMPTIED:
        return type(value)()
    if key == "Host":
        return "localhost"
    if key in ("Properties", "Spark Properties", "System Properties") and isinstance(value, dict):
        kept = {"Properties": KEPT_PROPERTIES, "System Properties": KEPT_SYSTEM}.get(
            key, (*SETTINGS, "spark.master", "spark.app.name", "spark.app.id")
        )
        return {name: text for name, text in value.items() if name.startswith(kept)}
    if isinstance(value, dict):
        return {name: trimmed(part, name) for name, part in value.items() if name not in LEFT_OUT}
    return [trimmed(part) for part in value] if isinstance(value, list) else value


def write_forms(spark: SparkSession, lines: list[bytes], folder: Path, name: str) -> None:
    """Write the log as Spark does when it is told to compress or to roll."""
    jvm, conf = spark.sparkContext._jvm, spark.sparkContext._jsc.sc().conf()
    half = len(lines) // 2
    rolled = folder / f"eventlog_v2_{name}"
    rolled.mkdir(exist_ok=True)
    (rolled / f"appstatus_{name}").touch()
    parts = [(folder / f"{name}.{codec}", codec, lines) for codec in ("lz4", "snappy")]
    parts += [(rolled / f"events_1_{name}.zstd", "zstd", lines[:half])]
    parts += [(rolled / f"events_2_{name}.zstd", "zstd", lines[half:])]
    for path, codec, chosen in parts:
        output = jvm.java.io.FileOutputStream(str(path))
        stream = jvm.org.apache.spark.io.CompressionCodec.createCodec(conf, codec).compressedContinuousOutputStream(
            output
        )
        # Spark flushes after most events.
        for start in range(0, len(chosen), 20):
            stream.write(bytearray(b"".join(chosen[start : start + 20])))
            stream.flush()
        stream.close()


def main() -> None:
    """Write the logs into a folder."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--forms", action="store_true")
    options = parser.parse_args()
    folder = options.folder.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix="clickstream-") as scratch:
        logs = Path(scratch) / "logs"
        logs.mkdir()
        spark = session(logs)
        spark.sparkContext.setLogLevel("OFF")
        version = spark.version
        run_application(spark, Path(scratch))
        spark.stop()
        (log,) = (path for path in logs.iterdir() if not path.name.startswith("."))
        documents = [trimmed(json.loads(line)) for line in log.read_text().splitlines()]
        lines = [json.dumps(document, separators=(",", ":")).encode() + b"\n" for document in documents]
        (folder / f"spark-{version}.gz").write_bytes(gzip.compress(b"".join(lines), mtime=0))
        if options.forms:
            again = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false").getOrCreate()
            write_forms(again, lines, folder, "local-1")
            again.stop()


if __name__ == "__main__":
    main()
