"""The driver is killed between sink and commit; nothing is lost or doubled, and both would be seen."""

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import psutil
import pytest

from streamgauge.clock import SystemClock
from streamgauge.faults.experiment import FaultExperiment
from streamgauge.faults.judgement import judge_results
from streamgauge.faults.plan import PlannedFault
from streamgauge.faults.result import Fault
from streamgauge.running.lifecycle import prepare
from streamgauge.running.monitor import NoMonitor
from streamgauge.running.sinks.counted import SINKS
from streamgauge.running.verify import Differences
from streamgauge.store import list_runs, list_sets
from streamgauge.verdict import Verdict

from .conftest import Tool, shown

# Long enough for several micro-batches where the first takes ten seconds, as it may beside another test.
SHORT = ("--rate", "1k", "--duration", "30s", "--at", "3s offset-commit", "--set", "window_s=2", "--cores", "2")
LONG = ("fault", "ysb", "--duration", "5min", "--rate", "1k", "--cores", "1")


def _gone(processes: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(processes, timeout=60)
    assert [p for p in alive if p.status() != psutil.STATUS_ZOMBIE] == []


def _left_behind(runs: Path) -> list[str]:
    """Return what is left of drivers that worked below `runs`."""
    lines = [(p.info["pid"], " ".join(p.info["cmdline"] or ())) for p in psutil.process_iter(["pid", "cmdline"])]
    return [line for _, line in lines if str(runs) in line and "streamgauge.faults.driver" in line]


def test_f1_a_driver_killed_between_sink_and_commit_loses_and_doubles_nothing(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "streamgauge", "fault", "ysb", *SHORT, "--json", "--runs", str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(done.stdout)
    # The fault has fired, and in mid-batch.
    assert (found["driver_return_code"], "java" in found["processes_killed"]) == (-9, True)
    assert found["batch_in_flight"] == found["batches_committed"] > 0
    assert found["events_replayed"] > 0
    # Rows are added, so that doubles are visible, and the sink held some of the micro-batch that was repeated.
    (hit,) = found["faults"]
    assert (hit["point"], hit["point_is_proven"], found["warnings"]) == ("offset-commit", True, []), hit
    assert hit["rows_in_sink"] > 0
    assert (found["rows_lost"], found["rows_doubled"], found["rows_foreign"]) == (0, 0, 0)
    assert found["rows_expected"] >= found["rows_recovered"] > 0
    assert 3.0 <= found["killed_at_s"] <= found["restarted_at_s"]
    assert 0 < found["ready_s"] < found["recovery_s"]
    assert (found["events"], found["verdict"]) == (30_000, "pass")
    _check_what_is_stored(tmp_path, found)


def _check_what_is_stored(runs: Path, found: dict[str, Any]) -> None:
    (stored,) = list_sets(runs)
    assert (stored.kind, stored.run_ids) == ("fault", [found["run_id"]])
    assert stored.document["result"] == found
    run = shown(runs)
    assert (run["verdict"], run["events"], run["events_processed"]) == ("pass", 30_000, 30_000)
    assert run["fault"] == found
    assert not list(runs.glob("*/work"))
    assert _left_behind(runs) == []


class WithLoss(FaultExperiment):
    """Loses a file as well, after the comparison."""

    with_loss: Differences

    def _compare(self, found: Fault) -> Fault:
        naive = super()._compare(found)
        hit = found.strikes[0].in_flight
        assert hit is not None
        for written in self.place.sink.glob(f"{hit.batch_id:08d}-*.parquet"):
            written.unlink()
        with_loss = super()._compare(found).differences
        assert with_loss is not None
        self.with_loss = with_loss
        return naive


def test_v4_a_sink_that_ignores_the_batch_id_is_seen_to_double_and_a_lost_file_to_lose(tmp_path: Path) -> None:
    asked = {"rate": "2k", "duration": "10s", "warmup": 0.0, "verify": False, "cores": 2}
    workload, parameters, settings = prepare("hibench-identity", asked)
    planned = (PlannedFault(3.0, "driver", "offset-commit"),)
    experiment = WithLoss(
        workload, parameters, {}, settings, planned, 0.0, tmp_path, NoMonitor(), SystemClock(), sink=SINKS["append"]
    )
    found = experiment.execute()
    (strike,) = found.strikes
    assert (strike.doubt, strike.point, strike.point_doubt) == (None, "offset-commit", None)
    assert found.differences is not None
    hit = strike.in_flight
    assert hit is not None
    # The sink promises at least once; one that promises more would fail by the same rows.
    assert found.verdict is Verdict.PASS
    assert judge_results(found.differences, "exactly-once").verdict is Verdict.FAIL
    assert (found.differences.rows_missing, found.differences.rows_doubled) == (0, hit.last - hit.first)
    assert strike.rows_in_sink == strike.rows_due == hit.last - hit.first
    assert (experiment.with_loss.rows_missing, experiment.with_loss.rows_extra) == (hit.last - hit.first, 0)
    assert judge_results(experiment.with_loss, "at-least-once").verdict is Verdict.FAIL
    assert _left_behind(tmp_path) == []


def _has_java(tool: Tool) -> bool:
    try:
        return any("java" in child.name() for child in psutil.Process(tool.process.pid).children(recursive=True))
    except psutil.NoSuchProcess:  # a short-lived child ended meanwhile
        return False


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGKILL])
def test_nothing_stays_behind_when_the_tool_itself_is_ended(start: Callable[..., Tool], number: signal.Signals) -> None:
    tool = start(*LONG)
    tool.wait_for(lambda: _has_java(tool), "the start of Java")
    engine = tool.engine()
    tool.send(number)
    assert tool.end() == (130 if number is signal.SIGINT else -signal.SIGKILL)
    _gone(engine)
    assert "Traceback" not in tool.printed()
    assert [run.status for run in list_runs(tool.runs)] == ["interrupted"]
    assert _left_behind(tool.runs) == []


def test_a_driver_that_cannot_start_is_an_error_with_its_log(start: Callable[..., Tool]) -> None:
    tool = start(*LONG, "--conf", "spark.driver.memory=lots")
    assert tool.end() == 4
    assert "lots" in tool.printed()
    assert "spark.log" in tool.printed()
    assert "Traceback" not in tool.printed()
    assert [run.status for run in list_runs(tool.runs)] == ["failed"]
    assert not list(tool.runs.glob("*/work"))
