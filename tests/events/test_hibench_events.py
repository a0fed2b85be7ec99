import re

import numpy as np
import pytest

from streamgauge.arrivals import Arrivals
from streamgauge.events.hibench import EVENTS, KEY_BYTES, PAGES, HibenchEvents

BASE_US = 1_436_918_400_000_000


def make(count, *, seed=1, first=0, **parameters):
    n = np.arange(first, first + count)
    return EVENTS.arrays(HibenchEvents(**parameters), seed, Arrivals.spaced(n, load_us=BASE_US, period_us=777))


def fields(line):
    """Split a line as HiBench does."""
    return re.split(r"[\s,]+", line)


def addresses(lines):
    return [fields(line)[1] for line in lines]


def test_the_first_field_is_the_page_and_the_second_the_address():
    lines = make(10, first=PAGES - 5)["line"]
    assert [int(fields(line)[0]) for line in lines] == [*range(PAGES - 5, PAGES), *range(5)]
    for address in addresses(lines):
        a, b, c, d = map(int, address.split("."))
        assert 1 <= a <= 254
        assert 1 <= d <= 254
        assert 0 <= min(b, c) <= max(b, c) <= 254


@pytest.mark.parametrize("record_length", [50, 200, 400])
def test_a_line_has_the_record_s_length_less_the_key(record_length):
    lines = make(500, record_length=record_length)["line"]
    assert {len(line) for line in lines} == {record_length - KEY_BYTES}


def test_the_shortest_record_still_holds_the_whole_address():
    whole, short = make(5_000)["line"], make(5_000, record_length=50)["line"]
    assert addresses(line.rstrip("\0") for line in short) == addresses(line.rstrip("\0") for line in whole)


@pytest.mark.parametrize("keys", [1, 7, 1_000])
def test_there_are_as_many_addresses_as_keys_and_they_come_in_turn(keys):
    found = addresses(make(2_000, keys=keys)["line"])
    assert len(set(found)) == keys
    assert found[keys:] == found[:-keys]


def test_addresses_do_not_repeat_before_all_keys_are_used():
    assert len(set(addresses(make(20_000)["line"]))) == 20_000


def test_with_zipf_s_law_the_first_key_comes_as_often_as_the_law_says():
    found = np.array(addresses(make(20_000, keys=10, zipf=1.0)["line"]))
    _, counts = np.unique(found, return_counts=True)
    weights = 1 / np.arange(1, 11)
    expected = 20_000 * weights / weights.sum()
    # 27.9 is the 99.9 % quantile of chi-square with 9 degrees of freedom.
    assert np.sum((np.sort(counts)[::-1] - expected) ** 2 / expected) < 27.9


def test_the_seed_changes_the_filler_and_not_the_keys():
    one, other = make(100, seed=1)["line"], make(100, seed=2)["line"]
    assert one != other
    assert addresses(one) == addresses(other)


def test_records_do_not_depend_on_where_a_partition_begins():
    assert make(40, first=60, zipf=1.0)["line"] == make(100, zipf=1.0)["line"][60:]


def test_creation_times_are_whole_milliseconds_and_never_later_than_the_schedule():
    n = np.arange(1_000)
    created = make(1_000)["created"]
    assert np.all(created % 1000 == 0)
    assert np.all((BASE_US + n * 777 - created >= 0) & (BASE_US + n * 777 - created < 1000))


def test_lines_contain_no_character_that_would_break_a_line():
    assert not any("\n" in line or "\r" in line for line in make(2_000)["line"])
