"""A server of known capacity and noise under a clock of its own: a run takes milliseconds, and measures nothing.

It serves micro-batches as Spark would report them. One takes the time of its events at the capacity, and `LEAST_S` at
least, times a noise whose mean is 1: so the capacity is exactly the highest rate that is sustained.
"""

import math
import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from streamgauge.arrivals.admission import FIRST_ADMITTED
from streamgauge.clock import Clock, ManualClock, SystemClock
from streamgauge.engine.admission import AdaptiveAdmission, FixedAdmission
from streamgauge.engine.engine import EmbeddedEvents, FiniteOrder, OfferedFeed, QueryOrder, TopicEvents
from streamgauge.errors import InvalidExperimentError, UsageError, closest
from streamgauge.events import Parameters
from streamgauge.machine.resources import PERIOD_S
from streamgauge.measure.records import LostExecutor, MachineReading, ResourceSample, TaskRecord
from streamgauge.settings.run_settings import RunSettings
from streamgauge.units import parse_rate, parse_share
from streamgauge.workloads import Workload

if TYPE_CHECKING:
    import pyarrow as pa

CAPACITY = "1M"
NOISE = "5%"
LEAST_S = 0.05
IDLE_S = 0.01
# Of a micro-batch: the source is asked, the query is planned, it runs, and the commit is logged.
PHASE_SHARES = {"latestOffset": 0.02, "walCommit": 0.03, "queryPlanning": 0.05, "addBatch": 0.85, "commitOffsets": 0.05}
CORE_S = 0.8
MEMORY_BYTES = 1 << 30
LOOP_S = 0.0005


@dataclass
class FakeFeed:
    """Embedded events, and their gate."""

    events: EmbeddedEvents
    gate: tuple[int, int | None, int | None] | None = None

    def open(self, origin_us: int, closed_us: int | None = None, created: int | None = None) -> None:
        """Open the gate, or narrow it."""
        self.gate = origin_us, closed_us, created

    def created(self, now_us: int) -> int:
        """Return how many events exist."""
        if self.gate is None:
            return 0
        origin_us, closed_us, created = self.gate
        if created is not None:
            return min(created, self.events.schedule.total)
        return int(self.events.schedule.created((now_us if closed_us is None else min(now_us, closed_us)) - origin_us))

    def time_us(self, number: int) -> int:
        """Return when an event was created."""
        assert self.gate is not None
        return self.gate[0] + int(self.events.schedule.times_us(number))

    def admission(self) -> FixedAdmission | AdaptiveAdmission:
        """Return the limit of a micro-batch."""
        if self.events.max_rows_per_batch is not None:
            return FixedAdmission(self.events.max_rows_per_batch)
        return AdaptiveAdmission(self.events.admission_target_s, FIRST_ADMITTED)


@dataclass(frozen=True)
class _Served:
    """A micro-batch that the server works on, or is through with; times are those of the monotonic clock."""

    batch_id: int
    start_s: float
    end_s: float
    first: int
    last: int
    left: int


