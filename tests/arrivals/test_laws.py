"""Properties of all laws: the schedule is the integral of the rate (L1), and the same however it is cut (L2)."""

import math
import time
import tracemalloc
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from streamgauge.arrivals import (
    Constant,
    Poisson,
    Ramp,
    ReverseSawtooth,
    Sawtooth,
    Schedule,
    Sine,
    Square,
    Steps,
    parse_law,
)
from streamgauge.arrivals import law as law_module
from streamgauge.arrivals import schedule as schedule_module
from streamgauge.errors import UsageError

from .samples import certain_laws, composed, poissons

all_laws = composed(st.one_of(certain_laws, poissons))
durations = st.one_of(st.sampled_from([0.01, 1.0, 5.0]), st.floats(0.01, 15.0))

NODES, WEIGHTS = np.polynomial.legendre.leggauss(5)
CUTS = 8
# Gauss's rule misses a little where a wave bends at one event per second; with more cuts this vanishes.
RULE_ERROR = 0.02


def area(law, knots_s):
    """Integrate the rate from knot to knot by Gauss's rule, which knows nothing of the closed forms."""
    cuts_s = (knots_s[:-1, np.newaxis] + np.diff(knots_s)[:, np.newaxis] * np.arange(CUTS) / CUTS).ravel()
    half_s = np.repeat(np.diff(knots_s) / CUTS / 2, CUTS)
    inside = law.rate_at(cuts_s[:, np.newaxis] + half_s[:, np.newaxis] * (NODES + 1)) @ WEIGHTS * half_s
    return np.concatenate(([0.0], np.cumsum(inside)))[::CUTS]


def excess(law, schedule):
    """Return by how many events a schedule departs from the integral of the rate, at its worst knot."""
    return float(np.max(np.abs(schedule.count - area(law, schedule.time_us / 1e6))))


@settings(max_examples=100, deadline=None)
@given(composed(certain_laws), durations)
def test_l1_at_every_knot_the_number_of_events_is_the_integral_of_the_rate_within_one(law, duration_s):
    assert excess(law, law.schedule(duration_s)) <= 1 + RULE_ERROR


@settings(max_examples=40, deadline=None)
@given(
    st.sampled_from([Sine, Sawtooth, ReverseSawtooth]), st.floats(0.1, 1e6), st.floats(0.01, 3.0), st.floats(0.0, 99.0)
)
def test_l1_shapes_that_jump_between_microseconds_lose_nothing_either(wave, peak_per_s, phase_s, offset_s):
    law = wave(peak_per_s, phase_s, offset_s)
    schedule = law.schedule(5.0)
    assert np.all(np.abs(schedule.count - law.integral(schedule.time_us / 1e6)) <= 1.0 + 1e-6)


@settings(max_examples=40, deadline=None)
@given(composed(certain_laws), durations)
def test_l1_the_closed_forms_equal_the_area_under_the_rate(law, duration_s):
    knots_s = law.schedule(duration_s).time_us / 1e6
    assert law.integral(knots_s) == pytest.approx(area(law, knots_s), rel=1e-6, abs=RULE_ERROR)


@settings(max_examples=60, deadline=None)
@given(all_laws, durations)
def test_l1_an_event_is_created_at_its_own_time_and_not_before(law, duration_s):
    schedule = law.schedule(duration_s)
    numbers = np.unique(np.linspace(0, max(0, schedule.total - 1), 500).astype(np.int64))[: schedule.total]
    times = schedule.times_us(numbers)
    assert np.all(np.diff(times) >= 0)
    assert np.all(schedule.created(times) > numbers)
    assert np.all(schedule.created(times - 1) <= numbers)
    assert schedule.total == schedule.created(schedule.end_us)


