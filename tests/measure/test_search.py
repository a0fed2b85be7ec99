import json
import math
from dataclasses import replace
from statistics import median

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from made_runs.simulated_server import Server, judge
from streamgauge.conclude.summary import summarise
from streamgauge.errors import InvalidExperimentError, UsageError
from streamgauge.measure.search import Bracket, Outcome, Probe, Search, SearchSettings
from streamgauge.verdict import Verdict

PASS, FAIL, UNKNOWN = Verdict.PASS, Verdict.FAIL, Verdict.UNKNOWN
LETTERS = {"p": PASS, "f": FAIL, "u": UNKNOWN}


def below(capacity_per_s):
    """A truth: rates up to the capacity pass."""
    return lambda rate_per_s: PASS if rate_per_s <= capacity_per_s else FAIL


def planted(truth, surprises):
    """The truth, except that the n-th probe gives what `surprises` says."""
    numbers = iter(range(10_000))
    return lambda rate_per_s: surprises.get(next(numbers), truth(rate_per_s))


def finish(search, truth, *, probe_s=0.0, most=500):
    """Make probes until the search is done."""
    for _ in range(most):
        rate_per_s = search.next_rate()
        if rate_per_s is None:
            return search
        assert search.next_rate() == rate_per_s
        search.add(Probe(rate_per_s, truth(rate_per_s), probe_s))
    pytest.fail(f"no end after {most} probes")


def searched(truth, first_rate_per_s=1000.0, *, probe_s=0.0, **options):
    return finish(Search(SearchSettings(first_rate_per_s, **options)), truth, probe_s=probe_s)


def rates(search):
    return [probe.rate_per_s for probe in search.probes]


def with_verdicts(settings_, verdicts):
    """A search with probes made before, written as {rate: letters}."""
    probes = [Probe(rate, LETTERS[letter]) for rate, letters in verdicts.items() for letter in letters]
    return Search(settings_, probes)


def most_probes(chosen, capacity_per_s):
    """Return how many probes suffice when exactly the rates up to a capacity pass.

    One of the first guess, one per factor of `growth` between guess and capacity, one that turns back, those that halve
    the interval until it is precise, and two to confirm.
    """
    reachable = min(max(capacity_per_s, chosen.min_rate_per_s), chosen.max_rate_per_s)
    steps = abs(math.log(reachable / chosen.first_rate_per_s)) / math.log(chosen.growth)
    excess = math.log(chosen.growth) / math.log1p(chosen.within)
    halvings = math.ceil(math.log2(excess) - 1e-9) if excess > 1 else 0
    return 2 + math.floor(steps + 1e-9) + halvings + 2 * chosen.confirm


# Monotone truths


@given(
    capacity=st.floats(20.0, 1e7),
    guess=st.floats(20.0, 1e7),
    within=st.floats(0.01, 0.5),
    growth=st.floats(1.2, 8.0),
    confirm=st.booleans(),
)
@settings(max_examples=100)
def test_c2_a_clear_border_is_found_within_the_promised_number_of_probes(capacity, guess, within, growth, confirm):
    chosen = SearchSettings(guess, within=within, growth=growth, min_rate_per_s=1.0, confirm=confirm)
    search = finish(Search(chosen), below(capacity))
    low, high = search.bracket.low_per_s, search.bracket.high_per_s
    assert low <= capacity < high <= low * (1 + within) * (1 + 1e-8)
    assert low == max(p.rate_per_s for p in search.probes if p.verdict is PASS)
    assert high == min(p.rate_per_s for p in search.probes if p.verdict is FAIL)
    assert (search.outcome, search.is_done) == (Outcome.PRECISE, True)
    assert len(search.probes) <= most_probes(chosen, capacity)


@given(capacity=st.integers(1, 400), guess=st.integers(1, 400), lowest=st.integers(1, 400), highest=st.integers(1, 400))
@settings(max_examples=80)
def test_c2_limits_are_kept_and_the_promise_holds_beyond_them(capacity, guess, lowest, highest):
    assume(lowest <= guess <= highest)
    chosen = SearchSettings(float(guess), min_rate_per_s=float(lowest), max_rate_per_s=float(highest), confirm=True)
    search = finish(Search(chosen), below(capacity))
    assert all(lowest <= rate <= highest for rate in rates(search))
    assert len(search.probes) <= most_probes(chosen, capacity)
    if capacity < lowest:
        assert (search.outcome, search.bracket) == (Outcome.LOWEST_FAILS, Bracket(None, lowest))
    elif capacity >= highest:
        assert (search.outcome, search.bracket) == (Outcome.HIGHEST_PASSES, Bracket(highest, None))
    else:
        assert search.outcome is Outcome.PRECISE


