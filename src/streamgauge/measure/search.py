"""Search for the highest rate that a query sustains: which rate to probe next, and what is known so far.

A search knows nothing of how a probe is made. It starts at a first guess, multiplies it while probes pass or divides it
while they fail, and then halves the interval between the highest rate that passed and the lowest that failed, on a
logarithmic scale. Where the border is expected, because an offline load says so or because the micro-batches of probes
show how much they could have held, the first steps go to just above and just below that rate instead, and further ones
away from it are small and double. So they do around a rate that stays without a verdict. The last step leaves an
interval that is narrow enough by either verdict, and as wide as was asked for by the one that is expected.
Everything follows from the settings and the probes made, so a stored search can be resumed at any time.

Verdicts are uncertain near the border, so one probe is not always the last word on its rate.

- Unknown is repeated once. A rate that stays without a verdict counts as failing for the direction of the search, but
  never as the end of the interval: that is a rate that failed. Afterwards the undecided rates are narrowed from
  above, too, but not to less than was asked for: ends close to a rate in doubt would be in doubt themselves.
- A rate that passes although a lower one fails contradicts it. Both are repeated. If the contradiction stays, the
  interval covers all rates that contradict each other.
- A rate that both passed and failed is at the border itself, so it is not an end of the interval either. The search
  continues on both sides of it.
- A rate is probed three times at most, so every search ends.

Only rates that were probed can contradict each other: a search that looks at no rate in a gap does not find it.
"""

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from enum import StrEnum
from statistics import median
from typing import Any, Self

from streamgauge.errors import InvalidExperimentError, UsageError
from streamgauge.measure import probability_inside, scatter
from streamgauge.units import MAX_RATE_PER_S, format_duration, format_rate
from streamgauge.verdict import Verdict

# For this many probes, what is expected, what probes show of the capacity and what is in doubt say where to look.
GUIDED_PROBES = 8
# An end that is closer than this to where probes show the border to be is worth another look; 1 is half of the width
# that was asked for, on a logarithmic scale. `benchmarks/search.py` shows what that is good for.
CLOSE = 0.75
MAX_PROBES_PER_RATE = 3
MAX_UNKNOWN_PER_RATE = 2
# After this many steps down through rates without any verdict further steps are pointless.
MAX_UNDECIDED_STEPS = 3
ROUNDING = 1e-9
# Stored numbers beyond this are not ours.
MAX_STORED = 1e18


@dataclass(frozen=True)
class Probe:
    """One run inside a search, at the rate that the search asked for: repetitions of a rate are equal in it.

    `capacity_per_s` is about what the query could have sustained, as far as the run shows.
    """

    rate_per_s: float
    verdict: Verdict
    duration_s: float = 0.0
    run_id: str | None = None
    reasons: tuple[str, ...] = ()
    capacity_per_s: float | None = None

    def __post_init__(self) -> None:
        if not (self.rate_per_s > 0 and math.isfinite(self.rate_per_s)):
            raise ValueError(f"the rate of a probe must be above 0, not {self.rate_per_s}")
        if not (self.duration_s >= 0 and math.isfinite(self.duration_s)):
            raise ValueError(f"a probe cannot take {self.duration_s} s")


@dataclass(frozen=True)
class Bracket:
    """The highest rate that passed and the lowest that failed, as far as there are such rates."""

    low_per_s: float | None
    high_per_s: float | None


class Outcome(StrEnum):
    """Why a search ended."""

    PRECISE = "precise"
    BUDGET_SPENT = "budget_spent"
    LOWEST_FAILS = "lowest_fails"
    HIGHEST_PASSES = "highest_passes"
    UNDECIDED = "undecided"
    NOT_MONOTONE = "not_monotone"


def _require(is_right: bool, what: str, remedy: str) -> None:
    if not is_right:
        raise UsageError(what, remedy=remedy)