class FakeQuery:
    """A query on the server; time passes only on the clock."""

    convergence = None
    unreadable_events = 0

    def __init__(self, engine: "FakeEngine", session: "FakeSession", order: QueryOrder, receive: Callable[..., None]):
        assert isinstance(order.feed, FakeFeed)
        self.output_mode = order.output_mode or "append"
        self._engine, self._session, self._order, self._receive = engine, session, order, receive
        self._feed, self._admission = order.feed, order.feed.admission()
        self._rng = np.random.default_rng([abs(order.seed), order.feed.events.schedule.total])
        self._free_s = session.clock.monotonic_s()
        self._busy: _Served | None = _Served(0, self._free_s, self._free_s + LEAST_S, 0, 0, 0)
        self._served: list[_Served] = []
        self._newest_us: int | None = None

    def check(self) -> None:
        """Serve until now, and deliver the progress."""
        now_s = self._session.clock.monotonic_s()
        while True:
            if self._busy is None:
                self._busy = self._next(now_s)
            if self._busy is None or self._busy.end_s > now_s:
                return
            done, self._busy = self._busy, None
            self._served.append(done)
            self._free_s = self._next_start_s(done)
            self._receive(self._progress(done))

    def _next(self, now_s: float) -> _Served | None:
        first = self._served[-1].last
        while self._free_s <= now_s:
            created = self._feed.created(self._wall_us(self._free_s))
            if created > first:
                last = min(created, first + self._admission.allow(first, self._free_s))
                end_s = self._free_s + self._duration_s(last - first)
                return _Served(len(self._served), self._free_s, end_s, first, last, created - last)
            self._free_s += IDLE_S
        return None

    def _wall_us(self, at_s: float) -> int:
        """Return a time as the wall clock has it; work goes on whether that is set back or forward."""
        clock = self._session.clock
        return round((at_s + clock.wall_s() - clock.monotonic_s()) * 1e6)

    def _duration_s(self, events: int) -> float:
        noise = self._engine.noise
        # Log-normal with mean 1, so that noise does not change the capacity.
        disturbed = float(self._rng.lognormal(-(noise**2) / 2, noise)) if noise else 1.0
        return max(LEAST_S, events / self._engine.capacity_per_s) * disturbed

    def _next_start_s(self, done: _Served) -> float:
        trigger_s = self._order.trigger_s
        if not trigger_s:
            return done.end_s
        return max(done.end_s, (math.floor(done.start_s / trigger_s + 1e-9) + 1) * trigger_s)

    def _progress(self, done: _Served) -> dict[str, Any]:
        """Report a micro-batch as Spark does."""
        total_ms = round((done.end_s - done.start_s) * 1000)
        durations = {name: round(share * total_ms) for name, share in PHASE_SHARES.items()}
        document: dict[str, Any] = {
            "batchId": done.batch_id,
            "timestamp": _instant(self._wall_us(done.start_s)),
            "numInputRows": done.last - done.first,
            "durationMs": {**durations, "triggerExecution": total_ms},
            "stateOperators": [],
            "sources": [
                {
                    "description": "fake",
                    "startOffset": {"n": done.first, "left": 0},
                    "endOffset": {"n": done.last, "left": done.left},
                    "numInputRows": done.last - done.first,
                }
            ],
            "sink": {"description": "fake", "numOutputRows": -1},
        }
        workload = self._order.workload
        if workload.window is not None and self._newest_us is not None:
            delay_us = round(workload.watermark_delay_s(self._order.parameters) * 1e6)
            document["eventTime"] = {"watermark": _instant(self._newest_us - delay_us)}
        if done.last > done.first:
            self._newest_us = self._feed.time_us(done.last - 1)
        return document

    def tasks_running(self) -> int:
        """Return how many tasks run now."""
        return self._session.cores if self._busy else 0

    def stop(self) -> None:
        """Leave the micro-batch that is not through."""
        self._busy = None

    def tasks(self, apart: Collection[int] = ()) -> tuple[Collection[TaskRecord], list[TaskRecord]]:
        """Return a task for each core and micro-batch."""
        found = [task for done in self._served for task in self._tasks_of(done)]
        return [t for t in found if t.batch_id not in apart], [t for t in found if t.batch_id in apart]

    def _tasks_of(self, done: _Served) -> Iterator[TaskRecord]:
        cores, start_us = self._session.cores, self._wall_us(done.start_s)
        run_s = (done.end_s - done.start_s) * PHASE_SHARES["addBatch"]
        for core in range(cores if done.last > done.first else 0):
            rows = (done.last - done.first) * (core + 1) // cores - (done.last - done.first) * core // cores
            yield TaskRecord(
                batch_id=done.batch_id,
                stage_id=done.batch_id,
                stage_attempt=0,
                stage_tasks=cores,
                task_id=done.batch_id * cores + core,
                partition=core,
                attempt=0,
                executor="driver",
                host="localhost",
                launched_us=start_us,
                finished_us=start_us + round(run_s * 1e6),
                is_ok=True,
                run_s=run_s,
                cpu_s=run_s,
                deserialize_s=0.0,
                gc_s=0.0,
                input_rows=rows,
                shuffle_read_rows=0,
                shuffle_read_bytes=0,
                shuffle_wait_s=0.0,
                shuffle_write_rows=0,
                shuffle_write_bytes=0,
                spilled_bytes=0,
                peak_memory_bytes=0,
            )

    def lost_executors(self) -> list[LostExecutor]:
        """Return none."""
        return []

    def batches_run(self) -> int:
        """Return how many micro-batches were served."""
        return len(self._served)

    def executed_plan(self) -> None:
        """Return none: nothing is planned."""


