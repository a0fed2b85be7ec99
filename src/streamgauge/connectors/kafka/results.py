"""Reading what a query has put into its topic of results: when each row came, and the time of the event behind it.

The broker stamps each record when it takes it, so the topic can be read after the load, when that costs nothing.
"""

from collections.abc import Mapping

from streamgauge.connectors.kafka.client import Broker
from streamgauge.connectors.kafka.reading import read_messages
from streamgauge.errors import RunFailedError
from streamgauge.measure import Emissions
from streamgauge.workloads.workload import INTENDED

# A topic whose records bear the time at which the broker took them.
STAMPED = {"message.timestamp.type": "LogAppendTime"}
_FIELD = f'"{INTENDED}":'.encode()


def intended_us(value: bytes) -> int | None:
    """Return the time that a row carries as its last field.

    >>> intended_us(b'{"key":7,"intended_us":1700000000000000}'), intended_us(b'{"key":7}')
    (1700000000000000, None)
    """
    place = value.rfind(_FIELD)
    digits = value[place + len(_FIELD) : -1]
    return int(digits) if place >= 0 and digits.isdigit() else None


def read_emissions(broker: Broker, topic: str, base: Mapping[int, int], ends: Mapping[int, int]) -> Emissions:
    """Return the times of all rows from `base` up to `ends`."""
    stamped = broker.library.TIMESTAMP_LOG_APPEND_TIME
    appeared: list[int] = []
    intended: list[int] = []
    for messages in read_messages(broker, topic, base, ends):
        for message in messages:
            kind, time_ms = message.timestamp()
            carried = intended_us(message.value() or b"")
            if kind != stamped or carried is None:
                raise _foreign(topic, is_stamped=kind == stamped)
            appeared.append(time_ms * 1000)
            intended.append(carried)
    return Emissions.of(appeared, intended)


def _foreign(topic: str, *, is_stamped: bool) -> RunFailedError:
    what = "rows that carry no time of an event" if is_stamped else "records that bear the time of their sender"
    return RunFailedError(
        f"the topic of results holds {what}, so their latency is not known",
        where=topic,
        remedy="name another --topic, or remove this one; nobody else may write to it",
    )
