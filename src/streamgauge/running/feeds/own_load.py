"""A load that this run sends to a topic, by a generator in processes of its own."""

from typing import TYPE_CHECKING

from streamgauge.conclude.evidence import Evidence
from streamgauge.connectors.kafka.delivery import Delivery, LoadOrder
from streamgauge.connectors.kafka.load import Load
from streamgauge.errors import RunFailedError

if TYPE_CHECKING:
    from streamgauge.running.feeds.kafka import KafkaFeed
    from streamgauge.running.state import RunState


class OwnLoad:
    """Begins when the query is ready, and ends with the run."""

    def order(self, state: "RunState", feed: "KafkaFeed") -> LoadOrder:
        """Return what the generator sends."""
        settings = state.settings
        return LoadOrder(
            address=feed.broker.place.address,
            topic=feed.name,
            partitions=feed.partitions,
            workload=state.workload.name,
            stream=state.workload.events.name,
            parameters=state.parameters.model_dump(mode="json"),
            seed=settings.seed,
            rate_per_s=settings.rate_per_s,
            arrivals=settings.arrivals,
            load_s=settings.load_s,
            format=feed.format,
            options=settings.kafka_options,
        )

    def base(self, feed: "KafkaFeed", _load: Load) -> dict[int, int]:
        """Return where the topic ends now."""
        return feed.broker.ends(feed.name, feed.partitions)

    def await_load(self, state: "RunState") -> None:
        """The query waits for the first record."""

    def begin(self, state: "RunState", feed: "KafkaFeed") -> int:
        """Let the generator begin, if no other has begun since."""
        other = feed.announced(state)
        if other is not None:
            raise RunFailedError(
                f'the load {other.load_id} has begun to fill the topic "{feed.name}" since this run started',
                where=feed.broker.place.address,
                remedy="start the run again to follow that load, or name another --topic",
            )
        assert feed.load is not None
        return feed.load.begin()

    def goes_on(self, _state: "RunState") -> bool:
        """It ends with the run."""
        return False

    def clipped(self, _state: "RunState", evidence: Evidence) -> Evidence:
        """Nothing came after the end of the run."""
        return evidence

    def delivery(self, _state: "RunState", _feed: "KafkaFeed", own: Delivery) -> Delivery | None:
        """Return how well the load was kept."""
        return own
