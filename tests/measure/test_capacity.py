import numpy as np
import pytest
from scipy import stats

from streamgauge.measure import Capacity, fit_capacity, level_capacity, probability_inside, scatter
from streamgauge.measure.capacity import _line, _relative_reach

from .samples import make_batch


def long_batches(rate_per_s, *, fixed_s=0.5, per_event_s=1e-3):
    """Return micro-batches, each of what came during the one before, and how long their tasks take."""
    takes_s = fixed_s / (1 - rate_per_s * per_event_s)
    events = round(rate_per_s * takes_s)
    made = [make_batch(k, k * events, (k + 1) * events, started_s=0, emitted_s=takes_s - 0.01) for k in range(3)]
    return made, takes_s - fixed_s


@pytest.mark.parametrize("rate_per_s", [50.0, 400.0, 800.0])
def test_micro_batches_tell_the_capacity_at_any_rate(rate_per_s):
    # Micro-batches of 3 s, of which half a second passes without tasks.
    assert level_capacity(*long_batches(rate_per_s), longest_s=3.0).per_s == pytest.approx(1000 * 2.5 / 3, rel=0.02)


def test_the_admission_limit_and_the_trigger_decide_the_capacity_where_they_are_given():
    batches, tasks_s = long_batches(400.0)
    limited = {"longest_s": 3.0, "most_events": 500}
    assert level_capacity(batches, tasks_s, **limited).per_s == pytest.approx(500 / (0.5 + 0.5), rel=0.01)
    assert level_capacity(batches, tasks_s, trigger_s=2.0, **limited).per_s == pytest.approx(250)


def test_nothing_but_micro_batches_with_time_for_tasks_tells_a_capacity():
    batches, tasks_s = long_batches(400.0, fixed_s=3.5)
    assert level_capacity([], 1.0, longest_s=3.0) is None
    assert level_capacity(batches, 0.0, longest_s=3.0) is None
    assert level_capacity(batches, tasks_s, longest_s=3.0) is None


def varied_batches(sizes, *, fixed_s=0.5, per_event_s=1e-3, noise=0.0, seed=1):
    """Return micro-batches of these sizes, disturbed in proportion to their length."""
    factors = np.random.default_rng(seed).lognormal(-(noise**2) / 2, noise, len(sizes))
    takes_s = [(fixed_s + per_event_s * n) * factor for n, factor in zip(sizes, factors, strict=True)]
    return [
        make_batch(k, 0, n, started_s=0, emitted_s=time_s - 0.01)
        for k, (n, time_s) in enumerate(zip(sizes, takes_s, strict=True))
    ]


SIZES = [100, 300, 700, 1500, 900, 400, 150, 200]


def test_micro_batches_of_different_sizes_show_the_capacity():
    found = fit_capacity(varied_batches(SIZES), longest_s=3.0)
    assert found.per_s == pytest.approx(1000 * 2.5 / 3, rel=1e-3)
    assert found.high_per_s - found.low_per_s < 1


def test_the_line_through_micro_batches_is_that_of_a_second_method():
    """Four rounds of numpy's weighted fit; the third batch is short, and weighs as one of a tenth of the mean time."""
    x = np.array([300.0, 900.0, 2.0, 1500.0, 2000.0, 400.0, 1200.0, 700.0])
    y = (0.002 + 1e-3 * x) * np.array([1.05, 0.96, 1.3, 1.02, 0.99, 1.04, 0.97, 1.0])
    weights = np.ones(len(x))
    for _ in range(4):
        (slope, constant), covariance = np.polyfit(x, y, 1, w=weights, cov=True)
        mean_x, mean_y = (np.average(values, weights=weights**2) for values in (x, y))
        weights = 1 / np.maximum(constant + slope * x, 0.1 * mean_y)
    found = _line(x, y)
    assert constant > 0
    assert (found.events, found.time_s, found.per_event_s) == pytest.approx((mean_x, mean_y, slope))
    assert found.reach_s == pytest.approx(np.sqrt(covariance[0, 0]) * stats.t.ppf(0.99, 6), rel=2e-3)


def test_a_fixed_cost_is_not_negative():
    x = np.array([100.0, 200.0, 400.0, 800.0])
    found = _line(x, x**2 * 1e-6)
    assert found.per_event_s == pytest.approx(found.time_s / found.events)
    assert found.fixed_s(found.per_event_s) == pytest.approx(0)


def test_micro_batches_may_be_as_long_as_some_were():
    found = fit_capacity(varied_batches([*SIZES, 9500]), longest_s=3.0)
    assert found.per_s == pytest.approx(1000 * 9.5 / 10, rel=1e-3)


def test_an_admission_limit_and_a_trigger_bound_the_fitted_capacity():
    limited = {"longest_s": 3.0, "most_events": 500}
    assert fit_capacity(varied_batches(SIZES), **limited).per_s == pytest.approx(500, rel=1e-3)
    assert fit_capacity(varied_batches(SIZES), trigger_s=2.0, **limited).per_s == pytest.approx(250, rel=1e-3)


@pytest.mark.parametrize("sizes", [SIZES[:5], [500] * 20, []])
def test_few_micro_batches_or_those_of_one_size_show_no_capacity(sizes):
    assert fit_capacity(varied_batches(sizes), longest_s=3.0) is None


@pytest.mark.parametrize("noise", [0.05, 0.25])
def test_the_interval_of_a_capacity_holds_the_true_one(noise):
    """At most 4 % of 300 intervals of 98 % miss it."""
    found = [fit_capacity(varied_batches(SIZES * 2, noise=noise, seed=k), longest_s=4.5) for k in range(300)]
    true_per_s = 1000 * (1 - 0.5 / 4.5)
    assert sum(one.is_above(true_per_s) or one.is_below(true_per_s) for one in found) <= 12


