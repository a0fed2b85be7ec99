"""What a load generator was asked to send, and how well it did."""

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from streamgauge.arrivals import Schedule, parse_law
from streamgauge.connectors.kafka.options import Format, KafkaPlace
from streamgauge.events import EventStream, event_streams
from streamgauge.lookup import find_workload

# Yahoo's generator complains from here on.
LATE_S = 0.1
MAX_LATE_SHARE = 0.01


@dataclass(frozen=True)
class LoadOrder:
    """A load: which events, by which law, into which topic; its fields are JSON values.

    Event n goes to partition n modulo `partitions`. The events before number `first` are sent by somebody else.
    """

    address: str
    topic: str
    partitions: int
    workload: str
    stream: str
    parameters: Mapping[str, Any]
    seed: int
    rate_per_s: float
    arrivals: str
    load_s: float
    format: Format = "json"
    options: Mapping[str, str] = field(default_factory=dict)
    first: int = 0

    @property
    def place(self) -> KafkaPlace:
        """The brokers."""
        return KafkaPlace(self.address, self.options)

    def schedule(self) -> Schedule:
        """Compile the law."""
        return parse_law(self.arrivals, rate_per_s=self.rate_per_s, seed=self.seed).schedule(self.load_s)

    def events(self) -> EventStream:
        """Return the event stream: one of the catalogue, or that of a prototype file."""
        known = event_streams()
        return known[self.stream] if self.stream in known else find_workload(self.workload).events

    def document(self) -> dict[str, Any]:
        """Return it as JSON values; options are as the user wrote them, so there is no secret in it."""
        return asdict(self)


@dataclass(frozen=True)
class Delivery:
    """What was sent: late are events that the client got later than `LATE_S` after their time.

    Lateness of the generator is part of every latency that is measured from the intended time. `late_in` has the
    number of late events by the second of the load in which they were due, without the seconds that have none.
    """

    sent: int = 0
    late: int = 0
    max_late_s: float = 0.0
    sum_late_s: float = 0.0
    failed: int = 0
    failure: str | None = None
    late_in: Mapping[int, int] = field(default_factory=dict)

    @property
    def mean_late_s(self) -> float | None:
        """Mean lateness of all events."""
        return self.sum_late_s / self.sent if self.sent else None

    @property
    def is_behind(self) -> bool:
        """Whether the load was not what the law says."""
        return self.failed > 0 or self.late > MAX_LATE_SHARE * self.sent

    def late_since(self, start_s: float) -> int:
        """Return how many of the events that were due from the second of `start_s` on were late.

        >>> Delivery(late=7, late_in={0: 4, 5: 3}).late_since(5.0)
        3
        """
        return sum(late for second, late in self.late_in.items() if second >= int(start_s))

    def document(self) -> dict[str, Any]:
        """Return the numbers that people ask for."""
        shares = {"late_share": self.late / self.sent if self.sent else None, "mean_late_s": self.mean_late_s}
        late_in = {str(second): late for second, late in self.late_in.items()}
        return {**asdict(self), "late_in": late_in, **shares, "late_from_s": LATE_S, "is_behind": self.is_behind}

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "Delivery":
        """Read what `document` wrote."""
        late_in = {int(second): int(late) for second, late in document["late_in"].items()}
        return cls(**{name: document[name] for name in cls.__dataclass_fields__} | {"late_in": late_in})

    @classmethod
    def sum(cls, parts: Iterable["Delivery"]) -> "Delivery":
        """Add up what several processes sent."""
        found = list(parts)
        return cls(
            sent=sum(part.sent for part in found),
            late=sum(part.late for part in found),
            max_late_s=max((part.max_late_s for part in found), default=0.0),
            sum_late_s=sum(part.sum_late_s for part in found),
            failed=sum(part.failed for part in found),
            failure=next((part.failure for part in found if part.failure), None),
            late_in=dict(sum((Counter(part.late_in) for part in found), Counter())),
        )
