import numpy as np
import pytest

from streamgauge.events.columns import SLOTS, zipf_borders
from streamgauge.events.draw import SlottedLaw, draw, hash_longs, stream_key

# The 99.9 % quantile of chi-square with 99 degrees of freedom, from tables.
CHI_SQUARE_99 = 148.23


def chi_square(values, below):
    expected = len(values) / below
    return float(np.sum((np.bincount(values, minlength=below) - expected) ** 2) / expected)


@pytest.mark.parametrize(("value", "hashed"), [(0, -5252525462095825812), (1, -7001672635703045582)])
def test_the_hash_of_a_long_is_that_of_spark(value, hashed):
    assert hash_longs(value)[0] == hashed


def test_several_longs_are_hashed_one_after_the_other_and_their_order_counts():
    pairs = hash_longs(7, np.arange(4))
    assert pairs.dtype == np.int64
    assert len(set(pairs.tolist()) | set(hash_longs(np.arange(4), 7).tolist())) == 8
    assert [int(hash_longs(7, n)[0]) for n in range(4)] == pairs.tolist()


def test_negative_and_extreme_longs_are_hashed_without_overflow():
    extreme = np.array([-1, np.iinfo(np.int64).min, np.iinfo(np.int64).max])
    assert len(set(hash_longs(extreme).tolist())) == 3


def test_l2_an_event_is_the_same_whatever_is_drawn_with_it():
    whole = draw(np.arange(1_000), seed=3, field=1, below=10**9)
    parts = [draw(np.arange(first, first + 100), seed=3, field=1, below=10**9) for first in range(0, 1_000, 100)]
    assert np.array_equal(whole, np.concatenate(parts))
    assert draw(np.array([999]), seed=3, field=1, below=10**9)[0] == whole[999]


@pytest.mark.parametrize("other", [{"seed": 4, "field": 1}, {"seed": 3, "field": 2}])
def test_l2_seeds_and_fields_have_draws_of_their_own(other):
    n = np.arange(10_000)
    mine, theirs = draw(n, seed=3, field=1, below=100), draw(n, seed=other["seed"], field=other["field"], below=100)
    assert np.mean(mine == theirs) == pytest.approx(0.01, abs=0.005)
    assert stream_key(3, 1) != stream_key(other["seed"], other["field"])


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_l5_draws_are_uniform(seed):
    values = draw(np.arange(100_000), seed=seed, field=5, below=100)
    assert (values.min(), values.max()) == (0, 99)
    assert chi_square(values, 100) < CHI_SQUARE_99


def test_l5_successive_draws_are_independent():
    values = draw(np.arange(100_001), seed=1, field=5, below=10)
    assert chi_square(values[:-1] * 10 + values[1:], 100) < CHI_SQUARE_99


def slot_probabilities(law, size):
    """Return the exact probability of every value: its share of every slot that holds it."""
    probabilities = np.zeros(size)
    for low, width in zip(law.low, law.width, strict=True):
        probabilities[low : low + width] += 1 / (width * SLOTS)
    return probabilities


@pytest.mark.parametrize(("size", "exponent"), [(1, 1.0), (10, 0.0), (1_000, 1.0), (200_000, 1.0), (5_000, 2.5)])
def test_zipf_s_law_is_exact_at_the_borders_of_the_slots(size, exponent):
    law = SlottedLaw(zipf_borders(size, exponent))
    weights = 1.0 / np.arange(1, size + 1) ** exponent
    truth = np.concatenate(([0.0], np.cumsum(weights / weights.sum())))
    found = np.concatenate(([0.0], np.cumsum(slot_probabilities(law, size))))
    borders = np.unique(law.low)
    assert found[-1] == pytest.approx(1.0)
    assert np.max(np.abs(found[borders] - truth[borders])) <= 1 / SLOTS + 1e-9


def test_l5_draws_from_zipf_s_law_fit_it():
    law = SlottedLaw(zipf_borders(100, 1.0))
    values = law.draw(np.arange(200_000), seed=1, field=1)
    weights = 1.0 / np.arange(1, 101)
    expected = len(values) * weights / weights.sum()
    observed = np.bincount(values, minlength=100)
    assert float(np.sum((observed - expected) ** 2 / expected)) < CHI_SQUARE_99


def test_draws_stay_below_the_size_even_where_slots_are_wider_than_one():
    law = SlottedLaw(zipf_borders(300_000, 0.2))
    values = law.draw(np.arange(100_000), seed=1, field=1)
    assert values.min() >= 0
    assert values.max() < 300_000
    assert law.width.max() > 1