def test_rates_double_until_one_fails_and_are_then_halved_geometrically():
    search = searched(below(3000.0))
    middle = math.sqrt(2000 * 4000)
    expected = [1000, 2000, 4000, middle, math.sqrt(middle * 4000), math.sqrt(middle * math.sqrt(middle * 4000))]
    assert rates(search)[:6] == pytest.approx(expected)
    assert search.bracket.low_per_s <= 3000 < search.bracket.high_per_s


def test_rates_are_divided_until_one_passes():
    assert rates(searched(below(300.0)))[:3] == [1000, 500, 250]


def test_the_default_needs_six_probes_when_the_guess_is_right_within_a_factor_of_two():
    assert len(searched(below(1999.0)).probes) == most_probes(SearchSettings(1000.0), 1999.0) == 6


def expecting(capacity, expected, within=0.1):
    return guided(overloaded(capacity), first_rate_per_s=1.0, within=within, expected_per_s=expected)


def test_an_expected_border_is_closed_in_by_two_probes():
    search = expecting(1000.0, 1000.0)
    assert rates(search) == pytest.approx([1000 * math.sqrt(1.1), 1000 / math.sqrt(1.1)])
    assert search.outcome is Outcome.PRECISE


def test_the_first_rate_keeps_the_limits_of_the_search():
    assert Search(SearchSettings(1.0, expected_per_s=1000.0, max_rate_per_s=900.0)).next_rate() == 900.0
    assert Search(SearchSettings(2000.0, expected_per_s=1000.0, min_rate_per_s=2000.0)).next_rate() == 2000.0


def test_away_from_an_expected_border_steps_are_small_and_double():
    first = 1000 * math.sqrt(1.1)
    assert rates(expecting(5000.0, 1000.0))[:4] == pytest.approx([first * 1.1**k for k in (0, 1, 3, 7)])
    low = guided(lambda rate: Probe(rate, FAIL if rate > 400 else PASS), first_rate_per_s=1.0, expected_per_s=1000.0)
    assert rates(low)[:5] == pytest.approx([1000 * math.sqrt(1.05) / 1.05**k for k in (0, 1, 2, 4, 8)])
    assert low.outcome is Outcome.PRECISE


# Probes that tell what was processed


def overloaded(capacity_per_s, told_per_s=None):
    """Make a probe at a rate; one that is too high tells the capacity, or what is given instead."""
    most = told_per_s or capacity_per_s

    def probe(rate_per_s):
        is_fail = rate_per_s > capacity_per_s
        return Probe(rate_per_s, FAIL if is_fail else PASS, capacity_per_s=most if is_fail else None)

    return probe


def guided(probe, **options):
    search = Search(SearchSettings(**options))
    for _ in range(500):
        rate_per_s = search.next_rate()
        if rate_per_s is None:
            return search
        search.add(probe(rate_per_s))
    return pytest.fail("no end after 500 probes")


@pytest.mark.parametrize("guess", [2000.0, 100_000.0])
def test_a_rate_that_fails_leads_to_the_border_at_once(guess):
    search = guided(overloaded(1000.0), first_rate_per_s=guess, within=0.1)
    width = math.sqrt(1.1)
    assert rates(search)[1:] == pytest.approx([1000 / width, 1000 * width])
    assert search.outcome is Outcome.PRECISE


@pytest.mark.parametrize("verdict", [PASS, FAIL])
@pytest.mark.parametrize(
    ("told", "last"),
    [(1030.0, 1100.0 / 1.1), (970.0, 940.0 * 1.1), (930.0, 940.0 * 1.1), (None, math.sqrt(940.0 * 1100))],
)
def test_the_last_step_ends_the_search_by_either_verdict_and_by_the_expected_one_as_wide_as_asked_for(
    told, last, verdict
):
    probes = [Probe(1100.0, FAIL, capacity_per_s=told), Probe(940.0, PASS, capacity_per_s=told)]
    search = Search(SearchSettings(1000.0, within=0.1), probes)
    assert search.next_rate() == pytest.approx(last)
    search.add(Probe(last, verdict))
    assert search.outcome is Outcome.PRECISE


