"""How often do both ends of a search hold when they are run again? `make bench-search`.

A machine that others use is now faster and now slower, so a query has another capacity in every run. Here the capacity
of a run is log-normal around a known one and scatters less the longer the run is, as the mean of slow and fast moments
does; runs close to their capacity get any verdict, and runs below it tell too little of it. A search has the time of
`sustain --within 10% --budget 8min` and probes as long as its; its ends are then run again for three times as long.
"""

import argparse
import math
import random
from dataclasses import dataclass

from streamgauge.experiment.search import Outcome, Probe, Search, SearchSettings
from streamgauge.experiment.sustain import DURATION, WARMUP
from streamgauge.report.console import console, plain_table
from streamgauge.report.search import AGAIN_TIMES
from streamgauge.units import parse_duration
from streamgauge.verdict import Verdict

CAPACITY_PER_S = 1e6
MEASURED_S, RISING_S = parse_duration(DURATION), parse_duration(WARMUP)
# What `ysb` takes on two cores: starting Spark and the query for every probe, and the offline load before them.
STARTING_S, BUDGET_S = 17.0, 425.0
# An offline load tells a little less than the capacity.
GUESS, GUESS_SCATTER = 0.95, 0.08
# Where the rate is this close to the capacity of the run, its verdict is a matter of chance.
BORDER = 0.012


@dataclass
class Machine:
    """A machine on which runs of a minute scatter by `scatter`."""

    scatter: float
    rng: random.Random

    def capacity_per_s(self, seconds: float) -> float:
        return CAPACITY_PER_S * math.exp(self.rng.gauss(0, self.scatter * math.sqrt(60 / seconds)))

    def probe(self, rate_per_s: float) -> Probe:
        capacity_per_s = self.capacity_per_s(MEASURED_S)
        above = math.log(rate_per_s / capacity_per_s)
        clear = Verdict.PASS if above < 0 else Verdict.FAIL
        verdict = clear if abs(above) > BORDER else self.rng.choice(list(Verdict))
        told = capacity_per_s * math.exp(0.3 * min(0.0, above + 0.03) + self.rng.gauss(0, 0.015))
        return Probe(rate_per_s, verdict, STARTING_S + RISING_S + MEASURED_S, capacity_per_s=told)


def searched(machine: Machine) -> Search:
    """Make a search on a machine."""
    expected = CAPACITY_PER_S * GUESS * math.exp(machine.rng.gauss(0, GUESS_SCATTER))
    search = Search(
        SearchSettings(
            1000.0, within=0.1, confirm=True, budget_s=BUDGET_S, probe_s=RISING_S + MEASURED_S, expected_per_s=expected
        )
    )
    while (rate_per_s := search.next_rate()) is not None:
        search.add(machine.probe(rate_per_s))
    return search


def holds(search: Search, machine: Machine) -> bool:
    """Run both ends again."""
    low, high = search.bracket.low_per_s, search.bracket.high_per_s
    assert low is not None
    assert high is not None
    seconds = AGAIN_TIMES * MEASURED_S
    return low < machine.capacity_per_s(seconds) and high > machine.capacity_per_s(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--searches", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    table = plain_table()
    for title in ("a minute scatters by", "probes", "answer in time", "answer whose ends hold"):
        table.add_column(title, justify="right")
    for scatter in (0.01, 0.02, 0.03, 0.04, 0.05):
        machine = Machine(scatter, random.Random(chosen.seed))
        made = [searched(machine) for _ in range(chosen.searches)]
        precise = [search for search in made if search.outcome is Outcome.PRECISE]
        held = sum(holds(search, machine) for search in precise)
        probes = sum(len(search.probes) for search in made) / len(made)
        shares = (f"{count / len(made):.0%}" for count in (len(precise), held))
        table.add_row(f"{scatter:.0%}", f"{probes:.1f}", *shares)
    out = console()
    out.print(f"{chosen.searches} simulated searches each, within 10 %, 8 min")
    out.print(table)


if __name__ == "__main__":
    main()