@dataclass(frozen=True)
class SearchSettings:
    """What to search for, and how much it may cost.

    The search ends when the ends of the interval are at most `within` apart, relative to the lower one.
    `confirm` repeats both ends once, or those in doubt where probes show about where the border is. `budget_s`
    limits the time of all probes; `probe_s` is how long one is expected to take, unless those already made took
    longer. `expected_per_s` is about where the border is, if that is known; the search then begins just above it.
    """

    first_rate_per_s: float
    within: float = 0.05
    growth: float = 2.0
    min_rate_per_s: float = 1.0
    max_rate_per_s: float = MAX_RATE_PER_S
    confirm: bool = False
    budget_s: float | None = None
    probe_s: float = 0.0
    expected_per_s: float | None = None

    def __post_init__(self) -> None:
        limits = f"{format_rate(self.min_rate_per_s)} to {format_rate(self.max_rate_per_s)}"
        is_range = 0 < self.min_rate_per_s <= self.max_rate_per_s < math.inf
        _require(is_range, f"a search from {limits} has no rates", "use a lowest rate above 0 and below the highest")
        is_inside = self.min_rate_per_s <= self.first_rate_per_s <= self.max_rate_per_s
        first = f"the first rate, {format_rate(self.first_rate_per_s)}"
        _require(is_inside, f"{first}, is outside of the search", f"use {limits}")
        is_precision = 1e-4 <= self.within <= 1
        _require(is_precision, f"a search cannot be within {self.within:g}", "use a share from 0.0001 to 1, e.g. 0.05")
        is_growth = 1 < self.growth <= 1000
        _require(is_growth, f"rates cannot grow by a factor of {self.growth:g}", "use more than 1, e.g. 2")
        is_budget = self.budget_s is None or 0 < self.budget_s < math.inf
        _require(is_budget, f"a budget of {self.budget_s} s allows no probe", "use a duration above 0")
        is_probe = 0 <= self.probe_s < math.inf
        _require(is_probe, f"a probe cannot take {self.probe_s} s", "use a duration of 0 or more")


@dataclass(frozen=True)
class _Level:
    """All probes of one rate."""

    rate_per_s: float
    passes: int
    fails: int
    unknowns: int

    @property
    def probes(self) -> int:
        return self.passes + self.fails + self.unknowns

    @property
    def verdict(self) -> Verdict | None:
        """What the probes say; None asks for a repetition. One that both passed and failed is at the border itself."""
        if self.passes and self.fails:
            return Verdict.UNKNOWN
        if self.passes or self.fails:
            return Verdict.PASS if self.passes else Verdict.FAIL
        return Verdict.UNKNOWN if self.unknowns >= MAX_UNKNOWN_PER_RATE else None

    @property
    def is_firm(self) -> bool:
        """Two probes agree, or no further one is allowed."""
        return max(self.passes, self.fails) >= 2 or self.probes >= MAX_PROBES_PER_RATE


def _levels(probes: Iterable[Probe]) -> list[_Level]:
    seen: dict[float, Counter[Verdict]] = {}
    for probe in probes:
        seen.setdefault(probe.rate_per_s, Counter())[probe.verdict] += 1
    return [
        _Level(rate, votes[Verdict.PASS], votes[Verdict.FAIL], votes[Verdict.UNKNOWN])
        for rate, votes in sorted(seen.items())
    ]


class _Picture:
    """What the probes say: rates that pass, rates that fail, and in between those that are in doubt."""

    def __init__(self, probes: Iterable[Probe]) -> None:
        self.levels = _levels(probes)
        self.passing = [v for v in self.levels if v.verdict is Verdict.PASS]
        self.failing = [v for v in self.levels if v.verdict is Verdict.FAIL]
        lowest_fail = self.failing[0].rate_per_s if self.failing else math.inf
        highest_pass = self.passing[-1].rate_per_s if self.passing else 0.0
        self.contradicting = [v for v in self.passing if v.rate_per_s > lowest_fail]
        self.contradicting += [v for v in self.failing if v.rate_per_s < highest_pass]
        self.low = next((v for v in reversed(self.passing) if v.rate_per_s < lowest_fail), None)
        self.high = next((v for v in self.failing if v.rate_per_s > highest_pass), None)
        from_rate = self.low.rate_per_s if self.low else 0.0
        until_rate = self.high.rate_per_s if self.high else math.inf
        self.doubtful = [v for v in self.levels if from_rate < v.rate_per_s < until_rate]

    @property
    def undecided(self) -> list[float]:
        """Rates in doubt that stay without a verdict."""
        return [v.rate_per_s for v in self.doubtful if v.verdict is Verdict.UNKNOWN]

    @property
    def open(self) -> list[_Level]:
        """Rates without a verdict that may be probed again."""
        return [v for v in self.levels if v.verdict is None]

    @property
    def suspects(self) -> list[_Level]:
        """Contradicting rates that may be probed again, first the one that contradicts most others."""
        loose = [v for v in self.contradicting if not v.is_firm]
        return sorted(loose, key=lambda v: (-self._conflicts(v), v.probes))

    def _conflicts(self, level: _Level) -> int:
        if level.verdict is Verdict.PASS:
            return sum(1 for v in self.failing if v.rate_per_s < level.rate_per_s)
        return sum(1 for v in self.passing if v.rate_per_s > level.rate_per_s)

    @property
    def gap_below(self) -> tuple[float, float] | None:
        """Between the highest rate that passed and the next one that was probed."""
        above = self.doubtful[0] if self.doubtful else self.high
        return (self.low.rate_per_s, above.rate_per_s) if self.low and above else None

    @property
    def gap_above(self) -> tuple[float, float] | None:
        """Between the highest rate in doubt and the lowest rate that failed; None when no rate is in doubt."""
        return (self.doubtful[-1].rate_per_s, self.high.rate_per_s) if self.high and self.doubtful else None

    def undecided_span(self, *, from_top: bool) -> float:
        """Ratio of the ends of the undecided rates at the top or at the bottom of all rates; 0 when there are none."""
        run: list[float] = []
        for level in reversed(self.levels) if from_top else self.levels:
            if level.verdict is not Verdict.UNKNOWN:
                break
            run.append(level.rate_per_s)
        return max(run) / min(run) if run else 0.0


