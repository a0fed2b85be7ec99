"""NAMB's table of arrival processes: rates, means and maxima."""

import math

import numpy as np
import pytest

from streamgauge.arrivals import ReverseSawtooth, Sawtooth, Sine

PEAK_PER_S, PHASE_S = 1000.0, 20.0


@pytest.mark.parametrize(
    ("law", "rates_per_s"),
    [
        (Sine, [500.0, 1000.0, 500.0, 1.0, 500.0]),
        (Sawtooth, [1.0, 250.0, 500.0, 750.0, 1.0]),
        (ReverseSawtooth, [1000.0, 750.0, 500.0, 250.0, 1000.0]),
    ],
)
def test_every_quarter_of_a_phase_has_the_rate_of_the_table(law, rates_per_s):
    assert law(PEAK_PER_S, PHASE_S).rate_at([0.0, 5.0, 10.0, 15.0, 20.0]) == pytest.approx(rates_per_s)


@pytest.mark.parametrize(
    ("law", "counts"),
    [
        # 500 (t + 20 / 2π (1 - cos(2π t / 20))): a quarter is 2500 + 10000 / 2π, half a phase 5000 + 20000 / 2π.
        (Sine, [4091, 8183, 9091, 10_000, 14_091]),
        # 25 t².
        (Sawtooth, [625, 2500, 5625, 10_000, 10_625]),
        (ReverseSawtooth, [4375, 7500, 9375, 10_000, 14_375]),
    ],
)
def test_l1_every_quarter_of_a_phase_has_the_events_of_the_table(law, counts):
    schedule = law(PEAK_PER_S, PHASE_S).schedule(25.0)
    assert schedule.created(np.array([5, 10, 15, 20, 25]) * 1_000_000 - 1).tolist() == counts


@pytest.mark.parametrize("law", [Sine, Sawtooth, ReverseSawtooth])
def test_mean_and_maximum_are_those_of_the_table(law):
    wave = law(PEAK_PER_S, PHASE_S)
    assert wave.mean_rate_per_s() == pytest.approx(PEAK_PER_S / 2, rel=1e-4)
    assert wave.mean_rate_per_s(PHASE_S) == pytest.approx(PEAK_PER_S / 2, rel=1e-4)
    assert wave.max_rate_per_s(PHASE_S) == PEAK_PER_S


@pytest.mark.parametrize("law", [Sine, Sawtooth, ReverseSawtooth])
def test_a_rate_below_one_per_second_counts_as_one(law):
    assert law(0.5, 10.0).schedule(60.0).total == 60
    assert np.min(law(3.0, 10.0).rate_at(np.linspace(0, 20, 1001))) == 1.0
    assert law(3.0, 10.0).mean_rate_per_s(10.0) > 1.5


def test_the_area_of_a_clamped_wave_is_known():
    # A sawtooth with peak 4 lies below 1 in the first quarter, where it would offer half as much.
    assert Sawtooth(4.0, 8.0).integral(8.0) == pytest.approx(4 * 8 / 2 + 1.0)
    assert ReverseSawtooth(4.0, 8.0).integral([6.0, 8.0]) == pytest.approx([15.0, 17.0])
    # 1 + sin lies below 1 in the second half.
    assert Sine(2.0, 8.0).integral([4.0, 8.0]) == pytest.approx([4 + 8 / math.pi, 8 + 8 / math.pi])


@pytest.mark.parametrize("law", [Sine, Sawtooth, ReverseSawtooth])
def test_an_offset_shifts_the_wave(law):
    times_s = np.linspace(0.0, 50.0, 99)
    wave, shifted = law(PEAK_PER_S, PHASE_S), law(PEAK_PER_S, PHASE_S, 7.0)
    assert shifted.rate_at(times_s) == pytest.approx(wave.rate_at(times_s + 7.0))
    assert shifted.integral(times_s) == pytest.approx(wave.integral(times_s + 7.0) - wave.integral(7.0))


@pytest.mark.parametrize("law", [Sine, Sawtooth, ReverseSawtooth])
def test_l1_the_mean_rate_of_any_ten_seconds_is_within_one_percent(law):
    wave = law(2000.0, 300.0)
    schedule = wave.schedule(600.0)
    starts_s = np.arange(0.0, 590.0)
    got = schedule.created(((starts_s + 10) * 1e6).astype(int) - 1) - schedule.created((starts_s * 1e6).astype(int) - 1)
    wanted = wave.integral(starts_s + 10) - wave.integral(starts_s)
    assert np.all(np.abs(got - wanted) <= np.maximum(1.0, 0.01 * wanted))
