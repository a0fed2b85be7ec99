"""The comparison of an answer with its reference."""

from dataclasses import dataclass, field

from streamgauge.arrivals import Constant, Schedule
from streamgauge.events import EventStream, Parameters
from streamgauge.verdict import Verdict


@dataclass(frozen=True)
class FiniteStream:
    """Which finite stream a verification runs over."""

    events: int
    rate_per_s: float
    seed: int = 1

    def schedule(self, events: EventStream, parameters: Parameters) -> Schedule:
        """Compile exactly `events` events."""
        events.check(parameters, self.rate_per_s)
        if events.schedule is not None:
            return events.schedule(parameters, self.events, self.rate_per_s)
        return Constant(self.rate_per_s).schedule(self.events / self.rate_per_s)


@dataclass(frozen=True)
class Verification:
    """The comparison of one workload's two answers."""

    name: str
    verdict: Verdict
    reasons: tuple[str, ...]
    rows_expected: int
    rows_got: int
    rows_missing: int
    rows_extra: int
    batches: int
    sha256: str | None
    stream: FiniteStream
    examples: dict[str, list[str]] = field(default_factory=dict)
