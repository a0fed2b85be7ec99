"""Results in a topic, and what a run needs to reach Kafka."""

import re
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from streamgauge.conclude.evidence import Evidence
from streamgauge.connectors.kafka.options import KafkaPlace
from streamgauge.engine.engine import TopicResults
from streamgauge.settings.run_settings import RunSettings
from streamgauge.store import RunWriter
from streamgauge.workloads import Workload

if TYPE_CHECKING:
    import pyarrow as pa

RESULTS = ".results"


class KafkaSink:
    """A topic with one JSON object per row, keyed by the workload's keys; at least once."""

    needs_connector = True

    def __init__(self, place: KafkaPlace, topic: str, workload: Workload, partitions: int) -> None:
        self.place, self.topic, self.workload, self.partitions = place, topic, workload, partitions
        self.base: dict[int, int] = {}

    def prepare(self) -> None:
        """Make the topic, and remember where it ends."""
        from streamgauge.connectors.kafka.client import Broker
        from streamgauge.connectors.kafka.results import STAMPED

        broker = Broker(self.place)
        self.partitions = broker.make_topic(self.topic, self.partitions, STAMPED)
        self.base = broker.ends(self.topic, self.partitions)

    @property
    def results(self) -> TopicResults:
        """The topic."""
        return TopicResults(self.place, self.topic)

    def read(self) -> "pa.Table | None":
        """Read all rows since the beginning of the run; None where their types do not come back from text."""
        from streamgauge.connectors.kafka.client import Broker
        from streamgauge.connectors.kafka.reading import read_records
        from streamgauge.connectors.rows import DUCKDB_TYPES, from_text

        if any(field.type not in DUCKDB_TYPES for field in self.workload.output):
            return None
        broker = Broker(self.place)
        ends = broker.ends(self.topic, self.partitions)
        lines: list[tuple[int, str]] = []
        for _, values in read_records(broker, self.topic, self.base, ends):
            lines += [(len(lines) + index, value.decode()) for index, value in enumerate(values)]
        return from_text(lines, self.workload.output)

    def details(self, _writer: RunWriter, _evidence: Evidence) -> dict[str, Any]:
        """Name the topic."""
        return {"result_topic": self.topic}


def topic_name(settings: RunSettings, workload: Workload) -> str:
    """Return the topic of the events: the workload's name, in the letters that Kafka allows."""
    return settings.topic or re.sub(r"[^a-zA-Z0-9._-]+", "-", workload.name)


def kafka_place(settings: RunSettings) -> KafkaPlace:
    """Return the brokers that the settings name, or those that run here."""
    from streamgauge.connectors.kafka.client import default_address

    return KafkaPlace(settings.kafka or default_address(), settings.kafka_options)


def connector_conf(settings: RunSettings, note: Callable[[str], None]) -> Mapping[str, str]:
    """Return the settings of Spark with the Kafka connector; a connector of the user's own is left alone."""
    from streamgauge.connectors.kafka.connector import brings_own_connector, find_connector

    if brings_own_connector(settings.conf):
        return settings.conf
    connector = find_connector(lambda _: None)
    if connector.note:
        note(connector.note)
    return {**settings.conf, **connector.conf(settings.conf)}
