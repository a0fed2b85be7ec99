"""One run in the making: what was asked for, what it is composed of, and what is known so far."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge.arrivals import Schedule
from streamgauge.clock import BoundedClock, Clock
from streamgauge.conclude.evidence import Maximum
from streamgauge.engine.engine import Engine, Query, Session
from streamgauge.errors import RunFailedError
from streamgauge.events import Parameters
from streamgauge.measure import Batch
from streamgauge.measure.records import TaskRecord
from streamgauge.running.interrupts import Interrupts
from streamgauge.running.monitor import Monitor, Snapshot
from streamgauge.secrets import mask_secrets
from streamgauge.settings.run_settings import RunSettings
from streamgauge.store import RunWriter
from streamgauge.workloads import Workload

if TYPE_CHECKING:
    from streamgauge.running.feeds.feed import Feed
    from streamgauge.running.sinks.sink import Sink
    from streamgauge.running.timing.timing import Timing

POLL_S = 0.1
WAIT_POLL_S = 0.02
START_DEADLINE_S = 180.0


@dataclass
class RunState:
    """The state that the phases of a run share. What a phase finds out has no value before it."""

    workload: Workload
    parameters: Parameters
    settings: RunSettings
    root: Path
    monitor: Monitor
    clock: Clock
    engine: Engine
    feed: "Feed"
    timing: "Timing"
    # Handed in where several runs share a session.
    given_session: Session | None = None
    interrupts: Interrupts = field(default_factory=Interrupts)
    batches: list[Batch] = field(default_factory=list)
    # Micro-batches after the load, which are not part of the measurement, and their tasks.
    explored: list[Batch] = field(default_factory=list)
    explored_tasks: list[TaskRecord] = field(default_factory=list)
    is_exploring: bool = False
    fields: tuple[str, ...] | None = None
    maximum: Maximum | None = None
    notes: list[str] = field(default_factory=list)
    phase: str = "start"
    # By the start.
    writer: RunWriter = field(init=False)
    sink: "Sink" = field(init=False)
    session: Session = field(init=False)
    # As they were then: executors may be lost later.
    cores: int = field(init=False)
    query: Query = field(init=False)
    # By the load.
    schedule: Schedule = field(init=False)
    wall: BoundedClock = field(init=False)
    origin_us: int = field(init=False)
    closed_us: int = field(init=False)
    has_begun: bool = False

    def __post_init__(self) -> None:
        self.started_s = self.phase_started_s = self.clock.monotonic_s()

    def configuration(self) -> dict[str, Any]:
        """Return settings and parameters as they are stored, without secrets."""
        document = self.settings.document() | {"parameters": self.parameters.model_dump()}
        return document | {"conf": mask_secrets(document["conf"])}

    def enter(self, phase: str, **names: str) -> None:
        """Begin a phase."""
        self.phase = phase.format(engine=self.engine.title, **names)
        self.phase_started_s = self.clock.monotonic_s()
        self.show()

    def moment(self) -> str:
        """Say when something happens that happens now."""
        return f', {self.clock.monotonic_s() - self.phase_started_s:.1f} s into the phase "{self.phase}"'

    def note(self, text: str) -> None:
        """Keep what a reader of the results should know."""
        self.notes.append(text)

    def show(self) -> None:
        """Show the monitor where the run is."""
        now_s = self.clock.monotonic_s()
        snapshot = Snapshot(self.phase, now_s - self.started_s, now_s - self.phase_started_s, batches=len(self.batches))
        busy = [b for b in self.batches[-10:] if b.events]
        if busy and self.has_begun:
            last = busy[-1]
            span_s = (last.emitted_us - busy[0].started_us) / 1e6
            snapshot = replace(
                snapshot,
                processed_rate_per_s=(last.last - busy[0].first) / span_s if span_s > 0 else None,
                backlog_events=self.created(self.now_us()) - last.last,
                end_to_end_latency_s=None if self.settings.is_offline else self._latency_s(last),
            )
        self.monitor.show(snapshot)

    def _latency_s(self, batch: Batch) -> float:
        middle = (batch.first + batch.last - 1) // 2
        return (batch.emitted_us - self.origin_us - int(self.schedule.times_us(middle))) / 1e6

    def now_us(self) -> int:
        """Return the wall time since the epoch during the load; it ends in time even if the wall clock is set back."""
        return round(self.wall.wall_s() * 1e6)

    def begin(self, origin_us: int, load_s: float) -> None:
        """Note when the load began, and when it will have ended."""
        self.origin_us, self.closed_us = origin_us, origin_us + round(load_s * 1e6)
        self.has_begun = True

    def created(self, at_us: int) -> int:
        """Return how many events the load has created at a time."""
        return int(self.schedule.created(min(at_us, self.closed_us) - self.origin_us))

    @property
    def offered(self) -> int:
        """How many events the load has, up to its end."""
        return self.created(self.closed_us)

    def tick(self, sleep_s: float = POLL_S) -> None:
        """Let a little time pass; raise what has gone wrong with feed or query."""
        self.feed.watch(self)
        self.query.check()
        self.show()
        self.clock.sleep(sleep_s)

    def wait(self, condition: Callable[[], bool], what: str, *, deadline_s: float = START_DEADLINE_S) -> None:
        """Wait for something that the query does."""
        end_s = self.clock.monotonic_s() + deadline_s
        while not condition():
            if self.clock.monotonic_s() > end_s:
                raise RunFailedError(
                    f"{what} did not happen within {deadline_s:.0f} s",
                    where=str(self.writer.log),
                    remedy="see the log there; a cluster without free executors looks like this",
                )
            self.tick(WAIT_POLL_S)

    def take_progress(self, progress: Mapping[str, Any]) -> None:
        """Store the progress of a micro-batch, and count it."""
        if not self.is_exploring:
            self.writer.append_progress(progress)
        if self.timing.is_unbatched:
            return
        try:
            batch = self.feed.batch(self, progress)
        except (KeyError, TypeError, ValueError, LookupError) as error:
            raise RunFailedError(
                f"{self.engine.title} reported progress that cannot be read ({type(error).__name__}: {error})",
                remedy="the last line of events.jsonl has it",
            ) from error
        if batch is not None:
            (self.explored if self.is_exploring else self.batches).append(batch)
