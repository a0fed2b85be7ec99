"""All that one run left behind, before any conclusion is drawn."""

import socket
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from streamgauge.arrivals import Schedule
from streamgauge.conclude.verification import Verification
from streamgauge.connectors.kafka.delivery import Delivery
from streamgauge.measure import Batch, Emissions
from streamgauge.measure.records import ClockOffset, ExecutorUse, LostExecutor, ResourceSample, StageRecord, TaskRecord
from streamgauge.settings.run_settings import RunSettings
from streamgauge.settings.table import UNBATCHED
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

    `tells_backlog` says that its sources reported what they still held. `notes` are about how it was read, and
    `failure` is what ended it, if that was an error.
    """

    tells_backlog: bool
    notes: tuple[str, ...] = ()
    failure: str | None = None


@dataclass(frozen=True)
class External:
    """What happened outside of Spark in a run with a broker or another server.

    `delivery` is how well the load was kept by a generator of its own, None where nothing reported it. `records` counts
    all that the query has read, `malformed` those of them that are no events. `apart_s` is how far the partitions were
    apart, at most, in the times of their events at the end of a micro-batch: by so much the latency of single events
    may be wrong.
    """

    delivery: Delivery | None = None
    has_generator: bool = True
    records: int = 0
    malformed: int = 0
    apart_s: float | None = None
    recount: "Recount | None" = None
    holes: tuple[str, ...] = ()
    details: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Recount:
    """The content of the sink against an answer that is computed anew from what the topic holds.

    `events_lost` are numbers of events that are not in the topic, `events_doubled` those that are in it again.
    """

    verdict: Verdict
    reasons: tuple[str, ...]
    events: int
    events_lost: int
    events_doubled: int
    rows_expected: int
    rows_got: int
    rows_missing: int
    rows_extra: int
    examples: Mapping[str, list[str]] = field(default_factory=dict)


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
    # Of a long run they lie on disk, and are read again each time.
    tasks: Collection[TaskRecord] = field(default_factory=list)
    stages: Collection[StageRecord] = field(default_factory=list)
    resources: list[ResourceSample] = field(default_factory=list)
    answer: Verification | None = None
    generator: GeneratorCost | None = None
    maximum: Maximum | None = None
    convergence: list[dict[str, float]] | None = None
    reported_batches: int | None = None
    is_interrupted: bool = False
    observed: Observed | None = None
    external: External | None = None
    # Where results are timed one by one. Without micro-batches, `batches` are slices of the time in which they came.
    emissions: Emissions | None = None
    # Of a cluster: what its executors used over the load, their clocks before it, and those that were lost.
    executors: list[ExecutorUse] = field(default_factory=list)
    clocks: list[ClockOffset] = field(default_factory=list)
    lost: list[LostExecutor] = field(default_factory=list)

    @property
    def offered(self) -> int:
        """How many events were created in all."""
        return int(self.schedule.created(self.closed_us - self.origin_us))

    @property
    def executors_are_here(self) -> bool:
        """There is a cluster, and the samples of resources cover all of it."""
        return bool(self.executors) and {use.host for use in self.executors} == {socket.gethostname()}

    @property
    def is_offline(self) -> bool:
        """All events were there before the query started: `closed_us` is when it was let at them."""
        return self.settings.is_offline

    @property
    def is_unbatched(self) -> bool:
        """There are no micro-batches: what is known comes from the results."""
        return self.settings.mode in UNBATCHED

    @property
    def is_observed(self) -> bool:
        """The query ran by itself: how many events were offered, and when, is not known."""
        return self.observed is not None

    @property
    def measured_from_us(self) -> int:
        """When the warm-up ended, by the times of the events."""
        return self.origin_us + round(self.settings.warmup_s * 1e6)
