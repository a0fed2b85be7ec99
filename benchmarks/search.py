"""How often do both ends of a search hold when they are run again, and how often its interval the true capacity?

`make bench-search`.

A machine that others use is now faster and now slower, so a query has another capacity in every run. Here the capacity
of a run is log-normal around a known one and scatters less the longer the run is, as the mean of slow and fast moments
does; runs close to their capacity get any verdict, and runs below it tell too little of it. A search has the time of
`sustain --within 10% --budget 8min` and probes as long as its; its ends are then run again for three times as long.
The probability that `sustain` prints is compared with how often the interval holds the true capacity.
"""

import argparse
import math
import random
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from streamgauge.measure.search import Outcome, Probe, Search, SearchSettings
from streamgauge.report.terminal.console import console, plain_table
from streamgauge.report.terminal.search import AGAIN_TIMES
from streamgauge.settings.table import SETTINGS
from streamgauge.units import parse_duration
from streamgauge.verdict import Verdict

CAPACITY_PER_S = 1e6
MEASURED_S, RISING_S = (parse_duration(str(SETTINGS[name].usual["sustain"])) for name in ("duration", "warmup"))
# What `ysb` takes on two cores: starting Spark and the query for every probe, and the offline load before them.
STARTING_S, BUDGET_S = 17.0, 425.0
# An offline load tells a little less than the capacity.
GUESS, GUESS_SCATTER = 0.95, 0.08
# Where the rate is this close to the capacity of the run, its verdict is a matter of chance.
BORDER = 0.012
SCATTERS = (0.01, 0.02, 0.03, 0.04, 0.05, 0.08)
BORDERS = (0.0, 0.25, 0.5, 0.7, 0.8, 0.9, 0.95, 1.01)


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


def is_inside(search: Search) -> bool:
    """Return whether the interval holds the true capacity."""
    low, high = search.bracket.low_per_s, search.bracket.high_per_s
    return low is not None and high is not None and low < CAPACITY_PER_S < high


def _share(outcomes: Sequence[bool | float]) -> str:
    return f"{sum(outcomes) / len(outcomes):.0%}" if outcomes else "-"


def _row(searches: Sequence[Search], machine: Machine) -> list[str]:
    precise = [search for search in searches if search.outcome is Outcome.PRECISE]
    told = [search for search in precise if search.interval_probability is not None]
    return [
        f"{sum(len(search.probes) for search in searches) / len(searches):.1f}",
        f"{len(precise) / len(searches):.0%}",
        f"{sum(holds(search, machine) for search in precise) / len(searches):.0%}",
        f"{len(told) / len(precise):.0%}",
        _share([search.interval_probability or 0.0 for search in told]),
        _share([is_inside(search) for search in told]),
    ]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--searches", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=1)
    chosen = parser.parse_args()
    titles = ("scatter", "probes", "in time", "ends hold", "has probability", "printed", "holds capacity")
    table, made = plain_table(), []
    for title in titles:
        table.add_column(title, justify="right")
    for scatter in SCATTERS:
        machine = Machine(scatter, random.Random(chosen.seed))
        searches = [searched(machine) for _ in range(chosen.searches)]
        table.add_row(f"{scatter:.0%}", *_row(searches, machine))
        made += [search for search in searches if search.outcome is Outcome.PRECISE]
    out = console()
    out.print(f"{chosen.searches} simulated searches each, within 10 %, 8 min")
    out.print(table)
    reliability = plain_table()
    for title in ("printed probability", "searches", "mean", "holds capacity"):
        reliability.add_column(title, justify="right")
    for low, high in pairwise(BORDERS):
        inside = [search for search in made if low <= (search.interval_probability or -1.0) < high]
        mean = _share([search.interval_probability or 0.0 for search in inside])
        name = f"{low:.0%} to {min(high, 1):.0%}"
        reliability.add_row(name, str(len(inside)), mean, _share([is_inside(search) for search in inside]))
    out.print(reliability)


if __name__ == "__main__":
    main()
