"""The C client, and what to say when it is missing or a broker refuses."""

import threading
from collections.abc import Mapping
from importlib import import_module
from typing import Any

from streamgauge.clock import Clock, SystemClock
from streamgauge.connectors.kafka.options import KafkaPlace
from streamgauge.errors import EnvironmentNotReadyError, RunFailedError, StreamgaugeError, UsageError, closest
from streamgauge.extras import require

DEADLINE_S = 10.0
RETRY_S = 0.1
NOT_KNOWN_YET = (
    "_UNKNOWN_PARTITION",
    "_UNKNOWN_TOPIC",
    "UNKNOWN_TOPIC_OR_PART",
    "LEADER_NOT_AVAILABLE",
    "NOT_LEADER_FOR_PARTITION",
)


def library() -> Any:
    """Return the client library."""
    found = require("confluent_kafka")
    import_module("confluent_kafka.admin")
    return found


def default_address() -> str:
    """Return the address of the brokers that `services up kafka` has started."""
    from streamgauge.services import address_of

    if (address := address_of("kafka")) is not None:
        return address
    raise EnvironmentNotReadyError(
        "no broker is named, and none is up on this machine",
        where="--kafka",
        remedy="name one with --kafka host:port, or start one with `streamgauge services up kafka`",
    )


class Broker:
    """Questions to a cluster of brokers, each with a deadline."""

    def __init__(self, place: KafkaPlace, *, deadline_s: float = DEADLINE_S, clock: Clock | None = None) -> None:
        self.place = place
        self.clock = clock or SystemClock()
        self.deadline_s = deadline_s
        self._kafka = library()
        self._errors: list[Any] = []
        self._lock = threading.Lock()
        self._settings = {
            **place.client(),
            "error_cb": self._heard,
            "logger": _Silent(),
            "log_level": 0,
            "socket.connection.setup.timeout.ms": "5000",
        }
        try:
            self._admin = self._kafka.admin.AdminClient(self._settings)
        except self._kafka.KafkaException as error:
            raise wrong_option(error) from error

    def _heard(self, error: Any) -> None:
        with self._lock:
            self._errors.append(error)

    def _fail(self, error: Any) -> StreamgaugeError:
        """Distinguish a refused login from a broker that is not there."""
        said = [*self._errors, error]
        refused = [one for one in said if _name(one) in ("_AUTHENTICATION", "SASL_AUTHENTICATION_FAILED", "_SSL")]
        if refused:
            return EnvironmentNotReadyError(
                f"the broker refuses the connection: {_text(refused[0])}",
                where=self.place.address,
                remedy="check security.protocol, sasl.* and ssl.* in --kafka-option",
            )
        if _name(error) in ("TOPIC_AUTHORIZATION_FAILED", "CLUSTER_AUTHORIZATION_FAILED", "GROUP_AUTHORIZATION_FAILED"):
            return EnvironmentNotReadyError(
                f"the broker does not allow this: {_text(error)}",
                where=self.place.address,
                remedy="ask for the rights, or use another user",
            )
        return EnvironmentNotReadyError(
            f"the broker does not answer within {self.deadline_s:.0f} s: {_text(said[0])}",
            where=self.place.address,
            remedy="check --kafka and that the broker is up; `streamgauge services up kafka` starts one here",
        )

    def topics(self) -> dict[str, int]:
        """Return all topics with the number of their partitions."""
        try:
            found = self._admin.list_topics(timeout=self.deadline_s)
        except self._kafka.KafkaException as error:
            self._admin.poll(0)
            raise self._fail(error.args[0]) from error
        return {name: len(topic.partitions) for name, topic in found.topics.items()}

    def partitions(self, topic: str) -> int:
        """Return how many partitions a topic has; a topic that is not there is an error."""
        known = self.topics()
        if topic not in known:
            shown = [name for name in known if not name.startswith("__")]
            raise RunFailedError(f'there is no topic "{topic}"', where=self.place.address, remedy=closest(topic, shown))
        return known[topic]

    @property
    def library(self) -> Any:
        """The client library, for its names."""
        return self._kafka

    def make_topic(self, topic: str, partitions: int, config: Mapping[str, str] | None = None) -> int:
        """Make a topic with these settings unless it is there, and return how many partitions it has."""
        known = self.topics()
        if topic in known:
            return known[topic]
        admin = self._kafka.admin
        (made,) = self._admin.create_topics([admin.NewTopic(topic, partitions, config=dict(config or {}))]).values()
        try:
            made.result(self.deadline_s)
        except self._kafka.KafkaException as error:
            if _name(error.args[0]) in ("INVALID_TOPIC_EXCEPTION", "INVALID_PARTITIONS", "INVALID_REPLICATION_FACTOR"):
                raise UsageError(
                    f'the topic "{topic}" cannot be made: {_text(error.args[0])}', where="--topic", remedy="use another"
                ) from error
            if _name(error.args[0]) != "TOPIC_ALREADY_EXISTS":
                raise self._fail(error.args[0]) from error
        except TimeoutError as error:
            raise self._fail(error) from error
        return partitions

    def ends(self, topic: str, partitions: int, consumer: Any = None) -> dict[int, int]:
        """Return the offset after the last record of every partition; who asks often brings a reader."""
        asked = consumer or self.consumer()
        try:
            return {number: self._end(asked, topic, number) for number in range(partitions)}
        finally:
            if consumer is None:
                asked.close()

    def _end(self, consumer: Any, topic: str, partition: int) -> int:
        end_s = self.clock.monotonic_s() + self.deadline_s
        place = self._kafka.TopicPartition(topic, partition)
        while True:
            try:
                return int(consumer.get_watermark_offsets(place, timeout=self.deadline_s)[1])
            except self._kafka.KafkaException as error:
                # A new topic is not known everywhere at once.
                if _name(error.args[0]) not in NOT_KNOWN_YET or self.clock.monotonic_s() > end_s:
                    raise self._fail(error.args[0]) from error
            self.clock.sleep(RETRY_S)

    def consumer(self) -> Any:
        """Open a reader that leaves no trace at the broker."""
        settings = {
            **self._settings,
            "group.id": "streamgauge",
            "enable.auto.commit": False,
            "enable.partition.eof": False,
            "auto.offset.reset": "error",
            "fetch.max.bytes": 50_000_000,
            "queued.max.messages.kbytes": 65_536,
        }
        return self._kafka.Consumer(settings)

    def producer(self, **settings: Any) -> Any:
        """Open a writer."""
        try:
            return self._kafka.Producer({**self._settings, **settings})
        except self._kafka.KafkaException as error:
            raise wrong_option(error) from error


class _Silent:
    """Takes the client's log lines: errors are raised as exceptions."""

    def log(self, *_: Any, **__: Any) -> None:
        """Say nothing."""


def wrong_option(error: Exception) -> UsageError:
    """Say that the client refuses a setting."""
    return UsageError(
        f"the Kafka client refuses a setting: {_text(error.args[0])}",
        where="--kafka-option",
        remedy="use the names and values of the C client (librdkafka)",
    )


def _name(error: Any) -> str:
    return str(error.name()) if hasattr(error, "name") else type(error).__name__


def _text(error: Any) -> str:
    return str(error.str() if hasattr(error, "str") else error)[:300]