@pytest.mark.parametrize("fault", [lambda count: count + 2 * (count > 5), lambda count: count * 99 // 100])
def test_the_check_of_l1_notices_added_and_lost_events(fault):
    law = Sine(5_000.0, 2.0)
    schedule = law.schedule(5.0)
    assert excess(law, Schedule(schedule.time_us, fault(schedule.count))) > 1 + RULE_ERROR


@settings(max_examples=20, deadline=None)
@given(all_laws, st.lists(st.integers(0, 10**6), max_size=5), st.integers(1, 700))
def test_l2_times_do_not_depend_on_how_event_numbers_are_cut(law, cuts, max_events):
    schedule = law.schedule(2.0)
    bounds = np.unique([0, schedule.total, *(cut % (schedule.total + 1) for cut in cuts)])
    times = []
    for first, last in pairwise(bounds.tolist()):
        c = schedule.chunks(first, last, max_events)
        for k in range(len(c.first)):
            n = np.arange(c.first[k], c.last[k] + 1)
            times.append(c.origin_us[k] + (n - c.base[k]) * c.span_us[k] // c.events[k])
    whole = schedule.times_us(np.arange(schedule.total))
    assert np.array_equal(np.concatenate(times) if times else whole, whole)


@settings(max_examples=30, deadline=None)
@given(all_laws, st.integers(1, 300), st.integers(1, 300))
def test_l2_a_longer_load_begins_with_the_events_of_a_shorter_one(law, steps, more):
    short, long = law.schedule(steps / 100), law.schedule((steps + more) / 100)
    _, in_short, in_long = np.intersect1d(short.time_us, long.time_us, return_indices=True)
    assert np.array_equal(short.count[in_short], long.count[in_long])
    # Without a knot where the shorter load ends, the longer one is off by as much as a line is from the integral.
    end_us = steps * 10_000
    after = int(np.searchsorted(long.time_us, end_us))
    around_s = long.time_us[after - 1 : after + 1] / 1e6
    bend = abs(law.integral(end_us / 1e6) - np.interp(end_us / 1e6, around_s, law.integral(around_s)))
    assert abs(short.total - long.created(end_us - 1)) < 2 + bend + 1e-6


@settings(max_examples=20, deadline=None)
@given(all_laws)
def test_l2_a_law_compiles_to_the_same_bytes_again(law):
    a, b = (law.schedule(3.0) for _ in range(2))
    assert (a.time_us.tobytes(), a.count.tobytes()) == (b.time_us.tobytes(), b.count.tobytes())


@settings(max_examples=40, deadline=None)
@given(composed(certain_laws), durations)
def test_the_highest_rate_is_never_exceeded_and_nearly_reached(law, duration_s):
    highest_per_s = law.max_rate_per_s(duration_s)
    sampled = law.rate_at(np.linspace(0.0, duration_s, 2_001)[:-1])
    assert sampled.max() <= highest_per_s * 1.01
    assert highest_per_s <= law.max_rate_per_s(math.inf) * (1 + 1e-12)


@pytest.mark.parametrize(
    ("law", "duration_s", "highest_per_s"),
    [
        ("steps(10, 30, 20, each=1s)", 0.5, 10),
        ("steps(10, 30, 20, each=1s)", 1.0, 10),
        ("steps(10, 30, 20, each=1s)", 1.1, 30),
        ("ramp(from=0, to=100, over=10s)", 5.0, 50),
        ("ramp(from=100, to=0, over=10s)", 5.0, 100),
        ("square(low=1, high=9, phase=4s)", 2.0, 1),
        ("square(low=1, high=9, phase=4s)", 2.1, 9),
        ("square(low=1, high=9, phase=4s, offset=3s)", 0.1, 9),
        ("burst(rate=5, burst_rate=50, interval=3s, duration=1s)", 3.5, 50),
        ("sine(peak=100, phase=20s)", 1e-9, 50),
        ("sine(peak=100, phase=20s)", 5.1, 100),
        ("sine(peak=100, phase=20s, offset=10s)", 5.0, 50),
        ("sawtooth(peak=100, phase=20s)", 10.0, 50),
        ("sawtooth(peak=100, phase=20s)", 20.0, 100),
        ("reverse-sawtooth(peak=100, phase=20s, offset=10s)", 5.0, 50),
        ("reverse-sawtooth(peak=100, phase=20s, offset=10s)", 11.0, 100),
        ("constant(rate=3) + square(low=1, high=9, phase=4s)", 5.0, 12),
        ("constant(rate=3) for 2s then constant(rate=7)", 2.0, 3),
        ("constant(rate=3) for 2s then constant(rate=7)", 2.1, 7),
        ("2 * poisson(rate=4)", 1.0, 8),
    ],
)
def test_the_highest_rate_is_that_of_the_time_asked_for(law, duration_s, highest_per_s):
    assert parse_law(law, rate_per_s=1.0).max_rate_per_s(duration_s) == pytest.approx(highest_per_s)


@pytest.mark.parametrize(
    ("law", "lasting_per_s"),
    [
        ("constant(rate=7)", 7),
        ("steps(10, 30, 20, each=1s)", 20),
        ("ramp(from=0, to=100, over=10s)", 100),
        ("square(low=1, high=9, phase=4s)", 5),
        ("burst(rate=5, burst_rate=50, interval=4s, duration=1s)", 14),
        ("poisson(rate=40)", 40),
        ("3 * (constant(rate=1) + constant(rate=2))", 9),
        ("constant(rate=100) for 5s then constant(rate=2)", 2),
    ],
)
def test_the_mean_rate_of_a_load_without_end_is_where_the_mean_of_long_loads_goes(law, lasting_per_s):
    parsed = parse_law(law, rate_per_s=1.0)
    assert parsed.mean_rate_per_s() == pytest.approx(lasting_per_s)
    assert parsed.mean_rate_per_s(1e7) == pytest.approx(lasting_per_s, rel=1e-4)


def test_the_mean_rate_of_a_run_is_that_of_its_own_time():
    assert Steps((10.0, 30.0), 10.0).mean_rate_per_s(20.0) == 20.0
    assert Ramp(0.0, 100.0, 10.0).mean_rate_per_s(10.0) == 50.0
    assert Poisson(40.0).mean_rate_per_s(3.0) == pytest.approx(40.0)


def test_steps_stay_at_the_last_level_with_a_knot_only_where_the_rate_changes():
    schedule = Steps((10_000.0, 20_000.0, 40_000.0), 10.0).schedule(40.0)
    assert schedule.time_us.tolist() == [0, 10_000_000, 20_000_000, 40_000_000]
    assert schedule.count.tolist() == [0, 100_000, 300_000, 1_100_000]


def test_a_ramp_has_a_knot_every_10_ms_until_it_stays():
    schedule = Ramp(0.0, 1000.0, 1.0).schedule(100.0)
    assert np.diff(schedule.time_us)[:100].tolist() == [10_000] * 100
    assert schedule.time_us[101:].tolist() == [100_000_000]
    assert schedule.count[[50, 100, 101]].tolist() == [125, 500, 99_500]


def test_a_burst_follows_the_usual_rate_and_repeats():
    schedule = parse_law("burst(rate=10k, burst_rate=100k, interval=10s, duration=2s)", rate_per_s=1.0).schedule(24.0)
    assert schedule.time_us.tolist() == [0, 10_000_000, 12_000_000, 22_000_000, 24_000_000]
    assert schedule.count.tolist() == [0, 100_000, 300_000, 400_000, 600_000]


def test_an_offset_starts_a_shape_later_in_its_phase():
    shifted = Square(10.0, 90.0, 4.0, 3.0)
    assert shifted.rate_at([0.0, 0.9, 1.0, 2.9, 3.0]).tolist() == [90.0, 90.0, 10.0, 10.0, 90.0]
    assert shifted.integral([1.0, 3.0, 4.0]).tolist() == [90.0, 110.0, 200.0]


def test_laws_compose_with_operators_as_they_do_in_text():
    built = 2 * Constant(5.0) + Ramp(0.0, 10.0, 4.0) * 0.5
    assert built == parse_law("constant(rate=5) * 2 + ramp(from=0, to=10, over=4s) * 0.5", rate_per_s=1.0)
    assert built.rate_at([0.0, 2.0, 9.0]).tolist() == [10.0, 12.5, 15.0]


def test_a_law_after_another_starts_with_its_own_time():
    law = parse_law(
        "constant(rate=100) for 2s then ramp(from=0, to=40, over=4s) for 2s then constant(rate=0)", rate_per_s=1
    )
    assert law.rate_at([0.0, 1.9, 2.0, 3.0, 4.0, 9.0]).tolist() == [100.0, 100.0, 0.0, 10.0, 0.0, 0.0]
    schedule = law.schedule(60.0)
    assert schedule.total == 220
    assert schedule.created([1_999_999, 3_999_999, 60_000_000]).tolist() == [200, 220, 220]


def test_whole_events_per_level_are_whole_in_the_schedule_also_late_in_a_long_load():
    schedule = Square(100_000.0, 1_000_000.0, 0.3).schedule(7_200.0)
    turns = np.arange(0, 24_001, 10)
    assert np.array_equal(schedule.created(turns * 300_000 - 1), turns * 165_000)


@pytest.mark.parametrize(
    "text", ["constant(rate=500M) + constant(rate=500M)", "constant(rate=1G) for 20min then constant"]
)
def test_a_constant_rate_is_cut_where_exact_arithmetic_needs_it(text):
    schedule = parse_law(text, rate_per_s=1e9).schedule(7_200.0)
    assert schedule.total == 7_200 * 10**9
    numbers = np.linspace(0, schedule.total - 1, 1_001).astype(np.int64)
    assert np.array_equal(schedule.times_us(numbers), numbers // 1000)


def test_an_hour_of_a_sine_compiles_in_less_than_a_second_of_work():
    started = time.process_time()
    schedule = Sine(200_000.0, 20.0).schedule(3_600.0)
    assert time.process_time() - started < 1.0
    assert len(schedule.time_us) == 360_001


def test_a_load_with_too_many_changes_is_refused_before_it_fills_the_memory():
    with pytest.raises(UsageError, match=r"the rate changes 259\.2M times in 720 h"):
        Sine(10.0, 20.0).schedule(30 * 86400.0)
    with pytest.raises(UsageError, match="use a shorter load or a longer phase"):
        Square(1.0, 2.0, 0.01).schedule(30 * 86400.0)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Constant(-1.0),
        lambda: Constant(math.nan),
        lambda: Constant(math.inf),
        lambda: Steps(()),
        lambda: Steps((1.0, -1.0)),
        lambda: Steps((1.0,), 0.0),
        lambda: Ramp(0.0, 2e9),
        lambda: Ramp(0.0, 1.0, math.inf),
        lambda: Square(2.0, 1.0),
        lambda: Sine(0.0),
        lambda: Sine(1.0, 0.001),
        lambda: Sine(1.0, 1.0, -1.0),
        lambda: Poisson(0.0),
        lambda: Poisson(1.0, 2**63),
        lambda: Constant(1.0) * -1,
        lambda: Constant(1.0) * math.nan,
        lambda: Constant(1e9) + Constant(1.0),
    ],
)
def test_l5_parameters_out_of_range_are_refused(make):
    with pytest.raises(UsageError):
        make()


@settings(deadline=None, max_examples=60)
@given(all_laws, durations)
def test_a_schedule_is_the_same_in_however_many_parts_it_is_compiled(law, duration_s):
    whole = law.schedule(duration_s)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(law_module, "PART_KNOTS", 7)
        assert law.schedule(duration_s) == whole


@pytest.mark.parametrize("text", ["poisson(rate=10k)", "sine(peak=10k)", "ramp(from=0, to=10k, over=24h)"])
def test_the_memory_of_a_schedule_of_a_day_is_bounded(text, monkeypatch):
    """Told from an hour and two of them: a knot takes 16 bytes, and hardly more while it is compiled."""
    for module in (law_module, schedule_module):
        monkeypatch.setattr(module, "PART_KNOTS", 1 << 14)
    law, peaks = parse_law(text, rate_per_s=1.0), []
    for hours in (1, 2):
        tracemalloc.start()
        law.schedule(3600.0 * hours)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[0] + 23 * (peaks[1] - peaks[0]) < 250e6
