"""How often does a comparison err, and how often does it find a change? Simulated with values that are known.

Sets of runs with eight metrics are drawn and go through the test of `streamgauge compare`; a sample of them goes
through `judge` as a whole, whose answers must agree. Prints Markdown: `make bench-compare`.
"""

import math
import sys

import numpy as np

from streamgauge.conclude.changes import judge, verdict_of
from streamgauge.measure.statistics import Rule, mean_test
from streamgauge.metrics import METRICS as ALL_METRICS

METRICS = [metric.path for metric in ALL_METRICS if metric.change][:8]
SIZES = ((4, 4), (5, 5), (6, 6), (8, 8), (10, 10), (4, 6), (4, 10), (5, 8))
RATIOS = (1.0, 2.0, 3.0, 5.0)
CORRELATIONS = (0.2, 0.5, 0.95)
DRAWS = 10_000
BLOCK = 2500
CHECKED = 10
SEED = 20_261_118
LEVEL = 0.05
SCATTER = 0.03


def draw(rng, draws, runs, correlation, scatter):
    """Return logarithms, one row of runs for each draw and metric; metrics of a run share part of their scatter."""
    shared = rng.standard_normal((draws, 1, runs))
    own = rng.standard_normal((draws, len(METRICS), runs))
    return scatter * (math.sqrt(correlation) * shared + math.sqrt(1 - correlation) * own)


def significant(x, y, rng):
    """Return for each draw and metric whether the first step of Holm's method rejects it."""
    spread = x.var(axis=-1, ddof=1) / x.shape[-1] + y.var(axis=-1, ddof=1) / y.shape[-1]
    sizes = np.abs(y.mean(axis=-1) - x.mean(axis=-1)) / np.sqrt(spread)
    # Below that of the normal distribution, 2.73, nothing is significant: these draws need no test.
    tested = sizes.max(axis=1) > 2.7
    found = np.zeros(sizes.shape, dtype=bool)
    found[tested] = mean_test(x[tested], y[tested]).p <= LEVEL / len(METRICS)
    for k in rng.choice(len(x), CHECKED, replace=False):
        values = [dict(zip(METRICS, np.exp(side[k]), strict=True)) for side in (x, y)]
        (changes,) = judge([(values[0], values[1])], Rule(relevant=0.0))
        assert any(change.significant for change in changes) == found[k].any(), "the parts do not agree"
        assert (verdict_of(changes) in ("better", "worse", "mixed")) == found[k].any()
    return found


def share(rng, sizes, *, correlation, ratio=1.0, ratios=None, change=0.0, moved=0):
    """Return in which share of draws any metric is significant, or the one that moved."""
    hits = 0
    for _ in range(DRAWS // BLOCK):
        x = draw(rng, BLOCK, sizes[0], correlation, SCATTER)
        y = draw(rng, BLOCK, sizes[1], correlation, SCATTER * (ratio if ratios is None else ratios))
        y[:, :moved] += math.log1p(change)
        found = significant(x, y, rng)
        hits += np.sum(found[:, 0] if moved == 1 else found.any(axis=1))
    return hits / DRAWS


def percent(value):
    return f"{100 * value:.1f}"


def print_errors(rng):
    """Print the worst over both directions of the ratio, and over metrics of which half scatter more in either set."""
    print(f"Comparisons of sets that do not differ, with any change reported, in % of {DRAWS:,} draws:\n")
    columns = [f"{ratio:g} : 1" for ratio in RATIOS]
    print("| runs | correlation | " + " | ".join(columns) + " | mixed 5 : 1 |")
    print("|---|---|" + "---|" * (len(RATIOS) + 1))
    worst = 0.0
    for sizes in SIZES:
        for correlation in CORRELATIONS:
            row = []
            for ratio in RATIOS:
                ways = {ratio, 1 / ratio} if sizes[0] != sizes[1] else {ratio}
                row.append(max(share(rng, sizes, correlation=correlation, ratio=way) for way in sorted(ways)))
            half = np.where(np.arange(len(METRICS)) % 2, 5.0, 0.2)[:, np.newaxis]
            row.append(share(rng, sizes, correlation=correlation, ratios=half))
            worst = max(worst, *row)
            print(f"| {sizes[0]} and {sizes[1]} | {correlation:g} | {' | '.join(map(percent, row))} |", flush=True)
    print(f"\nThe largest is {percent(worst)} %.")


def print_power(rng):
    """Print how often a change is found that is there."""
    print(f"\nChanges that are found, in % of {DRAWS:,} draws, at a scatter of 3 % and a correlation of 0.5:\n")
    print("| runs | 5 % in one metric | 10 % in one metric | 5 % in all | 10 % in all |")
    print("|---|---|---|---|---|")
    for sizes in SIZES:
        row = [
            share(rng, sizes, correlation=0.5, change=change, moved=moved)
            for moved in (1, len(METRICS))
            for change in (0.05, 0.1)
        ]
        print(f"| {sizes[0]} and {sizes[1]} | {' | '.join(map(percent, row))} |", flush=True)


def print_drift(rng):
    """Print what a machine does that gets slower or faster from run to run, as a random walk."""
    print("\nComparisons of sets that do not differ, on a machine whose speed walks by 1 % from run to run, ", end="")
    print("at a scatter of 3 %,\nwith any change reported, were the sequence not looked at:\n")
    print("| runs | one after the other | in turns |")
    print("|---|---|---|")
    for runs in (5, 8):
        walk = np.cumsum(0.01 * rng.standard_normal((DRAWS, 1, 2 * runs)), axis=-1)
        values = draw(rng, DRAWS, 2 * runs, 0.5, SCATTER) + walk
        apart = significant(values[..., :runs], values[..., runs:], rng).any(axis=1).mean()
        turns = significant(values[..., ::2], values[..., 1::2], rng).any(axis=1).mean()
        print(f"| {runs} and {runs} | {percent(apart)} | {percent(turns)} |")


def main() -> int:
    rng = np.random.default_rng(SEED)
    print_errors(rng)
    print_power(rng)
    print_drift(rng)
    return 0


if __name__ == "__main__":
    sys.exit(main())
