"""L5: numbers of events per 10 ms are those of a Poisson distribution, and independent of each other."""

import numpy as np
import pytest
from scipy import stats

from streamgauge.arrivals import Constant, Poisson, Sine

STEPS = 100_000


def numbers(law, steps=STEPS):
    schedule = law.schedule(steps / 100)
    return np.diff(schedule.created(np.arange(0, steps + 1) * 10_000 - 1))


def fit(observed, mean):
    """Return the p-value of a chi-square test against a Poisson distribution with this mean."""
    last = int(stats.poisson.ppf(1 - 1e-3, mean))
    expected = np.append(stats.poisson.pmf(np.arange(last), mean), stats.poisson.sf(last - 1, mean)) * len(observed)
    return stats.chisquare(np.bincount(np.minimum(observed, last), minlength=last + 1), expected).pvalue


@pytest.mark.parametrize(
    ("law", "mean"),
    [
        (Poisson(500.0, 1), 5.0),
        (Poisson(30.0, -3), 0.3),
        (Poisson(250.0, 1) * 2, 5.0),
        (Poisson(500.0, 1) + Poisson(300.0, 2), 8.0),
        ((Poisson(100.0, 1) + Poisson(200.0, 2)) * 3, 9.0),
    ],
)
def test_l5_numbers_per_10_ms_fit_the_distribution(law, mean):
    assert fit(numbers(law), mean) > 0.01


@pytest.mark.parametrize(
    ("law", "mean"),
    [(Poisson(510.0, 1), 5.0), (Constant(500.0), 5.0), (Poisson(250.0, 1) + Poisson(250.0, 1), 5.0)],
    ids=["two percent too many", "no chance", "one seed for both"],
)
def test_the_check_of_the_fit_notices_other_distributions(law, mean):
    assert fit(numbers(law), mean) < 1e-6


def test_l5_numbers_do_not_depend_on_those_before_them():
    found = numbers(Poisson(500.0, 7)).astype(float)
    for lag in (1, 2, 10, 100):
        assert abs(np.corrcoef(found[:-lag], found[lag:])[0, 1]) < 4 / np.sqrt(STEPS)


def test_l5_times_between_rare_events_are_exponential():
    schedule = Poisson(20.0, 11).schedule(1_000.0)
    steps = schedule.times_us(np.arange(schedule.total)) // 10_000
    # The law decides in which 10 ms an event comes, not where inside them.
    times_s = np.sort(steps + np.random.default_rng(0).uniform(0.0, 1.0, len(steps))) / 100
    assert stats.kstest(np.diff(times_s), stats.expon(scale=1 / 20).cdf).pvalue > 0.01


def test_l2_other_seeds_give_other_numbers():
    found = {tuple(numbers(Poisson(500.0, seed), 200)) for seed in (-2, -1, 0, 1, 2, 2**62)}
    assert len(found) == 6


def test_l2_numbers_do_not_depend_on_when_the_load_ends():
    long = Poisson(12_345.0, 3).schedule(9.0)
    for end_us in (10_000, 1_000_000, 1_234_567, 8_999_999):
        short = Poisson(12_345.0, 3).schedule(end_us / 1e6)
        whole = end_us // 10_000 + 1
        assert np.array_equal(short.count[:whole], long.count[:whole])
        assert short.total == long.created(end_us - 1)


def test_a_sum_has_the_numbers_of_both_laws():
    certain, random = Sine(3_000.0, 2.0), Poisson(2_000.0, 5)
    both, one, other = ((law).schedule(5.0) for law in (certain + random, certain, random))
    assert np.array_equal(both.time_us, one.time_us)
    assert np.array_equal(both.count, one.count + other.count)


def test_a_multiple_draws_from_the_higher_rate():
    assert (Poisson(100.0, 4) * 5).schedule(10.0) == Poisson(500.0, 4).schedule(10.0)
