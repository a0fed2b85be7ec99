"""Spark as an engine: what a run asks for, in terms of a Spark session."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from streamgauge.clock import Clock, SystemClock
from streamgauge.engine.engine import (
    EmbeddedEvents,
    FiniteAnswer,
    FiniteOrder,
    MakeWriter,
    OfferedFeed,
    QueryOrder,
    RedisResults,
    Results,
    TopicEvents,
    TopicResults,
)
from streamgauge.engine.spark.executors import Survey, executor_use, survey
from streamgauge.engine.spark.gate import GateFile
from streamgauge.engine.spark.generator import core_seconds_per_event, fields_read
from streamgauge.engine.spark.kafka import malformed_records, read_topic, write_topic
from streamgauge.engine.spark.query import Query, run_to_end, start_query
from streamgauge.engine.spark.session import Session, SessionSettings, open_session
from streamgauge.errors import UsageError
from streamgauge.events import Parameters
from streamgauge.machine.resources import ResourceSampler
from streamgauge.measure.records import ClockOffset, ExecutorUse
from streamgauge.settings.run_settings import RunSettings
from streamgauge.workloads import Workload

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class SparkFeed:
    """A stream of events; embedded ones have a gate."""

    df: "DataFrame"
    gate: GateFile | None = None

    def open(self, origin_us: int, closed_us: int | None = None, created: int | None = None) -> None:
        """Open the gate, or narrow it."""
        assert self.gate is not None
        self.gate.open(origin_us, closed_us, created)


@dataclass(frozen=True)
class SparkExecutors:
    """The executors of a cluster before the load."""

    session: Session
    before: Survey

    @property
    def clocks(self) -> Sequence[ClockOffset]:
        """How far their clocks are from the driver's."""
        return self.before.clocks

    def use(self) -> list[ExecutorUse]:
        """Look once more, and return what each has used since."""
        return executor_use(self.before, survey(self.session, looks=1))

    def pids(self) -> list[int]:
        """Return the processes of those that run on this machine, where they can be watched."""
        return self.before.pids_here(str(self.session.spark.sparkContext.applicationId))


