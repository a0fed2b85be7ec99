import json
import math

import numpy as np
import pytest
from hdrh.histogram import HdrHistogram
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.measure import EDGES_US, RELATIVE_ERROR, Histogram

durations = st.lists(st.integers(0, 2**42 - 1), min_size=1, max_size=200)
histograms = st.lists(st.integers(0, 2**40), max_size=30).map(Histogram.from_values_us)
quantiles = st.sampled_from([0.0, 0.07, 0.25, 0.5, 0.9, 0.95, 0.99, 0.999, 1.0]) | st.floats(0, 1)


def test_t4_edges_start_at_zero_grow_and_bound_the_relative_width():
    widths = np.diff(EDGES_US)
    assert (EDGES_US[0], EDGES_US[-1]) == (0, 2**42)
    assert np.all(widths > 0)
    assert np.all((widths[1:] == 1) | (widths[1:] <= EDGES_US[1:-1] / 128))


def test_edges_cannot_be_changed_by_accident():
    with pytest.raises(ValueError):
        EDGES_US[0] = 5


@given(durations, quantiles)
def test_t4_a_quantile_is_the_sorted_arrays_within_the_stated_error(values, q):
    truth_us = sorted(values)[max(1, math.ceil(q * len(values) * (1 - 1e-12))) - 1]
    found_us = Histogram.from_values_us(values).quantile_s(q) * 1e6
    assert abs(found_us - truth_us) <= truth_us * RELATIVE_ERROR * (1 + 1e-9) + 1e-6


@given(st.lists(st.integers(1, 3_600_000_000), min_size=1, max_size=200), st.sampled_from([50, 90, 95, 99]))
def test_t4_quantiles_agree_with_hdrhistogram_within_both_errors(values, percent):
    oracle = HdrHistogram(1, 3_600_000_000, 3)
    for value in values:
        oracle.record_value(value)
    # HdrHistogram rounds the rank to the nearest, ours up: a neighbouring rank is as good an answer.
    rank = percent / 100 * len(values)
    ordered = sorted(values)
    low = ordered[max(0, math.floor(rank) - 1)] * (1 - RELATIVE_ERROR)
    high = ordered[min(len(values) - 1, math.ceil(rank))] * (1 + RELATIVE_ERROR)
    found_us = Histogram.from_values_us(values).quantile_s(percent / 100) * 1e6
    assert low - 1 <= found_us <= high + 1
    assert low * 0.999 - 1 <= oracle.get_value_at_percentile(percent) <= high * 1.001 + 1


def test_t4_quantiles_of_many_values_agree_with_hdrhistogram():
    values = np.random.default_rng(3).lognormal(12, 1.5, 20_000).astype(np.int64) + 1
    oracle = HdrHistogram(1, 2**42, 3)
    for value in values:
        oracle.record_value(int(value))
    ours = Histogram.from_values_us(values)
    for percent in (10, 50, 90, 99, 99.9):
        expected_s = oracle.get_value_at_percentile(percent) / 1e6
        assert ours.quantile_s(percent / 100) == pytest.approx(expected_s, rel=RELATIVE_ERROR + 0.001)


@given(durations)
def test_count_extremes_and_sum_are_exact(values):
    histogram = Histogram.from_values_us(values)
    assert (histogram.count, histogram.min_us, histogram.max_us) == (len(values), min(values), max(values))
    assert histogram.sum_us == sum(values)
    assert histogram.mean_s == pytest.approx(sum(values) / len(values) / 1e6)


@given(histograms, histograms, histograms)
def test_t4_merging_is_associative_and_commutative_with_a_neutral_element(a, b, c):
    assert a.merge(b) == b + a
    assert (a + b) + c == a + (b + c)
    assert a + Histogram.empty() == a


@given(durations, durations)
def test_t4_merged_parts_equal_the_whole(a, b):
    parts = Histogram.from_values_us(a) + Histogram.from_values_us(b)
    assert parts == Histogram.from_values_us(a + b)


@given(st.lists(st.tuples(st.integers(0, 2**41), st.integers(0, 5)), max_size=40))
def test_counts_stand_for_repeated_values(pairs):
    repeated = [value for value, count in pairs for _ in range(count)]
    counted = Histogram.from_values_us([v for v, _ in pairs], counts=[c for _, c in pairs])
    assert counted == Histogram.from_values_us(repeated)


@given(histograms)
def test_t4_a_histogram_survives_a_file(histogram):
    assert Histogram.from_json(json.loads(json.dumps(histogram.to_json()))) == histogram


