"""Do two sets of runs differ? Intervals, tests, and a decision that admits when the runs are too few.

The unit is the run: one value per run and metric, because the micro-batches of one run depend on each other.
Values are compared by their ratio, so on logarithms. The scatter of both sets is unknown and may differ (the problem
of Behrens and Fisher), so the difference of means is compared with its posterior distribution: with the prior of Ghosh
and Kim (2001, Canadian Journal of Statistics 29), under which tests and intervals err as often as they say, for sets of
the same size, and with that of Behrens and Fisher, which errs less often, for others. Several metrics are corrected
with Holm's method (1979). Test and interval are one: an interval holds 1 unless the change is significant.
`make bench-compare` simulates how often comparisons err, and how often they find a change.
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Literal

import numpy as np

from streamgauge.measure.trend import Floats

Decision = Literal["higher", "lower", "no change", "undecided"]
Values = Sequence[float] | Floats

# Runs on each side from which on a comparison decides; errors are simulated from here on.
MIN_RUNS = 4
ROUNDING = 1e-12
MIN_NODES = 32


@dataclass(frozen=True)
class Interval:
    """A value and its confidence interval."""

    value: float
    low: float
    high: float


@dataclass(frozen=True)
class Effect:
    """How set b differs from set a.

    `a` and `b` are geometric means and `ratio` is b / a, with its interval from `low` to `high`; these are None
    when a set has a single run, because its scatter is unknown.
    """

    a: float
    b: float
    ratio: float
    low: float | None
    high: float | None
    p: float
    decision: Decision
    reason: str

    @property
    def largest_change(self) -> float | None:
        """The largest change, up or down, that the interval leaves possible: 0.05 for a ratio of 1.05 or 1 / 1.05."""
        if self.low is None or self.high is None:
            return None
        return max(self.high, 1 / self.low) - 1


@dataclass(frozen=True)
class NamedEffect:
    """The effect on one of several metrics; interval and decision belong to `adjusted_p`."""

    name: str
    effect: Effect
    adjusted_p: float
    significant: bool


@dataclass(frozen=True)
class Rule:
    """When a change counts, at which `confidence`, over all metrics and `comparisons` together.

    Smaller ones than `relevant` do not, and no change is a change of at most `margin`. `drift` is by how much the
    machine may have changed between the sets: 0 where they took turns, infinite where nothing is known.
    """

    confidence: float = 0.95
    relevant: float = 0.01
    margin: float = 0.1
    comparisons: int = 1
    drift: float = 0.0

    def __post_init__(self) -> None:
        _check_confidence(self.confidence)
        if not (self.relevant >= 0 and self.margin >= 0 and self.drift >= 0):
            raise ValueError(f"shares must be 0 or more, not {self.relevant}, {self.margin} and {self.drift}")

    @property
    def level(self) -> float:
        """The chance of an error that a comparison may have."""
        return (1 - self.confidence) / self.comparisons


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"confidence must lie between 0 and 1, not {confidence}")


def _student_reach(confidence: float, degrees: float) -> float:
    from scipy.special import stdtrit

    return float(stdtrit(degrees, (1 + confidence) / 2))


def _finite(values: Values, *, at_least: int) -> Floats:
    numbers = np.asarray(values, dtype=float)
    if numbers.ndim != 1 or len(numbers) < at_least:
        raise ValueError(f"at least {at_least} values are needed, not {numbers.size}")
    if not np.all(np.isfinite(numbers)):
        raise ValueError("some values are missing or not finite; leave these runs out")
    return numbers


def interval_of_mean(values: Values, confidence: float = 0.95) -> Interval:
    """Return the mean of independent values and its interval by Student's t.

    >>> interval_of_mean([4.0, 5.0, 6.0])
    Interval(value=5.0, low=2.515862288..., high=7.484137711...)
    """
    _check_confidence(confidence)
    numbers = _finite(values, at_least=2)
    mean = float(numbers.mean())
    reach = _student_reach(confidence, len(numbers) - 1) * float(numbers.std(ddof=1)) / math.sqrt(len(numbers))
    return Interval(mean, mean - reach, mean + reach)


def holm(p_values: Iterable[float]) -> list[float]:
    """Return p-values adjusted for their number, in the same order (Holm 1979).

    Calling everything at or below 0.05 a change then errs in any of them with a chance of 5 % at most.

    >>> holm([0.01, 0.04, 0.03, 0.005])
    [0.03, 0.06, 0.06, 0.02]
    """
    values = list(p_values)
    if not all(0 <= p <= 1 for p in values):
        raise ValueError(f"p-values lie between 0 and 1, not {values}")
    adjusted, largest = [1.0] * len(values), 0.0
    for rank, k in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        largest = min(1.0, max(largest, (len(values) - rank) * values[k]))
        adjusted[k] = largest
    return adjusted


@lru_cache(maxsize=64)
def _nodes(a: int, b: int) -> tuple[Floats, Floats]:
    """Return values of chi2(a) / (chi2(a) + chi2(b)) and their weights, for integrals over it."""
    points, weights = np.polynomial.legendre.leggauss(max(MIN_NODES, a + b))
    angles = (points + 1) * math.pi / 4
    mass = weights * np.sin(angles) ** (a - 1) * np.cos(angles) ** (b - 1)
    return np.sin(angles) ** 2, mass / mass.sum()


def _terms(share: Floats, n: int, m: int) -> list[tuple[Floats, int, Floats, Floats]]:
    """Return the posterior of the difference as a mixture: weight, degrees of freedom, scales and their weights.

    Given how two chi-squares divide, the difference has Student's distribution. The prior of Ghosh and Kim,
    (s1 s2)^-3 (s1^2 / n + s2^2 / m), adds two degrees to either side in turn, weighted with the shares of the
    variance; without these it is the distribution of Behrens and Fisher.
    """
    whole = np.ones_like(share)
    mixed = [(share, n - 1, m + 1), (1 - share, n + 1, m - 1)] if n == m else [(whole, n - 1, m - 1)]
    found = []
    for weight, a, b in mixed:
        part, mass = _nodes(a, b)
        spread = share[..., np.newaxis] * (n - 1) / part + (1 - share[..., np.newaxis]) * (m - 1) / (1 - part)
        found.append((weight, a + b, np.sqrt((a + b) / spread), mass))
    return found


def _tail(t: Floats, terms: Sequence[tuple[Floats, int, Floats, Floats]]) -> Floats:
    """Return the chance of a statistic beyond `t` on either side."""
    from scipy.special import stdtr

    found = [weight * (2 * stdtr(f, -t[..., np.newaxis] * scale) @ mass) for weight, f, scale, mass in terms]
    total: Floats = np.minimum(1.0, np.sum(found, axis=0))
    return total


def _density(t: Floats, terms: Sequence[tuple[Floats, int, Floats, Floats]]) -> Floats:
    from scipy.special import betaln

    found = []
    for weight, f, scale, mass in terms:
        x = t[..., np.newaxis] * scale
        heights = np.exp(-(f + 1) / 2 * np.log1p(x**2 / f) - betaln(0.5, f / 2)) / math.sqrt(f)
        found.append(weight * ((scale * heights) @ mass))
    total: Floats = np.sum(found, axis=0)
    return total


def _critical(levels: Floats, share: Floats, runs: tuple[int, int]) -> Floats:
    """Return the statistic whose tail is `levels`, by Newton's method on the logarithms of both.

    The tail is concave there, so that from any start the second step is beyond the answer and all others approach it.
    """
    terms = _terms(share, *runs)
    t = np.full_like(share, 4.0)
    for _ in range(50):
        tail = _tail(t, terms)
        step = np.log(tail / levels) * tail / (2 * t * _density(t, terms))
        t = t * np.exp(np.minimum(step, 1.0))
        if np.all(np.abs(step) < 1e-8):
            break
    return t


@dataclass(frozen=True)
class MeanTest:
    """Metrics of sets of the same sizes: difference of means, its error, share of the first set in that, p-value."""

    runs: tuple[int, int]
    difference: Floats
    error: Floats
    share: Floats
    p: Floats


def mean_test(x: Floats, y: Floats) -> MeanTest:
    """Test logarithms, one metric per row; single runs have no scatter, so that nothing is known of their error."""
    n, m = x.shape[-1], y.shape[-1]
    difference = y.mean(axis=-1) - x.mean(axis=-1)
    if min(n, m) < 2:
        nothing = np.full_like(difference, np.nan)
        return MeanTest((n, m), difference, nothing, nothing, np.ones_like(difference))
    of_x, of_y = x.var(axis=-1, ddof=1) / n, y.var(axis=-1, ddof=1) / m
    square = of_x + of_y
    # Equal values have a scatter of rounding, which is none.
    still = square <= (ROUNDING * np.maximum(1.0, np.abs(x).max(axis=-1))) ** 2
    error, share = np.where(still, 0.0, np.sqrt(square)), np.where(still, 0.5, of_x / np.where(still, 1.0, square))
    same = np.abs(difference) <= ROUNDING * np.maximum(1.0, np.abs(x).max(axis=-1))
    t = np.where(same, 0.0, np.abs(difference) / np.where(still, 1.0, error))
    p = np.where(still & ~same, 0.0, _tail(t, _terms(share, n, m)))
    return MeanTest((n, m), difference, error, share, p)


def _levels(p_values: Sequence[float], level: float) -> Floats:
    """Return the level of each metric's interval, so that it leaves out no change where Holm's method rejects.

    What is rejected has the level of its step, all else that of the step at which the method stops.
    """
    count = len(p_values)
    rejected = sum(p <= level for p in holm(p_values))
    levels = np.full(count, level / max(1, count - rejected))
    for rank, k in enumerate(sorted(range(count), key=p_values.__getitem__)[:rejected]):
        levels[k] = level / (count - rank)
    return levels


def _positive(values: Values, name: str) -> Floats:
    try:
        numbers = _finite(values, at_least=1)
    except ValueError as error:
        raise ValueError(f"set {name}: {error}") from None
    if not np.all(numbers > 0):
        raise ValueError(
            f"set {name}: a ratio needs values above 0, not {numbers.min():g}; compare differences instead"
        )
    return numbers


def _decide(effect: Effect, runs: tuple[int, int], same: bool, rule: Rule) -> tuple[Decision, str]:
    if effect.low is None or effect.high is None or min(runs) < MIN_RUNS:
        need = f"{MIN_RUNS} and as many can"
        return "undecided", f"{runs[0]} and {runs[1]} runs cannot show a change; {need}"
    if math.isinf(rule.drift):
        return "undecided", "the sets were made one after the other, and the machine may have changed in between"
    return _decide_by_interval(effect, same, rule)


def _decide_by_interval(effect: Effect, same: bool, rule: Rule) -> tuple[Decision, str]:
    assert effect.low is not None and effect.high is not None
    low, high = effect.low / (1 + rule.drift), effect.high * (1 + rule.drift)
    size = 1 + rule.relevant
    ratio = f"b is {effect.ratio:.4g} times a, between {effect.low:.4g} and {effect.high:.4g}"
    if low > 1 and effect.ratio >= size:
        return "higher", ratio
    if high < 1 and effect.ratio <= 1 / size:
        return "lower", ratio
    if same:
        return "no change", "both sets hold the same values"
    possible = max(high, 1 / low) - 1
    if possible <= max(rule.relevant, rule.margin):
        return "no change", f"no change larger than {100 * possible:.2g} %"
    return "undecided", f"{ratio}: a change of {100 * possible:.2g} % is not ruled out"


def _ends(test: MeanTest, levels: Floats) -> list[tuple[float, float] | tuple[None, None]]:
    """Return the intervals of the ratios at these levels."""
    if min(test.runs) < 2:
        return [(None, None)] * len(test.difference)
    reach = _critical(levels, test.share, test.runs) * test.error
    lows, highs = np.exp(test.difference - reach), np.exp(test.difference + reach)
    return list(zip(lows.tolist(), highs.tolist(), strict=True))


def _logarithms(name: str, a: Values, b: Values) -> tuple[Floats, Floats]:
    try:
        return np.log(_positive(a, "a")), np.log(_positive(b, "b"))
    except ValueError as error:
        raise ValueError(f"metric {name}, {error}" if name else str(error)) from None


def _effect(x: Floats, y: Floats, p: float, ends: tuple[float, float] | tuple[None, None]) -> Effect:
    """Return the effect, not decided yet."""
    a, b = float(x.mean()), float(y.mean())
    return Effect(math.exp(a), math.exp(b), math.exp(b - a), ends[0], ends[1], p, "undecided", "")


def _named(name: str, effect: Effect, corrected: float, pair: tuple[Values, Values], rule: Rule) -> NamedEffect:
    runs = len(pair[0]), len(pair[1])
    decision, reason = _decide(effect, runs, sorted(pair[0]) == sorted(pair[1]), rule)
    significant = corrected <= rule.level and min(runs) >= MIN_RUNS
    adjusted_p = min(1.0, rule.comparisons * corrected)
    return NamedEffect(name, replace(effect, decision=decision, reason=reason), adjusted_p, significant)


def compare_samples(a: Values, b: Values, rule: Rule | None = None) -> Effect:
    """Compare one positive metric of two sets of runs; every value is one run.

    Higher or lower: the interval of the ratio lies beyond 1, and the ratio is `relevant`, a change of 0.02 being a
    ratio of 1.02 or 1 / 1.02, so that swapping the sets mirrors the answer.
    No change: the interval lies within `margin`, which says that no change is larger than `Effect.largest_change`, not
    that there is none; or both sets hold the same values.
    Undecided: all else, in particular fewer than 4 runs on a side.
    """
    (only,) = compare_metrics({"": (a, b)}, rule)
    return only.effect


def compare_metrics(samples: Mapping[str, tuple[Values, Values]], rule: Rule | None = None) -> list[NamedEffect]:
    """Compare several metrics of two sets of runs, each as `compare_samples` does, in the given order.

    Significant is what Holm's method rejects over all metrics and comparisons, and these are the metrics whose
    intervals do not hold 1; with less than 4 runs on a side nothing is.
    """
    rule = rule or Rule()
    logarithms = {name: _logarithms(name, *pair) for name, pair in samples.items()}
    shapes: dict[tuple[int, int], list[str]] = {}
    for name, (x, y) in logarithms.items():
        shapes.setdefault((len(x), len(y)), []).append(name)
    tests = [
        mean_test(*(np.stack([logarithms[n][side] for n in names]) for side in (0, 1))) for names in shapes.values()
    ]
    found = np.concatenate([test.p for test in tests]).tolist() if tests else []
    p_values = dict(zip((name for names in shapes.values() for name in names), found, strict=True))
    adjusted = dict(zip(p_values, holm(p_values.values()), strict=True))
    levels = dict(zip(p_values, _levels(list(p_values.values()), rule.level), strict=True))
    effects: dict[str, Effect] = {}
    for names, test in zip(shapes.values(), tests, strict=True):
        ends = _ends(test, np.array([levels[name] for name in names]))
        effects |= {
            name: _effect(*logarithms[name], p_values[name], end) for name, end in zip(names, ends, strict=True)
        }
    return [_named(name, effects[name], adjusted[name], samples[name], rule) for name in samples]