def test_rates_double_until_one_is_too_high_and_then_the_border_is_near():
    search = guided(overloaded(1000.0), first_rate_per_s=100.0, within=0.1)
    width = math.sqrt(1.1)
    assert rates(search) == pytest.approx([100, 200, 400, 800, 1600, 1000 / width, 1000 * width])


@given(
    capacity=st.floats(20.0, 1e6),
    guess=st.floats(20.0, 1e6),
    within=st.floats(0.01, 0.5),
    misled=st.floats(0.01, 0.99),
)
@settings(max_examples=100)
def test_a_border_is_found_even_where_what_was_processed_misleads(capacity, guess, within, misled):
    search = guided(overloaded(capacity, misled * capacity), first_rate_per_s=guess, within=within, min_rate_per_s=0.01)
    assert search.outcome is Outcome.PRECISE
    assert search.bracket.low_per_s <= capacity < search.bracket.high_per_s
    assert len(search.probes) <= most_probes(search.settings, capacity) + 8


def test_below_what_was_processed_under_overload_the_search_goes_down_in_small_steps():
    search = guided(overloaded(1000.0, 1300.0), first_rate_per_s=2600.0, within=0.1)
    first = 1300 / math.sqrt(1.1)
    assert rates(search)[:4] == pytest.approx([2600, first, first / 1.1, first / 1.1**3])
    assert search.outcome is Outcome.PRECISE
    assert len(search.probes) <= 6


def test_a_rate_in_doubt_is_closed_in_from_both_sides():
    def truth(rate_per_s):
        return PASS if rate_per_s < 980 else UNKNOWN if rate_per_s < 1030 else FAIL

    def probe(rate_per_s):
        return Probe(rate_per_s, truth(rate_per_s), capacity_per_s=955.0)

    search = guided(probe, first_rate_per_s=2000.0, within=0.1)
    width = math.sqrt(1.1)
    doubt = 955 * width
    assert rates(search) == pytest.approx([2000, 955 / width, doubt, doubt, 955, doubt * width])
    assert search.bracket == Bracket(pytest.approx(955), pytest.approx(doubt * width))
    assert search.outcome is Outcome.PRECISE


@pytest.mark.parametrize("guess", [300.0, 700.0, 2500.0])
def test_what_a_probe_tells_of_the_capacity_leads_to_the_border_whether_it_passes_or_not(guess):
    def probe(rate_per_s):
        return Probe(rate_per_s, PASS if rate_per_s <= 1000 else FAIL, capacity_per_s=1000.0)

    search = guided(probe, first_rate_per_s=guess, within=0.1)
    width = math.sqrt(1.1)
    # A rate that fails is looked for first, where none has.
    ends = [1000 * width, 1000 / width] if guess < 1000 else [1000 / width, 1000 * width]
    assert rates(search) == pytest.approx([guess, *ends])


def test_probes_that_tell_too_little_of_the_capacity_do_not_hold_the_search_up():
    def probe(rate_per_s):
        told = min(1000.0, 0.75 * 1000 + 0.25 * rate_per_s)
        return Probe(rate_per_s, PASS if rate_per_s <= 1000 else FAIL, capacity_per_s=told)

    search = guided(probe, first_rate_per_s=650.0, within=0.1)
    assert search.outcome is Outcome.PRECISE
    assert len(search.probes) <= 4
    assert search.outcome is Outcome.PRECISE


def test_probes_that_contradict_their_own_verdict_tell_nothing_of_the_capacity():
    told = [Probe(900.0, PASS, capacity_per_s=800.0), Probe(1100.0, FAIL, capacity_per_s=1300.0)]
    assert Search(SearchSettings(900.0, within=0.1), told).capacities_per_s == []
    told += [Probe(900.0, PASS, capacity_per_s=1000.0), Probe(1100.0, UNKNOWN, capacity_per_s=1050.0)]
    assert Search(SearchSettings(900.0, within=0.1), told).capacities_per_s == [1000.0, 1050.0]


