"""Exported programs read well, need nothing but PySpark, and are the same whenever they are written."""

import ast
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from prototype.applications import ALL, FLOWS, LINEAR, STAR, TUMBLING, pipeline, source
from streamgauge.bundle import FOLDER
from streamgauge.errors import InvalidExperimentError
from streamgauge.prototype.export import export_program
from streamgauge.prototype.file.document import load_application
from streamgauge.prototype.graph.application import Data, Flow, PrototypeTask, SourceTopic

ROOT = Path(__file__).parents[2]
EXAMPLES = FOLDER / "prototypes"
GOLDEN = Path(__file__).parent / "wordcount_program.txt"
LONG = "a-component-whose-name-is-very-long-and-says-everything-there-is-to-say-about-it.indeed"
# Names that Python or the program have for other things, and names that differ in nothing that a variable can have.
NAMES = ("for", "sum", "work", "tuples", "F", "2nd", "a.b", "a-b", "a_b", "count", "n", LONG, f"{LONG}.again")
AWKWARD = pipeline(source("main"), *(PrototypeTask(name, 2, ("main",), "hash", 0.1, filtering=0.25) for name in NAMES))
WAITING = pipeline(
    source(data=Data(size=1, values=3), flow=Flow(rate_per_s=0.0)),
    PrototypeTask(LONG, 1, ("source",), "none", 0.0, sojourn_ms=0.5),
)
APPLICATIONS = ALL | {"awkward": AWKWARD, "waiting": WAITING}


def variables(text):
    (function,) = [node for node in ast.parse(text).body if getattr(node, "name", "") == "application"]
    return {node.id for node in ast.walk(function) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}


def test_a_program_reads_as_it_did_before():
    assert export_program(load_application(EXAMPLES / "wordcount.yaml")) == GOLDEN.read_text()


def test_programs_pass_linter_and_formatter_with_their_defaults(tmp_path):
    for name, application in APPLICATIONS.items():
        (tmp_path / f"{name}.py").write_text(export_program(application))
    for command in (["check"], ["format", "--check", "--diff"]):
        ruff = [sys.executable, "-m", "ruff", *command, "--isolated", "--no-cache", str(tmp_path)]
        found = subprocess.run(ruff, capture_output=True, text=True)
        assert found.returncode == 0, found.stdout + found.stderr


@pytest.mark.parametrize("name", APPLICATIONS)
def test_a_program_needs_nothing_but_pyspark(name):
    tree = ast.parse(export_program(APPLICATIONS[name]))
    imported = {
        module.split(".")[0]
        for node in ast.walk(tree)
        if isinstance(node, ast.Import | ast.ImportFrom)
        for module in ([node.module] if isinstance(node, ast.ImportFrom) else [alias.name for alias in node.names])
    }
    assert "pyspark" in imported
    assert imported <= {"pyspark", *sys.stdlib_module_names}


@pytest.mark.parametrize("name", APPLICATIONS)
def test_every_task_has_a_variable_of_its_own(name):
    application = APPLICATIONS[name]
    found = variables(export_program(application))
    assert len(found) == len(application.tasks)


@pytest.mark.parametrize("name", APPLICATIONS)
def test_every_function_of_a_program_is_called(name):
    text = export_program(APPLICATIONS[name])
    functions = {node.name for node in ast.walk(ast.parse(text)) if isinstance(node, ast.FunctionDef)}
    used = {node.id for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    assert functions <= used


def test_comments_name_routing_and_cpu_work():
    text = export_program(LINEAR)
    assert "    # first: in turns to 3 instances; 100 cycles\n    first = from_sources(tuples)\n" in text
    assert "    # second: by value to 2 instances; 2,000 cycles\n    second = by_value(first, 2)\n" in text
    assert '    # third: chained; 0 cycles\n    third = work(second, "third", 0)\n' in text


def test_a_program_waits_in_each_micro_batch_as_the_task_does():
    text = export_program(pipeline(source(), PrototypeTask("slow", 2, ("source",), "none", 0.0, batch_ms=25.0)))
    assert "    # slow: chained; 0 cycles; waits 25 ms once in a micro-batch\n" in text
    assert '    "spark.sql.streaming.unsupportedOperationCheck": "false",\n' in text
    assert "unsupportedOperationCheck" not in export_program(LINEAR)
    assert '    slow = work_and_wait(slow, "slow", 0, 0.0, 25.0)\n' in text


def test_the_rate_of_the_file_is_the_default():
    assert "arguments(__doc__.splitlines()[0], 1_000)" in export_program(LINEAR)
    assert "arguments(__doc__.splitlines()[0], 0)" in export_program(WAITING)
    assert "arguments(__doc__.splitlines()[0], 2_000)" in export_program(STAR)


def test_flows_that_change_are_thinned_out_of_their_highest_rate():
    text = export_program(FLOWS)
    # 300 + 600 + 2,000 in bursts + 500, of 1,500 in all.
    assert 'arrive(events, SEED, rates(F.col("t_us")), 3400.0)' in text
    assert f", {3400 / 1500!r})\n" in text
    assert "def arrive" not in export_program(STAR)


def test_windows_have_as_many_partitions_as_their_task():
    assert '    "spark.sql.shuffle.partitions": "3",\n' in export_program(TUMBLING)
    assert "shuffle.partitions" not in export_program(LINEAR)


def test_a_program_reads_no_topic():
    external = pipeline(replace(source(), topic=SourceTopic("broker:9092")), *LINEAR.tasks)
    with pytest.raises(InvalidExperimentError, match="source reads the topic namb_topic"):
        export_program(external)
