"""What a run needs to know of where its events come from."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Protocol

from streamgauge.conclude.evidence import Evidence
from streamgauge.engine.engine import OfferedFeed
from streamgauge.measure import Batch

if TYPE_CHECKING:
    from streamgauge.running.state import RunState


class Feed(Protocol):
    """Events for a query. The methods are in the order in which a run calls them."""

    @property
    def needs_connector(self) -> bool:
        """Whether Spark needs its Kafka connector for it."""

    @property
    def is_embedded(self) -> bool:
        """Whether the engine generates the events, so that its generator is measured."""

    @property
    def is_verified(self) -> bool:
        """Whether there is time to verify the answer before the load."""

    def look_up(self, state: "RunState") -> None:
        """Find what must be there before the engine starts."""

    def resolve(self, state: "RunState") -> None:
        """Find out who sends the events, now that the engine runs."""

    def offer(self, state: "RunState") -> OfferedFeed:
        """Make the events ready for the query."""

    def explain(self, error: Exception) -> Exception:
        """Return the better explanation of a query that did not start, if there is one."""

    def batch(self, state: "RunState", progress: Mapping[str, Any]) -> Batch | None:
        """Read the progress of one micro-batch; None for a trigger that ran none."""

    def await_load(self, state: "RunState") -> None:
        """Wait until the query is where it should be when the load begins."""

    def begin(self, state: "RunState") -> int:
        """Let the load begin, and return when: microseconds since the epoch."""

    def open(self, state: "RunState") -> None:
        """Let the load run from `origin_us` to `closed_us` of the state; called again with an earlier end."""

    def watch(self, state: "RunState") -> None:
        """Raise what has gone wrong with the load."""

    def end_load(self, state: "RunState") -> None:
        """See to it that all of the load is offered when its time is over."""

    def complete(self, state: "RunState", evidence: Evidence) -> Evidence:
        """Add what is known when the query has ended."""

    def close(self) -> None:
        """End what was started for the feed."""
