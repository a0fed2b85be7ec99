"""Throughput of every NEXMark query with micro-batches of a fixed size; `--flink` runs Apache Flink on the same.

Event times advance at 100,000 events per second, whatever the speed. A query's throughput is the events of its
micro-batches by their trigger time, without the first two. With `--flink` each query runs in Flink's SQL too, over the
same number of the same events on the same cores, one engine after the other in the same session; see `flink/run.py`
for how it is measured there.
"""

import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from run import SKIPPED, Bench
from streamgauge.engine.spark.session import SessionSettings, open_session
from streamgauge.lookup import find_workload, find_workloads
from streamgauge.report.terminal.console import console, plain_table

HERE = Path(__file__).resolve().parent
RATE_PER_S = 100_000.0
# The same for both engines: queries without bounds keep up to 20 million bids.
HEAP = "12g"
COLLECTOR = "-XX:+UseParallelGC"
IN_FLINK = ("q0", "q1", "q2", "q3", "q5", "q7", "q8", "q11", "q17", "q18", "q20", "q21", "q22")


def _ours(query: str, options: argparse.Namespace) -> float:
    """Run one query in a session of its own, as Flink's runs in a cluster of its own."""
    with tempfile.TemporaryDirectory(prefix="streamgauge-") as scratch:
        folder = Path(scratch)
        conf = {"spark.driver.memory": HEAP, "spark.driver.defaultJavaOptions": COLLECTOR}
        settings = SessionSettings(f"local[{options.cores}]", conf)
        with open_session(settings, scratch=folder, log=folder / "spark.log") as session:
            session.spark.conf.set("spark.sql.shuffle.partitions", str(options.cores))
            bench = Bench(session, folder, batch_events=options.batch_events, batches=options.batches)
            return bench.workload(find_workload(f"nexmark-{query}"), rate_per_s=RATE_PER_S)


def _flink(query: str, options: argparse.Namespace) -> dict[str, Any]:
    events = options.batch_events * (options.batches + SKIPPED)
    size = ["--count", events, "--rate", int(RATE_PER_S), "--cores", options.cores, "--heap", HEAP]
    command = [sys.executable, HERE / "flink" / "run.py", "--queries", query, *size, "--json"]
    done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"Flink failed on {query}: {done.stderr[-2000:]}")
    (result,) = json.loads(done.stdout)["results"]
    return dict(result)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch-events", type=int, default=4_000_000)
    parser.add_argument("--batches", type=int, default=3)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--queries", default="", help="e.g. q0,q5; all by default")
    parser.add_argument("--flink", action="store_true", help="run Apache Flink beside")
    options = parser.parse_args()
    every = [workload.name.removeprefix("nexmark-") for workload in find_workloads("nexmark")]
    chosen = options.queries.split(",") if options.queries else [q for q in every if not options.flink or q in IN_FLINK]
    table = plain_table()
    columns = ["query", "events/s", "events/s per core"] + (["Flink events/s", "ratio"] if options.flink else [])
    for column in columns:
        table.add_column(column, justify="left" if column == "query" else "right")
    for query in chosen:
        sys.stderr.write(f"{query}\n")
        ours = _ours(query, options)
        row = [query, f"{ours:,.0f}", f"{ours / options.cores:,.0f}"]
        if options.flink:
            theirs = float(_flink(query, options)["steady_events_per_s"])
            row += [f"{theirs:,.0f}", f"{ours / theirs:.2f}"]
        table.add_row(*row)
        sys.stderr.write("  ".join(row) + "\n")
    total = options.batch_events * (options.batches + SKIPPED)
    print(f"{options.cores} cores, {total:,} events in micro-batches of {options.batch_events:,}")
    console().print(table)


if __name__ == "__main__":
    main()