@dataclass(frozen=True)
class OpenSpark:
    """A Spark session as a run uses it."""

    session: Session

    @property
    def cores(self) -> int:
        """Task slots over all executors."""
        return self.session.cores

    @property
    def scratch(self) -> Path:
        """The folder of temporary files."""
        return self.session.scratch

    def set_shuffle_partitions(self, count: int) -> None:
        """Set the partitions after a shuffle."""
        self.session.spark.conf.set("spark.sql.shuffle.partitions", str(count))

    def fields_read(self, workload: Workload, parameters: Parameters, folder: Path) -> tuple[str, ...]:
        """Plan the dataflow over an empty stream, and return the fields that it reads."""
        return fields_read(self.session, workload, parameters, folder)

    def generator_cost(self, workload: Workload, parameters: Parameters, fields: tuple[str, ...]) -> float:
        """Measure jobs that only generate events."""
        return core_seconds_per_event(self.session, workload, parameters, fields)

    def offer(self, events: EmbeddedEvents | TopicEvents) -> SparkFeed:
        """Make a stream of the events; that of a topic begins at once."""
        if isinstance(events, TopicEvents):
            return SparkFeed(self._read_topic(events))
        from streamgauge.engine.spark.source import read_events

        # A driver that is started again finds the schedule and the gate of the one before.
        if not (events.folder / "schedule.npy").exists():
            events.folder.mkdir(parents=True, exist_ok=True)
            events.schedule.save(events.folder / "schedule.npy")
        df = read_events(
            self.session.spark,
            events.workload.events,
            events.parameters,
            seed=events.seed,
            control=events.folder,
            source_partitions=events.source_partitions or self.cores,
            max_rows_per_batch=events.max_rows_per_batch,
            admission_target_s=events.admission_target_s,
            fields=events.fields,
        )
        return SparkFeed(df, GateFile(events.folder))

    def _read_topic(self, events: TopicEvents) -> "DataFrame":
        from streamgauge.connectors.kafka.connector import conflict

        try:
            return read_topic(
                self.session.spark,
                events.workload.events,
                events.parameters,
                events.topic,
                max_rows_per_batch=events.max_rows_per_batch,
                counted=events.counted,
                carry=events.carry,
            )
        except Exception as error:
            raise (conflict(str(error)) or error) from error

    def start(self, order: QueryOrder, receive: Callable[[dict[str, Any]], None]) -> Query:
        """Build the dataflow of the workload, and start it."""
        workload, df = order.workload, _stream(order.feed)
        step = workload.sink.each_batch(order.parameters, order.seed) if workload.sink.each_batch else None
        with self.session.with_conf(workload.rules.conf):
            return start_query(
                self.session,
                workload.build(df, order.parameters, order.seed, carry=order.carry),
                output_mode=order.output_mode,
                trigger_s=order.trigger_s,
                checkpoint=order.checkpoint,
                receive=receive,
                where=workload.name,
                folders=workload.sink.folders,
                each_batch=step,
                write=_writer(order.results, workload),
                mode=order.mode,
            )

    def run_to_end(self, order: FiniteOrder) -> FiniteAnswer:
        """Run a finite stream with Spark's trigger *available now*."""
        import pyarrow as pa

        workload = order.workload
        step = workload.sink.each_batch(order.parameters, order.seed) if workload.sink.each_batch else None
        feed = self.offer(
            EmbeddedEvents(
                workload,
                order.parameters,
                order.seed,
                order.schedule,
                order.folder / "control",
                fields=order.fields,
                max_rows_per_batch=order.max_rows_per_batch,
            )
        )
        feed.open(order.origin_us)
        kept: dict[int, pa.Table] = {}

        def keep(batch: "DataFrame", batch_id: int) -> None:
            rows = step(batch, batch_id) if step else batch.toArrow()
            kept[batch_id] = rows.append_column("batch", pa.array([batch_id] * rows.num_rows, pa.int64()))

        with self.session.with_conf(workload.rules.conf):
            batches = run_to_end(
                self.session,
                workload.build(feed.df, order.parameters, order.seed),
                keep,
                output_mode=workload.output_mode(order.parameters) or "append",
                checkpoint=order.folder / "checkpoint",
            )
        borders = tuple(int(entry["events"]) for entry in step.series) if step else ()
        return FiniteAnswer(pa.concat_tables(kept.values()), batches, borders)

    def executors(self) -> SparkExecutors | None:
        """Look at the executors of a cluster."""
        return None if self.session.settings.is_local else SparkExecutors(self.session, survey(self.session))

    def sampler(self, executors: SparkExecutors | None, other_pids: Sequence[int]) -> ResourceSampler:
        """Return a sampler of Java, its Python workers and the executors on this machine."""
        pids = executors.pids() if executors else []
        clock = self.session.watchdog.clock
        return ResourceSampler(self.session.process.pid, clock, executor_pids=pids, other_pids=other_pids)

    def malformed_records(self, events: TopicEvents, ends: Mapping[int, int]) -> "pa.Table":
        """Read the topic once more."""
        stream = events.workload.events
        return malformed_records(self.session.spark, stream, events.parameters, events.topic, ends)

    def check(self) -> None:
        """Raise when Java is dead."""
        self.session.watchdog.check()

    def hurry(self) -> None:
        """Give Java only a few seconds more."""
        self.session.watchdog.interrupt()

    def explaining(self, moment: Callable[[], str]) -> AbstractContextManager[None]:
        """Name the death of Java as the cause of errors."""
        return self.session.watchdog.explaining(moment)


def _stream(feed: OfferedFeed) -> "DataFrame":
    assert isinstance(feed, SparkFeed)
    return feed.df


def _writer(results: Results | None, workload: Workload) -> MakeWriter | None:
    if isinstance(results, TopicResults):
        return partial(write_topic, workload=workload, place=results.place, topic=results.topic)
    return partial(_write_redis, results) if isinstance(results, RedisResults) else results


def _write_redis(results: RedisResults, df: "DataFrame") -> Any:
    """Write each micro-batch from the executors."""
    from streamgauge.workloads.ysb.redis_layout import write_rows

    write_all, after = partial(write_rows, results.address), results.after

    def keep(batch: "DataFrame", _batch_id: int) -> None:
        batch.selectExpr("campaign_id", "unix_millis(window_start)", "views").foreachPartition(write_all)
        if after is not None:
            after()

    return df.writeStream.foreachBatch(keep)


@dataclass(frozen=True)
class SparkEngine:
    """Spark Structured Streaming."""

    name: str = "spark"
    title: str = "Spark"
    is_rehearsal: bool = False

    @classmethod
    def with_options(cls, options: Mapping[str, str]) -> Self:
        """Return the engine; its settings have options of their own."""
        if options:
            remedy = "use --conf, --master or --cores"
            raise UsageError(f"the engine spark has no option {next(iter(options))}", where="--engine", remedy=remedy)
        return cls()

    def clock(self) -> Clock:
        """Return the clock of this machine."""
        return SystemClock()

    def refuse(self, settings: RunSettings) -> None:
        """Refuse nothing: what Spark cannot do depends on the workload too."""

    @contextmanager
    def open(
        self, settings: RunSettings, *, scratch: Path, log: Path, clock: Clock, measured: bool = True
    ) -> Iterator[OpenSpark]:
        """Start Java and Spark."""
        spark = SessionSettings(settings.master, settings.conf, event_log=measured)
        with open_session(spark, scratch=scratch, log=log, clock=clock) as session:
            yield OpenSpark(session)
