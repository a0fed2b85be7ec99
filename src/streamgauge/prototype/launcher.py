"""What an exported program has besides its application: its events, a Spark session and a command line.

Code lines have at most 88 characters, as in `runtime`.
"""

import argparse
from collections.abc import Mapping, Sequence

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.streaming import DataStreamWriter, StreamingQuery

from streamgauge.events.columns import draw, draw_key
from streamgauge.prototype.graph.values import ARRIVAL, DRAWS

# 2015-07-15: bounded runs have a fixed past.
START_US = 1_436_918_400_000_000
WEEK_US = 7 * 86_400 * 1_000_000
# Without a rate, times of events advance at this one.
OFFLINE_RATE_PER_S = 500_000


def arguments(description: str, rate: int) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description=description)
    add = parser.add_argument
    add("--rate", type=int, default=rate, help="events per second; 0: no limit")
    add("--duration", type=float, help="seconds; default: until stopped")
    add("--checkpoint", help="folder to resume from after a stop")
    add("--sink", choices=("noop", "console", "memory"), default="noop")
    add("--count", type=int, help="count what leaves, of that many events, and end")
    args = parser.parse_args()
    if args.rate < 0 or (args.count is not None and args.count < 1):
        parser.error("--rate must not be negative, and --count must be 1 or more")
    return args


def session(name: str, conf: Mapping[str, str]) -> SparkSession:
    """Start Spark, so that the parallelism of a task is its number of partitions."""
    # Whole stages become methods, longer than Java compiles by default. spark-submit
    # starts Java before this line: give it as --driver-java-options there.
    java = "-XX:-DontCompileHugeMethods"
    builder = SparkSession.builder.appName(name)
    builder = builder.config("spark.driver.extraJavaOptions", java)
    builder = builder.config("spark.executor.extraJavaOptions", java)
    for key, value in conf.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def numbers(
    spark: SparkSession,
    args: argparse.Namespace,
    partitions: int,
    peak: float,
) -> DataFrame:
    """Return the numbers of events, n, with their times, also in µs from the start.

    In a stream they come at `peak` times the mean rate.
    """
    source, n = spark.readStream, F.col("value")
    if args.count is None and args.rate:
        rows_per_s = round(args.rate * peak)
        stream = source.format("rate").option("rowsPerSecond", rows_per_s)
        t_us = F.floor(n * 1e6 / rows_per_s)
        timestamp = F.col("timestamp")
    else:
        # A bounded run is one micro-batch. Without a rate, one follows the other.
        rows = 100_000 if args.count is None else args.count + 1
        stream = source.format("rate-micro-batch").option("rowsPerBatch", rows)
        t_us = F.floor(n * 1e6 / (args.rate or OFFLINE_RATE_PER_S))
        if args.count is not None:
            # One more event, a week later, closes all windows.
            t_us = F.when(n < args.count, t_us).otherwise(t_us + WEEK_US)
        timestamp = F.timestamp_micros(F.lit(START_US) + t_us)
    events = stream.option("numPartitions", partitions).load()
    return events.select(n.alias("n"), t_us.alias("t_us"), timestamp.alias("timestamp"))


def arrive(
    events: DataFrame,
    seed: int,
    rates: Sequence[Column | float],
    peak_per_s: float,
) -> DataFrame:
    """Let as many events through as arrive at the rates of the sources."""
    drawn = draw(F.col("n"), draw_key(seed, ARRIVAL), DRAWS).cast("double")
    return events.where(drawn / float(DRAWS) * peak_per_s < sum(rates))


def count(results: DataFrame, args: argparse.Namespace, sinks: Sequence[str]) -> None:
    """Run to the end of the input, and print how many tuples leave each last task."""
    rows = dict.fromkeys(sinks, 0)

    def add(batch: DataFrame, _: int) -> None:
        # Without the event that closes all windows.
        kept = batch.where(F.col("id") < args.count)
        if "task" not in kept.columns:
            kept = kept.withColumn("task", F.lit(sinks[0]))
        for task, number in kept.groupBy("task").count().collect():
            rows[task] += number

    writer = results.writeStream.foreachBatch(add).trigger(availableNow=True)
    start(writer, args).awaitTermination()
    for task, number in rows.items():
        print(f"{task}: {number}")  # noqa: T201


def run(results: DataFrame, args: argparse.Namespace) -> None:
    """Run until the time is over, or until someone stops it."""
    query = start(results.writeStream.format(args.sink).queryName("results"), args)
    query.awaitTermination(args.duration)
    query.stop()
    if args.sink == "memory":
        print(f"{results.sparkSession.table('results').count()} tuples")  # noqa: T201


def start(writer: DataStreamWriter, args: argparse.Namespace) -> StreamingQuery:
    """Start the query, from its checkpoint where there is one."""
    if args.checkpoint:
        writer = writer.option("checkpointLocation", args.checkpoint)
    return writer.start()
