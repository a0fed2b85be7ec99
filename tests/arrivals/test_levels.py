"""Laws of two levels, by what their definition says."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.arrivals.constant import Constant
from streamgauge.arrivals.law import Piece
from streamgauge.arrivals.levels import Burst, Square
from streamgauge.arrivals.steps import Steps

SQUARE = Square(10.0, 30.0, phase_s=10.0)


def test_a_square_wave_begins_with_its_low_half():
    assert SQUARE.rate_at([0.0, 4.999, 5.0, 9.999, 10.0, 15.0]).tolist() == [10.0, 10.0, 30.0, 30.0, 10.0, 30.0]
    assert SQUARE.integral([0.0, 5.0, 10.0, 17.0]).tolist() == [0.0, 50.0, 200.0, 310.0]


def test_a_time_that_misses_a_change_by_rounding_is_after_it():
    just_before_s = 5.0 * (1 - 1e-12)
    assert SQUARE.rate_at([np.nextafter(just_before_s, 0), just_before_s]).tolist() == [10.0, 30.0]


def test_the_end_of_a_load_is_no_change_of_its_level():
    assert Steps((1.0, 2.0, 3.0), each_s=5.0).knots_us(10_000_000).tolist() == [5_000_000]
    assert Steps((1.0, 2.0, 3.0), each_s=5.0).knots_us(10_000_001).tolist() == [5_000_000, 10_000_000]


def test_a_piece_has_knots_where_it_starts_and_stops_and_none_after_the_load():
    assert sorted(Piece(Constant(1.0), start_us=5, end_us=8).knots_us(20).tolist()) == [5, 8]
    assert Piece(Constant(1.0), start_us=5).knots_us(5).tolist() == []


def test_a_burst_comes_after_its_interval():
    law = Burst(10.0, 100.0, interval_s=4.0, duration_s=1.0)
    assert law.rate_at([0.0, 3.999, 4.0, 4.999, 5.0]).tolist() == [10.0, 10.0, 100.0, 100.0, 10.0]
    assert law.integral([4.0, 5.0, 9.5]).tolist() == [40.0, 140.0, 230.0]
    assert law.mean_rate_per_s() == 28.0


def test_an_offset_begins_within_a_period_and_counts_events_from_there():
    law = Square(10.0, 30.0, phase_s=10.0, offset_s=23.0)
    assert law.rate_at([0.0, 1.999, 2.0, 6.999, 7.0]).tolist() == [10.0, 10.0, 30.0, 30.0, 10.0]
    assert law.integral([0.0, 2.0, 7.0]) == pytest.approx([0.0, 20.0, 170.0])
    assert sorted(law.knots_us(10_000_000).tolist()) == [2_000_000, 7_000_000]


@pytest.mark.parametrize(
    ("offset_s", "duration_s", "highest_per_s"),
    [(0.0, 5.0, 10.0), (0.0, 5.1, 30.0), (2.0, 2.9, 10.0), (2.0, 3.1, 30.0), (12.0, 3.0, 10.0), (5.0, 1.0, 30.0)],
)
def test_the_highest_rate_is_one_that_is_reached(offset_s, duration_s, highest_per_s):
    assert Square(10.0, 30.0, phase_s=10.0, offset_s=offset_s).max_rate_per_s(duration_s) == highest_per_s


@pytest.mark.parametrize(
    ("offset_s", "duration_s", "highest_per_s"),
    [(4.0, 1.0, 10.0), (4.0, 1.1, 30.0), (4.5, 0.4, 10.0), (9.5, 0.6, 30.0), (0.0, 9.0, 30.0)],
)
def test_bursts_may_be_lulls(offset_s, duration_s, highest_per_s):
    law = Burst(30.0, 10.0, interval_s=4.0, duration_s=1.0, offset_s=offset_s)
    assert law.max_rate_per_s(duration_s) == highest_per_s


@given(st.integers(1, 40), st.integers(1, 40), st.integers(0, 200), st.integers(1, 100))
def test_the_highest_rate_is_that_of_all_times(interval, burst, offset, duration):
    law = Burst(10.0, 70.0, interval_s=interval / 4, duration_s=burst / 4, offset_s=offset / 4)
    times_s = np.arange(0, duration) / 4 + 0.125
    assert law.max_rate_per_s(duration / 4) == law.rate_at(times_s).max()


def test_levels_that_are_equal_are_a_constant_rate():
    assert Square(10.0, 10.0, phase_s=10.0).integral([3.0, 8.0]).tolist() == [30.0, 80.0]