@given(histograms)
def test_t4_the_rows_of_a_table_give_every_bucket_back(histogram):
    rows = histogram.to_rows()
    again = Histogram.from_values_us([low for low, _, _ in rows], counts=[count for _, _, count in rows])
    assert again.to_rows() == rows
    assert np.array_equal(again.counts, histogram.counts)


def test_a_file_with_other_buckets_is_refused():
    with pytest.raises(ValueError, match="128 sub-buckets, not 64"):
        Histogram.from_json(Histogram.empty().to_json() | {"sub_buckets": 64})


@given(durations)
def test_rows_hold_every_value_in_its_half_open_bucket(values):
    rows = Histogram.from_values_us(values).to_rows()
    assert sum(count for _, _, count in rows) == len(values)
    for low_us, high_us, count in rows:
        assert count == sum(low_us <= value < high_us for value in values)


def test_values_beyond_the_range_are_counted_last_and_the_maximum_stays_exact():
    histogram = Histogram.from_values_us([1, 2**50])
    assert histogram.to_rows()[-1][1] == 2**42
    assert histogram.quantile_s(1.0) == 2**50 / 1e6


def test_negative_values_count_as_zero():
    histogram = Histogram.from_values_us([-7, 5])
    assert (histogram.min_us, histogram.max_us, histogram.sum_us) == (0, 5, 5.0)


def test_fractions_are_rounded_to_microseconds():
    assert Histogram.from_values_us([1.6]).to_rows() == [(2, 3, 1)]


@pytest.mark.parametrize("values", [[math.nan], [math.inf]])
def test_values_that_are_not_finite_are_refused(values):
    with pytest.raises(ValueError, match="finite"):
        Histogram.from_values_us(values)


@pytest.mark.parametrize("counts", [[1], [1, -1]])
def test_counts_that_do_not_fit_are_refused(counts):
    with pytest.raises(ValueError, match="one count"):
        Histogram.from_values_us([1, 2], counts=counts)


def test_an_empty_histogram_has_neither_mean_nor_quantiles():
    empty = Histogram.empty()
    assert (empty.count, empty.min_us, empty.max_us) == (0, None, None)
    with pytest.raises(ValueError, match="empty"):
        empty.quantile_s(0.5)
    with pytest.raises(ValueError, match="empty"):
        _ = empty.mean_s


def test_a_quantile_outside_zero_and_one_is_refused():
    with pytest.raises(ValueError, match=r"1\.5"):
        Histogram.from_values_us([1]).quantile_s(1.5)


@pytest.mark.parametrize(
    ("samples", "shown"),
    [
        (19, []),
        (20, ["p50"]),
        (99, ["p50"]),
        (100, ["p50", "p90"]),
        (199, ["p50", "p90"]),
        (200, ["p50", "p90", "p95"]),
        (999, ["p50", "p90", "p95"]),
        (1000, ["p50", "p90", "p95", "p99"]),
    ],
)
def test_t5_a_percentile_needs_ten_samples_beyond_it(samples, shown):
    summary = Histogram.from_values_us([1_000_000] * samples).summary()
    assert [p for p in ("p50", "p90", "p95", "p99") if summary[p] is not None] == shown


def test_t5_dependent_durations_do_not_make_a_sample_larger():
    summary = Histogram.from_values_us([2_000_000] * 100_000).summary(samples=50)
    assert summary["p50"] == pytest.approx(2.0, rel=RELATIVE_ERROR)
    assert summary["p90"] is None
    assert (summary["count"], summary["mean"], summary["max"]) == (100_000, 2.0, 2.0)


@pytest.mark.parametrize("percent", [50, 90, 95, 99])
def test_t5_percentiles_of_parts_come_from_their_merged_histogram_and_not_from_an_average(percent):
    # 9,000 short durations and 1,000 long ones: 1 ms to 9 s, and 10 s to 1,009 s.
    short, long = np.arange(1, 9_001) * 1_000, np.arange(10, 1_010) * 1_000_000
    parts = [Histogram.from_values_us(short), Histogram.from_values_us(long)]
    name, whole = f"p{percent}", np.sort(np.concatenate([short, long]))
    exact_s = whole[percent * len(whole) // 100 - 1] / 1e6
    assert (parts[0] + parts[1]).summary()[name] == pytest.approx(exact_s, rel=RELATIVE_ERROR)
    assert np.mean([part.summary()[name] for part in parts]) != pytest.approx(exact_s, rel=0.05)


def test_an_empty_summary_shows_nothing_rather_than_zero():
    summary = Histogram.empty().summary()
    assert summary.pop("count") == 0
    assert set(summary.values()) == {None}
