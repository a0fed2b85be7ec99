import json

import pyarrow as pa
import pytest

from streamgauge.errors import EnvironmentNotReadyError, InvalidExperimentError, UsageError
from streamgauge.experiments.generate import FORMATS, generate, json_lines


@pytest.mark.parametrize(
    ("options", "where"),
    [
        ({"stream": "hibensh"}, "generate"),
        ({"count": "0"}, "--count"),
        ({"rate": "x"}, "--rate"),
        ({"format": "xml"}, "--format"),
        ({"source_partitions": 0}, "--source-partitions"),
        ({"parameters": {"keyz": 1}}, "--set"),
        ({"seed": 2**64}, "--seed"),
        ({"cores": 0}, "--cores"),
    ],
)
def test_mistakes_are_found_before_anything_is_written(tmp_path, options, where):
    stream = options.pop("stream", "hibench")
    with pytest.raises(UsageError) as caught:
        generate(stream, output=tmp_path / "events", **options)
    assert caught.value.where == where
    assert not (tmp_path / "events").exists()


def test_a_parameter_outside_its_domain_is_refused(tmp_path):
    with pytest.raises(InvalidExperimentError):
        generate("hibench", parameters={"keys": 0}, output=tmp_path / "events")


def test_a_folder_that_exists_is_left_alone(tmp_path):
    (tmp_path / "precious").write_text("x")
    with pytest.raises(UsageError, match="exists already") as caught:
        generate("hibench", output=tmp_path)
    assert caught.value.where == "--output"
    assert (tmp_path / "precious").read_text() == "x"


def test_a_place_that_cannot_be_written_is_named(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(EnvironmentNotReadyError) as caught:
        generate("hibench", output=tmp_path / "file" / "events")
    assert "--output" in caught.value.remedy


def table():
    return pa.table({"at": pa.array([0, 1_500_000], pa.timestamp("us", "UTC")), "text": ['a "b"\t\0', "ü"]})


def test_json_lines_hold_one_event_each_in_order():
    lines = json_lines(table()).decode().splitlines()
    assert [json.loads(line)["text"] for line in lines] == ['a "b"\t\0', "ü"]
    assert json_lines(table()).endswith(b"\n")


def test_the_digest_s_lines_do_not_depend_on_how_events_are_sliced():
    whole = table()
    assert json_lines(whole) == json_lines(whole.slice(0, 1)) + json_lines(whole.slice(1))


@pytest.mark.parametrize("name", list(FORMATS))
def test_every_format_can_be_read_back(tmp_path, name):
    from pyarrow import csv, parquet

    path = tmp_path / f"events.{name}"
    writer = FORMATS[name](path, table().schema)
    for part in (table().slice(0, 1), table().slice(1)):
        writer.write(part, json_lines(part))
    writer.close()
    readers = {
        "parquet": lambda: parquet.read_table(path).column("text").to_pylist(),
        "json": lambda: [json.loads(line)["text"] for line in path.read_text().splitlines()],
        "csv": lambda: csv.read_csv(path).column("text").to_pylist(),
    }
    assert readers[name]() == ['a "b"\t\0', "ü"]
