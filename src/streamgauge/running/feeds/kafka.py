"""Events through Kafka: a topic, who fills it, and what the query has read of it.

Event n is in partition n modulo their number, so the events of a micro-batch are those that follow the ones before, up
to what the partitions are apart; the latencies are computed from that.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from streamgauge.conclude.evidence import Evidence, External
from streamgauge.connectors.kafka.client import Broker
from streamgauge.connectors.kafka.connector import conflict
from streamgauge.connectors.kafka.load import Announcement, Load, running_load
from streamgauge.connectors.kafka.options import Format
from streamgauge.connectors.kafka.topic import METRICS, Topic
from streamgauge.engine.engine import OfferedFeed, TopicEvents
from streamgauge.errors import RunFailedError, UsageError
from streamgauge.measure import Batch, counted_batch
from streamgauge.running import phases
from streamgauge.running.feeds.announced import AnnouncedLoad
from streamgauge.running.feeds.own_load import OwnLoad
from streamgauge.running.recount import recount
from streamgauge.running.sinks.kafka import kafka_place, topic_name

if TYPE_CHECKING:
    from streamgauge.running.state import RunState

ANNOUNCEMENT_DEADLINE_S = 60.0
PARTITIONS = 2
# That many records show that the topic holds something else.
MIN_RECORDS = 100


@dataclass
class KafkaFeed:
    """A topic, filled by a generator of this run or by a load that runs already, and what was read of it so far."""

    needs_connector = True
    is_embedded = False
    sender: OwnLoad | AnnouncedLoad = field(default_factory=OwnLoad)
    partitions: int = 0
    load: Load | None = None
    base: dict[int, int] = field(default_factory=dict)
    ends: dict[int, int] = field(default_factory=dict)
    records: int = 0
    malformed: int = 0
    holes: list[str] = field(default_factory=list)
    progress: list[Mapping[str, Any]] = field(default_factory=list)
    is_malformed_stored: bool = False
    broker: Broker = field(init=False)
    name: str = field(init=False)
    format: Format = field(init=False)

    @property
    def is_verified(self) -> bool:
        """A load that runs does not wait; its answer is checked by a recount."""
        return isinstance(self.sender, OwnLoad)

    @property
    def topic(self) -> Topic:
        """The topic from where the run began."""
        return Topic(self.broker.place, self.name, self.base, self.format)

    def look_up(self, state: "RunState") -> None:
        """Ask the broker, and for the topic where others fill it."""
        state.enter(phases.BROKER)
        self.broker = Broker(kafka_place(state.settings))
        self.name = topic_name(state.settings, state.workload)
        self.format = state.settings.record_format
        if state.settings.external_load:
            self.broker.partitions(self.name)
        else:
            self.broker.topics()

    def resolve(self, state: "RunState") -> None:
        """Follow the load that fills the topic, or make the topic ready for one of our own."""
        # A load that was started together with this run has announced itself by now.
        found = self._running_load(state)
        if found is None:
            self._make_topic(state)
        else:
            self.sender = AnnouncedLoad.follow(state, self.name, found)
            self.format, self.partitions = found.order.format, found.order.partitions
        if self.format == "binary" and getattr(state.parameters, "parse_json", False):
            raise UsageError("binary records hold no JSON text to parse", where="--record-format", remedy="use json")

    def _make_topic(self, state: "RunState") -> None:
        wanted = state.settings.source_partitions
        self.partitions = self.broker.make_topic(self.name, wanted or PARTITIONS)
        if wanted not in (None, self.partitions):
            has = f"the topic {self.name} has {self.partitions} partitions"
            state.note(f"{has}: --source-partitions has no effect")

    def _running_load(self, state: "RunState") -> Announcement | None:
        if not state.settings.external_load:
            return self.announced(state)
        end_s = state.clock.monotonic_s() + ANNOUNCEMENT_DEADLINE_S
        while state.clock.monotonic_s() < end_s:
            found = self.announced(state)
            if found is not None:
                return found
            state.clock.sleep(0.5)
        raise RunFailedError(
            f'no load was announced for the topic "{self.name}" within {ANNOUNCEMENT_DEADLINE_S:.0f} s',
            where=self.broker.place.address,
            remedy=f"start `streamgauge load {state.workload.name}`, or leave out --external-load",
        )

    def announced(self, state: "RunState") -> Announcement | None:
        """Return the load that fills the topic now."""
        return running_load(self.broker, self.name, round(state.clock.wall_s() * 1e6))

    def events(self, state: "RunState") -> TopicEvents:
        """Return the events of the topic as the query reads them."""
        return TopicEvents(
            state.workload,
            state.parameters,
            self.topic,
            max_rows_per_batch=state.settings.max_rows_per_batch,
            counted=not state.timing.is_unbatched,
            carry=state.timing.carry,
        )

    def offer(self, state: "RunState") -> OfferedFeed:
        """Start the generator, which waits, and let the query read from where its load begins."""
        self.load = Load(self.sender.order(state, self), processes=1, clock=state.clock)
        self.base = self.sender.base(self, self.load)
        self.ends = dict(self.base)
        return state.session.offer(self.events(state))

    def explain(self, error: Exception) -> Exception:
        """Name a connector that does not fit."""
        return (conflict(error.what) if isinstance(error, RunFailedError) else None) or error

    def batch(self, state: "RunState", progress: Mapping[str, Any]) -> Batch | None:
        """Read a micro-batch by the counts of the query, which must agree with the offsets of the source."""
        found = (progress.get("observedMetrics") or {}).get(METRICS) or {}
        records, malformed = int(found.get("records") or 0), int(found.get("malformed") or 0)
        batch = counted_batch(progress, state.batches[-1].last if state.batches else 0, records - malformed)
        if batch is None:
            return None
        self.records += records
        self.malformed += malformed
        ends = {int(p): int(n) for p, n in _offsets(progress["sources"][0].get("endOffset"), self.name).items()}
        read = sum(ends.get(p, n) - n for p, n in self.ends.items())
        if read != records:
            self.holes.append(f"micro-batch {batch.batch_id} counted {records} records, its offsets count {read}")
        self.ends |= ends
        self.progress.append(progress)
        return batch

    def await_load(self, state: "RunState") -> None:
        """Wait until the query has processed what a load that runs already had sent before."""
        self.sender.await_load(state)

    def begin(self, state: "RunState") -> int:
        """Let the load begin, or join it."""
        return self.sender.begin(state, self)

    def open(self, state: "RunState") -> None:
        """Send the generator the time of its end."""
        if self.load is not None:
            self.load.close_at(state.closed_us)

    def watch(self, state: "RunState") -> None:
        """Keep the announcement of the load alive, and refuse a topic of other records."""
        if self.load is not None:
            self.load.watch()
        if self.records >= MIN_RECORDS and self.records == self.malformed:
            raise self._other_schema(state)

    def _other_schema(self, state: "RunState") -> RunFailedError:
        stream = state.workload.events
        names = ", ".join(field.name for field in stream.fields if field.name != stream.text)
        return RunFailedError(
            f"none of {self.records:,} records in the topic is an event of {stream.name} in the form {self.format}",
            where=self.name,
            remedy=f"check --topic and --record-format; a record has the fields {names}",
        )

    def end_load(self, state: "RunState") -> None:
        """Leave the rest of the load to its generator, whose time does not step."""

    def count(self, state: "RunState") -> None:
        """Count what the topic holds, where the query has no metrics to do so."""
        self.ends = self.broker.ends(self.name, self.partitions)
        self.records = sum(self.ends.values()) - sum(self.base.values())
        self._store_malformed(state)

    def _store_malformed(self, state: "RunState") -> None:
        table = state.session.malformed_records(self.events(state), self.ends)
        self.malformed, self.is_malformed_stored = max(self.malformed, table.num_rows), True
        if self.malformed:
            state.writer.write_table("malformed", table)

    def complete(self, state: "RunState", evidence: Evidence) -> Evidence:
        """Add what happened outside of the engine; compare what the sink holds with what the topic holds.

        Under a load that goes on, the last micro-batch was aborted, and what it has written is not known.
        """
        assert self.load is not None
        evidence = self.sender.clipped(state, evidence)
        if self.records and self.records == self.malformed:
            raise self._other_schema(state)
        state.enter(phases.RECOUNT)
        if self.malformed and not self.is_malformed_stored:
            self._store_malformed(state)
        delivery = self.sender.delivery(state, self, self.load.finish(state.closed_us))
        details = state.sink.details(state.writer, evidence)
        found = None
        if not self.sender.goes_on(state):
            answer = state.workload, state.parameters, state.sink.read
            found = recount(self.broker, self.topic, self.ends, *answer, evidence=evidence)
        external = External(
            delivery=delivery,
            records=self.records,
            malformed=self.malformed,
            apart_s=None if self.malformed or state.timing.is_unbatched else self._apart_s(state),
            recount=found,
            holes=tuple(self.holes),
            details={"topic": self.name, **details},
        )
        return replace(evidence, external=external)

    def _apart_s(self, state: "RunState") -> float:
        """Return how far the partitions were apart at the ends of micro-batches, in the times of their events."""
        worst, schedule = 0.0, state.schedule
        for progress in self.progress:
            ends = _offsets(progress["sources"][0].get("endOffset"), self.name)
            counts = [int(ends[str(p)]) - n for p, n in self.base.items() if str(p) in ends]
            if not counts or min(counts) == max(counts):
                continue
            first, last = (min(schedule.total - 1, count * self.partitions) for count in (min(counts), max(counts)))
            worst = max(worst, float(schedule.times_us(last) - schedule.times_us(first)) / 1e6)
        return worst

    def close(self) -> None:
        """End the generator."""
        if self.load is not None:
            self.load.end()


def _offsets(offset: Any, topic: str) -> Mapping[str, Any]:
    """Return the offsets by partition of one side of a progress document."""
    found = json.loads(offset) if isinstance(offset, str) else offset
    return dict((found or {}).get(topic) or {})
