import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.measure.change import find_changes, results_needed


def positions(results, **options):
    return [change.position for change in find_changes(results, **options)]


def right_share(levels, lengths, *, repeats, seed, wild=0.0):
    """Return the share of noisy sequences in which each planted step is found within one position, and no other."""
    rng = np.random.default_rng(seed)
    planted = np.cumsum(lengths)[:-1]
    right = 0
    for _ in range(repeats):
        results = np.repeat(np.asarray(levels, dtype=float), lengths) + rng.standard_normal(sum(lengths))
        results[rng.integers(len(results))] += wild
        found = positions(results)
        right += len(found) == len(planted) and bool(np.all(np.abs(np.array(found) - planted) <= 1))
    return right / repeats


@pytest.mark.parametrize(
    ("levels", "lengths"),
    [
        ([0, 4], [20, 20]),
        ([0, -5], [7, 7]),
        ([0, 6], [30, 5]),
        ([0, 6, 0], [20, 6, 20]),
        ([0, -5, 3, 9], [12, 12, 12, 12]),
    ],
)
def test_s6_planted_steps_are_found_within_one_position(levels, lengths):
    assert right_share(levels, lengths, repeats=20, seed=len(lengths)) >= 0.9


@pytest.mark.parametrize("noise", ["standard_normal", "standard_cauchy"])
def test_s6_noise_shows_a_change_as_seldom_as_stated(noise):
    rng = np.random.default_rng(7)
    found = [bool(find_changes(getattr(rng, noise)(16), confidence=0.9, rng=rng)) for _ in range(200)]
    assert 0.05 <= np.mean(found) <= 0.15


def test_s6_noise_shows_a_change_in_one_of_a_hundred_by_default():
    rng = np.random.default_rng(8)
    found = [bool(find_changes(rng.standard_normal(20), rng=rng)) for _ in range(300)]
    assert np.mean(found) <= 0.02


def test_a_single_wild_result_is_no_change_and_seldom_hides_one():
    assert right_share([0], [30], repeats=30, seed=9, wild=1000) >= 0.95
    assert right_share([0, 5], [20, 20], repeats=30, seed=10, wild=1000) >= 0.8


def test_a_change_tells_the_levels_around_it():
    results = [10, 11, 10, 11, 10, 11, 20, 21, 20, 21, 20, 21, 5, 6, 5, 6, 5, 6]
    first, second = find_changes(results)
    assert (first.position, first.before, first.after) == (6, 10.5, 20.5)
    assert (second.position, second.before, second.after) == (12, 20.5, 5.5)
    assert max(first.p, second.p) <= 0.01


@pytest.mark.parametrize("level", [0.0, 0.1, 1e9])
def test_constant_results_have_no_change(level):
    assert find_changes([level] * 40) == []


def test_a_step_between_constant_levels_is_found():
    assert positions([3.0] * 12 + [3.1] * 8) == [12]


def test_the_same_results_give_the_same_answer():
    results = np.random.default_rng(11).standard_normal(40) + np.repeat([0, 2], 20)
    assert find_changes(results) == find_changes(list(results))


@settings(max_examples=20)
@given(st.integers(6, 15), st.integers(6, 15), st.sampled_from([-1e6, -1e-3, 1e-3, 1e6]))
def test_unit_sign_and_direction_do_not_matter(before, after, factor):
    results = np.random.default_rng(before).uniform(-1, 1, before + after) + np.repeat([0, 10], [before, after])
    assert positions(results) == [before]
    assert positions(factor * results + factor) == [before]
    assert positions(results[::-1]) == [after]


def test_too_few_results_are_refused_because_silence_would_say_nothing():
    with pytest.raises(ValueError, match="11 results cannot show a change at 99 % confidence; 12 can"):
        find_changes([1] * 11)
    for confidence in (0.9, 0.95, 0.99, 0.995):
        points = results_needed(confidence)
        clear = np.repeat([0.0, 1.0], [points // 2, points - points // 2])
        assert positions(clear, confidence=confidence) == [points // 2]


def test_what_is_no_sequence_of_results_is_refused():
    with pytest.raises(ValueError, match="missing or not finite"):
        find_changes([1.0] * 20 + [float("nan")])
    with pytest.raises(ValueError, match="confidence must lie between"):
        find_changes([1.0] * 20, confidence=0.9999)
