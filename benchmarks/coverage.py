"""How often does a 90 % interval of `predict` hold what a new run measures? `make bench-coverage`.

A made-up query whose costs are known runs on machines on which no two runs are equally fast: the pace of a run is
log-normal. Some runs are made and read as stored ones are, the model is fitted to them, and one more run is predicted
and made. The processed rate is that of an overload with a fixed admission limit: one that is sustained is known anyway.
"""

import argparse
import sys
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path

from streamgauge.report.terminal.console import console, plain_table

sys.path.insert(0, str(Path(__file__).parent.parent / "tests"))

from model.new_runs import NewRun, new_run

RUNS = (1, 2, 3, 5)
SCATTER = 0.06
LOAD = {"duration_s": 30.0, "warmup_s": 5.0}
KNOWN = LOAD | {"rate_per_s": 100_000.0}
OVERLOAD = LOAD | {"rate_per_s": 400_000.0, "max_rows_per_batch": 40_000}
CASES = {
    "the same": KNOWN,
    "rate doubled": KNOWN | {"rate_per_s": 200_000.0},
    "rate doubled, trigger 2 s": KNOWN | {"rate_per_s": 200_000.0, "trigger_s": 2.0},
    "overload": OVERLOAD,
}
NAMES = ("latency mean", "latency p95", "batch duration", "processed rate", "sustainable rate")


def drawn(seed: int, runs: int, scatter: float, case: str) -> NewRun:
    return new_run(seed, runs=runs, scatter=scatter, known=KNOWN, asked=CASES[case], draws=20, replications=60)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--scatter", type=float, default=SCATTER)
    parser.add_argument("--first-seed", type=int, default=0, help="tests use 0 to 199")
    parser.add_argument("--cases", nargs="+", default=list(CASES), choices=list(CASES))
    parser.add_argument("--processes", type=int, default=2)
    chosen = parser.parse_args()
    seeds = range(chosen.first_seed, chosen.first_seed + chosen.draws)
    table = plain_table()
    for title in ("asked for", "measured runs", *NAMES):
        table.add_column(title, justify="left" if title == "asked for" else "right")
    with ProcessPoolExecutor(chosen.processes) as pool:
        for case in chosen.cases:
            for runs in RUNS:
                made = partial(drawn, runs=runs, scatter=chosen.scatter, case=case)
                found = list(pool.map(made, seeds, chunksize=5))
                shares = [share(found, name) if shows(case, name) else "" for name in NAMES]
                table.add_row(case, str(runs), *shares)
                print(case, runs, *shares, file=sys.stderr)
    out = console()
    out.print(
        f"{chosen.draws} draws each, runs differ by {chosen.scatter:.0%}: percent of new runs in the 90 % interval"
    )
    out.print(table)


def shows(case: str, name: str) -> bool:
    return name == "sustainable rate" or (name == "processed rate") == (case == "overload")


def share(found: list[NewRun], name: str) -> str:
    return f"{100 * sum(new.holds(name) for new in found) / len(found):.0f}"


if __name__ == "__main__":
    main()
