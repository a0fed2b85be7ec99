import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.errors import UsageError
from streamgauge.units import (
    MAX_RATE_PER_S,
    format_bytes,
    format_count,
    format_duration,
    format_rate,
    parse_count,
    parse_duration,
    parse_rate,
    parse_share,
)


@pytest.mark.parametrize(
    ("text", "rate_per_s"),
    [
        ("1", 1.0),
        ("200k", 200_000.0),
        ("200K", 200_000.0),
        ("1.5M", 1_500_000.0),
        ("1G", 1e9),
        (" 10 k ", 10_000.0),
        ("10k/s", 10_000.0),
        ("7/s", 7.0),
        ("1_000", 1000.0),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("+2", 2.0),
        (2.5, 2.5),
        (3, 3.0),
    ],
)
def test_rates_are_read_in_every_spelling(text, rate_per_s):
    assert parse_rate(text) == rate_per_s


@pytest.mark.parametrize(
    "text", ["", " ", "abc", "k", "5 sek", "5m", "1,5M", "1..5", "1_00", "nan", "inf", "0x10", "5 k k", "-", math.nan]
)
def test_a_rate_that_is_no_number_is_refused_with_the_value_and_a_remedy(text):
    with pytest.raises(UsageError) as caught:
        parse_rate(text, where="--rate")
    assert f'"{text}"' in caught.value.what
    assert caught.value.where == "--rate"
    assert "200k" in caught.value.remedy


@pytest.mark.parametrize("text", ["0", "-5", "-0.1", "1.1G", "1e10", "1e400", 0, -3.0, 1e12])
def test_a_rate_out_of_range_is_refused_with_the_range(text):
    with pytest.raises(UsageError, match="out of range") as caught:
        parse_rate(text)
    assert "1G" in caught.value.remedy


def test_the_highest_rate_is_accepted():
    assert parse_rate("1G") == MAX_RATE_PER_S


@given(st.floats(min_value=1e-3, max_value=MAX_RATE_PER_S))
def test_a_rate_survives_being_written_and_read(rate_per_s):
    assert parse_rate(repr(rate_per_s)) == rate_per_s
    assert parse_rate(rate_per_s) == rate_per_s


@given(st.floats(min_value=1e-3, max_value=0.999e9))
def test_a_printed_rate_is_read_back_to_four_digits(rate_per_s):
    assert parse_rate(format_rate(rate_per_s)) == pytest.approx(rate_per_s, rel=5.1e-4)


@pytest.mark.parametrize(("text", "count"), [("1", 1), ("20k", 20_000), ("1.5k", 1500), ("2M", 2_000_000), (7, 7)])
def test_counts_are_whole_numbers_with_magnitudes(text, count):
    found = parse_count(text, where="--count")
    assert found == count
    assert isinstance(found, int)


@pytest.mark.parametrize("text", ["", "0", "-1", "1.5", "abc", "nan", "inf", "1e400", "1e17", "5/s", "10 s", True])
def test_what_is_no_count_is_refused_where_it_was_written(text):
    with pytest.raises(UsageError, match="is not a count") as caught:
        parse_count(text, where="--count")
    assert caught.value.where == "--count"
    assert caught.value.remedy


@given(st.integers(1, 2**53))
def test_a_count_survives_being_written_and_read(count):
    assert parse_count(str(count), where="--count") == count


@pytest.mark.parametrize(
    ("text", "duration_s"),
    [
        ("500ms", 0.5),
        ("30s", 30.0),
        ("30 s", 30.0),
        ("2min", 120.0),
        ("1.5h", 5400.0),
        ("250us", 250e-6),
        ("250µs", 250e-6),
        ("0", 0.0),
        ("0s", 0.0),
        (1.5, 1.5),
        (0, 0.0),
    ],
)
def test_durations_are_read_with_their_unit(text, duration_s):
    assert parse_duration(text) == pytest.approx(duration_s, rel=1e-15)


@pytest.mark.parametrize("text", ["", "5", "5 sek", "abc", "s", "5 m", "1 d", "5 S", "nan", "nan s", "five s"])
def test_what_is_no_duration_is_refused_with_the_known_units(text):
    with pytest.raises(UsageError, match="is not a duration") as caught:
        parse_duration(text, where="--warmup")
    assert caught.value.where == "--warmup"
    assert "ms, s, min or h" in caught.value.remedy


@pytest.mark.parametrize("text", ["-1s", "44000min", "1e400s", "1e9h", -1.0, math.nan, math.inf])
def test_a_duration_out_of_range_is_refused(text):
    with pytest.raises(UsageError, match="out of range"):
        parse_duration(text)


def test_a_duration_below_its_minimum_is_refused_with_the_minimum():
    with pytest.raises(UsageError) as caught:
        parse_duration("999ms", minimum_s=1.0)
    assert caught.value.remedy == "use 1 s to 30 days"
    assert parse_duration("1s", minimum_s=1.0) == 1.0


@given(st.floats(min_value=1e-6, max_value=30 * 86_400.0))
def test_a_printed_duration_is_read_back_to_three_digits(duration_s):
    assert parse_duration(format_duration(duration_s)) == pytest.approx(duration_s, rel=5.1e-3)


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0, "0"),
        (999.9, "999.9"),
        (999.96, "1k"),
        (999_949, "999.9k"),
        (999_950, "1M"),
        (-1500, "-1.5k"),
        (2.5e9, "2.5G"),
    ],
)
def test_counts_change_their_unit_where_four_digits_would_not_do(value, text):
    assert format_count(value) == text


@pytest.mark.parametrize(
    ("duration_s", "text"),
    [
        (12.3e-6, "12.3 µs"),
        (0.9994e-3, "999 µs"),
        (1e-3, "1 ms"),
        (0.9994, "999 ms"),
        (1.0, "1 s"),
        (-0.25, "-250 ms"),
        (599.0, "599 s"),
        (10_800.0, "3 h"),
        (math.inf, "inf s"),
    ],
)
def test_durations_are_printed_in_the_unit_that_fits(duration_s, text):
    assert format_duration(duration_s) == text


@pytest.mark.parametrize(
    ("size_bytes", "text"),
    [
        (0, "0 B"),
        (1000, "1000 B"),
        (1023, "1023 B"),
        (1024, "1 KiB"),
        (1010 * 1024**2, "1010 MiB"),
        (1.5 * 1024**3, "1.5 GiB"),
        (20 * 1024**4, "20 TiB"),
    ],
)
def test_sizes_are_printed_in_binary_units_without_exponents(size_bytes, text):
    assert format_bytes(size_bytes) == text


def test_a_share_is_a_number_or_a_percentage():
    assert parse_share("5%", where="--within") == pytest.approx(0.05)
    assert parse_share(" 12.5 % ", where="--within") == 0.125
    assert parse_share("0.1", where="--within") == parse_share(0.1, where="--within") == 0.1
    assert parse_share("250%", where="--relevant", below=math.inf) == 2.5


@pytest.mark.parametrize("text", ["", "narrow", "%", "0%", "-5%", "100%", "1.5", "nan"])
def test_what_is_no_share_is_refused(text):
    with pytest.raises(UsageError, match="is no share between 0% and 100%") as caught:
        parse_share(text, where="--within")
    assert caught.value.where == "--within"
    assert caught.value.remedy
