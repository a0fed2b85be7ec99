"""How often does a run get the wrong verdict? `make bench-verdicts`.

A simulated server takes a + c b seconds for a micro-batch of b events, times a log-normal factor with mean 1. Its
source is that of a run: it admits what there is, up to the limit of the embedded source. So is its judge.

The *load factor* is the mean rate that the last third of the measured time offers, by the capacity of the server. For a
law that repeats itself this is the mean of whole phases, however high its peaks are; for one that rises it is close to
where it ends. The capacity is the rate from which on the queue has no bound: 1 / c where micro-batches may grow
without end, and (T - a) / (T c) where the admission limit holds them to T seconds.
"""

import argparse
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass
from itertools import product

import numpy as np

from streamgauge.arrivals import Schedule, parse_law
from streamgauge.conclude.evidence import Evidence
from streamgauge.conclude.judgement import Judged, judge_run
from streamgauge.conclude.window import measured_part
from streamgauge.engine.admission import FIRST_ADMITTED, AdaptiveAdmission
from streamgauge.measure import Batch
from streamgauge.report.terminal.console import console, plain_table
from streamgauge.settings.run_settings import RunSettings
from streamgauge.verdict import Verdict

WARMUP_S, DURATION_S, DRAIN_S = 10.0, 60.0, 30.0
ORIGIN_US = 1_700_000_000_000_000
COMMIT_LOG_S = 0.01
# Laws of about a million events per second in the last third, multiplied by what the load factor asks for.
LAWS = {
    "constant": "constant(rate=1M)",
    "poisson": "poisson(rate=1M)",
    "ramp": "ramp(from=333k, to=1M, over=30s)",
    "steps": "steps(250k, 500k, 750k, 1M, each=10s)",
    "square": "square(low=500k, high=1.5M, phase=10s)",
    "burst": "burst(rate=360k, burst_rate=3.6M, interval=8s, duration=2s)",
    "sine": "sine(peak=2M, phase=10s)",
    "sawtooth": "sawtooth(peak=2M, phase=10s)",
    "reverse saw": "reverse-sawtooth(peak=2M, phase=10s)",
}
FACTORS = (0.8, 0.9, 0.95, 1.05, 1.1, 1.3, 2.0)
NOISES = (0.05, 0.25)


@dataclass(frozen=True)
class Server:
    """Takes `fixed_s` for a micro-batch and `per_event_s` for each of its events."""

    name: str
    per_event_s: float
    fixed_s: float = 0.2
    target_s: float = 3.0

    @property
    def capacity_per_s(self) -> float:
        """The rate from which on the queue has no bound."""
        is_held = self.per_event_s * FIRST_ADMITTED < self.target_s
        return (1 - self.fixed_s / self.target_s if is_held else 1.0) / self.per_event_s

    def serve(self, schedule: Schedule, noise: float, rng: np.random.Generator) -> Iterator[tuple[Batch, float]]:
        """Yield the micro-batches of a load and of the drain after it, each with the time of its tasks."""
        admission = AdaptiveAdmission(self.target_s, FIRST_ADMITTED)
        start_s, last, number, sigma = 0.2, 0, 0, float(np.sqrt(np.log1p(noise**2)))
        while last < schedule.total and start_s < schedule.end_us / 1e6 + DRAIN_S:
            first, created = last, int(schedule.created(round(start_s * 1e6)))
            if created == first:
                start_s += 0.01
                continue
            last = min(created, first + admission.allow(first, start_s))
            factor = float(rng.lognormal(-(sigma**2) / 2, sigma))
            end_s = start_s + (self.fixed_s + self.per_event_s * (last - first)) * factor
            yield (
                _batch(number, start_s, end_s, first, last, created - last),
                factor * self.per_event_s * (last - first),
            )
            start_s, number = end_s, number + 1


SERVERS = (Server("2k/s", 1 / 2000), Server("1M/s", 1e-6))


def _batch(number: int, start_s: float, end_s: float, first: int, last: int, left: int) -> Batch:
    at_us = [ORIGIN_US + round(t * 1e6) for t in (start_s, max(start_s, end_s - COMMIT_LOG_S), end_s)]
    return Batch(number, *at_us, first, last, left, {})


