import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

from streamgauge.measure.statistics import (
    compare_metrics,
    compare_samples,
    hedges_g,
    holm,
    interval_of_mean,
    interval_of_series_mean,
    runs_needed,
    smallest_p,
)

# Hours of sleep gained with two drugs (Student 1908), R's data set "sleep".
SLEEP_A = np.array([0.7, -1.6, -0.2, -1.2, -0.1, 3.4, 3.7, 0.8, 0.0, 2.0])
SLEEP_B = np.array([1.9, 0.8, 1.1, 0.1, -0.1, 4.4, 5.5, 1.6, 4.6, 3.4])

SHAPES = {
    "normal": lambda rng, runs: rng.normal(100, 10, runs),
    "log-normal": lambda rng, runs: rng.lognormal(3, 0.4, runs),
    "bimodal": lambda rng, runs: rng.normal(np.where(rng.random(runs) < 0.5, 90, 120), 4),
}

positive = st.lists(st.floats(0.1, 1000), min_size=1, max_size=7)


def welch_t(x, y, axis=-1):
    error = np.var(x, ddof=1, axis=axis) / x.shape[axis] + np.var(y, ddof=1, axis=axis) / y.shape[axis]
    return (np.mean(y, axis=axis) - np.mean(x, axis=axis)) / np.sqrt(error)


@pytest.mark.parametrize("shape", SHAPES)
def test_s1_coverage_of_the_interval_of_the_ratio(shape):
    rng = np.random.default_rng(1)
    draw = SHAPES[shape]
    effects = [compare_samples(draw(rng, 10), 1.1 * draw(rng, 10)) for _ in range(2000)]
    assert 0.93 <= np.mean([effect.low <= 1.1 <= effect.high for effect in effects]) <= 0.97


def test_s1_coverage_of_the_mean_of_an_autocorrelated_series():
    rng = np.random.default_rng(2)
    series = rng.standard_normal((2000, 300))
    series[:, 1:] *= math.sqrt(1 - 0.6**2)
    for k in range(1, 300):
        series[:, k] += 0.6 * series[:, k - 1]
    intervals = [interval_of_series_mean(row) for row in series]
    assert 0.93 <= np.mean([interval.low <= 0 <= interval.high for interval in intervals]) <= 0.97
    naive = [interval_of_mean(row) for row in series[:500]]
    assert np.mean([interval.low <= 0 <= interval.high for interval in naive]) < 0.8


@pytest.mark.parametrize("shape", SHAPES)
def test_s2_at_most_5_of_100_rearrangements_of_one_set_differ(shape):
    runs = SHAPES[shape](np.random.default_rng(3), 13)
    chosen = [np.isin(range(13), half) for half in combinations(range(13), 6)]
    decisions = [compare_samples(runs[half], runs[~half]).decision for half in chosen]
    assert len(decisions) == 1716
    assert np.mean([decision in ("higher", "lower") for decision in decisions]) <= 0.05


def test_s2_large_sets_of_one_origin_seldom_differ():
    rng = np.random.default_rng(4)
    decisions = [compare_samples(*rng.lognormal(3, 0.2, (2, 15))).decision for _ in range(1000)]
    assert np.mean([decision in ("higher", "lower") for decision in decisions]) <= 0.06


@pytest.mark.parametrize(("shift", "decision"), [(1.1, "higher"), (1 / 1.1, "lower")])
def test_s3_power_to_find_a_tenth_in_eight_runs(shift, decision):
    rng = np.random.default_rng(5)
    found = [
        compare_samples(rng.normal(100, 5, 8), shift * rng.normal(100, 5, 8)).decision == decision for _ in range(400)
    ]
    assert np.mean(found) >= 0.9


def test_s3_power_to_exclude_a_relevant_change():
    rng = np.random.default_rng(6)
    pairs = [rng.normal(100, 5, (2, 30)) for _ in range(200)]
    assert np.mean([compare_samples(*pair).decision == "no change" for pair in pairs]) >= 0.85
    # A change at the border of relevance is seldom called none.
    moved = [compare_samples(a, 1.05 * b).decision == "no change" for a, b in pairs]
    assert np.mean(moved) <= 0.05


