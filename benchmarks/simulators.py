"""How fast the simulators are: `make bench-simulators`.

Micro-batches of a query of three stages per second, and arrivals per second of one queue beside SimPy and Ciw, which
simulate the same queue in the same process, one after the other. Speeds are by the CPU time of this process, the
median of some rounds. The mean wait that each finds is shown with the one of the formula, so that nobody is fast and
wrong. SimPy and Ciw are installed by `pip install -r benchmarks/simulators.txt`; what is missing is left out.
"""

import argparse
import random
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from statistics import median

import numpy as np

from streamgauge.model import Noise, OutputCurve, QueryModel, Settings, StageModel, TaskCost, simulate
from streamgauge.model.query import PHASES
from streamgauge.model.queue import TupleGate, exponential, mmc_wait_s, simulate_queue
from streamgauge.report.terminal.console import console, plain_table
from streamgauge.units import format_count

LOAD = 0.8
BATCHES_PER_S = 20_000
ARRIVALS_PER_S = 5_000_000


@dataclass(frozen=True)
class Speed:
    """One line of the table: things per second, what they found, what they should find, and the floor."""

    what: str
    per_s: float
    found_s: float | None = None
    formula_s: float | None = None
    at_least: float | None = None

    @property
    def holds(self) -> bool:
        """Whether the floor is reached."""
        return self.at_least is None or self.per_s >= self.at_least


def timed(work: Callable[[int], tuple[int, float]], rounds: int) -> tuple[float, float]:
    """Return the things per second and the mean of what they found; the first round warms up."""
    speeds, found = [], []
    for seed in range(rounds + 1):
        started_s = time.process_time()
        number, value = work(seed)
        speeds.append(number / (time.process_time() - started_s))
        found.append(value)
    return median(speeds[1:]), float(np.mean(found[1:]))


def three_stages(rng: np.random.Generator, rows: int = 200) -> QueryModel:
    """Return a query whose micro-batches scatter as measured ones do."""
    phases_s = np.abs(rng.normal(0.012, 0.004, (rows, len(PHASES))))
    gaps_s = np.abs(rng.normal(0.010, 0.003, (rows, 3)))
    factors = np.exp(rng.normal(0.0, 0.15, (rows, 3)))
    noise = Noise(phases_s, gaps_s, factors / factors.mean(axis=0), np.zeros(rows, np.int64), (0.1, 0.1, 0.1))
    stages = (
        StageModel("source", "source", TaskCost(0.03, 0.01, 1e-6), output=OutputCurve(0.5, 10_000)),
        StageModel("count", "shuffle", TaskCost(0.02, 0.01, 3e-6), reads=(0,), after=(0,), output=OutputCurve(0.3)),
        StageModel("rank", "shuffle", TaskCost(0.02, 0.01, 4e-6), reads=(1,), after=(0, 1)),
    )
    return QueryModel(stages, noise, processors=2, background=0.2)


def micro_batches(partitions: int, replications: int, rounds: int) -> Speed:
    """Simulate and summarise runs of one minute."""
    query = three_stages(np.random.default_rng(1))
    settings = Settings(100_000.0, 2, shuffle_partitions=partitions)

    def work(seed: int) -> tuple[int, float]:
        done = simulate([query], settings, replications=replications, rng=np.random.default_rng(seed))
        return done.batches, float(done.latency_s((0.5, 0.95))[0].mean())

    per_s, latency_s = timed(work, rounds)
    return Speed(f"micro-batches, {partitions} partitions", per_s, latency_s, at_least=BATCHES_PER_S)


def ours(servers: int, arrivals: int, rounds: int) -> Speed:
    """Our queue."""

    def work(seed: int) -> tuple[int, float]:
        service = exponential(LOAD * servers)
        done = simulate_queue(exponential(1.0), service, arrivals, rng=np.random.default_rng(seed), servers=servers)
        return done.tuples, done.wait_s

    floor = ARRIVALS_PER_S if servers == 1 else None
    return Speed(f"streamgauge, {servers} servers", *timed(work, rounds), formula_s(servers), floor)


