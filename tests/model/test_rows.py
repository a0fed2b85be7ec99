"""Rows per partition and different keys."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.model import Keys, OutputCurve, fold, partition_of, spark_hash
from streamgauge.model.rows import is_exact_fold

WEIGHTS = np.array([6, 4, 3, 3, 2, 2, 2, 2, *[1] * 8]) / 32


def micros(*values):
    return np.array(values, dtype=np.int64).view("datetime64[us]")


@pytest.mark.parametrize(
    ("columns", "expected"),
    [
        ([np.array([0, 1, -7], dtype=np.int32)], [933211791, -559580957, -1618159745]),
        ([np.array([0, 1, -1234567890123])], [-1670924195, -1712319331, 1482864047]),
        ([["", "a", "abc", "abcd"]], [142593372, 1485273170, 1322437556, -396302900]),
        ([["streamgauge", "größe €"]], [1342251408, -1159931110]),
        ([[1.5, -0.0]], [1290763749, -1670924195]),
        ([[True, False]], [-559580957, 933211791]),
        ([["a"], [3]], [-951283508]),
        ([micros(1_700_000_000_000_000)], [-872124635]),
        ([micros(0), micros(10_000_000), [5]], [2143532267]),
    ],
    ids=["int", "bigint", "text", "unicode", "double", "boolean", "two columns", "timestamp", "window and key"],
)
def test_hashes_are_those_of_spark_4_3(columns, expected):
    assert spark_hash(*columns).tolist() == expected


def test_keys_go_where_spark_sends_them():
    numbers = np.arange(1000)
    partitions = partition_of(7, numbers)
    assert np.bincount(partitions).tolist() == [154, 139, 148, 151, 147, 131, 130]
    assert np.bincount(partitions, numbers).tolist() == [78891, 66101, 75190, 80164, 73123, 65315, 60716]


def test_one_value_goes_with_every_row_of_the_other_column():
    both = spark_hash(["a"], [1, 2])
    assert both.tolist() == [spark_hash(["a"], [1])[0], spark_hash(["a"], [2])[0]]


def test_folding_the_ordered_keys_gives_the_published_shares():
    assert fold(WEIGHTS, 2).tolist() == [0.53125, 0.46875]
    assert fold(WEIGHTS, 4).tolist() == [0.3125, 0.25, 0.21875, 0.21875]


@given(st.integers(1, 200), st.sampled_from([1, 2, 4, 8, 16, 32, 64]))
def test_folding_is_hashing_again(seed, partitions):
    rng = np.random.default_rng(seed)
    keys = Keys((rng.integers(-(2**40), 2**40, 50),), rng.random(50))
    assert fold(keys.shares(64), partitions) == pytest.approx(keys.shares(partitions))


@given(st.lists(st.floats(0.01, 1.0), min_size=1, max_size=24), st.integers(1, 24))
def test_shares_add_up_whatever_the_number_of_partitions(weights, partitions):
    shares = np.array(weights) / sum(weights)
    folded = fold(shares, partitions)
    assert len(folded) == partitions
    assert folded.sum() == pytest.approx(1.0)
    assert fold(folded, len(shares)) == pytest.approx(shares) or not is_exact_fold(partitions, len(shares))


def test_only_divisors_fold_exactly():
    assert [p for p in range(1, 13) if is_exact_fold(12, p)] == [1, 2, 3, 4, 6, 12]


def test_the_output_curve_is_the_number_of_keys_that_are_equally_likely():
    rows = np.array([10.0, 500.0, 2000.0, 50_000.0])
    expected = 1000 * (1 - (1 - 1 / 1000) ** rows)
    assert OutputCurve(1.0, 1000.0)(rows) == pytest.approx(expected, rel=0.002)


def test_an_output_without_end_is_a_line():
    assert OutputCurve(2.5)([0, 2, 1e9]).tolist() == [0.0, 5.0, 2.5e9]


def test_keys_in_parts_are_as_many_as_together():
    curve = OutputCurve(0.7, 1000.0)
    assert 4 * curve(2000 / 4, parts=4.0) == pytest.approx(curve(2000))