@pytest.mark.parametrize(("runs_a", "runs_b"), [(1, 1), (2, 2), (3, 3), (3, 4), (1, 8), (1, 60)])
@pytest.mark.parametrize("factor", [1, 1.0001, 100])
def test_s4_too_few_runs_are_undecided_whatever_their_values(runs_a, runs_b, factor):
    values = np.linspace(100, 101, runs_b)
    effect = compare_samples(values[:runs_a], factor * values)
    assert effect.decision == "undecided"
    assert effect.reason == (f"{runs_a} and {runs_b} runs cannot show a change at 95 % confidence; 4 and as many can")


def test_s4_four_runs_can_show_a_change_but_not_at_every_confidence():
    a, b = [100, 101, 102, 103], [200, 201, 202, 203]
    assert compare_samples(a, b).decision == "higher"
    assert compare_samples(a, b).p == pytest.approx(2 / 70)
    assert compare_samples(a, b, confidence=0.99).decision == "undecided"


@given(st.integers(2, 5), st.integers(2, 5))
def test_s4_the_smallest_p_is_that_of_separated_sets(runs_a, runs_b):
    a, b = np.linspace(1, 1.1, runs_a), np.linspace(50, 55, runs_b)
    assert compare_samples(a, b).p == pytest.approx(smallest_p(runs_a, runs_b))
    assert smallest_p(runs_a, runs_b) == pytest.approx(
        stats.mannwhitneyu(a, b, method="exact", alternative="two-sided").pvalue
    )


def test_s4_a_scattered_comparison_is_undecided_and_says_what_is_possible():
    effect = compare_samples([90, 100, 110, 95, 105], [92, 101, 111, 97, 104])
    assert effect.decision == "undecided"
    assert effect.largest_change == pytest.approx(0.128, abs=0.001)
    assert effect.reason.endswith("a change of 13 % is not ruled out")


def test_s5_only_the_moved_metrics_are_named_with_their_direction():
    runs = np.array([100.0, 99.1, 101.2, 98.7, 100.4, 101.0, 99.5])
    again = np.array([99.3, 100.8, 101.1, 98.9, 99.9, 100.2, 100.6])
    effects = compare_metrics(
        {
            "rows_per_s": (runs, 0.9 * again),
            "state_bytes": (runs, again),
            "end_to_end_latency_s": (0.02 * runs, 0.022 * again),
            "batch_s": (0.02 * runs, 0.02 * again),
        }
    )
    assert [(named.name, named.effect.decision) for named in effects] == [
        ("rows_per_s", "lower"),
        ("state_bytes", "no change"),
        ("end_to_end_latency_s", "higher"),
        ("batch_s", "no change"),
    ]


def test_s5_many_metrics_without_a_change_seldom_show_one():
    rng = np.random.default_rng(9)
    families = [{str(k): tuple(rng.lognormal(0, 0.1, (2, 6))) for k in range(8)} for _ in range(100)]
    false = {"together": 0, "alone": 0}
    for family in families:
        false["together"] += any(named.effect.decision in ("higher", "lower") for named in compare_metrics(family))
        false["alone"] += any(compare_samples(*pair).decision in ("higher", "lower") for pair in family.values())
    assert false["together"] <= 0.05 * len(families) + 3
    assert false["alone"] > 0.15 * len(families)


def test_s5_a_clear_change_stays_one_among_metrics_of_the_same_runs():
    """No rearrangement of four and four runs separates any metric as far, so the p-value stays 2 of 70."""
    moved = ([100, 101, 102, 103], [200, 201, 202, 203])
    still = ([100.0, 100.1, 100.2, 100.3], [100.1, 100.2, 100.0, 100.4])
    first, second = compare_metrics({"moved": moved, "still": still})
    assert (first.effect.decision, first.adjusted_p) == ("higher", pytest.approx(2 / 70))
    assert second.effect.decision == "no change"


def test_s5_more_pairs_of_sets_make_the_same_change_doubtful():
    moved = ([100, 101, 102, 103], [200, 201, 202, 203])
    (only,) = compare_metrics({"moved": moved}, comparisons=2)
    assert (only.effect.decision, only.adjusted_p) == ("undecided", pytest.approx(4 / 70))
    assert runs_needed(comparisons=2) == 5


