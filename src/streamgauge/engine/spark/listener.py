"""Collects the progress of every micro-batch, at one call between Java and Python per batch."""

import json
import threading
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Progress = dict[str, Any]


class ProgressListener:
    """Hands each progress document of one query, parsed, to `receive`.

    PySpark's own listener copies every field with a call of its own, dozens per batch;
    this one takes the whole document as JSON.
    """

    def __init__(self, receive: Callable[[Progress], None]) -> None:
        self._receive = receive
        self.terminated = threading.Event()
        self.failure: Exception | None = None
        self.query_run_id: str | None = None

    def onQueryStarted(self, event: Any) -> None:  # noqa: N802
        """Remember which query this listener is for: the first one that starts after it was added."""
        if self.query_run_id is None:
            self.query_run_id = event.runId().toString()

    def onQueryProgress(self, event: Any) -> None:  # noqa: N802
        """Pass a progress document on."""
        document = json.loads(event.progress().json())
        if document["runId"] != self.query_run_id:
            return
        try:
            self._receive(document)
        except Exception as error:  # Kept for the run's own thread: Java would only log it.
            self.failure = error

    def onQueryIdle(self, event: Any) -> None:  # noqa: N802
        """Idle triggers carry no evidence."""

    def onQueryTerminated(self, event: Any) -> None:  # noqa: N802
        """Remember the end."""
        if event.runId().toString() == self.query_run_id:
            self.terminated.set()

    class Java:
        """Names for the bridge the Java interface this class implements."""

        implements = ("org.apache.spark.sql.streaming.PythonStreamingQueryListener",)


def add_listener(spark: "SparkSession", listener: ProgressListener) -> Callable[[], None]:
    """Register `listener` and return what removes it."""
    from pyspark.java_gateway import ensure_callback_server_started

    gateway = spark.sparkContext._gateway
    ensure_callback_server_started(gateway)
    wrapper = gateway.jvm.org.apache.spark.sql.streaming.PythonStreamingQueryListenerWrapper(listener)
    manager = spark.streams._jsqm
    manager.addListener(wrapper)
    return lambda: manager.removeListener(wrapper)
