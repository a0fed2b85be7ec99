"""Keys for a prediction, from a file."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from streamgauge.errors import InvalidExperimentError
from streamgauge.model import partition_of
from streamgauge.predicting.keys import read_keys


def written(folder, text, name="keys.csv"):
    path = folder / name
    path.write_text(text)
    return path


def test_a_weight_is_how_often_a_key_comes_and_came_unless_it_says_otherwise(tmp_path):
    measured, expected = read_keys(written(tmp_path, "key,weight\na,1\nb,3\n"))
    assert measured.weights.tolist() == expected.weights.tolist() == [1.0, 3.0]
    measured, expected = read_keys(written(tmp_path, "key,measured,weight\na,1,5\nb,3,0\n"))
    assert (measured.weights.tolist(), expected.weights.tolist()) == ([1.0, 3.0], [5.0, 0.0])


def test_keys_are_hashed_by_their_types_and_in_the_order_of_their_columns(tmp_path):
    texts, _ = read_keys(written(tmp_path, "user,ad,weight\n7,x,1\n8,y,1\n"))
    expected = np.bincount(partition_of(5, [7, 8], ["x", "y"]), [0.5, 0.5], 5)
    assert texts.shares(5) == pytest.approx(expected)
    path = tmp_path / "keys.parquet"
    pq.write_table(pa.table({"key": pa.array([7, 8], pa.int32()), "weight": [1.0, 1.0]}), path)
    short, _ = read_keys(path)
    assert short.shares(5) == pytest.approx(np.bincount(partition_of(5, np.array([7, 8], np.int32)), [0.5, 0.5], 5))


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("key,count\na,1\n", "the columns are key, count"),
        ("weight\n1\n", "the columns are weight"),
        ("key,weight\n", "there are 0 keys"),
        ("key,weight\na,-1\n", "weight has values that are not weights"),
        ("key,weight\na,0\n", "weight has values that are not weights"),
        ("key,weight\na,many\n", "weight has values that are not weights"),
        ("key,measured,weight\na,,1\n", "measured has values that are not weights"),
        ("key,weight\n2020-01-01,1\n", "key is date32"),
        ("key,weight\n1,1\n,1\n", "key has empty values"),
        ("key,weight\na,1\nb\n", "the file cannot be read"),
        ("", "the file cannot be read"),
    ],
)
def test_a_file_without_keys_is_refused(tmp_path, text, what):
    path = written(tmp_path, text)
    with pytest.raises(InvalidExperimentError, match=what) as found:
        read_keys(path)
    assert found.value.where == str(path)
    assert found.value.remedy


def test_a_missing_file_is_refused(tmp_path):
    with pytest.raises(InvalidExperimentError, match="there is no such file"):
        read_keys(tmp_path / "none.csv")
