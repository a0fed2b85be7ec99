import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import curve_fit

from streamgauge.measure.scaling import _start, efficiency, fit_universal_scalability, speed_up

# SPEC SDM91 on a Sun SPARCcenter 2000, and a ray tracer on an SGI Origin 2000: the examples of R's package usl.
SPEC_USERS = [1, 18, 36, 72, 108, 144, 216]
SPEC_SCRIPTS_PER_H = [64.9, 995.9, 1652.4, 1853.2, 1828.9, 1775.0, 1702.2]
RAY_CORES = [1, 4, 8, 12, 16, 20, 24, 28, 32, 48, 64]
RAYS_PER_S = [20, 78, 130, 170, 190, 200, 210, 230, 260, 280, 310]


def law(cores, per_core, contention, coherence):
    n = np.asarray(cores, dtype=float)
    return per_core * n / (1 + contention * (n - 1) + coherence * n * (n - 1))


def test_published_coefficients_of_a_system_with_a_peak():
    fit = fit_universal_scalability(SPEC_USERS, SPEC_SCRIPTS_PER_H)
    assert fit.per_core == pytest.approx(89.9952330, rel=1e-6)
    assert fit.contention == pytest.approx(0.0277285, rel=1e-5)
    assert fit.coherence == pytest.approx(0.0001044, rel=1e-3)
    assert round(fit.peak_cores) == 97
    assert [round(fit.throughput_at(n)) for n in SPEC_USERS] == [90, 1078, 1541, 1850, 1879, 1822, 1646]
    assert fit.reason == ""


def test_published_standard_errors_give_the_intervals():
    fit = fit_universal_scalability(SPEC_USERS, SPEC_SCRIPTS_PER_H)
    t = 2.7764451
    assert fit.per_core_interval == pytest.approx((89.9952 - t * 14.21349, 89.9952 + t * 14.21349), rel=1e-4)
    assert fit.contention_interval == pytest.approx((0.0277285 - t * 0.0091217, 0.0277285 + t * 0.0091217), rel=1e-3)
    assert fit.coherence_interval == pytest.approx((0.0001044 - t * 0.0000199, 0.0001044 + t * 0.0000199), rel=1e-2)


def test_published_coefficients_of_a_system_without_a_peak():
    fit = fit_universal_scalability(RAY_CORES, RAYS_PER_S)
    assert (fit.contention, fit.per_core) == (pytest.approx(0.0578, abs=5e-5), pytest.approx(21.8488, abs=1e-4))
    assert fit.coherence == 0.0
    assert fit.coherence_interval[0] == 0.0 < fit.coherence_interval[1]
    assert fit.peak_cores is None


def test_the_fit_equals_a_second_solver():
    rng = np.random.default_rng(1)
    cores = np.array([1, 2, 4, 8, 16, 32] * 3)
    throughput = law(cores, 5e4, 0.05, 0.002) + rng.normal(0, 2000, len(cores))
    parameters, covariance = curve_fit(law, cores, throughput, p0=(4e4, 0.1, 0.001))
    fit = fit_universal_scalability(cores, throughput)
    assert (fit.per_core, fit.contention, fit.coherence) == pytest.approx(tuple(parameters), rel=1e-4)
    half_width = (fit.coherence_interval[1] - fit.coherence_interval[0]) / 2
    assert half_width == pytest.approx(2.1314495 * np.sqrt(covariance[2, 2]), rel=1e-3)


def test_the_first_guess_is_the_law_itself_where_nothing_scatters():
    cores = np.array([1.0, 2.0, 4.0, 8.0])
    assert _start(cores, law(cores, 50, 0.1, 0.02), 3) == pytest.approx([50, 0.1, 0.02])
    assert _start(cores, law(cores, 50, 0.1, 0), 2) == pytest.approx([50, 0.1])


def test_the_first_guess_weighs_all_points_by_the_share_that_they_err():
    cores, throughput = np.array([1.0, 2.0, 4.0, 8.0, 16.0]), np.array([52.0, 88.0, 160.0, 230.0, 330.0])
    inverse = cores / throughput
    (constant, slope), _ = curve_fit(lambda n, a, b: a + b * (n - 1), cores, inverse, p0=(1, 1), sigma=inverse)
    assert _start(cores, throughput, 2) == pytest.approx([1 / constant, slope / constant], rel=1e-6)


def test_a_first_guess_without_throughput_on_one_core_gets_a_thousand_times_the_largest_one_per_core():
    # n / X = n - 1 has no constant; the largest throughput per core is 1.
    cores = np.array([2.0, 4.0, 8.0])
    assert _start(cores, cores / (cores - 1), 3) == pytest.approx([1000, 1000, 0])


@settings(max_examples=40, deadline=None)
@given(
    st.floats(-2, 7),
    st.one_of(st.just(0.0), st.floats(0.001, 0.9)),
    st.one_of(st.just(0.0), st.floats(1e-5, 0.1)),
    st.sampled_from([[1, 2, 3], [1, 2, 4, 8], [4, 8, 16], [2, 4, 6, 8, 10, 64]]),
)
def test_planted_parameters_are_recovered(magnitude, contention, coherence, cores):
    fit = fit_universal_scalability(cores, law(cores, 10**magnitude, contention, coherence))
    assert fit.per_core == pytest.approx(10**magnitude, rel=1e-4)
    assert fit.contention == pytest.approx(contention, abs=1e-4)
    assert fit.coherence == pytest.approx(coherence, abs=1e-5)
    assert fit.r_squared == pytest.approx(1.0)