def test_s5_the_adjustment_equals_that_of_all_rearrangements_counted_one_by_one():
    rng = np.random.default_rng(4)
    a, b = rng.lognormal(0, 0.1, (3, 5)), rng.lognormal([[0.3], [0.15], [0.0]], 0.1, (3, 4))
    pooled = np.log(np.concatenate([a, b], axis=1))

    def statistic(metric, chosen):
        x, y = metric[list(chosen)], np.delete(metric, list(chosen))
        return abs(y.mean() - x.mean()) / math.sqrt(x.var(ddof=1) / len(x) + y.var(ddof=1) / len(y))

    all_sizes = np.array([[statistic(m, chosen) for m in pooled] for chosen in combinations(range(9), 5)])
    actual = all_sizes[0]
    order, expected, least = np.argsort(-actual), {}, 0.0
    for rank, k in enumerate(order):
        least = max(least, float(np.mean(all_sizes[:, order[rank:]].max(axis=1) >= actual[k] - 1e-9)))
        expected[k] = least
    found = compare_metrics({str(k): (a[k], b[k]) for k in range(3)})
    assert [named.adjusted_p for named in found] == [
        pytest.approx(max(expected[k], found[k].effect.p)) for k in range(3)
    ]


def test_s5_metrics_that_lack_runs_are_corrected_by_holm():
    moved = ([100, 101, 102, 103, 104], [200, 201, 202, 203, 204])
    fewer = ([100.0, 100.1, 100.2, 100.3], [100.1, 100.2, 100.0, 100.4])
    first, _ = compare_metrics({"moved": moved, "fewer": fewer})
    assert first.adjusted_p == pytest.approx(2 * 2 / 252)


def test_s5_a_metric_without_a_ratio_is_named():
    with pytest.raises(ValueError, match="metric lost, set b: a ratio needs values above 0, not 0"):
        compare_metrics({"rate": ([1, 2], [1, 2]), "lost": ([1, 2], [0, 2])})


def test_s7_the_interval_equals_the_published_welch_example():
    effect = compare_samples(np.exp(SLEEP_A), np.exp(SLEEP_B))
    assert math.log(effect.low) == pytest.approx(-0.2054832, abs=5e-8)
    assert math.log(effect.high) == pytest.approx(3.3654832, abs=5e-8)
    assert effect.p == pytest.approx(0.07939, abs=5e-6)


@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.999])
def test_s7_interval_and_p_equal_scipy(confidence):
    a, b = np.exp(SLEEP_A), np.exp(SLEEP_B[:9])
    effect = compare_samples(a, b, confidence=confidence)
    oracle = stats.ttest_ind(np.log(b), np.log(a), equal_var=False)
    interval = oracle.confidence_interval(confidence)
    assert (effect.low, effect.high) == pytest.approx((math.exp(interval.low), math.exp(interval.high)), rel=1e-9)
    assert effect.p == pytest.approx(oracle.pvalue, rel=1e-9)
    assert (effect.a, effect.b) == pytest.approx((stats.gmean(a), stats.gmean(b)), rel=1e-9)


@pytest.mark.parametrize(("runs_a", "runs_b"), [(4, 4), (5, 7), (8, 3)])
def test_s7_small_sets_have_the_exact_p_of_scipy(runs_a, runs_b):
    rng = np.random.default_rng(runs_a)
    a, b = rng.lognormal(0, 0.2, runs_a), rng.lognormal(0.3, 0.5, runs_b)
    oracle = stats.permutation_test((np.log(a), np.log(b)), welch_t, vectorized=True, n_resamples=math.inf)
    assert compare_samples(a, b).p == pytest.approx(oracle.pvalue, rel=1e-9)


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.9999])
@pytest.mark.parametrize("count", [2, 3, 10])
def test_s7_the_interval_of_a_mean_equals_scipy(count, confidence):
    values = SLEEP_B[:count]
    interval = interval_of_mean(values, confidence)
    expected = stats.t.interval(confidence, count - 1, loc=values.mean(), scale=stats.sem(values))
    assert (interval.low, interval.high) == pytest.approx(expected, rel=1e-9, abs=1e-9)


def test_s7_the_interval_of_a_mean_equals_the_published_example():
    interval = interval_of_mean(SLEEP_B - SLEEP_A)
    assert (interval.value, interval.low, interval.high) == pytest.approx((1.58, 0.7001142, 2.4598858), abs=5e-8)


