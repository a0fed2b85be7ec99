"""Where the results of a run go, and what is there when it has ended."""

import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol

from streamgauge.errors import EnvironmentNotReadyError, InvalidExperimentError
from streamgauge.events import Parameters
from streamgauge.experiment.settings import RunSettings
from streamgauge.kafka.options import KafkaPlace, resolve
from streamgauge.workloads import Workload

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

RESULTS = ".results"
YSB_COLUMNS = ("campaign_id", "window_start", "views")


class Sink(Protocol):
    """A sink: `write` makes a writer of the query's stream, None for the sink that drops everything."""

    @property
    def needs_connector(self) -> bool:
        """Whether Spark needs its Kafka connector for it."""

    @property
    def write(self) -> "Callable[[DataFrame], Any] | None":
        """What makes a writer."""

    def prepare(self) -> None:
        """Make it ready for a new run."""

    def read(self) -> "pa.Table | None":
        """Return what it holds, as the columns of the query's output and `batch`, which tells the order."""

    def details(self, window_s: float | None, from_us: int, until_us: int) -> tuple[dict[str, Any], "pa.Table | None"]:
        """Return what it adds to the summary, and a table to be stored with the run."""


class NoSink:
    """Drops everything, or leaves it to the workload."""

    needs_connector = False
    write = None

    def prepare(self) -> None:
        """Nothing is needed."""

    def read(self) -> None:
        """Nothing is there."""

    def details(self, _window_s: float | None, _from_us: int, _until_us: int) -> tuple[dict[str, Any], None]:
        """Nothing is known."""
        return {}, None


class KafkaSink:
    """A topic with one JSON object per row, keyed by the workload's keys; at least once."""

    needs_connector = True

    def __init__(self, place: KafkaPlace, topic: str, workload: Workload, partitions: int) -> None:
        self.place, self.topic, self.workload, self.partitions = place, topic, workload, partitions
        self.base: dict[int, int] = {}

    def prepare(self) -> None:
        """Make the topic, and remember where it ends."""
        from streamgauge.kafka.client import Broker
        from streamgauge.kafka.results import STAMPED

        broker = Broker(self.place)
        self.partitions = broker.make_topic(self.topic, self.partitions, STAMPED)
        self.base = broker.ends(self.topic, self.partitions)

    def write(self, df: "DataFrame") -> Any:
        """Write through Spark's own sink."""
        from streamgauge.engine.kafka import write_topic

        return write_topic(df, self.workload, self.place, self.topic)

    def read(self) -> "pa.Table | None":
        """Read all rows since the beginning of the run; None where their types do not come back from text."""
        from streamgauge.experiment.fault_sinks import DUCKDB_TYPES, from_text
        from streamgauge.kafka.client import Broker
        from streamgauge.kafka.reading import read_records

        if any(field.type not in DUCKDB_TYPES for field in self.workload.output):
            return None
        broker = Broker(self.place)
        ends = broker.ends(self.topic, self.partitions)
        lines: list[tuple[int, str]] = []
        for _, values in read_records(broker, self.topic, self.base, ends):
            lines += [(len(lines) + index, value.decode()) for index, value in enumerate(values)]
        return from_text(lines, self.workload.output)

    def details(self, _window_s: float | None, _from_us: int, _until_us: int) -> tuple[dict[str, Any], None]:
        """Name the topic."""
        return {"result_topic": self.topic}, None


