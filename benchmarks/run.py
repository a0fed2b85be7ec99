"""Speed claims, each a ratio of two things measured side by side: `make bench` prints the table.

The two sides of a claim take turns in one Spark session, several rounds each, with the same cores and the same events
per micro-batch. A side's throughput in a round is the events of its micro-batches by their trigger time, without the
first ones of each query. The ratio is that of the medians over the rounds; the spread shows how far rounds differ.
Micro-batches are large, so that the fixed cost of a trigger, which both sides share, does not hide the difference.
"""

import argparse
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from streamgauge.arrivals import Constant
from streamgauge.clock import SystemClock
from streamgauge.engine.spark.gate import Gate
from streamgauge.engine.spark.generator import fields_read
from streamgauge.engine.spark.listener import ProgressListener, add_listener
from streamgauge.engine.spark.session import Session, SessionSettings, open_session
from streamgauge.engine.spark.source import read_events
from streamgauge.events import EventStream, Field, Parameters, event_stream
from streamgauge.events.identifiers import identifier_array
from streamgauge.lookup import find_workload
from streamgauge.machine.resources import ResourceSampler
from streamgauge.measure import batch_from_progress
from streamgauge.report.terminal.console import console, plain_table
from streamgauge.running.verify import BASE_TIME_US
from streamgauge.workloads import Workload

SKIPPED = 2
BID_NUMBERS = ("auction", "bidder", "price", "date_time")
DEADLINE_S = 300.0

NUMBERS = EventStream(
    name="numbers",
    summary="the event number and its time, nothing else",
    fields=(Field("value", "bigint", "event number"), Field("timestamp", "timestamp", "creation time")),
    parameters=Parameters,
    frame=lambda rows, _p, _seed, _wanted: rows.select(
        F.col("n").alias("value"), F.timestamp_micros("time_us").alias("timestamp")
    ),
    arrays=lambda _p, _seed, arrivals: {"value": arrivals.n, "timestamp": arrivals.time_us},
)


@dataclass(frozen=True)
class Claim:
    """Two sides and the ratio that the first must reach against the second; None where it is only told."""

    name: str
    ours: Callable[[], float]
    theirs: Callable[[], float]
    at_least: float | None


