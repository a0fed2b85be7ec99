"""All that one run left behind, before any conclusion is drawn."""

from dataclasses import dataclass, field

from streamgauge.arrivals import Schedule
from streamgauge.engine.eventlog import Stage, Task
from streamgauge.engine.resources import ResourceSample
from streamgauge.experiment.settings import RunSettings
from streamgauge.experiment.verify import Verification
from streamgauge.measure import Batch
from streamgauge.verdict import Verdict
from streamgauge.workloads import Window


@dataclass(frozen=True)
class GeneratorCost:
    """What making the events costs by itself: CPU time of one core per event, for the columns that are read."""

    core_s_per_event: float
    columns: tuple[str, ...]


@dataclass(frozen=True)
class Maximum:
    """The highest rate that an offline load reached, and how far the run that found it can be trusted."""

    rate_per_s: float
    run_id: str
    verdict: Verdict
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Observed:
    """What is known about a query that ran by itself; the schedule of its evidence is inferred from its reports.

    `tells_backlog` says that its sources told what they still held. `notes` are about how it was read, and `failure`
    is what ended it, if that was an error.
    """

    tells_backlog: bool
    notes: tuple[str, ...] = ()
    failure: str | None = None


@dataclass(frozen=True)
class Evidence:
    """What was offered, what Spark reported, and what was found besides. Times are since the epoch."""

    settings: RunSettings
    schedule: Schedule
    origin_us: int
    closed_us: int
    batches: list[Batch]
    cores: int
    output_mode: str
    window: Window | None = None
    watermark_delay_s: float = 0.0
    tasks: list[Task] = field(default_factory=list)
    stages: list[Stage] = field(default_factory=list)
    resources: list[ResourceSample] = field(default_factory=list)
    answer: Verification | None = None
    generator: GeneratorCost | None = None
    maximum: Maximum | None = None
    convergence: list[dict[str, float]] | None = None
    reported_batches: int | None = None
    is_interrupted: bool = False
    observed: Observed | None = None

    @property
    def offered(self) -> int:
        """How many events were created in all."""
        return int(self.schedule.created(self.closed_us - self.origin_us))

    @property
    def is_offline(self) -> bool:
        """All events were there before the query started: `closed_us` is when it was let at them."""
        return self.settings.is_offline

    @property
    def is_observed(self) -> bool:
        """The query ran by itself: how many events were offered, and when, is not known."""
        return self.observed is not None

    @property
    def measured_from_us(self) -> int:
        """When the warm-up ended, by the times of the events."""
        return self.origin_us + round(self.settings.warmup_s * 1e6)
