"""A tap on an application that runs: an event log for us alone, read while it is written.

Spark's own class that writes event logs can be added to a running application. It gets every event on a queue of its
own, so that it holds up nobody, and nothing is called in Python for an event. The log is rolled, and files that have
been read are deleted: it takes some ten megabytes at most however long the application runs.
"""

from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from streamgauge.engine.spark.event_log import is_wanted
from streamgauge.engine.spark.log_files import GrowingLog
from streamgauge.errors import EnvironmentNotReadyError, UsageError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

QUEUE = "streamgauge"
FLUSH_DEADLINE_MS = 5_000
LOG_SETTINGS = {
    "spark.eventLog.enabled": "true",
    "spark.eventLog.compress": "false",
    "spark.eventLog.overwrite": "true",
    "spark.eventLog.rolling.enabled": "true",
    "spark.eventLog.rolling.maxFileSize": "10m",
    "spark.eventLog.logStageExecutorMetrics": "false",
    "spark.eventLog.logBlockUpdates.enabled": "false",
}
_MODES = {"ContinuousTrigger": "continuous", "RealTimeTrigger": "real-time"}


@dataclass(frozen=True)
class RunningQuery:
    """What a streaming query says about itself while it runs; `trigger_s` is 0 for a trigger without an interval."""

    query_id: str
    run_id: str
    name: str | None
    trigger_s: float | None
    output_mode: str
    mode: str


def _trigger(trigger: Any) -> tuple[float | None, str]:
    kind = str(trigger.getClass().getSimpleName()).rstrip("$")
    if kind == "ProcessingTimeTrigger":
        return int(trigger.intervalMs()) / 1e3, "micro-batch"
    return (None, _MODES[kind]) if kind in _MODES else (0.0, "micro-batch")


def _describe(query: Any) -> RunningQuery:
    execution = query.streamingQuery()
    trigger_s, mode = _trigger(execution.trigger())
    return RunningQuery(
        query_id=str(query.id().toString()),
        run_id=str(query.runId().toString()),
        name=query.name(),
        trigger_s=trigger_s,
        output_mode=str(execution.outputMode().toString()).lower(),
        mode=mode,
    )


class Tap:
    """Listens to the application of a Spark session; `lines` hands out what has come since the last call."""

    def __init__(self, spark: "SparkSession", folder: Path) -> None:
        self._spark = spark
        self._context = _context(spark)
        self._folder = folder
        self._log = GrowingLog(folder, is_wanted)
        self._listener = self._listen()

    def _listen(self) -> Any:
        from py4j.protocol import Py4JError

        jvm = self._spark.sparkContext._jvm
        try:
            conf = self._context.getConf()
            for key, value in LOG_SETTINGS.items():
                conf.set(key, value)
            listener = jvm.org.apache.spark.scheduler.EventLoggingListener(
                self._context.applicationId(), jvm.scala.Option.empty(), jvm.java.net.URI(self._folder.as_uri()), conf
            )
            listener.start()
            self._context.listenerBus().addToQueue(listener, QUEUE)
        except Py4JError as error:
            raise EnvironmentNotReadyError(
                f"cannot register a streaming listener with this Spark: {str(error).splitlines()[0]}",
                where="attach",
                remedy="set spark.eventLog.enabled=true and use `streamgauge runs import` on the log",
            ) from error
        return listener

    @property
    def application(self) -> str:
        """What the user calls the application."""
        return str(self._context.appName())

    @property
    def spark_version(self) -> str:
        """The version of Spark."""
        return str(self._context.version())

    @property
    def java_version(self) -> str:
        """The version of the driver's Java."""
        return str(self._spark.sparkContext._jvm.java.lang.System.getProperty("java.version"))

    @property
    def java_pid(self) -> int:
        """The process of the driver's Java."""
        return int(self._spark.sparkContext._jvm.java.lang.ProcessHandle.current().pid())

    @property
    def is_local(self) -> bool:
        """Whether driver and executors share this machine."""
        return str(self._context.master()).startswith("local")

    def cores(self) -> int:
        """Return the task slots over all executors, as Spark sees them now."""
        executors = _elements(self._context.statusStore().executorList(True))
        return sum(int(executor.totalCores()) for executor in executors)

    def settings(self) -> dict[str, str]:
        """Return the settings of the application, and what was set in the session since."""
        found = {str(key): str(value) for key, value in self._spark.sparkContext.getConf().getAll()}
        changed = self._spark._jsparkSession.conf().getAll()
        return found | {str(pair._1()): str(pair._2()) for pair in _elements(changed)}

    def queries(self) -> list[RunningQuery]:
        """Return the queries of the session that run now; none when Spark cannot be asked any more."""
        from py4j.protocol import Py4JError

        found = []
        with suppress(Py4JError, OSError):
            for query in self._spark.streams._jsqm.active():
                with suppress(Py4JError):
                    found.append(_describe(query))
        return found

    def lines(self) -> Iterator[bytes]:
        """Yield the lines that have come since the last call; one that is not whole yet comes later."""
        return self._log.lines()

    def close(self) -> None:
        """Wait until what has happened is written, and stop to listen; it may be that Spark has gone already."""
        from py4j.protocol import Py4JError

        bus = None
        with suppress(Py4JError, OSError):
            bus = self._context.listenerBus()
            bus.waitUntilEmpty(FLUSH_DEADLINE_MS)
        with suppress(Py4JError, OSError):
            if bus is not None:
                bus.removeListener(self._listener)
            self._listener.stop()


def _elements(collection: Any) -> Iterator[Any]:
    """Yield the elements of a collection of Scala: converters to Java's differ between 2.12 and 2.13."""
    iterator = collection.iterator()
    while iterator.hasNext():
        yield iterator.next()


def application_id(spark: "SparkSession") -> str:
    """Return Spark's name for the application of a session; what cannot be watched is refused."""
    return str(_context(spark).applicationId())


def _context(spark: "SparkSession") -> Any:
    """Return Spark's context in Java; there is one in a classic session that has not been stopped."""
    try:
        context = spark.sparkContext
        java = context._jsc
    except Exception as error:  # A session of Spark Connect, and what is no session, answer in many ways.
        raise UsageError(
            f"{type(spark).__name__} is no session that can be watched",
            where="attach",
            remedy="give the classic SparkSession of the driver; with Spark Connect, enable Spark's event log and use "
            "`streamgauge runs import`",
        ) from error
    if java is None:
        raise UsageError("the Spark session has been stopped", where="attach", remedy="attach before spark.stop()")
    return java.sc()
