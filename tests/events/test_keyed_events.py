import numpy as np
import pytest

from streamgauge.arrivals import Arrivals
from streamgauge.events.keyed import EVENTS, VALUES, KeyedEvents

BASE_US = 1_436_918_400_000_000


def make(count, *, seed=1, first=0, **parameters):
    n = np.arange(first, first + count)
    return EVENTS.arrays(KeyedEvents(**parameters), seed, Arrivals.spaced(n, load_us=BASE_US, period_us=777))


def test_numbers_count_from_0_and_sides_alternate():
    events = make(100)
    assert events["number"].tolist() == list(range(100))
    assert events["side"].tolist() == [0, 1] * 50


def test_keys_are_uniform_and_values_too():
    events = make(100_000, keys=100)
    for values in (events["key"], events["value"] // (VALUES // 100)):
        counts = np.bincount(values, minlength=100)
        # 148.23 is the 99.9 % quantile of chi-square with 99 degrees of freedom.
        assert np.sum((counts - 1_000) ** 2 / 1_000) < 148.23


def test_keys_and_values_are_independent():
    events = make(100_000, keys=10)
    assert abs(np.corrcoef(events["key"], events["value"])[0, 1]) < 0.01


def test_with_zipf_s_law_the_first_key_comes_as_often_as_the_law_says():
    keys = make(20_000, keys=10, zipf=1.0)["key"]
    weights = 1 / np.arange(1, 11)
    expected = 20_000 * weights / weights.sum()
    # 27.9 is the 99.9 % quantile of chi-square with 9 degrees of freedom.
    assert np.sum((np.bincount(keys, minlength=10) - expected) ** 2 / expected) < 27.9


def test_with_turns_a_key_is_used_in_one_second_of_several():
    events = make(20_000, keys=100, turns=4)
    assert np.all(events["key"] % 4 == events["created"] // 1_000_000 % 4)
    assert set(events["key"].tolist()) == set(range(100))


def test_keys_become_a_multiple_of_the_turns():
    assert set(make(20_000, keys=10, turns=4)["key"].tolist()) == set(range(12))


@pytest.mark.parametrize("parameters", [{}, {"zipf": 1.0, "turns": 3}])
def test_records_depend_on_the_seed_and_repeat_with_it(parameters):
    one, again, other = (make(200, seed=seed, **parameters)["value"].tolist() for seed in (1, 1, 2))
    assert one == again
    assert one != other


def test_records_do_not_depend_on_where_a_partition_begins():
    n = np.arange(100)
    arrivals = Arrivals.spaced(n, load_us=BASE_US, period_us=777)
    whole = EVENTS.arrays(KeyedEvents(turns=2), 1, arrivals)
    part = EVENTS.arrays(KeyedEvents(turns=2), 1, Arrivals.spaced(n[60:], load_us=BASE_US, period_us=777))
    assert all(whole[name][60:].tolist() == part[name].tolist() for name in whole)


def test_creation_times_are_whole_milliseconds_and_never_later_than_the_schedule():
    early_us = BASE_US + np.arange(1_000) * 777 - make(1_000)["created"]
    assert np.all((early_us >= 0) & (early_us < 1000))