def test_a_rate_that_fails_for_another_reason_says_nothing_of_the_border():
    late = Probe(1000.0, FAIL, capacity_per_s=1000.0)
    assert Search(SearchSettings(1000.0), [late]).next_rate() == 500.0


def test_reasons_name_the_end_of_the_search():
    precise, lowest = searched(below(1500.0)), searched(below(1.0), min_rate_per_s=400.0)
    assert precise.reason == "passes at 1.477k/s and fails at 1.542k/s, 4.4 % apart"
    assert lowest.reason == "fails at the lowest rate, 400/s"
    assert searched(below(1e9), max_rate_per_s=5000.0).reason == "passes at the highest rate, 5k/s"
    assert Search(SearchSettings(1.0)).reason is None


# Uncertain borders


def test_c2_an_unknown_is_repeated_and_the_repetition_decides():
    search = searched(planted(below(1500.0), {1: UNKNOWN}))
    assert rates(search)[:4] == [1000, 2000, 2000, pytest.approx(math.sqrt(2e6))]
    assert (search.outcome, search.undecided_per_s) == (Outcome.PRECISE, ())


def test_a_rate_that_stays_unknown_counts_as_failing_but_never_ends_the_interval():
    def truth(rate_per_s):
        return PASS if rate_per_s <= 1000 else UNKNOWN if rate_per_s < 1900 else FAIL

    search = searched(truth, 800.0)
    assert search.outcome is Outcome.UNDECIDED
    low, high = search.bracket.low_per_s, search.bracket.high_per_s
    assert 1000 / 1.05 <= low <= 1000
    assert 1900 <= high <= 1900 * 1.05
    assert all(low < rate < high for rate in search.undecided_per_s)
    assert all(rates(search).count(rate) == 2 for rate in search.undecided_per_s)
    assert search.reason.startswith("the border cannot be decided: no verdict at ")


def test_undecided_rates_inside_a_precise_interval_do_no_harm_but_are_reported():
    chosen = SearchSettings(1000.0, within=0.05)
    search = with_verdicts(chosen, {1000.0: "p", 1020.0: "uu", 1040.0: "f"})
    assert (search.outcome, search.undecided_per_s) == (Outcome.PRECISE, (1020.0,))
    assert search.reason == "passes at 1k/s and fails at 1.04k/s, 4 % apart; no verdict at 1.02k/s"


def test_nothing_but_unknowns_ends_soon_and_shows_no_interval():
    search = searched(lambda _: UNKNOWN, 1e6)
    assert (search.outcome, search.bracket) == (Outcome.UNDECIDED, Bracket(None, None))
    assert len(search.probes) == 8


def test_when_nothing_above_fails_the_interval_has_no_upper_end():
    search = searched(lambda rate_per_s: PASS if rate_per_s <= 1000 else UNKNOWN)
    assert search.outcome is Outcome.UNDECIDED
    assert (search.bracket.low_per_s, search.bracket.high_per_s) == (1000.0, None)


def test_both_ends_are_confirmed_on_request():
    search = searched(below(1500.0), confirm=True)
    for end in (search.bracket.low_per_s, search.bracket.high_per_s):
        assert rates(search).count(end) == 2
    others = set(rates(search)) - {search.bracket.low_per_s, search.bracket.high_per_s}
    assert all(rates(search).count(rate) == 1 for rate in others)


def test_c2_an_end_that_does_not_hold_when_it_is_repeated_is_closed_in_from_both_sides():
    search = searched(planted(below(1500.0), {6: FAIL}), confirm=True)
    (flaky,) = search.flaky_per_s
    assert [p.verdict for p in search.probes if p.rate_per_s == flaky] == [PASS, FAIL]
    assert search.bracket.low_per_s < flaky < search.bracket.high_per_s
    assert [rates(search).count(end) for end in (search.bracket.low_per_s, search.bracket.high_per_s)] == [2, 2]
    assert search.outcome is Outcome.PRECISE
    assert search.reason == "passes at 1.445k/s and fails at 1.517k/s, 5 % apart; passed and failed at 1.477k/s"


