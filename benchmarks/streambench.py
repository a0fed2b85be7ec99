"""The directions that StreamBench's authors published for word counts, tested at 5 %: `make bench-streambench`.

Words that follow Zipf's law are fewer keys, so an engine that counts locally first is faster with them. Counts of
windows, which are dropped when the window ends, are faster than running counts. Two cores are faster than one.
The two sides of a comparison take turns over several rounds, in a session per round and number of cores; the test is
Mann and Whitney's, exact and one-sided.
"""

import argparse
import itertools
import statistics
import sys
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from run import Bench
from streamgauge.engine.spark.session import SessionSettings, open_session
from streamgauge.lookup import find_workload
from streamgauge.report.terminal.console import console, plain_table

LEVEL = 0.05
PLAIN, WINDOWED = "streambench-wordcount", "streambench-windowed-wordcount"
# Cores, workload, parameters.
SIDES: dict[str, tuple[int, str, dict[str, Any]]] = {
    "plain, uniform, 2 cores": (2, PLAIN, {}),
    "plain, uniform, 1 core": (1, PLAIN, {}),
    "windowed, uniform, 2 cores": (2, WINDOWED, {}),
    "windowed, Zipf, 2 cores": (2, WINDOWED, {"law": "zipf"}),
}
FASTER_THAN = (
    ("windowed, Zipf, 2 cores", "windowed, uniform, 2 cores"),
    ("windowed, uniform, 2 cores", "plain, uniform, 2 cores"),
    ("plain, uniform, 2 cores", "plain, uniform, 1 core"),
)


def _greater_pairs(ours: Sequence[float], theirs: Sequence[float]) -> float:
    return sum((a > b) + (a == b) / 2 for a in ours for b in theirs)


def p_value(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return the chance of ours being so much greater if both came from the same law."""
    found = _greater_pairs(ours, theirs)
    both = (*ours, *theirs)
    splits = [{*chosen} for chosen in itertools.combinations(range(len(both)), len(ours))]
    as_great = sum(
        _greater_pairs([both[k] for k in chosen], [both[k] for k in range(len(both)) if k not in chosen]) >= found
        for chosen in splits
    )
    return as_great / len(splits)


def _round(cores: int, options: argparse.Namespace) -> dict[str, float]:
    with tempfile.TemporaryDirectory(prefix="streamgauge-") as scratch:
        folder = Path(scratch)
        with open_session(SessionSettings(f"local[{cores}]", {}), scratch=folder, log=folder / "spark.log") as session:
            session.spark.conf.set("spark.sql.shuffle.partitions", str(cores))
            bench = Bench(session, folder, batch_events=options.batch_events, batches=options.batches)
            chosen = {side: values for side, values in SIDES.items() if values[0] == cores}

            def measure() -> dict[str, float]:
                return {
                    side: bench.workload(find_workload(name), rate_per_s=1e5, **values)
                    for side, (_, name, values) in chosen.items()
                }

            # The first time round Java is still compiling.
            measure()
            return measure()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--batch-events", type=int, default=500_000)
    parser.add_argument("--batches", type=int, default=4)
    parser.add_argument("--rounds", type=int, default=5)
    options = parser.parse_args()
    found: dict[str, list[float]] = defaultdict(list)
    for number in range(options.rounds):
        sys.stderr.write(f"round {number + 1} of {options.rounds}\n")
        for cores in (1, 2):
            for side, rate in _round(cores, options).items():
                found[side].append(rate)
    table = plain_table()
    for column in ("faster", "sentences/s", "slower", "sentences/s", "ratio", "p", f"at {LEVEL:.0%}"):
        table.add_column(column, justify="left" if column in ("faster", "slower") else "right")
    for ours, theirs in FASTER_THAN:
        mine, other = statistics.median(found[ours]), statistics.median(found[theirs])
        p = p_value(found[ours], found[theirs])
        verdict = "shown" if p <= LEVEL else "not shown"
        table.add_row(ours, f"{mine:,.0f}", theirs, f"{other:,.0f}", f"{mine / other:.2f}", f"{p:.3f}", verdict)
    print(f"{options.batch_events:,} sentences per micro-batch, {options.rounds} rounds")
    console().print(table)


if __name__ == "__main__":
    main()
