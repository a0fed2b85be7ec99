"""Killed, interrupted once, interrupted twice, paused: what was measured stays, and nothing else does."""

import re
import signal
import time
from collections.abc import Callable

import psutil
import pytest

from streamgauge.store import sweep_scratch

from .conftest import DEADLINE_S, Tool, shown

PAUSE_S = 2.0
LONG_RUN = ("run", "hibench-identity", "--rate", "2k", "--duration", "10min", "--warmup", "2s", "--no-verify")


def _gone(processes: list[psutil.Process]) -> None:
    _, alive = psutil.wait_procs(processes, timeout=60)
    assert alive == []


def test_f6_a_killed_run_reads_as_interrupted_and_leaves_no_process(start: Callable[..., Tool]) -> None:
    tool = start(*LONG_RUN)
    tool.wait_for(lambda: tool.batches_with_events() >= 3, "three micro-batches")
    engine = tool.engine()
    tool.send(signal.SIGKILL)
    tool.end()
    _gone(engine)
    run = shown(tool.runs)
    assert (run["status"], run["verdict"]) == ("interrupted", "unknown")
    assert run["events_processed"] > 0
    assert len(sweep_scratch(tool.runs)) == 1
    assert list(tool.runs.glob("*/work")) == []


def test_k6_one_interrupt_drains_and_stores(start: Callable[..., Tool]) -> None:
    tool = start(*LONG_RUN)
    tool.wait_for(lambda: tool.batches_with_events() >= 3, "three micro-batches")
    engine = tool.engine()
    tool.send(signal.SIGINT)
    assert tool.end() == 130
    _gone(engine)
    run = shown(tool.runs)
    assert (run["status"], run["verdict"]) == ("interrupted", "unknown")
    assert run["events"] == run["events_processed"] > 0
    assert "Traceback" not in tool.printed()
    assert list(tool.runs.glob("*/work")) == []


def test_k6_two_interrupts_stop_now_and_store_what_there_is(start: Callable[..., Tool]) -> None:
    overload = ("run", "hibench-wordcount", "--rate", "50M", "--duration", "10min", "--drain", "10min", "--no-verify")
    tool = start(*overload)
    tool.wait_for(lambda: tool.batches_with_events() >= 2, "two micro-batches")
    engine = tool.engine()
    tool.send(signal.SIGINT)
    tool.wait_for(lambda: "drain" in tool.printed(), "the drain")
    began_s = time.monotonic()
    tool.send(signal.SIGINT)
    assert tool.end() == 130
    assert time.monotonic() - began_s < DEADLINE_S
    _gone(engine)
    run = shown(tool.runs)
    assert run["status"] == "interrupted"
    assert run["events_unprocessed"] > 0
    assert "Traceback" not in tool.printed()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_k6_an_interrupt_before_the_load_ends_at_once(start: Callable[..., Tool], number: signal.Signals) -> None:
    tool = start("run", "ysb", "--duration", "10min")
    tool.wait_for(lambda: "verify" in tool.printed(), "the verification")
    engine = tool.engine()
    tool.send(number)
    assert tool.end() == 130
    _gone(engine)
    run = shown(tool.runs)
    assert (run["status"], run["verdict"]) == ("interrupted", "unknown")
    assert "Traceback" not in tool.printed()


def test_f4_a_paused_process_shows_at_full_size(start: Callable[..., Tool]) -> None:
    tool = start("run", "hibench-identity", "--rate", "2k", "--duration", "10s", "--warmup", "2s", "--no-verify")
    # What comes first may be cut as not yet steady, so the pause is in the second half.
    tool.wait_for(lambda: re.search(r"measure: [5-9] s", tool.printed()) is not None, "half of the measurement")
    (java,) = [process for process in tool.engine() if "java" in process.name()]
    java.suspend()
    # How long the process stands still is what is measured.
    time.sleep(PAUSE_S)
    java.resume()
    tool.end()
    run = shown(tool.runs)
    assert run["status"] == "finished"
    # Events that were due when it stopped have waited for all of it, and no event of the load is missing.
    latency = run["end_to_end_latency_s"]
    assert latency["max"] >= PAUSE_S > latency["p50"]
    assert (run["events"], run["events_processed"]) == (24_000, 24_000)