def _instant(time_us: int) -> str:
    return datetime.fromtimestamp(time_us / 1e6, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


@dataclass
class FakeSampler:
    """Samples of processes that do not exist: all cores are in use most of the time, and nobody else is there."""

    clock: Clock
    cores: int
    samples: list[ResourceSample] = field(default_factory=list)
    _since: tuple[float, float] | None = None

    def start(self) -> None:
        """Begin."""
        self._since = self.clock.wall_s(), self.clock.monotonic_s()

    def stop(self) -> None:
        """Make the samples of the time since the start."""
        if self._since is not None:
            (wall_s, start_s), self._since = self._since, None
            passed_s = self.clock.monotonic_s() - start_s
            times_s = [*np.arange(0.0, passed_s, PERIOD_S).tolist(), passed_s]
            self.samples += [self._sample(wall_s + after_s, start_s + after_s, after_s) for after_s in times_s]

    def _sample(self, wall_s: float, monotonic_s: float, after_s: float) -> ResourceSample:
        used_s = CORE_S * self.cores * after_s
        return ResourceSample(
            at_us=round(wall_s * 1e6),
            monotonic_s=monotonic_s,
            cpu_s={"tool": 0.0, "java": used_s, "python_workers": 0.0},
            memory_bytes={"tool": 0, "java": MEMORY_BYTES, "python_workers": 0},
            stolen_s=0.0,
            reference_loop_mean_s=LOOP_S,
            reference_loop_least_s=LOOP_S,
            machine=MachineReading(self.cores, used_s, used_s, used_s, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0),
        )


@dataclass(frozen=True)
class FakeSession:
    """The server, ready for queries."""

    engine: "FakeEngine"
    cores: int
    scratch: Path
    clock: Clock

    def set_shuffle_partitions(self, count: int) -> None:
        """Nothing is shuffled."""

    def fields_read(self, workload: Workload, _parameters: Parameters, _folder: Path) -> tuple[str, ...]:
        """Return all fields: nothing is planned."""
        return tuple(f.name for f in workload.events.fields)

    def generator_cost(self, _workload: Workload, _parameters: Parameters, _fields: tuple[str, ...]) -> None:
        """Nothing is generated."""

    def run_to_end(self, _order: FiniteOrder) -> None:
        """No answer is computed."""

    def offer(self, events: EmbeddedEvents | TopicEvents) -> OfferedFeed:
        """Offer embedded events."""
        assert isinstance(events, EmbeddedEvents)
        return FakeFeed(events)

    def start(self, order: QueryOrder, receive: Callable[[dict[str, Any]], None]) -> FakeQuery:
        """Start to serve; whatever the dataflow is, it is not executed."""
        return FakeQuery(self.engine, self, order, receive)

    def executors(self) -> None:
        """There is no cluster."""

    def sampler(self, _executors: None, _other_pids: Sequence[int]) -> FakeSampler:
        """Return what makes samples up."""
        return FakeSampler(self.clock, self.cores)

    def malformed_records(self, _events: TopicEvents, _ends: Mapping[int, int]) -> "pa.Table":
        """Never asked for: `refuse` lets no topic through."""
        raise InvalidExperimentError("the fake engine does not read topics", remedy="use --source embedded")

    def check(self) -> None:
        """Nothing can die."""

    def hurry(self) -> None:
        """Nothing takes long."""

    def explaining(self, _moment: Callable[[], str]) -> AbstractContextManager[None]:
        """Nothing needs to be explained."""
        return nullcontext()


@dataclass(frozen=True)
class FakeEngine:
    """A server that processes `capacity_per_s` events per second; `noise` is the relative spread of its times."""

    capacity_per_s: float = 1e6
    noise: float = 0.05
    name: str = "fake"
    title: str = "the fake engine"
    is_rehearsal: bool = True

    @classmethod
    def with_options(cls, options: Mapping[str, str]) -> Self:
        """Read capacity and noise."""
        where = "--engine fake"
        for name in options:
            if name not in ("capacity", "noise"):
                remedy = closest(name, ("capacity", "noise"))
                raise UsageError(f'the fake engine has no option "{name}"', where=where, remedy=remedy)
        noise = options.get("noise", NOISE)
        is_quiet = re.fullmatch(r"0+(\.0*)?%?", noise) is not None
        return cls(
            parse_rate(options.get("capacity", CAPACITY), where=where),
            0.0 if is_quiet else parse_share(noise, where=where),
        )

    def clock(self) -> Clock:
        """Return a clock that begins now and moves only when someone sleeps on it."""
        return ManualClock(wall_offset_s=SystemClock().wall_s())

    def refuse(self, settings: RunSettings) -> None:
        """Refuse everything that involves a server or another execution mode."""
        chosen = {"source": "embedded", "sink": "noop", "mode": "micro-batch", "timing": "commit"}
        for name, only in chosen.items():
            if (value := getattr(settings, name)) != only:
                raise InvalidExperimentError(
                    f"the fake engine rehearses only --{name} {only}, not {value}",
                    where="--engine fake",
                    remedy=f"leave --{name} out, or use --engine spark",
                )

    @contextmanager
    def open(
        self,
        settings: RunSettings,
        *,
        scratch: Path,
        log: Path,  # noqa: ARG002
        clock: Clock,
        measured: bool = True,  # noqa: ARG002
    ) -> Iterator[FakeSession]:
        """Hand the server out; nothing is started."""
        found = re.fullmatch(r"local\[(\d+)\]", settings.master)
        yield FakeSession(self, int(found[1]) if found else 1, scratch, clock)


ENGINE = FakeEngine.with_options
