import math
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import integrate, stats

from streamgauge.measure.statistics import (
    Effect,
    Rule,
    _critical,
    _decide_by_interval,
    _density,
    _tail,
    _terms,
    compare_metrics,
    compare_samples,
    holm,
    interval_of_mean,
    mean_test,
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


@pytest.mark.parametrize("shape", SHAPES)
def test_s1_coverage_of_the_interval_of_the_ratio(shape):
    rng = np.random.default_rng(1)
    draw = SHAPES[shape]
    effects = [compare_samples(draw(rng, 10), 1.1 * draw(rng, 10)) for _ in range(2000)]
    assert 0.93 <= np.mean([effect.low <= 1.1 <= effect.high for effect in effects]) <= 0.97


@pytest.mark.parametrize("runs", [12, 13])
@pytest.mark.parametrize("shape", SHAPES)
def test_s2_at_most_5_of_100_rearrangements_of_one_set_differ(shape, runs):
    """On the average over sets: of a single one that has two humps, up to 8 % of the rearrangements do."""
    chosen = np.array([np.isin(range(runs), half) for half in combinations(range(runs), 6)])
    shares = []
    for seed in range(10):
        values = np.tile(np.log(SHAPES[shape](np.random.default_rng(seed), runs)), (len(chosen), 1))
        test = mean_test(values[chosen].reshape(-1, 6), values[~chosen].reshape(-1, runs - 6))
        shares.append(np.mean(test.p <= 0.05))
    assert np.mean(shares) <= 0.05


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


def test_s3_power_to_exclude_a_change_of_the_margin():
    rng = np.random.default_rng(6)
    pairs = [rng.normal(100, 5, (2, 30)) for _ in range(200)]
    rule = Rule(margin=0.05)
    assert np.mean([compare_samples(*pair, rule).decision == "no change" for pair in pairs]) >= 0.85
    # A change at the border is seldom called none.
    moved = [compare_samples(a, 1.05 * b, rule).decision == "no change" for a, b in pairs]
    assert np.mean(moved) <= 0.05


@pytest.mark.parametrize(("runs_a", "runs_b"), [(1, 1), (2, 2), (3, 3), (3, 4), (1, 8), (1, 60)])
@pytest.mark.parametrize("factor", [1, 1.0001, 100])
def test_s4_too_few_runs_are_undecided_whatever_their_values(runs_a, runs_b, factor):
    values = np.linspace(100, 101, runs_b)
    effect = compare_samples(values[:runs_a], factor * values)
    assert effect.decision == "undecided"
    assert effect.reason == f"{runs_a} and {runs_b} runs cannot show a change; 4 and as many can"


def test_s4_four_runs_can_show_a_change_but_not_at_every_confidence():
    a, b = [100, 101, 102, 103], [105, 106, 107, 108]
    assert compare_samples(a, b).decision == "higher"
    assert compare_samples(a, b, Rule(0.999)).decision == "undecided"


def test_s4_a_scattered_comparison_is_undecided_and_says_what_is_possible():
    effect = compare_samples([90, 100, 110, 95, 105], [92, 101, 111, 97, 104])
    assert effect.decision == "undecided"
    assert effect.largest_change == pytest.approx(0.133, abs=0.001)
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


def test_s5_families_seldom_err_where_one_side_scatters_three_times_as_much():
    """3 against 9 % in eight metrics of 6 and 6 runs: rearrangements of the runs reported a change in 12.5 %."""
    rng = np.random.default_rng(7)
    shared = rng.standard_normal((2, 1000, 1, 6))
    x, y = np.array([0.03, 0.09])[:, None, None, None] * (
        math.sqrt(0.5) * shared + math.sqrt(0.5) * rng.standard_normal((2, 1000, 8, 6))
    )
    changed = [
        any(named.significant for named in compare_metrics({str(k): (a[k], b[k]) for k in range(8)}))
        for a, b in zip(np.exp(x), np.exp(y), strict=True)
    ]
    assert np.mean(changed) <= 0.05


def test_s5_an_interval_leaves_out_no_change_exactly_where_the_change_is_significant():
    rng = np.random.default_rng(8)
    seen = set()
    for runs in ((4, 4), (5, 8), (9, 4)):
        for _ in range(60):
            shifts = rng.choice([0, 0.03, 0.08], 5)
            pairs = {
                str(k): (rng.lognormal(0, 0.02, runs[0]), rng.lognormal(shift, 0.05, runs[1]))
                for k, shift in enumerate(shifts)
            }
            for named in compare_metrics(pairs):
                assert named.significant == (not named.effect.low <= 1 <= named.effect.high)
                assert named.significant == (named.adjusted_p <= 0.05)
                seen.add(named.significant)
    assert seen == {True, False}


def test_s5_more_pairs_of_sets_make_the_same_change_doubtful():
    moved = ([100, 101, 102, 103], [104, 105, 106, 107])
    (alone,) = compare_metrics({"moved": moved})
    (shared,) = compare_metrics({"moved": moved}, Rule(comparisons=20))
    assert shared.adjusted_p == pytest.approx(20 * alone.adjusted_p)
    assert (alone.significant, shared.significant) == (True, False)
    assert shared.effect.low < 1 < alone.effect.low


def test_s5_several_metrics_are_corrected_by_holm_whatever_runs_they_have():
    rng = np.random.default_rng(4)
    pairs = {str(k): tuple(rng.lognormal(0.02 * k, 0.02, runs) for runs in (4 + k, 6)) for k in range(3)}
    found = compare_metrics(pairs)
    alone = [compare_samples(*pair).p for pair in pairs.values()]
    assert [named.effect.p for named in found] == pytest.approx(alone)
    assert [named.adjusted_p for named in found] == pytest.approx(holm(alone))


def test_s5_a_metric_without_a_ratio_is_named():
    with pytest.raises(ValueError, match="metric lost, set b: a ratio needs values above 0, not 0"):
        compare_metrics({"rate": ([1, 2], [1, 2]), "lost": ([1, 2], [0, 2])})


def behrens_fisher(t, share, a, b):
    """Return the chance that a weighted difference of two Student variables is beyond t, by convolution."""
    of_x, of_y = math.sqrt(share), math.sqrt(1 - share)

    def height(u):
        beyond = stats.t.sf((t + of_x * u) / of_y, b) + stats.t.cdf((-t + of_x * u) / of_y, b)
        return stats.t.pdf(u, a) * beyond

    return integrate.quad(height, -math.inf, math.inf, epsabs=1e-13, limit=500)[0]


@pytest.mark.parametrize(("runs_a", "runs_b"), [(4, 5), (8, 3), (2, 6), (12, 30)])
def test_s7_unequal_sets_have_the_p_of_behrens_and_fisher(runs_a, runs_b):
    rng = np.random.default_rng(runs_a)
    x, y = rng.normal(0, 0.2, runs_a), rng.normal(0.3, 0.5, runs_b)
    test = mean_test(x[np.newaxis], y[np.newaxis])
    t = abs(y.mean() - x.mean()) / math.hypot(stats.sem(x), stats.sem(y))
    share = stats.sem(x) ** 2 / (stats.sem(x) ** 2 + stats.sem(y) ** 2)
    assert test.p[0] == pytest.approx(behrens_fisher(t, share, runs_a - 1, runs_b - 1), rel=1e-7)


def test_s7_equal_sets_have_the_p_of_the_prior_of_ghosh_and_kim():
    """Against the posterior by brute force: variances on a grid, weighted with likelihood and prior."""
    x, y = np.array([0.0, 0.1, 0.3, 0.2]), np.array([0.5, 0.9, 0.3, 1.2])
    grid = np.exp(np.linspace(-14, 10, 1201))
    u, v = np.meshgrid(grid, grid, indexing="ij")
    squares = [((values - values.mean()) ** 2).sum() for values in (x, y)]
    # Means are integrated out, which leaves n - 1 degrees; the grid is in logarithms of variances.
    log_posterior = -1.5 * np.log(u * v) - squares[0] / (2 * u) - squares[1] / (2 * v) - np.log(u * v) + np.log(u + v)
    weights = np.exp(log_posterior - log_posterior.max())
    beyond = 2 * stats.norm.sf(abs(y.mean() - x.mean()) / np.sqrt((u + v) / 4))
    expected = float((weights * beyond).sum() / weights.sum())
    assert mean_test(x[np.newaxis], y[np.newaxis]).p[0] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize("runs", [(4, 4), (4, 7), (9, 3)])
def test_s7_the_density_is_the_slope_of_the_tail_and_the_critical_value_its_inverse(runs):
    share, t = np.array([0.2, 0.5, 0.9]), np.array([0.5, 2.0, 6.0])
    terms = _terms(share, *runs)
    slope = (_tail(t - 1e-5, terms) - _tail(t + 1e-5, terms)) / 2e-5
    assert 2 * _density(t, terms) == pytest.approx(slope, rel=1e-6)
    assert _critical(_tail(t, terms), share, runs) == pytest.approx(t, rel=1e-8)


def test_s7_large_sets_have_the_interval_of_welch():
    rng = np.random.default_rng(1)
    a, b = rng.lognormal(0, 0.2, 400), rng.lognormal(0.1, 0.5, 300)
    interval = stats.ttest_ind(np.log(b), np.log(a), equal_var=False).confidence_interval(0.95)
    effect = compare_samples(a, b)
    assert (math.log(effect.low), math.log(effect.high)) == pytest.approx((interval.low, interval.high), abs=2e-4)
    assert (effect.a, effect.b) == pytest.approx((stats.gmean(a), stats.gmean(b)), rel=1e-9)


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


def test_a_change_that_is_not_relevant_is_none_however_sure():
    a, b = [100, 100.001, 99.999, 100.0], [100.016, 100.017, 100.015, 100.016]
    (found,) = compare_metrics({"rate": (a, b)})
    assert (found.significant, found.effect.decision) == (True, "no change")
    assert found.effect.reason == "no change larger than 0.018 %"
    assert compare_samples(a, b, Rule(relevant=0.0001)).decision == "higher"
    # The estimate decides what is relevant, and the interval what is sure.
    a, b = [100, 100.1, 99.9, 100, 100.1], [102, 102.1, 101.9, 102, 102.1]
    assert compare_samples(a, b, Rule(relevant=0.019)).decision == "higher"
    assert compare_samples(a, b, Rule(relevant=0.021)).decision == "no change"
    a, b = [100, 101, 102, 103], [108, 109, 110, 111]
    assert compare_samples(a, b, Rule(relevant=0.05)).decision == "higher"
    assert compare_samples(a, b, Rule(relevant=0.09)).decision == "undecided"


@pytest.mark.parametrize(
    ("ratio", "low", "high", "decision"),
    [
        (1.25, 1.01, 1.5, "higher"),
        (1.24, 1.01, 1.5, "undecided"),
        (1.25, 1.0, 1.5, "undecided"),
        (0.8, 0.5, 0.99, "lower"),
        (0.81, 0.5, 0.99, "undecided"),
        (0.8, 0.5, 1.0, "undecided"),
        (1.0, 0.8, 1.25, "no change"),
        (1.0, 0.8, 1.26, "undecided"),
    ],
)
def test_a_change_counts_from_what_is_relevant_on(ratio, low, high, decision):
    effect = Effect(1.0, ratio, ratio, low, high, 0.01, "undecided", "")
    assert _decide_by_interval(effect, False, Rule(relevant=0.25))[0] == decision


def test_sets_made_one_after_the_other_decide_only_beyond_the_drift_that_is_allowed_for():
    a, b = [100, 101, 102, 103], [120, 121, 122, 123]
    for drift, decision in ((0.0, "higher"), (0.1, "higher"), (0.25, "undecided"), (math.inf, "undecided")):
        assert compare_samples(a, b, Rule(drift=drift)).decision == decision
        assert compare_samples(b, a, Rule(drift=drift)).decision == decision.replace("higher", "lower")
    assert compare_samples(a, a, Rule(drift=math.inf)).decision == "undecided"


def test_what_cannot_be_compared_is_refused():
    with pytest.raises(ValueError, match="set a: at least 1 values are needed, not 0"):
        compare_samples([], [1])
    with pytest.raises(ValueError, match="set b: some values are missing"):
        compare_samples([1], [math.nan])
    with pytest.raises(ValueError, match="set a: a ratio needs values above 0, not -2"):
        compare_samples([-2, 1], [1])
    with pytest.raises(ValueError, match="confidence must lie between 0 and 1, not 95"):
        compare_samples([1], [1], Rule(95))
    with pytest.raises(ValueError, match="shares must be 0 or more, not -1"):
        compare_samples([1], [1], Rule(relevant=-1))
    for wrong in ({"margin": -0.1}, {"drift": -0.1}, {"relevant": -0.1}, {"margin": math.nan}):
        with pytest.raises(ValueError, match="shares must be 0 or more"):
            Rule(**wrong)
    assert Rule(relevant=0.0, margin=0.0, drift=0.0).level == pytest.approx(0.05)
    with pytest.raises(ValueError, match="at least 2 values"):
        interval_of_mean([1])
    with pytest.raises(ValueError, match="between 0 and 1, not"):
        holm([0.5, 1.5])


def rows(*values):
    return np.array([values], dtype=float)


def test_sets_with_the_same_mean_do_not_differ_however_they_scatter():
    assert mean_test(rows(1, 2, 3, 4), rows(4, 3, 2, 1)).p.tolist() == [1.0]


@pytest.mark.parametrize(("level", "p"), [(600.0, 1.0), (0.5, 0.0)])
def test_values_that_differ_by_rounding_are_the_same_and_rounding_grows_with_them(level, p):
    x, y = np.full((1, 4), level), np.full((1, 4), level + 3e-10)
    assert mean_test(x, y).p.tolist() == [p]


@pytest.mark.parametrize(("level", "error"), [(600.0, True), (0.5, False)])
def test_a_scatter_of_rounding_is_none_and_rounding_grows_with_the_values(level, error):
    x = level + 1e-10 * rows(0, 1, 0, 1)
    assert bool(mean_test(x, x).error[0] == 0) is error
