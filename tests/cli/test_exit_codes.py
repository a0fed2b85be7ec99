"""Each exit code is reached, also by runs that saw nothing, and what needs no Spark starts at once."""

import json
import resource
import subprocess
import sys
from dataclasses import replace

import pytest

from experiment.samples import evidence
from streamgauge.errors import RunFailedError
from streamgauge.experiment.run import Run
from streamgauge.experiment.summary import summarise

BROKEN = """
import sys
from streamgauge.cli.main import main
from streamgauge.report import catalogue

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
        monkeypatch.setattr("streamgauge.experiment.run.run", lambda *_, **__: found)

    return one


@pytest.mark.parametrize(("verdict", "code"), [("pass", 0), ("fail", 6), ("unknown", 7)])
def test_k2_a_verdict_has_its_exit_code(call, measured, verdict, code):
    measured(summarise(evidence()) | {"verdict": verdict})
    assert call("run", "ysb", "--json").code == code


def test_k2_a_failed_run_ends_with_5_and_says_what_to_do(call, monkeypatch):
    def fail(*_, **__):
        raise RunFailedError("the streaming query failed: boom", remedy="look into spark.log")

    monkeypatch.setattr("streamgauge.experiment.run.run", fail)
    result = call("run", "ysb")
    assert (result.code, result.out) == (5, "")
    assert result.err == "error: the streaming query failed: boom\n  look into spark.log\n"


def test_k2_a_bug_of_ours_ends_with_1_and_its_traceback():
    done = subprocess.run([sys.executable, "-c", BROKEN], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "ZeroDivisionError: our bug" in done.stderr


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
