import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.arrivals import Constant, parse_law
from streamgauge.errors import UsageError


@given(st.integers(1, 5_000), st.integers(1, 4))
def test_l1_whole_rates_give_exact_times(rate, duration_s):
    schedule = Constant(float(rate)).schedule(float(duration_s))
    numbers = np.arange(schedule.total)
    assert np.array_equal(schedule.times_us(numbers), numbers * 1_000_000 // rate)


@given(st.floats(0.1, 1e7), st.floats(0.01, 7_200))
def test_l1_the_total_is_rate_times_duration_within_one(rate_per_s, duration_s):
    total = Constant(rate_per_s).schedule(duration_s).total
    assert abs(total - rate_per_s * duration_s) <= 1


@given(st.floats(0.5, 1e6), st.floats(0.01, 3_600), st.floats(0, 1))
def test_l1_every_time_is_the_number_by_the_rate_within_a_microsecond(rate_per_s, duration_s, position):
    schedule = Constant(rate_per_s).schedule(duration_s)
    if schedule.total:
        n = int(position * (schedule.total - 1))
        assert schedule.times_us(n) == pytest.approx(n / rate_per_s * 1e6, abs=2)


def test_a_load_too_long_for_one_segment_is_cut_and_stays_exact():
    schedule = Constant(10_000_000.0).schedule(7_200.0)
    assert len(schedule.time_us) > 2
    numbers = np.linspace(0, schedule.total - 1, 1_001).astype(np.int64)
    assert np.array_equal(schedule.times_us(numbers), numbers // 10)


def test_a_rate_too_low_for_one_event_gives_an_empty_load():
    schedule = Constant(0.1).schedule(5.0)
    assert (schedule.total, schedule.end_us) == (0, 5_000_000)


def test_an_unknown_law_is_refused_with_the_closest_name():
    with pytest.raises(UsageError, match="did you mean `constant`"):
        parse_law("constnt", rate_per_s=1.0)
