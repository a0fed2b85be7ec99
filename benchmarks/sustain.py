"""Does `sustain` find a capacity that is known? `make bench-sustain`.

Every row of the dataflow costs the same, and the capacity is measured without any streaming: how many rows per second
a plain batch job digests on the same cores, the fixed cost of a job left out. The search should end within 10 % of it.
A micro-batch has a fixed cost as well, a third of a second here, which is time without rows: with micro-batches of 3 s,
as by default, a query sustains about a tenth less than its rows alone would allow. Here micro-batches may hold the rows
of 8 s, so that the cost per row decides.
"""

import argparse
import sys
import tempfile
import time
from pathlib import Path
from statistics import median

import streamgauge as sg
from fixed_cost import build
from streamgauge.engine.spark.session import Session, SessionSettings, temporary_session
from streamgauge.engine.spark.source import with_events
from streamgauge.events import event_stream
from streamgauge.report.terminal.console import console, plain_table
from streamgauge.report.terminal.progress import progress_display
from streamgauge.units import format_rate

TOLERANCE = 0.1
SMALL, LARGE = 8_000, 80_000
ROUNDS = 5
ADMITTED_S = 8


def _job_s(session: Session, rows: int) -> float:
    from pyspark.sql import functions as F

    stream = event_stream("ysb")
    numbers = session.spark.range(0, rows, 1, session.cores).withColumnRenamed("id", "n")
    line = {"time_us": F.col("n"), "base": F.lit(0), "events": F.lit(rows), "segment_us": F.lit(0)}
    line |= {"span_us": F.lit(rows), "load_us": F.lit(0)}
    arrivals = numbers.select("n", *(value.cast("long").alias(name) for name, value in line.items()))
    digests = build(with_events(arrivals, stream, stream.parameters(), seed=1, fields=["ad_id"]))
    started_s = time.perf_counter()
    digests.write.format("noop").mode("overwrite").save()
    return time.perf_counter() - started_s


def batch_capacity_per_s(cores: int) -> float:
    """Return the rows per second of a batch job, the median of some rounds, the fixed cost of a job left out.

    Java has the options that it has in a probe.
    """
    with temporary_session(SessionSettings(f"local[{cores}]", {})) as session:
        _job_s(session, LARGE)
        return median((LARGE - SMALL) / (_job_s(session, LARGE) - _job_s(session, SMALL)) for _ in range(ROUNDS))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--within", default="10%")
    parser.add_argument("--budget", default="15min")
    options = parser.parse_args()
    before_per_s = batch_capacity_per_s(options.cores)
    with tempfile.TemporaryDirectory(prefix="streamgauge-") as runs, progress_display(quiet=False) as monitor:
        found = sg.sustain(
            f"{Path(__file__).parent / 'fixed_cost.py'}:build",
            cores=options.cores,
            within=options.within,
            budget=options.budget,
            max_rows_per_batch=round(ADMITTED_S * before_per_s),
            warmup="20s",
            duration="80s",
            runs=runs,
            monitor=monitor,
        )
    after_per_s = batch_capacity_per_s(options.cores)
    capacity_per_s = (before_per_s + after_per_s) / 2
    low, high = found.search.bracket.low_per_s, found.search.bracket.high_per_s
    table = plain_table()
    for name in ("batch job", "sustained from", "to", "middle / batch job", "holds"):
        table.add_column(name, justify="right")
    middle = (low * high) ** 0.5 if low and high else None
    ratio = middle / capacity_per_s if middle else None
    holds = ratio is not None and abs(ratio - 1) <= TOLERANCE
    table.add_row(
        f"{format_rate(before_per_s)}, {format_rate(after_per_s)}",
        format_rate(low) if low else "?",
        format_rate(high) if high else "?",
        f"{ratio:.3f}" if ratio else "?",
        "yes" if holds else "no",
    )
    out = console()
    out.print(f"{options.cores} cores, {len(found.search.probes)} probes; {found.search.reason}")
    out.print(table)
    sys.exit(0 if holds else 1)


if __name__ == "__main__":
    main()