def test_sizes_that_do_not_make_micro_batches_longer_bound_the_capacity_from_below_only():
    found = fit_capacity(varied_batches(SIZES * 3, per_event_s=0.0, noise=0.1, seed=4), longest_s=3.0)
    assert found.high_per_s is None
    assert found.is_above(1500)
    assert not found.is_below(1e9)


def test_larger_micro_batches_that_were_shorter_show_no_capacity_but_a_bound():
    takes_s = [1.02, 0.95, 1.05, 0.99, 0.94, 1.0, 1.03, 0.99]
    batches = [make_batch(k, 0, n, started_s=0, emitted_s=takes_s[k] - 0.01) for k, n in enumerate(SIZES)]
    found = fit_capacity(batches, longest_s=3.0)
    assert (found.per_s, found.high_per_s) == (None, None)
    assert found.low_per_s > 1500


def test_micro_batches_that_all_take_the_same_time_show_nothing():
    same = [make_batch(k, 0, n, started_s=0, emitted_s=0.99) for k, n in enumerate(SIZES)]
    assert fit_capacity(same, longest_s=3.0) is None


def test_the_interval_of_a_capacity_is_that_of_the_slope():
    batches = varied_batches(SIZES[:6], noise=0.05)
    line = _line(np.array(SIZES[:6], dtype=float), np.array([batch.duration_s for batch in batches]))
    found = fit_capacity(batches, longest_s=3.0)
    for per_s, reach in ((found.per_s, 0), (found.low_per_s, 1), (found.high_per_s, -1)):
        per_event_s = line.per_event_s + reach * line.reach_s
        assert per_s == pytest.approx((1 - line.fixed_s(per_event_s) / 3) / per_event_s)


def test_a_capacity_is_above_a_rate_by_all_of_its_interval_or_a_share_of_it():
    found = Capacity(1000.0, 900.0, 1100.0)
    assert (found.is_above(890), found.is_above(920), found.is_above(920, share=0.5)) == (True, False, True)
    assert (found.is_below(1090), found.is_below(1110)) == (False, True)


def test_the_capacity_of_micro_batches_of_one_size_is_as_uncertain_as_their_time_per_event():
    def made(count):
        return varied_batches([400] * count, noise=0.25)

    few, many = (level_capacity(made(n), 0.4, longest_s=3.0) for n in (10, 90))
    assert (few.per_s - few.low_per_s) / (many.per_s - many.low_per_s) == pytest.approx(3, rel=0.4)
    assert level_capacity(made(2), 0.4, longest_s=3.0).high_per_s is None


def test_two_micro_batches_tell_nothing_of_their_scatter():
    assert _relative_reach(np.array([1.0, 1.0])) == np.inf
    assert _relative_reach(np.array([1.0, 1.0, 1.0])) == 0


def test_the_reach_of_the_mean_time_per_event_is_that_of_students_distribution():
    batches = varied_batches([400, 500, 450, 400, 500], noise=0.1)
    each_s = [batch.duration_s / batch.events for batch in batches]
    reach = stats.sem(each_s) / np.mean(each_s) * stats.t.ppf(0.99, 4)
    found = level_capacity(batches, 0.4, longest_s=3.0)
    assert found.per_s / found.low_per_s == pytest.approx(1 + reach, rel=2e-3)
    assert found.per_s / found.high_per_s == pytest.approx(1 - reach, rel=2e-3)


def test_the_probability_of_an_interval_is_that_of_students_distribution():
    """Two probes at 1 around the middle, in units of the interval: t with one degree of freedom is Cauchy's."""
    shown = [100.0 * np.exp(-0.05), 100.0 * np.exp(0.05)]
    found = probability_inside(100 * np.exp(-0.05), 100 * np.exp(0.05), shown)
    assert found == pytest.approx(2 * np.arctan(1) / np.pi)


def test_probes_that_scatter_more_make_an_interval_less_likely_and_more_of_them_make_it_likelier():
    around = [0.97, 1.0, 1.03]
    tight, wide = ([100 * (1 + k * (c - 1)) for c in around] for k in (0.3, 3.0))
    many = around * 5
    likely = [probability_inside(95.0, 105.0, shown) for shown in (tight, wide, [100 * c for c in many])]
    assert likely[0] > 0.95
    assert likely[1] < 0.6
    assert likely[2] > probability_inside(95.0, 105.0, [100 * c for c in around])
    assert probability_inside(95.0, 105.0, [120.0, 121.0, 122.0]) < 0.01


@pytest.mark.parametrize("shown", [[], [100.0], [100.0, 100.0]])
def test_a_scatter_that_was_not_seen_gives_no_probability(shown):
    assert scatter(shown) is None
    assert probability_inside(95.0, 105.0, shown) is None


@pytest.mark.parametrize("deviation", [0.02, 0.05])
def test_printed_probabilities_are_as_often_right_as_they_say(deviation):
    """Intervals of 10 % around the median of four probes, 2,000 times: careful rather than bold."""
    rng, printed, held = np.random.default_rng(1), [], []
    for shown in np.exp(rng.normal(0, deviation, (2000, 4))):
        low, high = np.median(shown) / np.sqrt(1.1), np.median(shown) * np.sqrt(1.1)
        printed.append(probability_inside(low, high, shown))
        held.append(low < 1 < high)
    assert -0.1 <= np.mean(printed) - np.mean(held) <= 0.01
