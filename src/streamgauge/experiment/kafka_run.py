"""A run whose events come through Kafka: sent by a generator in processes of its own, or by a load that runs already.

A load that ends before the run is continued by a generator of the run, by the same law, so that the query sees one.

Everything else is as in any run. Event n is in partition n modulo their number, so the events of a micro-batch are
those that follow the ones before, up to what the partitions are apart; the latencies are computed from that.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

from streamgauge.errors import RunFailedError, UsageError
from streamgauge.experiment.evidence import Evidence, External, GeneratorCost
from streamgauge.experiment.interrupts import Interrupts
from streamgauge.experiment.modes import is_unbatched
from streamgauge.experiment.recount import recount
from streamgauge.experiment.run import Experiment
from streamgauge.experiment.sinks import connector_conf, kafka_place, topic_name
from streamgauge.kafka.client import Broker
from streamgauge.kafka.connector import conflict
from streamgauge.kafka.delivery import Delivery, LoadOrder
from streamgauge.kafka.load import Announcement, Load, last_announcement, running_load
from streamgauge.kafka.records import Format, check_format
from streamgauge.measure import Batch, counted_batch
from streamgauge.store import RunWriter
from streamgauge.units import format_duration, format_rate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from streamgauge.engine.kafka import Topic
    from streamgauge.engine.query import Query
    from streamgauge.engine.session import Session

ANNOUNCEMENT_DEADLINE_S = 60.0
# So many records tell for sure that the topic holds something else.
MIN_RECORDS = 100
PARTITIONS = 2
# A query that is not further behind follows the load.
CAUGHT_UP_US = 3_000_000
# Longest time that a query may take to get so far under a load that goes on.
CATCH_UP_S = 300.0


@dataclass
class KafkaExperiment(Experiment):
    """One run through Kafka in the making."""

    load: Load | None = None
    followed: Announcement | None = None
    records: int = 0
    malformed: int = 0
    holes: list[str] = field(default_factory=list)
    progress: list[Mapping[str, Any]] = field(default_factory=list)
    ends: dict[int, int] = field(default_factory=dict)

    def _measure(self, writer: RunWriter) -> Evidence:
        self._enter("looking for the broker")
        place = kafka_place(self.settings)
        self.broker = Broker(place)
        self.topic_name = topic_name(self.settings, self.workload)
        self.format: Format = check_format(self.settings.format)
        if self.settings.external_load:
            self.broker.partitions(self.topic_name)
        else:
            self.broker.topics()
        try:
            return super()._measure(writer)
        finally:
            if self.load is not None:
                self.load.end()

    def _measure_with(self, session: "Session", writer: RunWriter, interrupts: Interrupts) -> Evidence:
        # A load that was started together with this run has announced itself by now.
        self._find_load(writer)
        if self.format == "binary" and getattr(self.parameters, "parse_json", False):
            raise UsageError("binary records hold no JSON text to parse", where="--format", remedy="use --format json")
        return super()._measure_with(session, writer, interrupts)

    def _session_conf(self) -> Mapping[str, str]:
        return connector_conf(self.settings, self._note)

    def _find_load(self, writer: RunWriter) -> None:
        """Follow the load that fills the topic, or make the topic ready for one of our own."""
        self.asked = self.settings
        self.followed = self._running_load()
        if self.followed is not None:
            self._follow(self.followed)
            writer.update(configuration=self._configuration())
            return
        wanted = self.settings.source_partitions or PARTITIONS
        self.partitions = self.broker.make_topic(self.topic_name, wanted)
        if self.settings.source_partitions not in (None, self.partitions):
            self._note(
                f"the topic {self.topic_name} has {self.partitions} partitions: --source-partitions has no effect"
            )

    def _running_load(self) -> Announcement | None:
        if not self.settings.external_load:
            return self._announced_load()
        end_s = self.clock.monotonic_s() + ANNOUNCEMENT_DEADLINE_S
        while self.clock.monotonic_s() < end_s:
            found = self._announced_load()
            if found is not None:
                return found
            self.clock.sleep(0.5)
        raise RunFailedError(
            f'nobody has announced a load of the topic "{self.topic_name}" within {ANNOUNCEMENT_DEADLINE_S:.0f} s',
            where=self.broker.place.address,
            remedy=f"start `streamgauge load {self.workload.name}`, or leave out --external-load",
        )

    def _announced_load(self) -> Announcement | None:
        return running_load(self.broker, self.topic_name, round(self.clock.wall_s() * 1e6))

    def _follow(self, load: Announcement) -> None:
        """Take over what a running load decides; what it sends must be what the workload reads."""
        order = load.order
        if order.stream != self.workload.events.name:
            raise RunFailedError(
                f"the topic holds {order.stream} events, and {self.workload.name} reads {self.workload.events.name}",
                where=self.topic_name,
                remedy="name another --topic, or the workload that the load is for",
            )
        own = self.parameters.model_dump()
        known = self.workload.events.parameters.model_fields
        for name, value in order.parameters.items():
            if name in known and own.get(name, value) != value:
                what = f"the load that runs has {name}={value}, this run {name}={own[name]}"
                raise UsageError(what, where="--set", remedy=f"add --set {name}={value}")
        self.format, self.partitions = order.format, order.partitions
        self.continued = self._continued(load)
        self.settings = replace(
            self.settings,
            rate_per_s=order.rate_per_s,
            arrivals=order.arrivals,
            seed=order.seed,
            format=order.format,
            warmup_s=0.0,
            duration_s=self.continued.load_s,
        )
        rate = format_rate(order.rate_per_s)
        self._note(f"this run follows the load {load.load_id} of {rate}, which had begun before it")

    def _check(self, session: "Session", writer: RunWriter) -> tuple[Any, GeneratorCost | None]:
        # A load that runs does not wait; its answer is checked by a recount.
        if self.followed is not None:
            return None, None
        from streamgauge.experiment.verify import default_stream, verify_workload

        if not self.workload.has_reference:
            return None, None
        self._enter("verify")
        stream = default_stream(self.workload)
        folder = writer.work / "verification"
        return verify_workload(session, self.workload, self.parameters, stream, folder=folder), None

    def _continued(self, load: Announcement) -> LoadOrder:
        """Return the order of what comes after a running load: enough for this run, whenever it has caught up.

        A user who asks for a load of others alone gets no more than that.
        """
        more_s = 0.0 if self.asked.external_load else self.asked.load_s + CATCH_UP_S
        return replace(load.order, load_s=load.order.load_s + more_s, first=load.order.schedule().total)

    def _order(self) -> LoadOrder:
        return LoadOrder(
            address=self.broker.place.address,
            topic=self.topic_name,
            partitions=self.partitions,
            workload=self.workload.name,
            stream=self.workload.events.name,
            parameters=self.parameters.model_dump(mode="json"),
            seed=self.settings.seed,
            rate_per_s=self.settings.rate_per_s,
            arrivals=self.settings.arrivals,
            load_s=self.settings.load_s,
            format=self.format,
            options=self.settings.kafka_options,
        )

    def _topic(self) -> "Topic":
        from streamgauge.engine.kafka import Topic

        return Topic(self.broker.place, self.topic_name, self.base, self.format)

    def _events(self, session: "Session", writer: RunWriter, cores: int) -> "DataFrame":  # noqa: ARG002
        from streamgauge.engine.kafka import read_topic

        if self.followed is not None:
            self.load = Load(self.continued, processes=1, clock=self.clock)
            self.load.go_on_after(self.followed)
            self.base = dict(self.followed.base)
        else:
            self.load = Load(self._order(), processes=1, clock=self.clock)
            self.base = self.broker.ends(self.topic_name, self.partitions)
        self.ends = dict(self.base)
        try:
            return read_topic(
                session.spark,
                self.workload.events,
                self.parameters,
                self._topic(),
                max_rows_per_batch=self.settings.max_rows_per_batch,
                counted=not is_unbatched(self.settings),
                carry=self.carry,
            )
        except Exception as error:
            raise (conflict(str(error)) or error) from error

    def _start(self, session: "Session", writer: RunWriter, cores: int) -> "tuple[Query, str]":
        try:
            return super()._start(session, writer, cores)
        except RunFailedError as error:
            raise (conflict(error.what) or error) from error

    def _batch(self, progress: Mapping[str, Any]) -> Batch | None:
        from streamgauge.engine.kafka import METRICS

        found = (progress.get("observedMetrics") or {}).get(METRICS) or {}
        records, malformed = int(found.get("records") or 0), int(found.get("malformed") or 0)
        batch = counted_batch(progress, self.batches[-1].last if self.batches else 0, records - malformed)
        if batch is None:
            return None
        self.records += records
        self.malformed += malformed
        source = progress["sources"][0]
        ends = {int(p): int(n) for p, n in (_offsets(source.get("endOffset"), self.topic_name)).items()}
        read = sum(ends.get(p, n) - n for p, n in self.ends.items())
        if read != records:
            self.holes.append(f"micro-batch {batch.batch_id} counted {records} records, its offsets tell {read}")
        self.ends |= ends
        self.progress.append(progress)
        return batch

    def _begin(self) -> int:
        if self.followed is not None:
            return self._join(self.followed)
        assert self.load is not None
        other = self._announced_load()
        if other is not None:
            raise RunFailedError(
                f'the load {other.load_id} has begun to fill the topic "{self.topic_name}" since this run started',
                where=self.broker.place.address,
                remedy="start the run again to follow that load, or name another --topic",
            )
        return self.load.begin()

    def _load(
        self, query: "Query", writer: RunWriter, interrupts: Interrupts, circumstances: Mapping[str, Any]
    ) -> None:
        self.joined_us = round(self.clock.wall_s() * 1e6)
        if self.followed is not None:
            self._catch_up(self.followed, query, interrupts)
        super()._load(query, writer, interrupts, circumstances)

    def _catch_up(self, load: Announcement, query: "Query", interrupts: Interrupts) -> None:
        """Wait until the query has processed what the load had sent before: until then it sees another load."""
        self.origin_us, self.closed_us = load.origin_us, load.origin_us + self.schedule.end_us
        self._enter("catching up")
        end_us = round(self.clock.wall_s() * 1e6) + round(CATCH_UP_S * 1e6)
        while (now_us := round(self.clock.wall_s() * 1e6)) < end_us and not interrupts.count:
            due = int(self.schedule.created(now_us - CAUGHT_UP_US - load.origin_us))
            if self.batches[-1].last >= due:
                return
            self._tick(query)

    def _join(self, load: Announcement) -> int:
        """Measure when the query is warm and has caught up, for the asked time or until there is no more load."""
        now_us = round(self.clock.wall_s() * 1e6)
        warm_us = max(now_us, self.joined_us + round(self.asked.warmup_s * 1e6))
        most_s = self.continued.load_s
        warmup_s = min(most_s, max(0.0, (warm_us - load.origin_us) / 1e6))
        left_s = min(most_s - warmup_s, self.asked.duration_s)
        self.settings = replace(self.settings, warmup_s=warmup_s, duration_s=left_s)
        more_s = self.settings.load_s - load.order.load_s
        if left_s < self.asked.duration_s - 1e-6:
            short = f"{format_duration(left_s)} of {format_duration(self.asked.duration_s)}"
            self._note(f"the load had only {short} left after the warm-up; a longer `load --duration` would leave more")
        elif more_s > 0:
            self._note(
                f"the load ended {format_duration(more_s)} before the run, which went on with it by the same law"
            )
        return load.origin_us

    def _open_gate(self, writer: RunWriter, circumstances: Mapping[str, Any]) -> None:
        if self.load is not None:
            self.load.close_at(self.closed_us)
        load = {"origin_us": self.origin_us, "closed_us": self.closed_us, **circumstances}
        writer.update(load=load, configuration=self._configuration())

    def _tick(self, query: "Query") -> None:
        if self.load is not None:
            self.load.watch()
        if self.records >= MIN_RECORDS and self.records == self.malformed:
            raise self._other_schema()
        super()._tick(query)

    def _other_schema(self) -> RunFailedError:
        names = ", ".join(
            field.name for field in self.workload.events.fields if field.name != self.workload.events.text
        )
        return RunFailedError(
            f"none of {self.records:,} records in the topic is an event of {self.workload.events.name} "
            f"in the form {self.format}",
            where=self.topic_name,
            remedy=f"check --topic and --format; a record has the fields {names}",
        )

    def _completed(self, session: "Session", writer: RunWriter, evidence: Evidence) -> Evidence:
        evidence = self._clipped(evidence)
        if self.records and self.records == self.malformed:
            raise self._other_schema()
        self._enter("recount")
        if self.malformed:
            self._keep_malformed(session, writer)
        delivery = self._delivery()
        details = self._details(writer, evidence)
        # Under a load that goes on, the last micro-batch was broken off, and nobody knows what it has written.
        found = None
        if not self._is_longer:
            found = recount(
                self.broker, self._topic(), self.ends, self.workload, self.parameters, self.sink.read, evidence=evidence
            )
        external = External(
            delivery=delivery,
            records=self.records,
            malformed=self.malformed,
            apart_s=self._apart_s(),
            recount=found,
            holes=tuple(self.holes),
            details={"topic": self.topic_name, **details},
        )
        return replace(evidence, external=external)

    @property
    def _is_longer(self) -> bool:
        """Whether the load goes on after this run."""
        return self.followed is not None and self.closed_us < self.followed.end_us

    def _clipped(self, evidence: Evidence) -> Evidence:
        """Leave out what a load that goes on has sent after the end of this run."""
        offered = evidence.offered
        if not self._is_longer:
            return replace(evidence, settings=self.settings)
        kept = [replace(b, last=min(b.last, offered)) for b in evidence.batches if b.first < offered or not b.events]
        dropped = len(evidence.batches) - len(kept)
        reported = None if evidence.reported_batches is None else evidence.reported_batches - dropped
        return replace(evidence, settings=self.settings, batches=kept, reported_batches=reported)

    def _keep_malformed(self, session: "Session", writer: RunWriter) -> None:
        from streamgauge.engine.kafka import malformed_records

        table = malformed_records(session.spark, self.workload.events, self.parameters, self._topic(), self.ends)
        writer.write_table("malformed", table)

    def _delivery(self) -> Delivery | None:
        assert self.load is not None
        own = self.load.finish(self.closed_us)
        if self.followed is None:
            return own
        end_s = self.clock.monotonic_s() + self.settings.drain_s
        while (found := self._told()) is None and not self._is_longer and self.clock.monotonic_s() < end_s:
            self.clock.sleep(0.2)
        return None if found is None else Delivery.sum([found, own])

    def _told(self) -> Delivery | None:
        """Return what the load that is followed has told about itself so far."""
        found = last_announcement(self.broker, self.topic_name)
        if found is None or self.followed is None or found.load_id != self.followed.load_id:
            return None
        return found.delivery if self._is_longer or found.closed_us is not None else None

    def _apart_s(self) -> float | None:
        """Return how far the partitions were apart at the ends of micro-batches, in the times of their events."""
        if self.malformed:
            return None
        worst = 0.0
        for progress in self.progress:
            ends = _offsets(progress["sources"][0].get("endOffset"), self.topic_name)
            counts = [int(ends[str(p)]) - n for p, n in self.base.items() if str(p) in ends]
            if not counts or min(counts) == max(counts):
                continue
            total = self.schedule.total
            first, last = (min(total - 1, count * self.partitions) for count in (min(counts), max(counts)))
            worst = max(worst, float(self.schedule.times_us(last) - self.schedule.times_us(first)) / 1e6)
        return worst


def _offsets(offset: Any, topic: str) -> Mapping[str, Any]:
    """Return the offsets by partition of one side of a progress document."""
    found = json.loads(offset) if isinstance(offset, str) else offset
    return dict((found or {}).get(topic) or {})
