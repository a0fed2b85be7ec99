"""A topic as a query reads it."""

from collections.abc import Mapping
from dataclasses import dataclass

from streamgauge.connectors.kafka.options import Format, KafkaPlace

# Under this name a query reports how many records it has read, and how many of them are malformed.
METRICS = "streamgauge_records"


@dataclass(frozen=True)
class Topic:
    """Records of one form, from the offsets `base` by partition on."""

    place: KafkaPlace
    name: str
    base: Mapping[int, int]
    format: Format = "json"
