"""A prototype file stands wherever a workload can, and is told from a suite file."""

import subprocess
import sys
from pathlib import Path

import pytest

FILE = """
workflow:
  depth: 3
  scalability: {parallelism: 6}
datastream:
  synthetic:
    flow: {rate: 2000}
"""


@pytest.fixture
def file(tmp_path) -> Path:
    path = tmp_path / "app.yaml"
    path.write_text(FILE)
    return path


def test_a_prototype_is_planned_with_the_settings_of_its_file(call, file):
    done = call("plan", str(file), "--json")
    assert done.code == 0
    assert done.document["settings"]["rate_per_s"] == 2000.0
    assert done.document["source_partitions"] == 2


def test_options_go_before_the_file_and_are_allowed_beside_it(call, file):
    done = call("plan", str(file), "--rate", "5k", "--arrivals", "poisson", "--source-partitions", "4", "--json")
    assert done.document["settings"]["arrivals"] == "poisson"
    assert (done.document["settings"]["rate_per_s"], done.document["source_partitions"]) == (5000.0, 4)


def test_a_file_that_is_a_suite_is_still_one(call, tmp_path):
    (tmp_path / "suite.yaml").write_text("streamgauge: 1\nname: one\nruns:\n  - workload: ysb\n")
    assert call("plan", "suite.yaml", "--json").document["suite"] == "one"
    assert call("plan", "suite.yaml", "--rate", "5k").code == 2


def test_an_obsolete_name_in_the_file_is_told_by_the_plan(call, tmp_path):
    (tmp_path / "old.yaml").write_text(FILE.replace("workflow:", "dataflow:"))
    done = call("plan", "old.yaml")
    assert done.code == 0
    assert "obsolete" in done.out


@pytest.mark.parametrize("command", ["run", "plan", "verify", "sustain", "scale", "surge", "fault"])
def test_mistakes_of_the_file_are_told_by_every_command_before_anything_starts(call, file, without_java, command):
    file.write_text(FILE.replace("depth", "deptth"))
    done = call(command, "app.yaml")
    assert done.code == 3
    assert "app.yaml:3:3" in done.err
    assert "did you mean `depth`?" in done.err


@pytest.mark.parametrize("command", ["run", "describe", "verify"])
def test_mistakes_of_the_file_are_told_before_anything_heavy_is_imported(file, command):
    file.write_text(FILE.replace("depth", "deptth"))
    program = (
        "import sys\n"
        "from streamgauge.cli.main import main\n"
        f"sys.argv = ['streamgauge', '{command}', '{file}']\n"
        "try:\n    main()\nexcept SystemExit as end:\n    print(end.code)\n"
        "print(sorted({'numpy', 'pandas', 'pyarrow', 'pyspark', 'scipy'}.intersection(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.splitlines() == ["3", "[]"]


@pytest.mark.parametrize("command", ["verify", "sustain", "fault"])
def test_a_suite_file_is_no_workload(call, tmp_path, without_java, command):
    (tmp_path / "suite.yaml").write_text("streamgauge: 1\nname: one\nruns:\n  - workload: ysb\n")
    outcome = call(command, "suite.yaml")
    assert outcome.code == 3
    assert "suite.yaml is a suite, not a workload" in outcome.err


def test_a_file_that_is_not_there_is_told(call, without_java):
    done = call("sustain", "nowhere.yaml")
    assert done.code == 2
    assert "nowhere.yaml" in done.err