class Search:
    """A search for the border between rates that pass and rates that fail; not bound to how probes are made.

    Ask `next_rate`, probe it, `add` the result, until `is_done`. Probes that were made before may be added as well.

    >>> search = Search(SearchSettings(1000.0, within=0.5))
    >>> while (rate_per_s := search.next_rate()) is not None:
    ...     search.add(Probe(rate_per_s, Verdict.PASS if rate_per_s <= 3100 else Verdict.FAIL))
    >>> [round(probe.rate_per_s) for probe in search.probes]
    [1000, 2000, 4000, 2828]
    >>> search.reason
    'passes at 2.828k/s and fails at 4k/s, 41 % apart'
    """

    def __init__(self, settings: SearchSettings, probes: Iterable[Probe] = ()) -> None:
        self.settings = settings
        self.probes: tuple[Probe, ...] = tuple(probes)
        self._picture = _Picture(self.probes)

    def add(self, probe: Probe) -> None:
        """Take a probe into account."""
        self.probes = (*self.probes, probe)
        self._picture = _Picture(self.probes)

    @property
    def bracket(self) -> Bracket:
        """The interval known so far, wider than asked for while the search runs or when it ended early."""
        low, high = self._picture.low, self._picture.high
        return Bracket(low.rate_per_s if low else None, high.rate_per_s if high else None)

    @property
    def undecided_per_s(self) -> tuple[float, ...]:
        """Rates that were repeated and still have no verdict, or both."""
        return tuple(v.rate_per_s for v in self._picture.levels if v.verdict is Verdict.UNKNOWN)

    @property
    def flaky_per_s(self) -> tuple[float, ...]:
        """Rates that both passed and failed."""
        return tuple(v.rate_per_s for v in self._picture.levels if v.passes and v.fails)

    @property
    def spent_s(self) -> float:
        """How long all probes took."""
        return sum(probe.duration_s for probe in self.probes)

    @property
    def _expected_probe_s(self) -> float:
        mean_s = self.spent_s / len(self.probes) if self.probes else 0.0
        return max(self.settings.probe_s, mean_s)

    @property
    def _is_affordable(self) -> bool:
        budget_s = self.settings.budget_s
        return budget_s is None or self.spent_s + self._expected_probe_s <= budget_s * (1 + ROUNDING)

    def next_rate(self) -> float | None:
        """Return the rate to probe next, the same one until a probe is added; None when the search is done."""
        return self._wanted() if self._is_affordable else None

    @property
    def is_done(self) -> bool:
        """Nothing is left to probe, or there is no time for it."""
        return self.next_rate() is None

    def _wanted(self) -> float | None:
        """Return the rate that would be probed if time did not matter."""
        picture = self._picture
        if not picture.levels:
            return self._first
        if picture.open or picture.suspects:
            return (picture.open or picture.suspects)[0].rate_per_s
        steps = (self._shrink, self._grow, self._halve_below, self._halve_above, self._confirm)
        return next((rate for step in steps if (rate := step()) is not None), None)

    @property
    def _first(self) -> float:
        """Just above where the border is expected: a probe shows the capacity best when it is a little too much."""
        settings = self.settings
        if settings.expected_per_s is None:
            return settings.first_rate_per_s
        return max(settings.min_rate_per_s, min(settings.expected_per_s * self._half_width, settings.max_rate_per_s))

    def _shrink(self) -> float | None:
        lowest, growth = self._picture.levels[0].rate_per_s, self.settings.growth
        if self._picture.low or lowest <= self.settings.min_rate_per_s:
            return None
        if self._picture.undecided_span(from_top=False) >= growth**MAX_UNDECIDED_STEPS * (1 - ROUNDING):
            return None
        return next(self._guided(0.0, lowest), max(lowest / self._shrinkage, self.settings.min_rate_per_s))

    @property
    def _shrinkage(self) -> float:
        """By how much the next rate is below the lowest: by little where rates fail that were expected to pass."""
        expected = [*self.capacities_per_s, self.settings.expected_per_s or 0.0]
        disappointing = [level for level in self._picture.failing if level.rate_per_s <= max(expected)]
        return self._small_step(len(disappointing) - 1) if disappointing else self.settings.growth

    def _grow(self) -> float | None:
        highest, growth = self._picture.levels[-1].rate_per_s, self.settings.growth
        if self._picture.high or highest >= self.settings.max_rate_per_s:
            return None
        if self._picture.undecided_span(from_top=True) >= growth * (1 - ROUNDING):
            return None
        limit = self.settings.max_rate_per_s
        guided = next(self._guided(highest, limit), highest * self._growth)
        return min(max(guided, self._beyond_capacity), limit)

    @property
    def _beyond_capacity(self) -> float:
        """Return a rate that fails by all that probes show; 0 where one has failed, for then the border is near it.

        Below their capacity, probes show too little of it.
        """
        is_unseen = self._expected_borders() and not any(level.fails for level in self._picture.levels)
        most = max(self.capacities_per_s, default=0.0) if is_unseen else 0.0
        return self._fitting(most * self._half_width, most)

    @property
    def _growth(self) -> float:
        """By how much the next rate is above the highest: by little where one has failed, or was expected to."""
        expected = self._expected_per_s or math.inf
        levels = self._picture.levels
        surprising = next((k for k, level in enumerate(levels) if level.fails or level.rate_per_s > expected), None)
        return self.settings.growth if surprising is None else self._small_step(len(levels) - 1 - surprising)

    def _small_step(self, before: int) -> float:
        """Return the factor of a step away from where the border was expected, after that many others."""
        return min(self.settings.growth, math.pow(1 + self.settings.within, min(2**before, 1000)))

    def _is_precise(self, low_per_s: float, high_per_s: float) -> bool:
        return high_per_s <= low_per_s * (1 + self.settings.within) * (1 + ROUNDING)

    @property
    def _is_bracket_precise(self) -> bool:
        low, high = self._picture.low, self._picture.high
        return low is not None and high is not None and self._is_precise(low.rate_per_s, high.rate_per_s)

    def _halve(self, gap: tuple[float, float] | None) -> float | None:
        if gap is None or self._is_bracket_precise:
            return None
        # With a rate without a verdict between the ends, each of the two gaps has half of the width.
        width = self._half_width if self._picture.undecided else 1 + self.settings.within
        if gap[1] <= gap[0] * width * (1 + ROUNDING):
            return None
        is_last = gap[1] <= gap[0] * width * width * (1 + ROUNDING)
        return self._last(gap) if is_last else next(self._guided(*gap), math.sqrt(gap[0] * gap[1]))

    def _last(self, gap: tuple[float, float]) -> float:
        """Return a rate at which either verdict ends the search; the expected one leaves ends that are far apart."""
        middle, expected = math.sqrt(gap[0] * gap[1]), self._expected_per_s
        if self._picture.doubtful or expected is None:
            return middle
        return gap[1] / (1 + self.settings.within) if expected > middle else gap[0] * (1 + self.settings.within)

    @property
    def _half_width(self) -> float:
        return math.sqrt(1 + self.settings.within)

    @property
    def _least(self) -> float:
        """How far rates are apart so that probing both of them shows something."""
        return math.sqrt(self._half_width)

    def _guided(self, above_per_s: float, below_per_s: float) -> Iterator[float]:
        """Yield the rates between two others at which an end of the interval is expected."""
        for border_per_s in self._expected_borders():
            for end_per_s in (border_per_s / self._half_width, border_per_s * self._half_width):
                rate_per_s = self._fitting(end_per_s, border_per_s)
                is_new = above_per_s * self._least <= rate_per_s <= below_per_s / self._least
                if is_new and rate_per_s >= self.settings.min_rate_per_s:
                    yield rate_per_s

    def _fitting(self, end_per_s: float, border_per_s: float) -> float:
        """Return an end beside a border, or one a little closer if the interval with the other end is precise then."""
        is_low, width = end_per_s < border_per_s, 1 + self.settings.within
        other = self._picture.high if is_low else self._picture.low
        if other is None:
            return end_per_s
        rate_per_s = other.rate_per_s / width if is_low else other.rate_per_s * width
        is_closer = end_per_s < rate_per_s < border_per_s or border_per_s < rate_per_s < end_per_s
        return rate_per_s if is_closer and self._distance(rate_per_s, border_per_s) >= CLOSE else end_per_s

    def _distance(self, rate_per_s: float, border_per_s: float) -> float:
        """Return how far a rate is from a border, in halves of the width that was asked for."""
        return abs(math.log(rate_per_s / border_per_s)) / math.log(self._half_width)

    def _expected_borders(self) -> list[float]:
        """Return about where the border is: at rates in doubt, and where a query like this is expected to reach."""
        expected = self._expected_per_s
        fails = [k for k, probe in enumerate(self.probes) if probe.verdict is Verdict.FAIL]
        first = 0 if expected is not None else fails[0] if fails else None
        if first is None or len(self.probes) - first > GUIDED_PROBES:
            return []
        return self._picture.undecided + ([] if expected is None else [expected])

    @property
    def _expected_per_s(self) -> float | None:
        known = self.capacities_per_s
        return median(known) if known else self.settings.expected_per_s

    @property
    def capacities_per_s(self) -> list[float]:
        """What probes show of the capacity: not those that failed below it, nor those that passed above it."""
        found = []
        for probe in self.probes:
            most = probe.capacity_per_s
            is_failed, is_passed = (probe.verdict is verdict for verdict in (Verdict.FAIL, Verdict.PASS))
            if most is None or (is_failed and most * self._half_width > probe.rate_per_s):
                continue
            if not is_passed or most >= probe.rate_per_s:
                found.append(most)
        return found

    @property
    def scatter(self) -> float | None:
        """The standard deviation of the capacities that single probes show, as a share; None for fewer than two."""
        return scatter(self.capacities_per_s)

    @property
    def interval_probability(self) -> float | None:
        """How likely the true capacity is in the interval; None without both ends, or where scatter is unknown."""
        low, high = self.bracket.low_per_s, self.bracket.high_per_s
        return None if low is None or high is None else probability_inside(low, high, self.capacities_per_s)

    def _halve_below(self) -> float | None:
        picture, rate = self._picture, self._halve(self._picture.gap_below)
        if rate is None or picture.high is None or not picture.doubtful:
            return rate
        widest = picture.high.rate_per_s / (1 + self.settings.within)
        is_apart = widest <= picture.doubtful[0].rate_per_s / self._least
        return widest if is_apart and picture.low and widest > picture.low.rate_per_s else rate

    def _halve_above(self) -> float | None:
        picture, rate = self._picture, self._halve(self._picture.gap_above)
        if rate is None or picture.low is None or picture.high is None:
            return rate
        widest = picture.low.rate_per_s * (1 + self.settings.within)
        is_apart = widest >= picture.doubtful[-1].rate_per_s * self._least
        return widest if is_apart and widest < picture.high.rate_per_s else rate

    @property
    def _unconfirmed(self) -> list[float]:
        """The ends to repeat, the least probed first: those close to the border that probes show, or both."""
        known = self.capacities_per_s
        ends = (self._picture.low, self._picture.high) if self.settings.confirm else ()
        found = [
            (end.probes, self._distance(end.rate_per_s, median(known)) if known else 0.0, end.rate_per_s)
            for end in ends
            if end and not end.is_firm
        ]
        return [rate for _, distance, rate in sorted(found) if distance < CLOSE]

    def _confirm(self) -> float | None:
        return next(iter(self._unconfirmed), None)

    @property
    def outcome(self) -> Outcome | None:
        """Why the search ended; None while it runs."""
        if not self.is_done:
            return None
        is_disputed = bool(self._picture.open or self._picture.suspects)
        if self._is_bracket_precise and not is_disputed:
            return Outcome.PRECISE
        if self._wanted() is not None:
            return Outcome.BUDGET_SPENT
        if self._picture.contradicting:
            return Outcome.NOT_MONOTONE
        if self._picture.doubtful:
            return Outcome.UNDECIDED
        return Outcome.HIGHEST_PASSES if self._picture.low else Outcome.LOWEST_FAILS

    @property
    def reason(self) -> str | None:
        """Say why the search ended and what its answer rests on; None while it runs."""
        outcome = self.outcome
        if outcome is None:
            return None
        remarks = [self._ending(outcome)]
        if outcome is not Outcome.NOT_MONOTONE and self._picture.contradicting:
            remarks.append(self._contradiction())
        silent = [rate for rate in self.undecided_per_s if rate not in self.flaky_per_s]
        if outcome is not Outcome.UNDECIDED and silent:
            remarks.append(f"no verdict at {_listed(silent)}")
        if self.flaky_per_s:
            remarks.append(f"passed and failed at {_listed(self.flaky_per_s)}")
        if outcome is Outcome.PRECISE and self._unconfirmed:
            remarks.append(f"no time was left to repeat {_listed(self._unconfirmed)}")
        return "; ".join(remarks)

    def _ending(self, outcome: Outcome) -> str:
        low, high = self.bracket.low_per_s, self.bracket.high_per_s
        match outcome:
            case Outcome.PRECISE if low is not None and high is not None:
                apart = f"{100 * (high / low - 1):.2g} % apart"
                return f"passes at {format_rate(low)} and fails at {format_rate(high)}, {apart}"
            case Outcome.BUDGET_SPENT:
                budget = f"the budget of {format_duration(self.settings.budget_s or 0.0)}"
                return f"{budget} has no room for another probe after {len(self.probes)}"
            case Outcome.NOT_MONOTONE:
                return self._contradiction()
            case Outcome.UNDECIDED:
                return (
                    f"the border cannot be decided: no verdict at {_listed(self.undecided_per_s)}, also when repeated"
                )
            case Outcome.HIGHEST_PASSES:
                return f"passes at the highest rate, {format_rate(self.settings.max_rate_per_s)}"
            case _:
                return f"fails at the lowest rate, {format_rate(self.settings.min_rate_per_s)}"

    def _contradiction(self) -> str:
        failing = [v.rate_per_s for v in self._picture.contradicting if v.verdict is Verdict.FAIL]
        passing = [v.rate_per_s for v in self._picture.contradicting if v.verdict is Verdict.PASS]
        return f"not monotone: fails at {_listed(failing)} but passes at {_listed(passing)}"

    def to_dict(self) -> dict[str, Any]:
        """Return settings and probes as JSON; all else follows from them."""
        return {
            "settings": asdict(self.settings),
            "probes": [{**asdict(p), "verdict": p.verdict.value, "reasons": list(p.reasons)} for p in self.probes],
        }

    @classmethod
    def from_dict(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_dict` returned, to resume an interrupted search."""
        try:
            for one in (document["settings"], *document["probes"]):
                _refuse_other_numbers(one)
            probes = [
                Probe(**{**p, "verdict": Verdict(p["verdict"]), "reasons": tuple(p["reasons"])})
                for p in document["probes"]
            ]
            # Earlier versions stored a setting that no command could change.
            settings = {name: value for name, value in document["settings"].items() if name != "look_beyond"}
            return cls(SearchSettings(**settings), probes)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            raise InvalidExperimentError(
                f"the stored search is not one of ours ({type(error).__name__}: {error})",
                remedy="restore it from a copy, or start a new search",
            ) from error


def _refuse_other_numbers(stored: Mapping[str, Any]) -> None:
    """Refuse what is not a number where one belongs, and numbers that no search has."""
    for name, value in stored.items():
        is_number = isinstance(value, int | float) and abs(value) <= MAX_STORED
        if not is_number and value is not None and (isinstance(value, int | float) or name.endswith("_s")):
            raise ValueError(f"{name} is {str(value)[:20]}")


def _listed(rates_per_s: Iterable[float]) -> str:
    """Name some rates, the first three of them.

    >>> _listed([1000.0, 2000.0, 3000.0, 4000.0])
    '1k/s, 2k/s, 3k/s and 1 more'
    """
    rates = [format_rate(rate) for rate in rates_per_s]
    rest = f" and {len(rates) - 3} more" if len(rates) > 3 else ""
    return ", ".join(rates[:3]) + rest