def ours_gated(arrivals: int, rounds: int) -> Speed:
    """Our queue behind a gate: the executor of Storm, whose exact mean is known for these numbers."""

    def work(seed: int) -> tuple[int, float]:
        gate = TupleGate(100, 1.0)
        rng = np.random.default_rng(seed)
        done = simulate_queue(exponential(0.2), exponential(0.1), arrivals, rng=rng, gate=gate)
        return done.tuples, done.wait_s

    # Less the mean service of 0.1, this is the sojourn of 1.75356 in the exact solution.
    return Speed("streamgauge, 1 server behind a gate", *timed(work, rounds), 1.65356, ARRIVALS_PER_S)


def simpy_queue(servers: int, arrivals: int, rounds: int) -> Speed:
    """SimPy: a process per customer, a resource with some servers."""
    import simpy

    def work(seed: int) -> tuple[int, float]:
        rng, waits = random.Random(seed), []

        def customer(environment, resource):  # type: ignore[no-untyped-def]
            arrived = environment.now
            with resource.request() as request:
                yield request
                waits.append(environment.now - arrived)
                yield environment.timeout(rng.expovariate(1 / (LOAD * servers)))

        def source(environment, resource):  # type: ignore[no-untyped-def]
            for _ in range(arrivals):
                yield environment.timeout(rng.expovariate(1.0))
                environment.process(customer(environment, resource))

        environment = simpy.Environment()
        environment.process(source(environment, simpy.Resource(environment, capacity=servers)))
        environment.run()
        return len(waits), float(np.mean(waits))

    return Speed(f"SimPy {simpy.__version__}, {servers} servers", *timed(work, rounds), formula_s(servers))


def ciw_queue(servers: int, arrivals: int, rounds: int) -> Speed:
    """Ciw: one node, until as many customers have finished."""
    import ciw

    def work(seed: int) -> tuple[int, float]:
        ciw.seed(seed)
        network = ciw.create_network(
            arrival_distributions=[ciw.dists.Exponential(1.0)],
            service_distributions=[ciw.dists.Exponential(1 / (LOAD * servers))],
            number_of_servers=[servers],
        )
        simulation = ciw.Simulation(network)
        simulation.simulate_until_max_customers(arrivals, method="Finish")
        records = simulation.get_all_records()
        return len(records), float(np.mean([record.waiting_time for record in records]))

    return Speed(f"Ciw {ciw.__version__}, {servers} servers", *timed(work, rounds), formula_s(servers))


def formula_s(servers: int) -> float:
    """Return the mean wait in M/M/c."""
    return mmc_wait_s(1.0, 1 / (LOAD * servers), servers)


def measure(options: argparse.Namespace) -> list[Speed]:
    """Run everything in turn."""
    lines = [micro_batches(partitions, options.replications, options.rounds) for partitions in (2, 16)]
    for servers in (1, 2):
        lines.append(ours(servers, options.arrivals, options.rounds))
        for name, compared in (("simpy", simpy_queue), ("ciw", ciw_queue)):
            if find_spec(name):
                lines.append(compared(servers, options.other_arrivals, options.rounds))
    return [*lines, ours_gated(options.arrivals, options.rounds)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--arrivals", type=int, default=5_000_000, help="of our queue")
    parser.add_argument("--other-arrivals", type=int, default=50_000, help="of the others'")
    parser.add_argument("--replications", type=int, default=256, help="runs of one minute that are simulated together")
    parser.add_argument("--rounds", type=int, default=3)
    lines = measure(parser.parse_args())
    table = plain_table()
    for name in ("simulated", "per second", "mean found", "formula", "at least", "holds"):
        table.add_column(name, justify="left" if name == "simulated" else "right")
    for line in lines:
        seconds = ["-" if value is None else f"{value:.4g} s" for value in (line.found_s, line.formula_s)]
        floor = "-" if line.at_least is None else format_count(line.at_least)
        holds = "-" if line.at_least is None else "yes" if line.holds else "NO"
        table.add_row(line.what, format_count(line.per_s), *seconds, floor, holds)
    console().print(table)
    sys.exit(0 if all(line.holds for line in lines) else 6)


if __name__ == "__main__":
    main()
