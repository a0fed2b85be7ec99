"""Java is killed or stopped: the run ends in time, says so, and stays readable; nothing else stays."""

import os
import signal
import time
from collections.abc import Callable

import psutil
import pytest

from streamgauge.engine.spark.watchdog import INTERRUPTED_DEADLINE_S
from streamgauge.running.interrupts import GRACE_S

from .conftest import Tool, shown

# On a busy machine; far less than the rest of the load.
END_S = 60.0
HANG_S = 3.0
LONG_RUN = ("run", "hibench-identity", "--rate", "2k", "--duration", "10min", "--warmup", "2s", "--no-verify")


def _java(tool: Tool) -> psutil.Process:
    (java,) = [process for process in tool.engine() if "java" in process.name()]
    return java


def _started(tool: Tool) -> bool:
    try:
        return any(child.name() == "java" for child in psutil.Process(tool.process.pid).children(recursive=True))
    except psutil.NoSuchProcess:  # a short-lived child ended meanwhile
        return False


def _gone(processes: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(processes, timeout=20)
    assert [p for p in alive if p.status() != psutil.STATUS_ZOMBIE] == []


def _failed(tool: Tool, engine: list[psutil.Process], said: str) -> None:
    began_s = time.monotonic()
    assert tool.end() == 5, tool.printed()
    assert time.monotonic() - began_s < END_S
    _gone(engine)
    assert said in tool.printed()
    assert "Traceback" not in tool.printed()
    assert list(tool.runs.glob("*/work")) == []


@pytest.mark.parametrize(
    ("number", "said"),
    [
        (signal.SIGKILL, "Spark's Java process was killed by signal 9 (SIGKILL), "),
        (signal.SIGSTOP, "Spark's Java process did not answer for 3 s and was killed, "),
    ],
)
def test_a_java_that_is_lost_under_load_is_a_failed_run_that_can_be_read(
    start: Callable[..., Tool], number: signal.Signals, said: str
) -> None:
    tool = start(*LONG_RUN, hang_deadline_s=HANG_S)
    tool.wait_for(lambda: tool.batches_with_events() >= 3, "three micro-batches")
    engine = tool.engine()
    os.kill(_java(tool).pid, number)
    _failed(tool, engine, said)
    run = shown(tool.runs)
    assert (run["status"], run["verdict"]) == ("failed", "unknown")
    assert said in run["reasons"][0]
    assert run["events_processed"] > 0


def test_k6_two_interrupts_end_a_run_whose_java_is_stopped(start: Callable[..., Tool]) -> None:
    tool = start(*LONG_RUN)
    tool.wait_for(lambda: tool.batches_with_events() >= 3, "three micro-batches")
    engine = tool.engine()
    _java(tool).suspend()
    tool.send(signal.SIGINT)
    tool.wait_for(lambda: "drain" in tool.printed(), "the drain")
    began_s = time.monotonic()
    tool.send(signal.SIGINT)
    assert tool.end() == 130, tool.printed()
    assert time.monotonic() - began_s < INTERRUPTED_DEADLINE_S + GRACE_S + END_S
    _gone(engine)
    assert "Traceback" not in tool.printed()
    run = shown(tool.runs)
    assert (run["status"], run["verdict"]) == ("interrupted", "unknown")
    assert run["events_processed"] > 0


def test_a_java_that_is_killed_while_the_answer_is_verified_is_a_failed_run(start: Callable[..., Tool]) -> None:
    tool = start("run", "ysb", "--duration", "10min")
    tool.wait_for(lambda: "verify" in tool.printed(), "the verification")
    engine = tool.engine()
    os.kill(_java(tool).pid, signal.SIGKILL)
    _failed(tool, engine, 's into the phase "verify"')
    assert shown(tool.runs)["status"] == "failed"


def test_k6_an_interrupt_ends_a_verification_whose_java_is_stopped(start: Callable[..., Tool]) -> None:
    tool = start("run", "ysb", "--duration", "10min")
    tool.wait_for(lambda: "verify" in tool.printed(), "the verification")
    engine = tool.engine()
    _java(tool).suspend()
    began_s = time.monotonic()
    tool.send(signal.SIGINT)
    assert tool.end() == 130, tool.printed()
    assert time.monotonic() - began_s < END_S
    _gone(engine)
    assert "Traceback" not in tool.printed()
    assert shown(tool.runs)["status"] == "interrupted"


def test_a_driver_that_loses_its_java_is_a_failed_experiment(start: Callable[..., Tool]) -> None:
    tool = start("fault", "ysb", "--duration", "5min", "--at", "4min", "--rate", "1k", "--cores", "1")
    tool.wait_for(lambda: _started(tool), "the start of Java")
    tool.wait_for(lambda: tool.batches_with_events() >= 1, "a micro-batch")
    engine = tool.engine()
    os.kill(_java(tool).pid, signal.SIGKILL)
    _failed(tool, engine, "Spark's Java process was killed by signal 9 (SIGKILL)")
    assert shown(tool.runs)["status"] == "failed"
