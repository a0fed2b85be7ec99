"""What watching an application costs it: the same query with and without `attach`, in turns, in one application.

python benchmarks/attach_overhead.py [--turns 6] [--batches 25]
"""

import argparse
import tempfile
import time
from pathlib import Path

import numpy as np
from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import streamgauge


def measure(query, batches: int) -> list[float]:
    """Return the durations of the next micro-batches in seconds."""
    first = query.lastProgress["batchId"] + 2
    while query.lastProgress["batchId"] < first + batches:
        time.sleep(0.05)
    recent = [p for p in query.recentProgress if first <= p["batchId"] < first + batches]
    return [p["durationMs"]["triggerExecution"] / 1000 for p in recent]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--turns", type=int, default=6)
    parser.add_argument("--batches", type=int, default=25)
    options = parser.parse_args()
    spark = (
        SparkSession.builder.master("local[2]")
        .config("spark.ui.enabled", "false")
        .config("spark.ui.showConsoleProgress", "false")
        .config("spark.sql.shuffle.partitions", "4")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("OFF")
    rows = spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 200_000).option("numPartitions", 4).load()
    counted = rows.groupBy((F.col("value") % 1000).alias("key")).agg(F.count("*"), F.max("timestamp"))
    with tempfile.TemporaryDirectory() as folder:
        checkpoint = str(Path(folder) / "checkpoint")
        query = counted.writeStream.format("noop").outputMode("update").option("checkpointLocation", checkpoint).start()
        while query.lastProgress is None or query.lastProgress["batchId"] < 40:
            time.sleep(0.1)
        ratios, plain_s, watched_s = [], [], []
        for _ in range(options.turns):
            plain = measure(query, options.batches)
            started_s = time.perf_counter()
            gauge = streamgauge.attach(spark, runs=folder)
            attached_s = time.perf_counter() - started_s
            watched = measure(query, options.batches)
            started_s = time.perf_counter()
            gauge.detach()
            detached_s = time.perf_counter() - started_s
            ratios.append(float(np.median(watched) / np.median(plain)))
            plain_s += plain
            watched_s += watched
            print(
                f"median {np.median(plain):.3f} s without, {np.median(watched):.3f} s with: {ratios[-1] - 1:+.1%}; "
                f"attach took {attached_s:.2f} s, detach {detached_s:.2f} s"
            )
        query.stop()
    error = np.std(ratios, ddof=1) / np.sqrt(len(ratios))
    print(f"{np.median(plain_s):.3f} s without, {np.median(watched_s):.3f} s with")
    print(f"a micro-batch takes {np.mean(ratios) - 1:+.1%} with attach, standard error {error:.1%}")
    spark.stop()


if __name__ == "__main__":
    main()
