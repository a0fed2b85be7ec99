"""Runs in processes of their own, to be killed and interrupted."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest

DEADLINE_S = 180.0
# The command line with another deadline for a Java that does not answer.
IMPATIENT = """
import sys
from streamgauge.engine.spark import watchdog
from streamgauge.cli.main import main
watchdog.HANG_DEADLINE_S = float(sys.argv.pop(1))
main()
"""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    here = Path(__file__).parent
    for item in items:
        if here in item.path.parents:
            item.add_marker(pytest.mark.fault)


@dataclass
class Tool:
    """One `streamgauge` process, its run directory, and what it printed."""

    process: "subprocess.Popen[bytes]"
    runs: Path
    out: Path

    def wait_for(self, condition: Callable[[], Any], what: str) -> None:
        """Block until something has happened, or fail loudly."""
        end_s = time.monotonic() + DEADLINE_S
        while not condition():
            assert self.process.poll() is None or condition(), f"ended before {what}:\n{self.printed()}"
            assert time.monotonic() < end_s, f"{what} did not happen in time:\n{self.printed()}"
            time.sleep(0.05)

    def printed(self) -> str:
        return self.out.read_text()

    def batches_with_events(self) -> int:
        lines = [line for file in self.runs.glob("*/events.jsonl") for line in file.read_text().splitlines()]
        return sum(1 for line in lines if '"numInputRows": 0' not in line and '"numInputRows":0' not in line)

    def engine(self) -> list[psutil.Process]:
        """Return Spark's processes: Java and its Python workers."""
        children = psutil.Process(self.process.pid).children(recursive=True)
        assert any("java" in child.name() for child in children), "there must be something to leave behind"
        return children

    def send(self, number: signal.Signals) -> None:
        os.kill(self.process.pid, number)

    def end(self) -> int:
        return self.process.wait(DEADLINE_S)


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., Tool]]:
    """Start the command line in the background; whatever is left of it at the end is killed."""
    started: list[Tool] = []

    def go(*arguments: str, hang_deadline_s: float | None = None) -> Tool:
        out = tmp_path / f"output-{len(started)}.txt"
        program = ["-m", "streamgauge"] if hang_deadline_s is None else ["-c", IMPATIENT, str(hang_deadline_s)]
        command = [sys.executable, *program, *arguments, "--runs", str(tmp_path / "runs")]
        with out.open("wb") as file:
            process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, start_new_session=True)
        started.append(Tool(process, tmp_path / "runs", out))
        return started[-1]

    yield go
    for tool in started:
        if tool.process.poll() is None:
            tool.process.kill()
            tool.process.wait()


def shown(runs: Path) -> dict[str, Any]:
    """Return what `runs show latest --json` says."""
    command = [sys.executable, "-m", "streamgauge", "runs", "show", "latest", "--json", "--runs", str(runs)]
    return dict(json.loads(subprocess.run(command, capture_output=True, check=True).stdout))