def test_intervals_hold_the_planted_parameters_about_as_often_as_they_say():
    rng = np.random.default_rng(2)
    cores, planted = np.array([1, 2, 4, 8, 12, 16]), np.array([100.0, 0.06, 0.003])
    covered = []
    for _ in range(100):
        fit = fit_universal_scalability(cores, law(cores, *planted) + rng.normal(0, 8, len(cores)))
        intervals = np.array([fit.per_core_interval, fit.contention_interval, fit.coherence_interval])
        covered.append((intervals[:, 0] <= planted) & (planted <= intervals[:, 1]))
    assert np.all(np.mean(covered, axis=0) >= 0.92)


def test_noise_without_coherence_seldom_shows_a_peak():
    rng = np.random.default_rng(3)
    cores = np.array([1, 2, 4, 8, 16])
    peaks = [
        fit_universal_scalability(cores, law(cores, 100, 0.1, 0) + rng.normal(0, 10, len(cores))).peak_cores
        for _ in range(100)
    ]
    assert np.mean([peak is not None for peak in peaks]) <= 0.05


def test_the_peak_is_where_throughput_is_highest():
    fit = fit_universal_scalability([1, 2, 4, 8, 16], law([1, 2, 4, 8, 16], 100, 0.05, 0.01))
    assert fit.peak_cores == pytest.approx(np.sqrt(0.95 / 0.01), rel=1e-4)
    around = [fit.throughput_at(fit.peak_cores + step) for step in (-0.1, 0, 0.1)]
    assert max(around) == around[1]
    assert fit_universal_scalability([1, 2, 4], [100, 60, 20]).peak_cores == 1.0


def test_two_core_counts_give_contention_only():
    fit = fit_universal_scalability([1, 2, 1, 2], [100, 190, 100, 190])
    assert (fit.per_core, fit.contention) == pytest.approx((100, 2 / 1.9 - 1))
    assert (fit.coherence, fit.coherence_interval, fit.peak_cores) == (None, None, None)
    assert fit.contention_interval is not None
    assert fit.reason == "two core counts cannot separate coherence from contention"
    assert fit.throughput_at(2) == pytest.approx(190)


def test_as_many_results_as_coefficients_leave_no_interval():
    fit = fit_universal_scalability([1, 2, 4], law([1, 2, 4], 100, 0.1, 0.01))
    assert (fit.per_core_interval, fit.contention_interval, fit.coherence_interval) == (None, None, None)


@pytest.mark.parametrize(
    ("cores", "throughput", "per_core", "reason"),
    [
        ([4, 4], [90, 110], None, "all results have the core count 4; others are needed"),
        ([1, 1], [90, 110], 100, "all results have the core count 1; others are needed"),
        ([1, 2], [100, 90], 100, "throughput falls between the only two core counts; a third is needed"),
        ([2, 4], [100, 90], None, "throughput falls between the only two core counts; a third is needed"),
    ],
)
def test_what_the_core_counts_do_not_determine_is_unknown(cores, throughput, per_core, reason):
    fit = fit_universal_scalability(cores, throughput)
    assert (fit.per_core, fit.contention, fit.coherence) == (per_core, None, None)
    assert (fit.peak_cores, fit.r_squared, fit.reason) == (None, None, reason)
    with pytest.raises(ValueError, match="the law is not known: "):
        fit.throughput_at(2)


@pytest.mark.parametrize(("cores", "throughput"), [([1, 2, 4], [100, 300, 900]), ([1, 2], [100, 250])])
def test_throughput_that_grows_faster_than_the_cores_is_said_not_to_fit(cores, throughput):
    fit = fit_universal_scalability(cores, throughput)
    assert fit.contention == 0.0
    assert fit.reason == "throughput grows faster than the cores, which the law does not describe"


def test_throughput_that_does_not_grow_is_all_contention():
    fit = fit_universal_scalability([1, 2, 4], [100, 100, 100])
    assert fit.contention == pytest.approx(1)
    assert (fit.peak_cores, fit.r_squared) == (None, None)


def test_speed_up_and_efficiency_refer_to_the_fewest_cores():
    cores, throughput = [4, 2, 2, 8], [380, 190, 210, 600]
    assert speed_up(cores, throughput) == pytest.approx([1.9, 0.95, 1.05, 3.0])
    assert efficiency(cores, throughput) == pytest.approx([0.95, 0.95, 1.05, 0.75])


def test_efficiency_follows_the_law():
    cores = np.array([1, 2, 4, 8])
    expected = 1 / (1 + 0.1 * (cores - 1) + 0.01 * cores * (cores - 1))
    assert efficiency(cores, law(cores, 7, 0.1, 0.01)) == pytest.approx(expected.tolist())


@pytest.mark.parametrize(
    ("cores", "throughput"), [([], []), ([1, 2], [1]), ([0, 1], [1, 2]), ([1, 2], [0, 1]), ([1, 2], [1, float("nan")])]
)
def test_what_is_no_measurement_is_refused(cores, throughput):
    for function in (fit_universal_scalability, speed_up, efficiency):
        with pytest.raises(ValueError, match=r"core counts? "):
            function(cores, throughput)


@pytest.mark.parametrize(
    ("cores", "throughput"), [([2, 8, 4], [100, 250, 180]), ([4, 8], [100, 150]), ([4, 8], [100, 90]), ([8, 8], [1, 2])]
)
def test_the_largest_core_count_is_known_whatever_else_is(cores, throughput):
    assert fit_universal_scalability(cores, throughput).most_cores == 8.0


def test_throughput_that_grows_with_the_cores_does_not_grow_faster():
    assert fit_universal_scalability([2, 4, 8], [200, 400, 800]).reason == ""
    assert "two core counts" in fit_universal_scalability([2, 4], [200, 400]).reason
    assert "faster than the cores" in fit_universal_scalability([2, 4, 8], [200, 400, 801]).reason