class Bench:
    """Runs fixed numbers of micro-batches of a fixed size."""

    def __init__(self, session: Session, folder: Path, *, batch_events: int, batches: int) -> None:
        self.session = session
        self.folder = folder
        self.batch_events = batch_events
        self.batches = batches
        self.runs = 0

    def _fresh(self) -> Path:
        self.runs += 1
        path = self.folder / f"run-{self.runs}"
        path.mkdir()
        return path

    def embedded(
        self,
        stream: EventStream,
        parameters: Parameters,
        *,
        rate_per_s: float = 1e6,
        fields: Sequence[str] | None = None,
    ) -> DataFrame:
        control = self._fresh()
        total = self.batch_events * (self.batches + SKIPPED)
        Constant(rate_per_s).schedule(total / rate_per_s).save(control / "schedule.npy")
        Gate(BASE_TIME_US).write(control)
        return read_events(
            self.session.spark,
            stream,
            parameters,
            seed=1,
            control=control,
            source_partitions=self.session.cores,
            max_rows_per_batch=self.batch_events,
            fields=fields,
        )

    def workload(self, workload: Workload, *, rate_per_s: float = 1e6, **values: Any) -> float:
        """Return the events per second of a workload; parameters that are not given have their defaults."""
        parameters = workload.parameters(**values)
        fields = fields_read(self.session, workload, parameters, self._fresh())
        df = self.embedded(workload.events, parameters, rate_per_s=rate_per_s, fields=fields)
        with self.session.with_conf(workload.rules.conf):
            return self.throughput(workload.build(df, parameters, 1), mode=workload.output_mode(parameters) or "append")

    def rate_micro_batch(self) -> DataFrame:
        return (
            self.session.spark.readStream.format("rate-micro-batch")
            .option("rowsPerBatch", self.batch_events)
            .option("numPartitions", self.session.cores)
            .option("advanceMillisPerBatch", 1000)
            .option("startTimestamp", BASE_TIME_US // 1000)
            .load()
        )

    def throughput(self, df: DataFrame, *, mode: str) -> float:
        """Return the events per second of the query's micro-batches after the first ones."""
        wanted = self.batches + SKIPPED
        query = (
            df.writeStream.format("noop")
            .outputMode(mode)
            .option("checkpointLocation", str(self._fresh()))
            .trigger(processingTime="0 seconds")
            .start()
        )
        try:
            durations_ms = self._durations_ms(query, wanted)
        finally:
            query.stop()
        kept = durations_ms[SKIPPED:wanted]
        return self.batch_events * len(kept) / (sum(kept) / 1000)

    def _durations_ms(self, query: Any, wanted: int) -> list[int]:
        end_s = time.monotonic() + DEADLINE_S
        while time.monotonic() < end_s:
            progress = [json.loads(p) for p in _progress_documents(query)]
            durations = [p["durationMs"]["triggerExecution"] for p in progress if p["numInputRows"]]
            if len(durations) >= wanted:
                return durations
            if not query.isActive:
                raise RuntimeError(f"the query ended early: {query.exception()}")
            time.sleep(0.5)
        raise TimeoutError(f"{wanted} micro-batches did not finish in {DEADLINE_S:.0f} s")


def _progress_documents(query: Any) -> list[str]:
    return [progress.json() for progress in query._jsq.recentProgress()]


@contextmanager
def _measuring(session: Session, *, on: bool) -> Iterator[None]:
    """Switch everything that a run collects on or off: event log, progress listener, resource sampler."""
    spark = session.spark.sparkContext._jsc.sc()
    logger = spark.eventLogger().get()
    if not on:
        spark.listenerBus().removeListener(logger)
        yield
        spark.listenerBus().addToEventLogQueue(logger)
        return
    remove = add_listener(session.spark, ProgressListener(batch_from_progress))
    sampler = ResourceSampler(session.process.pid, SystemClock())
    sampler.start()
    yield
    sampler.stop()
    remove()


def hand_written_ysb(events: DataFrame) -> DataFrame:
    """YSB as one would write it by hand over a source of numbers and timestamps."""
    ads = identifier_array("ad", np.arange(1000)).tolist()
    table = events.sparkSession.createDataFrame(
        [(ad, f"campaign {index // 10}") for index, ad in enumerate(ads)], "ad_id string, campaign_id string"
    )
    typed = events.select(
        F.element_at(F.array(*map(F.lit, ads)), (F.col("value") % 1000 + 1).cast("int")).alias("ad_id"),
        F.element_at(F.array(*map(F.lit, ("view", "click", "purchase"))), (F.col("value") % 3 + 1).cast("int")).alias(
            "event_type"
        ),
        F.col("timestamp").alias("event_time"),
    )
    views = typed.where(F.col("event_type") == "view").withWatermark("event_time", "0 seconds")
    joined = views.join(F.broadcast(table), "ad_id")
    return joined.groupBy("campaign_id", F.window("event_time", "10 seconds")).count()


def _measured(bench: Bench, df: Callable[[], DataFrame], mode: str, *, on: bool) -> float:
    with _measuring(bench.session, on=on):
        return bench.throughput(df(), mode=mode)


def _bids(bench: Bench, fields: Sequence[str]) -> DataFrame:
    stream = event_stream("nexmark")
    events = bench.embedded(stream, stream.parameters(), fields=("event_type", *fields))
    return events.where("event_type = 2").select(*fields)


def claims(bench: Bench) -> list[Claim]:
    ysb = find_workload("ysb")
    numbers = NUMBERS.parameters()

    def our_ysb() -> DataFrame:
        return ysb.dataflow(bench.embedded(ysb.events, ysb.parameters()), ysb.parameters())

    return [
        Claim(
            "embedded source / rate-micro-batch, no-op query",
            lambda: _measured(bench, lambda: bench.embedded(NUMBERS, numbers), "append", on=False),
            lambda: _measured(bench, bench.rate_micro_batch, "append", on=False),
            1.0,
        ),
        Claim(
            "ysb / hand-written YSB over rate-micro-batch",
            lambda: _measured(bench, our_ysb, "update", on=False),
            lambda: _measured(bench, lambda: hand_written_ysb(bench.rate_micro_batch()), "update", on=False),
            1.0,
        ),
        Claim(
            "nexmark bids, all numbers / rate-micro-batch",
            lambda: _measured(bench, lambda: _bids(bench, BID_NUMBERS), "append", on=False),
            lambda: _measured(bench, bench.rate_micro_batch, "append", on=False),
            0.35,
        ),
        Claim(
            "nexmark bids with extra / rate-micro-batch",
            lambda: _measured(bench, lambda: _bids(bench, (*BID_NUMBERS, "extra")), "append", on=False),
            lambda: _measured(bench, bench.rate_micro_batch, "append", on=False),
            None,
        ),
        Claim(
            "ysb with measurement on / off",
            lambda: _measured(bench, our_ysb, "update", on=True),
            lambda: _measured(bench, our_ysb, "update", on=False),
            0.97,
        ),
    ]


def _tell(text: str) -> None:
    sys.stderr.write(f"{text}\n")
    sys.stderr.flush()


def _run(claim: Claim, rounds: int) -> tuple[list[float], list[float]]:
    ours, theirs = [], []
    for number in range(rounds):
        _tell(f"{claim.name}: round {number + 1} of {rounds}")
        # Sides take turns in going first, so that neither always meets the warmer machine.
        for side, results in ((claim.ours, ours), (claim.theirs, theirs))[:: 1 if number % 2 else -1]:
            results.append(side())
    return ours, theirs


def _judgement(claim: Claim, ratio: float) -> tuple[str, str]:
    if claim.at_least is None:
        return "-", "-"
    return f"{claim.at_least}", "yes" if ratio >= claim.at_least else "no"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch-events", type=int, default=10_000_000)
    parser.add_argument("--batches", type=int, default=5)
    parser.add_argument("--rounds", type=int, default=4)
    parser.add_argument("--cores", type=int, default=2)
    options = parser.parse_args()
    table = plain_table()
    for column in ("claim", "ours", "theirs", "ratio", "rounds", "at least", "holds"):
        table.add_column(column)
    with tempfile.TemporaryDirectory(prefix="streamgauge-") as scratch:
        folder = Path(scratch)
        settings = SessionSettings(f"local[{options.cores}]", {})
        with open_session(settings, scratch=folder, log=folder / "spark.log") as session:
            session.spark.conf.set("spark.sql.shuffle.partitions", str(options.cores))
            bench = Bench(session, folder, batch_events=options.batch_events, batches=options.batches)
            for claim in claims(bench):
                ours, theirs = _run(claim, options.rounds)
                ratios = sorted(a / b for a, b in zip(ours, theirs, strict=True))
                ratio = statistics.median(ours) / statistics.median(theirs)
                table.add_row(
                    claim.name,
                    f"{statistics.median(ours) / 1e6:.2f}M/s",
                    f"{statistics.median(theirs) / 1e6:.2f}M/s",
                    f"{ratio:.3f}",
                    f"{ratios[0]:.2f}..{ratios[-1]:.2f}",
                    *_judgement(claim, ratio),
                )
    print(f"{options.cores} cores, {options.batch_events:,} events per micro-batch, {options.rounds} rounds")
    console().print(table)


if __name__ == "__main__":
    main()