class RedisSink:
    """Counts of YSB in Redis, in Yahoo's layout; a count is overwritten, so repeating a micro-batch changes nothing."""

    needs_connector = False

    def __init__(self, address: str, parameters: Parameters) -> None:
        self.address, self.parameters = address, parameters

    def prepare(self) -> None:
        """Remove the windows of earlier runs, and write campaigns and ads."""
        from streamgauge.workloads.ysb.redis_layout import connect_redis, prepare

        prepare(connect_redis(self.address), self.parameters)  # type: ignore[arg-type]

    def write(self, df: "DataFrame") -> Any:
        """Write each micro-batch from the executors."""
        from streamgauge.workloads.ysb.redis_layout import write_rows

        write_all = partial(write_rows, self.address)

        def keep(batch: "DataFrame", _batch_id: int) -> None:
            batch.selectExpr("campaign_id", "unix_millis(window_start)", "views").foreachPartition(write_all)

        return df.writeStream.foreachBatch(keep)

    def _windows(self) -> "pa.Table":
        from streamgauge.workloads.ysb.redis_layout import connect_redis, read_windows

        return read_windows(connect_redis(self.address))

    def read(self) -> "pa.Table":
        """Read all counts."""
        from streamgauge.workloads.reference import connect

        connection = connect()
        connection.register("windows", self._windows())
        start = "make_timestamptz(window_start_ms * 1000) AS window_start"
        return connection.sql(f"SELECT campaign_id, {start}, views, 0 AS batch FROM windows").to_arrow_table()

    def details(self, window_s: float | None, from_us: int, until_us: int) -> "tuple[dict[str, Any], pa.Table]":
        """Return Yahoo's latency: of windows that begin and end in the measured time, the last update after the end."""
        import numpy as np

        from streamgauge.measure import Histogram

        windows = self._windows()
        length_ms = round((window_s or 0) * 1000)
        start_ms = windows["window_start_ms"].to_numpy()
        inside = (start_ms >= from_us // 1000) & (start_ms + length_ms <= until_us // 1000)
        late_ms = windows["updated_ms"].to_numpy()[inside] - start_ms[inside] - length_ms
        latency = Histogram.from_values_us(np.maximum(late_ms, 0) * 1000)
        return {"yahoo_latency_s": latency.summary()}, windows


def topic_name(settings: RunSettings, workload: Workload) -> str:
    """Return the topic of the events: the workload's name, in the letters that Kafka allows."""
    return settings.topic or re.sub(r"[^a-zA-Z0-9._-]+", "-", workload.name)


def kafka_place(settings: RunSettings) -> KafkaPlace:
    """Return the brokers that the settings name, or those that run here."""
    from streamgauge.kafka.client import default_address

    return KafkaPlace(settings.kafka or default_address(), settings.kafka_options)


def redis_address(settings: RunSettings) -> str:
    """Return the Redis that the settings name, or the one that runs here."""
    if settings.redis is not None:
        return resolve(settings.redis, "--redis")
    from streamgauge.services import address_of

    if (address := address_of("redis")) is not None:
        return address
    raise EnvironmentNotReadyError(
        "no Redis is named, and none is up on this machine",
        where="--redis",
        remedy="name one with --redis host:port, or start one with `streamgauge services up redis`",
    )


def open_sink(settings: RunSettings, workload: Workload, parameters: Parameters) -> Sink:
    """Return the sink of a run, and see that it is there and takes what the workload puts out."""
    if settings.sink == "noop":
        return NoSink()
    if workload.each_batch is not None or workload.folders:
        raise InvalidExperimentError(
            f"{workload.name} takes care of its results itself", where="--sink", remedy="leave --sink out"
        )
    if settings.sink == "kafka":
        topic = topic_name(settings, workload) + RESULTS
        return KafkaSink(kafka_place(settings), topic, workload, settings.source_partitions or 1)
    if tuple(field.name for field in workload.output) != YSB_COLUMNS:
        raise InvalidExperimentError(
            f"the layout in Redis is that of YSB, and {workload.name} puts out other columns",
            where="--sink redis",
            remedy="use the workload ysb, or --sink kafka",
        )
    from streamgauge.workloads.ysb.redis_layout import connect_redis

    address = redis_address(settings)
    connect_redis(address).close()
    return RedisSink(address, parameters)


def connector_conf(settings: RunSettings, note: Callable[[str], None]) -> Mapping[str, str]:
    """Return the settings of Spark with the Kafka connector; a connector of the user's own is left alone."""
    from streamgauge.kafka.connector import brings_own_connector, find_connector

    if brings_own_connector(settings.conf):
        return settings.conf
    connector = find_connector(lambda _: None)
    if connector.note:
        note(connector.note)
    return {**settings.conf, **connector.conf(settings.conf)}