def scaled(law: str, factor: float, capacity_per_s: float) -> str:
    """Return a law that offers the load factor in the last third of the measured time."""
    from_s, until_s = WARMUP_S + DURATION_S * 2 / 3, WARMUP_S + DURATION_S
    mean_per_s = float(np.diff(parse_law(law, rate_per_s=1.0).integral([from_s, until_s]))[0]) / (until_s - from_s)
    return f"{law} * {factor * capacity_per_s / mean_per_s:.6g}"


def judged(server: Server, law: str, noise: float, seed: int) -> Judged:
    """Simulate a run under a law, and judge it as a run is judged."""
    settings = RunSettings(1.0, DURATION_S, arrivals=law, warmup_s=WARMUP_S, drain_s=DRAIN_S, seed=seed)
    schedule = settings.law.schedule(settings.load_s)
    served = list(server.serve(schedule, noise, np.random.default_rng(seed)))
    tasks_s = {batch.batch_id: time_s for batch, time_s in served}
    batches = [batch for batch, _ in served]
    evidence = Evidence(settings, schedule, ORIGIN_US, ORIGIN_US + schedule.end_us, batches, 2, "append")
    measured = measured_part(evidence)
    times_s = [tasks_s[batch.batch_id] for batch in measured.batches]
    return judge_run(evidence, measured, float(np.mean(times_s)) if times_s else None)


def verdicts(server: Server, law: str, factor: float, noise: float, seeds: Iterable[int]) -> Counter[Verdict]:
    """Count the verdicts of some runs."""
    text = scaled(LAWS[law], factor, server.capacity_per_s)
    return Counter(judged(server, text, noise, seed).verdict for seed in seeds)


def _cell(task: tuple[str, float, float, int]) -> Counter[Verdict]:
    law, noise, factor, runs = task
    found: Counter[Verdict] = Counter()
    for server in SERVERS:
        found += verdicts(server, law, factor, noise, range(runs))
    return found


def _shares(found: Counter[Verdict]) -> str:
    return "/".join(f"{100 * found[verdict] / found.total():.0f}" for verdict in Verdict)


def _wrong(cells: Sequence[Counter[Verdict]], verdict: Verdict) -> str:
    all_runs: Counter[Verdict] = sum(cells, Counter())
    worst = max(cell[verdict] / cell.total() for cell in cells)
    return f"{all_runs[verdict] / all_runs.total():.2%} of all runs, {worst:.0%} of those of one law and noise"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=50, help="runs of each law, load factor, noise and server")
    parser.add_argument("--processes", type=int, default=2)
    chosen = parser.parse_args()
    rows = list(product(LAWS, NOISES))
    with ProcessPoolExecutor(chosen.processes) as pool:
        tasks = [(law, noise, factor, chosen.runs) for law, noise in rows for factor in FACTORS]
        cells = list(pool.map(_cell, tasks))
    table = plain_table()
    for title in ("law", "noise", *(f"{factor:g}" for factor in FACTORS)):
        table.add_column(title, justify="left" if title == "law" else "right")
    for k, (law, noise) in enumerate(rows):
        table.add_row(law, f"{noise:.0%}", *map(_shares, cells[k * len(FACTORS) : (k + 1) * len(FACTORS)]))
    out = console()
    names = " and ".join(server.name for server in SERVERS)
    order = "/".join(verdict.value for verdict in Verdict)
    out.print(
        f"{order} in % of {chosen.runs} runs of {DURATION_S:.0f} s on each of two servers, {names}, by load factor"
    )
    out.print(table)
    by_factor = {factor: [c for t, c in zip(tasks, cells, strict=True) if t[2] == factor] for factor in FACTORS}
    above = [cell for factor, found in by_factor.items() if factor >= 1.1 for cell in found]
    out.print(f"false pass at 1.1 and above: {_wrong(above, Verdict.PASS)}")
    out.print(f"false fail at 0.8: {_wrong(by_factor[0.8], Verdict.FAIL)}")


if __name__ == "__main__":
    main()
