"""Each exit code is reached, also by runs that saw nothing, and what needs no Spark starts at once."""

import json
import os
import resource
import subprocess
import sys
from dataclasses import replace

import pytest

from made_runs.event_logs import NEWEST
from made_runs.samples import evidence
from streamgauge.conclude.summary import summarise
from streamgauge.errors import RunFailedError
from streamgauge.running.lifecycle import Run

BROKEN = """
import sys
from streamgauge.cli.main import main
from streamgauge.report.terminal import catalogue

def broken(*_):
    raise ZeroDivisionError("our bug")

catalogue.print_list = broken
sys.argv = ["streamgauge", "list"]
main()
"""


@pytest.fixture
def measured(monkeypatch, store):
    """Let `run` end with this summary."""

    def one(summary):
        path = store(json.loads(json.dumps(summary)))
        found = Run(path.name, path, {"run_id": path.name, **summary})
        monkeypatch.setattr("streamgauge.running.lifecycle.run", lambda *_, **__: found)

    return one


@pytest.mark.parametrize(("verdict", "code"), [("pass", 0), ("fail", 6), ("unknown", 7)])
def test_k2_a_verdict_has_its_exit_code(call, measured, verdict, code):
    measured(summarise(evidence()) | {"verdict": verdict})
    assert call("run", "ysb", "--json").code == code


def test_k2_a_failed_run_ends_with_5_and_says_what_to_do(call, monkeypatch):
    def fail(*_, **__):
        raise RunFailedError("the streaming query failed: boom", remedy="look into spark.log")

    monkeypatch.setattr("streamgauge.running.lifecycle.run", fail)
    result = call("run", "ysb")
    assert (result.code, result.out) == (5, "")
    assert result.err == "error: the streaming query failed: boom\n  look into spark.log\n"


def test_k2_a_bug_of_ours_ends_with_1_and_its_traceback():
    done = subprocess.run([sys.executable, "-c", BROKEN], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "ZeroDivisionError: our bug" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "extra"),
    [
        (["run", "ysb", "--quiet"], "spark"),
        (["run", "suite:smoke", "--quiet"], "spark"),
        (["run", "ysb", "--repeat", "2", "--quiet"], "spark"),
        (["run", "mine.py:build", "--quiet"], "spark"),
        (["sustain", "ysb", "--quiet"], "spark"),
        (["scale", "ysb", "--quiet"], "spark"),
        (["surge", "ysb", "--quiet"], "spark"),
        (["verify", "ysb", "--quiet"], "spark"),
        (["generate", "ysb", "--quiet"], "spark"),
        (["prototype", "calibrate", "--quiet"], "spark"),
        (["model", "calibrate", "ysb", "--quiet"], "spark"),
        (["model", "evaluate", "--quick", "--quiet"], "spark"),
        (["load", "ysb", "--kafka", "127.0.0.1:1"], "kafka"),
        (["run", "ysb", "--source", "kafka", "--kafka", "127.0.0.1:1", "--quiet"], "kafka"),
        (["run", "ysb", "--sink", "redis", "--redis", "127.0.0.1:1", "--quiet"], "redis"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_a_missing_extra_is_named_by_every_command_that_needs_it(call, without_extras, tmp_path, arguments, extra):
    (tmp_path / "mine.py").write_text("from pyspark.sql import functions\n\ndef build(df):\n    return df\n")
    result = call(*arguments)
    assert result.code == 4
    assert f'is not installed\n  pip install "streamgauge[{extra}]"\n' in result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize(
    "arguments", [["list"], ["describe", "ysb"], ["plan", "ysb"], ["plan", "suite:smoke"], ["runs", "list"]]
)
def test_commands_that_start_nothing_need_no_extra(call, without_extras, arguments):
    assert call(*arguments).code == 0


def test_stored_runs_need_no_extra(call, without_extras):
    first, second = (call("runs", "import", str(NEWEST), "--query", "clicks", "--json") for _ in range(2))
    ids = [found.document["runs"][0]["run_id"] for found in (first, second)]
    assert call("report", *ids).code == 0
    assert call("runs", "export", ids[0]).code == 0
    assert call("compare", *ids).code == 7
    assert call("predict", ids[0], "--rate", "2k").code in (0, 7)


@pytest.mark.parametrize("arguments", [["list"], ["describe", "ysb", "--json"], ["--help"]])
def test_a_reader_that_has_gone_ends_a_command_in_silence(arguments, tmp_path):
    command = [sys.executable, "-m", "streamgauge", *arguments]
    reader, writer = os.pipe()
    os.close(reader)
    done = subprocess.run(command, stdout=writer, stderr=subprocess.PIPE, text=True, cwd=tmp_path, timeout=60)
    os.close(writer)
    assert (done.returncode, done.stderr) == (141, "")


def test_json_is_what_the_parser_makes_of_it_and_not_a_word_of_the_command_line(call):
    result = call("runs", "show", "--", "--json")
    assert (result.code, result.out) == (2, "")


@pytest.mark.parametrize("kept", [0, 1])
def test_e2_a_run_without_micro_batches_or_rows_ends_with_7(call, measured, kept):
    run = evidence()
    measured(summarise(replace(run, batches=run.batches[:kept])))
    result = call("run", "ysb", "--json")
    assert (result.code, result.document["verdict"]) == (7, "unknown")


@pytest.mark.parametrize("arguments", [["--help"], ["plan", "--help"], ["compare", "--help"], ["runs", "list"]])
def test_k3_the_start_costs_less_than_half_a_second_of_work(arguments, tmp_path):
    costs_s = []
    for _ in range(3):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-m", "streamgauge", *arguments], capture_output=True, cwd=tmp_path, timeout=60)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        costs_s.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(costs_s) < 0.5