def test_the_end_that_is_closer_to_the_expected_border_is_repeated_first_and_then_looked_just_above():
    told = [Probe(1000.0, FAIL, capacity_per_s=900.0), Probe(910.0, PASS, capacity_per_s=1050.0)]
    search = Search(SearchSettings(1000.0, within=0.1, confirm=True), told)
    assert search.next_rate() == 1000.0
    search.add(Probe(1000.0, PASS, capacity_per_s=1050.0))
    assert search.next_rate() == pytest.approx(1000.0 * math.sqrt(1.1))


def test_an_end_that_was_probed_once_is_repeated_before_one_that_had_no_verdict_at_first():
    told = [Probe(1100.0, FAIL), Probe(1000.0, UNKNOWN), Probe(1000.0, PASS)]
    search = Search(SearchSettings(1000.0, within=0.1, confirm=True), told)
    assert search.next_rate() == 1100.0
    search.add(Probe(1100.0, FAIL))
    assert search.next_rate() == 1000.0


@pytest.mark.parametrize(("told", "repeated"), [(1010.0, 1000.0), (1048.0, None), (1085.0, 1100.0)])
def test_where_probes_tell_the_border_only_an_end_close_to_it_is_repeated(told, repeated):
    probes = [Probe(1100.0, FAIL, capacity_per_s=1010.0), Probe(1000.0, PASS, capacity_per_s=2 * told - 1010)]
    search = Search(SearchSettings(1000.0, within=0.1, confirm=True), probes)
    assert median(search.capacities_per_s) == pytest.approx(told)
    assert search.next_rate() == repeated


def test_an_end_that_passed_by_chance_is_given_up():
    """The third probe passes although the capacity is lower; its repetitions fail, and the search goes on below."""
    search = searched(planted(below(1100.0), {2: PASS}), confirm=True)
    assert search.outcome is Outcome.PRECISE
    assert search.bracket.low_per_s <= 1100 < search.bracket.high_per_s
    assert search.flaky_per_s == (pytest.approx(math.sqrt(2e6)),)


@given(capacity=st.floats(100.0, 1e5), guess=st.floats(100.0, 1e5), seed=st.integers(0, 10**6))
@settings(max_examples=60)
def test_c2_a_border_of_random_verdicts_is_found_where_it_is(capacity, guess, seed):
    """Within 5 % of the capacity verdicts are drawn: the interval touches that zone, whatever they are."""
    rng = np.random.default_rng(seed)

    def truth(rate_per_s):
        if abs(rate_per_s / capacity - 1) > 0.05:
            return below(capacity)(rate_per_s)
        return (PASS, FAIL, UNKNOWN)[rng.integers(3)]

    search = searched(truth, guess, confirm=True)
    low, high = search.bracket.low_per_s, search.bracket.high_per_s
    assert low <= capacity * 1.05
    assert high >= capacity * 0.95
    assert low >= capacity * 0.9
    assert high <= capacity * 1.11
    assert search.outcome in {Outcome.PRECISE, Outcome.UNDECIDED, Outcome.NOT_MONOTONE}


@given(seed=st.integers(0, 10**6), confirm=st.booleans())
@settings(max_examples=60)
def test_every_search_ends_and_tells_no_lie_about_its_probes(seed, confirm):
    rng = np.random.default_rng(seed)
    weights = rng.dirichlet([1, 1, 1])
    search = searched(lambda _: (PASS, FAIL, UNKNOWN)[rng.choice(3, p=weights)], 5000.0, confirm=confirm)
    low, high = search.bracket.low_per_s, search.bracket.high_per_s
    for end, verdict in ((low, PASS), (high, FAIL)):
        assert end is None or any(p.rate_per_s == end and p.verdict is verdict for p in search.probes)
    if low is not None and high is not None:
        assert low < high
        assert (search.outcome is Outcome.PRECISE) == (high / low <= 1.05 * (1 + 1e-9))
    assert max(rates(search).count(rate) for rate in rates(search)) <= 3
    assert search.reason


# Truths that are not monotone


def islands(rate_per_s):
    """Passes up to 1000, fails up to 1900, passes again up to 3000."""
    return PASS if rate_per_s <= 1000 or 1900 < rate_per_s <= 3000 else FAIL


