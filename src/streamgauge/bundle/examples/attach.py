"""A program of your own, measured from inside: `python -m streamgauge.bundle.examples.attach`.

It is any Spark program with a streaming query. The three lines marked with an arrow are all that streamgauge needs;
they may stand before or after the query is started. What it measures is enough to predict other loads.
It takes about a minute.
"""

import tempfile

from pyspark.sql import SparkSession
from pyspark.sql import functions as F

import streamgauge  # <-

spark = (
    SparkSession.builder.master("local[2]")
    .appName("temperatures")
    .config("spark.ui.enabled", "false")
    .config("spark.ui.showConsoleProgress", "false")
    .config("spark.sql.shuffle.partitions", "2")
    .getOrCreate()
)
spark.sparkContext.setLogLevel("OFF")
gauge = streamgauge.attach(spark)  # <-

readings = spark.readStream.format("rate").option("rowsPerSecond", 20_000).load()
hottest = (
    readings.withColumn("sensor", F.col("value") % 500)
    .withColumn("celsius", 15 + F.col("value") % 2000 / 100)
    .withWatermark("timestamp", "2 seconds")
    .groupBy("sensor", F.window("timestamp", "5 seconds"))
    .agg(F.max("celsius").alias("celsius"))
)
query = (
    hottest.writeStream.queryName("hottest")
    .format("noop")
    .outputMode("update")
    .option("checkpointLocation", tempfile.mkdtemp(prefix="temperatures-"))
    .trigger(processingTime="1 second")
    .start()
)
query.awaitTermination(40)
query.stop()

(run,) = gauge.detach()  # <-
print(f"{run.summary['processed_rate_per_s']:,.0f} rows/s, {run.summary['batch_duration_s']['mean']:.2f} s per batch")
batch = streamgauge.predict(run, rate="100k").batch_duration_s
print(f"at 100k rows/s it would be {batch.value:.2f} s, or {batch.low:.2f} to {batch.high:.2f}")
print(f"see `streamgauge runs show {run.run_id}` and `streamgauge report {run.run_id}`")
spark.stop()