def test_s7_hedges_g_follows_from_the_t_statistic():
    t = stats.ttest_ind(SLEEP_B, SLEEP_A).statistic
    exact = math.gamma(9) / (math.sqrt(9) * math.gamma(8.5))
    assert hedges_g(SLEEP_A, SLEEP_B) == pytest.approx(t * math.sqrt(2 / 10) * exact, rel=1e-9)
    assert hedges_g(SLEEP_B, SLEEP_A) == -hedges_g(SLEEP_A, SLEEP_B)
    assert hedges_g([3, 3, 3], [4, 4, 4]) is None


def test_s7_holm_equals_published_values():
    # p.adjust of R, and the example of four hypotheses that textbooks share.
    assert holm([0.01, 0.02, 0.03, 0.04, 0.05]) == pytest.approx([0.05, 0.08, 0.09, 0.09, 0.09], rel=1e-9)
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02], rel=1e-9)
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=6))
def test_s7_holm_is_the_closed_test_of_bonferroni(p_values):
    indices = range(len(p_values))
    families = [family for size in range(1, len(p_values) + 1) for family in combinations(indices, size)]
    closed = [
        max(min(1, len(family) * min(p_values[j] for j in family)) for family in families if k in family)
        for k in indices
    ]
    assert holm(p_values) == pytest.approx(closed, rel=1e-9)


@settings(max_examples=50)
@given(positive, positive)
def test_swapping_the_sets_mirrors_the_answer(a, b):
    mirror = {"higher": "lower", "lower": "higher"}
    there, back = compare_samples(a, b), compare_samples(b, a)
    assert back.decision == mirror.get(there.decision, there.decision)
    assert back.p == pytest.approx(there.p)
    assert back.ratio == pytest.approx(1 / there.ratio)
    if there.low is not None:
        assert back.high == pytest.approx(1 / there.low)


@settings(max_examples=50)
@given(positive, positive, st.sampled_from([1e-9, 0.5, 1e12]))
def test_the_unit_of_a_metric_does_not_matter(a, b, unit):
    plain, scaled = compare_samples(a, b), compare_samples(unit * np.array(a), unit * np.array(b))
    assert scaled.p == pytest.approx(plain.p)
    assert scaled.ratio == pytest.approx(plain.ratio)


@given(st.lists(st.floats(0.1, 1000), min_size=4, max_size=7))
def test_a_set_compared_with_itself_has_not_changed(values):
    effect = compare_samples(values, list(reversed(values)))
    assert (effect.decision, effect.reason) == ("no change", "both sets hold the same values")


@pytest.mark.parametrize(
    ("a", "b", "decision"),
    [
        ([0.1] * 5, [0.1] * 7, "no change"),
        ([2] * 4, [3] * 4, "higher"),
        ([3] * 20, [2] * 20, "lower"),
        ([2] * 6, [2.0, 2.01, 1.99, 2.02, 1.98, 2.0], "no change"),
        ([0.7] * 20, [0.7] * 30, "no change"),
    ],
)
def test_sets_without_scatter_are_compared(a, b, decision):
    effect = compare_samples(a, b)
    assert effect.decision == decision
    assert effect.low <= effect.ratio <= effect.high


def test_a_change_within_the_noise_is_none():
    a, b = [100, 100.1, 99.9, 100, 100.1], [101, 101.1, 100.9, 101, 101.1]
    assert compare_samples(a, b).decision == "higher"
    effect = compare_samples(a, b, noise=0.02)
    assert (effect.decision, effect.reason) == ("no change", "no change larger than 1.1 %")
    assert compare_samples(a, b, noise=0.009, relevant=0.001).decision == "undecided"


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(ValueError, match="set a: at least 1 values are needed, not 0"):
        compare_samples([], [1])
    with pytest.raises(ValueError, match="set b: some values are missing"):
        compare_samples([1], [math.nan])
    with pytest.raises(ValueError, match="set a: a ratio needs values above 0, not -2"):
        compare_samples([-2, 1], [1])
    with pytest.raises(ValueError, match="confidence must lie between 0 and 1, not 95"):
        compare_samples([1], [1], confidence=95)
    with pytest.raises(ValueError, match="0 or more, not -1"):
        compare_samples([1], [1], noise=-1)
    with pytest.raises(ValueError, match="at least 2 values"):
        interval_of_mean([1])
    with pytest.raises(ValueError, match="at least 100 values"):
        interval_of_series_mean(range(99))
    with pytest.raises(ValueError, match="between 0 and 1, not"):
        holm([0.5, 1.5])
