"""What a run reports about itself while it lasts."""

from dataclasses import dataclass, replace
from typing import Protocol


@dataclass(frozen=True)
class Snapshot:
    """The state of a run at one moment; None where nothing is known yet."""

    phase: str
    elapsed_s: float
    phase_s: float
    processed_rate_per_s: float | None = None
    backlog_events: int | None = None
    end_to_end_latency_s: float | None = None
    batches: int = 0


class Monitor(Protocol):
    """Someone who watches."""

    def show(self, snapshot: Snapshot) -> None:
        """Take notice of the state of the run."""
        ...


class NoMonitor:
    """Shows nothing."""

    def show(self, snapshot: Snapshot) -> None:
        """Do nothing."""


class Prefixed:
    """Adds to every message which part it is about."""

    def __init__(self, monitor: Monitor, prefix: str) -> None:
        self.monitor, self.prefix = monitor, prefix

    def show(self, snapshot: Snapshot) -> None:
        """Pass the state on, with the prefix before its phase."""
        self.monitor.show(replace(snapshot, phase=f"{self.prefix}{snapshot.phase}"))