def test_c2_a_pass_beyond_the_border_is_found_repeated_and_covered():
    search = finish(with_verdicts(SearchSettings(1100.0), {1100.0: "f", 2200.0: "p"}), islands)
    assert search.outcome is Outcome.NOT_MONOTONE
    low, high = search.bracket.low_per_s, search.bracket.high_per_s
    assert 1000 / 1.05 <= low <= 1000
    assert 3000 <= high <= 3000 * 1.05
    contradicting = {rate for rate in rates(search) if low < rate < high}
    assert {islands(rate) for rate in contradicting} == {PASS, FAIL}
    assert search.reason.startswith("not monotone: fails at ")
    assert " but passes at 2." in search.reason


def test_an_island_that_no_probe_touches_is_not_found():
    search = searched(islands, 990.0, growth=1.3)
    assert max(rates(search)) < 1900
    assert search.outcome is Outcome.PRECISE


@pytest.mark.parametrize(
    ("repeated", "outcome", "low", "high"),
    [
        ({1000.0: PASS}, Outcome.PRECISE, 1100.0, 1140.0),
        ({1100.0: FAIL}, Outcome.PRECISE, 970.0, 1000.0),
        ({}, Outcome.NOT_MONOTONE, 970.0, 1140.0),
    ],
)
def test_c2_contradicting_rates_are_repeated_and_one_that_changes_is_no_contradiction(repeated, outcome, low, high):
    search = with_verdicts(SearchSettings(1000.0), {970.0: "p", 1000.0: "f", 1100.0: "p", 1140.0: "f"})
    finish(search, lambda rate_per_s: repeated.get(rate_per_s, {1000.0: FAIL, 1100.0: PASS}.get(rate_per_s, FAIL)))
    assert set(rates(search)[4:]) <= {1000.0, 1100.0}
    assert (search.outcome, search.bracket) == (outcome, Bracket(low, high))


@given(table=st.lists(st.booleans(), min_size=1, max_size=30), guess=st.integers(0, 29))
@settings(max_examples=80)
def test_c2_on_any_table_a_contradiction_among_the_probes_is_never_hidden(table, guess):
    """Rates 100 * 1.1^k have any verdicts, fixed for each: what the interval excludes, the probes support."""

    def truth(rate_per_s):
        k = math.floor(math.log(rate_per_s / 100) / math.log(1.1))
        return PASS if k < 0 or (k < len(table) and table[k]) else FAIL

    search = searched(truth, 100 * 1.1**guess)
    low, high = search.bracket.low_per_s, search.bracket.high_per_s
    assert all(p.verdict is PASS for p in search.probes if p.rate_per_s <= low)
    assert all(p.verdict is FAIL for p in search.probes if p.rate_per_s >= high)
    inside = {p.verdict for p in search.probes if low < p.rate_per_s < high}
    assert search.outcome is (Outcome.NOT_MONOTONE if inside else Outcome.PRECISE)


# Budgets, storage and mistakes


def test_a_spent_budget_ends_the_search_with_the_interval_that_is_sure():
    search = searched(below(1500.0), probe_s=40.0, budget_s=170.0)
    assert (search.outcome, len(search.probes), search.spent_s) == (Outcome.BUDGET_SPENT, 4, 160.0)
    assert search.bracket.low_per_s <= 1500 < search.bracket.high_per_s
    assert search.reason == "the budget of 170 s has no room for another probe after 4"


def test_a_budget_below_one_probe_finds_nothing():
    search = Search(SearchSettings(1000.0, budget_s=30.0, probe_s=40.0))
    assert (search.next_rate(), search.outcome, search.bracket) == (None, Outcome.BUDGET_SPENT, Bracket(None, None))


def test_probes_that_take_longer_than_expected_are_noticed():
    search = searched(below(1500.0), probe_s=60.0, budget_s=170.0)
    assert len(search.probes) == 2


def test_a_contradiction_is_told_even_when_the_budget_ends_first():
    chosen = SearchSettings(1000.0, budget_s=1.0, probe_s=2.0)
    search = with_verdicts(chosen, {900.0: "p", 1000.0: "f", 1100.0: "p", 1200.0: "f"})
    assert (search.outcome, search.bracket) == (Outcome.BUDGET_SPENT, Bracket(900.0, 1200.0))
    assert search.reason.endswith("; not monotone: fails at 1k/s but passes at 1.1k/s")


