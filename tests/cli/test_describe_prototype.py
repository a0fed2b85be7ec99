import json
import subprocess
import sys

import pytest

from streamgauge.bundle import FOLDER
from streamgauge.prototype.calibration import CostLine, CostPoint, CycleCalibration, Platform
from streamgauge.verdict import Verdict

EXAMPLES = FOLDER / "prototypes"
DIAMOND = str(EXAMPLES / "diamond.yaml")


@pytest.fixture(autouse=True)
def cache(tmp_path, monkeypatch):
    """A place without a calibration."""
    folder = tmp_path / "cache"
    monkeypatch.setenv("STREAMGAUGE_CACHE", str(folder))
    return folder


def calibrate(folder, machine):
    line = CostLine(2.0, 1.9, 2.1, 0.0, (CostPoint(500, 1000, 1000.0, 0.0),))
    CycleCalibration("2026-11-16T08:00:00+00:00", machine, {"native": line, "arrow": line}, Verdict.PASS).write(folder)


def test_a_prototype_is_drawn(call):
    result = call("describe", DIAMOND)
    assert result.code == 0
    assert result.err == ""
    assert result.out.count("4 instances") == 6
    assert "depth         5 levels" in result.out
    assert "components    6: 1 source, 5 tasks" in result.out


def test_a_prototype_is_one_document_with_json(call):
    document = call("describe", DIAMOND, "--json").document
    assert (document["name"], document["schema"], document["depth"]) == ("diamond", "workflow", 5)
    assert len(document["components"]) == 6
    assert document["load_per_tuple"]["cpu_us"] is None


def test_every_example_is_described(call):
    for path in EXAMPLES.glob("*.yaml"):
        assert call("describe", str(path)).code == 0
        assert call("describe", str(path), "--json").document["warnings"] == []


def test_loads_are_shown_as_time_on_a_calibrated_machine(call, cache):
    from streamgauge.prototyping.calibrate import this_machine

    calibrate(cache, this_machine())
    document = call("describe", DIAMOND, "--json").document
    assert document["load_per_tuple"]["ns_per_cycle"] == 2.0
    assert document["components"][1]["cpu_us"] == 6.0
    assert "3k cycles = 6 µs" in call("describe", DIAMOND).out


def test_a_calibration_of_another_machine_is_not_used_and_that_is_said(call, cache):
    calibrate(cache, Platform("an abacus", None, None))
    document = call("describe", DIAMOND, "--json").document
    assert document["load_per_tuple"]["cpu_us"] is None
    assert "abacus" in document["warnings"][0]


def test_a_calibration_that_cannot_be_read_does_not_hide_the_graph(call, cache):
    cache.mkdir()
    (cache / "calibration.json").write_text("{")
    result = call("describe", DIAMOND)
    assert result.code == 0
    assert "! loads are not shown as time" in result.out


def test_mistakes_of_a_file_are_told_with_their_lines(call, tmp_path):
    path = tmp_path / "wrong.yaml"
    path.write_text("workflow:\n  dept: 3\n")
    result = call("describe", str(path))
    assert result.code == 3
    assert result.out == ""
    assert "wrong.yaml:2" in result.err
    assert "did you mean `depth`?" in result.err


def test_a_file_that_is_not_there_is_told(call):
    result = call("describe", "absent.yaml")
    assert result.code in (2, 3)
    assert "absent.yaml" in result.err
    assert "Traceback" not in result.err


def test_spark_is_not_imported_to_describe_a_prototype():
    program = (
        "import sys\n"
        f"sys.argv = ['streamgauge', 'describe', {DIAMOND!r}, '--json']\n"
        "from streamgauge.cli.main import main\n"
        "heavy = {'pyspark', 'scipy', 'pandas', 'duckdb', 'jinja2'}\n"
        "try:\n    main()\n"
        "finally:\n    print(sorted(heavy & set(sys.modules)), file=sys.stderr)\n"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stderr.strip() == "[]"
    assert json.loads(found.stdout)["name"] == "diamond"
