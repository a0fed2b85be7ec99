"""Runs that never happened, stored as if they had."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from streamgauge.clock import ManualClock
from streamgauge.errors import StreamgaugeError
from streamgauge.experiment.monitor import Snapshot
from streamgauge.experiment.run import Run
from streamgauge.experiment.summary import summarise
from streamgauge.store import RunWriter

from .samples import ORIGIN_US, evidence

Outcome = dict[str, Any] | StreamgaugeError | KeyboardInterrupt | str


class FakeRun:
    """Stands in for `run`: stores what `outcomes` says for the first, second … call, else a run that passes.

    An outcome is what differs in the summary, an error that the run ends with, or the status with which it is stored.
    """

    def __init__(self, *outcomes: Outcome | None) -> None:
        self.outcomes = list(outcomes)
        self.calls: list[dict[str, Any]] = []
        self.clock = ManualClock(wall_offset_s=ORIGIN_US / 1e6)

    def __call__(self, *, workload: str, runs: Path, monitor: Any, **arguments: Any) -> Run:
        self.clock.sleep(1.0)
        self.calls.append({"workload": workload, **arguments})
        monitor.show(Snapshot("measure", 1.0, 1.0))
        outcome = self.outcomes.pop(0) if self.outcomes else None
        writer = RunWriter.create(Path(runs), workload=workload, document={}, clock=self.clock)
        if isinstance(outcome, StreamgaugeError | KeyboardInterrupt):
            is_error = isinstance(outcome, StreamgaugeError)
            writer.finish("failed" if is_error else "interrupted", verdict="unknown", reasons=[str(outcome)])
            if is_error:
                outcome.run_id = writer.run_id
            raise outcome
        changes = outcome if isinstance(outcome, dict) else {}
        summary = {"run_id": writer.run_id, **json.loads(json.dumps(summarise(evidence()))), **changes}
        status = outcome if isinstance(outcome, str) else "finished"
        writer.finish(status, summary=summary, verdict=summary["verdict"], reasons=summary["reasons"])
        return Run(writer.run_id, writer.path, summary)

    @property
    def workloads(self) -> list[str]:
        """What was run, in order."""
        return [call["workload"] for call in self.calls]


class Watcher:
    """Keeps what it is told."""

    def __init__(self, react: Callable[[Snapshot], None] | None = None) -> None:
        self.phases: list[str] = []
        self.react = react

    def show(self, snapshot: Snapshot) -> None:
        self.phases.append(snapshot.phase)
        if self.react:
            self.react(snapshot)