@given(capacity=st.floats(100.0, 1e6), cut=st.integers(0, 8))
@settings(max_examples=40)
def test_an_interrupted_search_goes_on_where_it_was(capacity, cut):
    truth, chosen = below(capacity), SearchSettings(3000.0, confirm=True)
    whole = finish(Search(chosen), truth)
    part = Search(chosen, whole.probes[:cut])
    resumed = finish(Search.from_dict(json.loads(json.dumps(part.to_dict(), allow_nan=False))), truth)
    assert (resumed.probes, resumed.bracket, resumed.reason) == (whole.probes, whole.bracket, whole.reason)


def test_a_stored_search_keeps_runs_and_reasons():
    probe = Probe(0.1 + 0.2, UNKNOWN, 41.5, "20260101-ysb-1", ("backlog was seen 3 times", "interrupted"))
    search = Search(SearchSettings(1000.0, budget_s=600.0), [probe])
    again = Search.from_dict(json.loads(json.dumps(search.to_dict())))
    assert (again.settings, again.probes) == (search.settings, search.probes)


def test_a_finished_search_can_be_made_finer_without_new_probes_of_the_same_rates():
    coarse = searched(below(1500.0), within=0.2)
    fine = finish(Search(replace(coarse.settings, within=0.02), coarse.probes), below(1500.0))
    assert fine.probes[: len(coarse.probes)] == coarse.probes
    assert len(set(rates(fine))) == len(fine.probes)
    assert fine.outcome is Outcome.PRECISE


@pytest.mark.parametrize(
    "document",
    [
        {},
        {"settings": {"first_rate_per_s": 1.0}, "probes": [{"rate_per_s": 1.0}]},
        {"settings": {"first_rate_per_s": 1.0}, "probes": [{"rate_per_s": 1.0, "verdict": "maybe", "reasons": []}]},
        {"settings": {"first_rate_per_s": 1.0}, "probes": [{"rate_per_s": -1.0, "verdict": "pass", "reasons": []}]},
        {"settings": {"speed": 1.0}, "probes": []},
        {"settings": [], "probes": []},
    ],
)
def test_a_stored_search_of_another_kind_is_refused(document):
    with pytest.raises(InvalidExperimentError, match="not one of ours"):
        Search.from_dict(document)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"first_rate_per_s": 0.5}, "the first rate, 0.5/s, is outside of the search"),
        ({"first_rate_per_s": math.nan}, "is outside of the search"),
        ({"min_rate_per_s": 0.0}, "has no rates"),
        ({"min_rate_per_s": 10.0, "max_rate_per_s": 5.0}, "a search from 10/s to 5/s has no rates"),
        ({"within": 0.0}, "a search cannot be within 0"),
        ({"growth": 1.0}, "rates cannot grow by a factor of 1"),
        ({"budget_s": 0.0}, "allows no probe"),
        ({"probe_s": -1.0}, "a probe cannot take"),
    ],
)
def test_settings_that_describe_no_search_are_refused(options, message):
    with pytest.raises(UsageError, match=message):
        SearchSettings(**{"first_rate_per_s": 100.0, **options})


@pytest.mark.parametrize(("rate_per_s", "duration_s"), [(0.0, 1.0), (math.inf, 1.0), (1.0, -1.0), (1.0, math.nan)])
def test_probes_that_cannot_be_are_refused(rate_per_s, duration_s):
    with pytest.raises(ValueError, match="probe"):
        Probe(rate_per_s, PASS, duration_s)


# A server of known capacity

SERVERS = {
    "one core": Server(cores=1, service_s=1e-3, limit=1000, overhead_s=1.0),
    "two cores": Server(cores=2, service_s=2e-4, limit=10_000, overhead_s=1.0),
    "four cores": Server(cores=4, service_s=2e-4, limit=20_000, overhead_s=1.0),
}


@pytest.mark.parametrize("name", SERVERS)
@pytest.mark.parametrize("seed", [1, 2])
def test_c3_the_capacity_of_a_simulated_server_is_found_within_five_percent(name, seed):
    server, rng = SERVERS[name], np.random.default_rng(seed)
    capacity = server.capacity_per_s
    search = Search(SearchSettings(capacity * float(rng.uniform(0.4, 2.5)), within=0.03))
    while (rate_per_s := search.next_rate()) is not None:
        search.add(server.probe(rate_per_s, warmup_s=30.0, duration_s=150.0, rng=rng))
    assert 0.95 * capacity <= search.bracket.low_per_s <= 1.05 * capacity
    assert 0.95 * capacity <= search.bracket.high_per_s <= 1.05 * capacity
    assert search.outcome in {Outcome.PRECISE, Outcome.UNDECIDED}


@pytest.mark.parametrize("share", [0.6, 0.97, 1.2])
def test_the_simulated_server_is_judged_as_a_run_is(share):
    server = SERVERS["one core"]
    run = server.run(share * server.capacity_per_s, warmup_s=10.0, duration_s=60.0, rng=np.random.default_rng(1))
    verdict, reasons = judge(run)
    summary = summarise(run)
    assert (verdict.value, list(reasons)) == (summary["verdict"], summary["reasons"])


def test_the_simulated_server_works_at_its_capacity_under_overload():
    server = replace(SERVERS["two cores"], noise=0.0)
    run = server.run(3 * server.capacity_per_s, warmup_s=0.0, duration_s=100.0, rng=np.random.default_rng(1))
    busy = [b for b in run.batches if b.events]
    elapsed_s = (busy[-1].finished_us - busy[0].finished_us) / 1e6
    assert (busy[-1].last - busy[0].last) / elapsed_s == pytest.approx(server.capacity_per_s, rel=0.01)


def test_above_a_rate_that_also_passed_the_search_goes_on_in_small_steps():
    """The lowest rate that failed passes when it is repeated: the border is near, not twice as high."""
    search = Search(SearchSettings(1000.0, within=0.1, confirm=True))
    votes = {1000.0: ["pass"] * 3, 2000.0: ["fail", "pass", "unknown"]}
    probed = []
    while (rate_per_s := search.next_rate()) is not None and len(probed) < 20:
        probed.append(rate_per_s)
        planned = votes.get(rate_per_s, [])
        verdict = planned.pop(0) if planned else ("pass" if rate_per_s < 2000 else "fail")
        search.add(Probe(rate_per_s, Verdict(verdict)))
    assert max(probed) == pytest.approx(2000.0 * math.sqrt(1.1))
    assert 2000.0 < search.bracket.high_per_s <= 2200.0 * (1 + 1e-9)
    assert search.flaky_per_s == (2000.0,)


@pytest.mark.parametrize(
    ("others", "expected"),
    [
        ([Probe(955.0, PASS), Probe(1080.0, FAIL)], 955.0 * 1.1),
        ([Probe(930.0, PASS), Probe(1040.0, FAIL)], 1040.0 / 1.1),
        ([Probe(800.0, PASS), Probe(1060.0, FAIL)], 1060.0 / 1.1),
        # Where the other end is too far away, there is half of the width on each side.
        ([Probe(800.0, PASS), Probe(1200.0, FAIL)], 1000.0 / math.sqrt(1.1)),
    ],
)
def test_around_a_rate_in_doubt_the_interval_is_as_wide_as_asked_for(others, expected):
    probes = [Probe(1000.0, PASS), Probe(1000.0, FAIL), *others]
    assert Search(SearchSettings(1000.0, within=0.1), probes).next_rate() == pytest.approx(expected)


def test_an_interval_is_precise_also_when_no_time_is_left_to_repeat_its_ends():
    settings = SearchSettings(1000.0, within=0.5, confirm=True, budget_s=40.0, probe_s=10.0)
    search = Search(settings)
    while (rate_per_s := search.next_rate()) is not None:
        search.add(Probe(rate_per_s, Verdict.PASS if rate_per_s <= 3100 else Verdict.FAIL, 10.0))
    assert search.outcome is Outcome.PRECISE
    assert search.reason == (
        "passes at 2.828k/s and fails at 4k/s, 41 % apart; no time was left to repeat 2.828k/s, 4k/s"
    )


@pytest.mark.parametrize("changes", [{"capacity_per_s": "fast"}, {"rate_per_s": 10**400}, {"duration_s": "1"}], ids=str)
def test_a_stored_search_with_numbers_of_others_is_refused(changes):
    probe = {"rate_per_s": 1000.0, "verdict": "pass", "reasons": [], "duration_s": 1.0, **changes}
    with pytest.raises(InvalidExperimentError, match="not one of ours"):
        Search.from_dict({"settings": {"first_rate_per_s": 1000.0}, "probes": [probe]})
