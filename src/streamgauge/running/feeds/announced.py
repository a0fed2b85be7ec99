"""A load that fills a topic already: the run follows it, from its first record on.

A load that ends before the run is continued by a generator of the run, by the same law, so that the query sees one.
"""

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Self

from streamgauge.conclude.evidence import Evidence
from streamgauge.connectors.kafka.delivery import Delivery, LoadOrder
from streamgauge.connectors.kafka.load import Announcement, Load, last_announcement
from streamgauge.errors import RunFailedError, UsageError
from streamgauge.running import phases
from streamgauge.settings.run_settings import RunSettings
from streamgauge.units import format_duration, format_rate

if TYPE_CHECKING:
    from streamgauge.running.feeds.kafka import KafkaFeed
    from streamgauge.running.state import RunState

# A query that is not further behind follows the load.
CAUGHT_UP_US = 3_000_000
# The longest time that a query may take to catch up with a load that goes on.
CATCH_UP_S = 300.0


@dataclass
class AnnouncedLoad:
    """A load of others; `asked` is what the user asked for, and `continued` what may come after the load."""

    load: Announcement
    asked: RunSettings
    continued: LoadOrder
    joined_us: int = field(init=False)

    @classmethod
    def follow(cls, state: "RunState", topic: str, load: Announcement) -> Self:
        """Take over what a running load decides; what it sends must be what the workload reads."""
        order, asked = load.order, state.settings
        _refuse_other(state, topic, order)
        # Enough for this run, whenever it has caught up; a user who asks for a load of others alone gets no more.
        more_s = 0.0 if asked.external_load else asked.load_s + CATCH_UP_S
        continued = replace(order, load_s=order.load_s + more_s, first=order.schedule().total)
        state.settings = replace(
            asked,
            rate_per_s=order.rate_per_s,
            arrivals=order.arrivals,
            seed=order.seed,
            record_format=order.format,
            warmup_s=0.0,
            duration_s=continued.load_s,
        )
        rate = format_rate(order.rate_per_s)
        state.note(f"this run follows the load {load.load_id} of {rate}, which had begun before it")
        state.writer.update(configuration=state.configuration())
        return cls(load, asked, continued)

    def order(self, _state: "RunState", _feed: "KafkaFeed") -> LoadOrder:
        """Return what comes after the load."""
        return self.continued

    def base(self, _feed: "KafkaFeed", load: Load) -> dict[int, int]:
        """Let a generator of the run continue the load, and return where the load began."""
        load.go_on_after(self.load)
        return dict(self.load.base)

    def await_load(self, state: "RunState") -> None:
        """Wait until the query has processed what the load had sent before: until then it sees another load."""
        self.joined_us = state.now_us()
        state.begin(self.load.origin_us, state.schedule.end_us / 1e6)
        state.enter(phases.CATCH_UP)
        end_s = state.clock.monotonic_s() + CATCH_UP_S
        while state.clock.monotonic_s() < end_s and not state.interrupts.count:
            due = int(state.schedule.created(state.now_us() - CAUGHT_UP_US - self.load.origin_us))
            if state.batches[-1].last >= due:
                return
            state.tick()

    def begin(self, state: "RunState", _feed: "KafkaFeed") -> int:
        """Measure when the query is warm and has caught up, for the asked time or until there is no more load."""
        warm_us = max(state.now_us(), self.joined_us + round(self.asked.warmup_s * 1e6))
        most_s = self.continued.load_s
        warmup_s = min(most_s, max(0.0, (warm_us - self.load.origin_us) / 1e6))
        left_s = min(most_s - warmup_s, self.asked.duration_s)
        state.settings = replace(state.settings, warmup_s=warmup_s, duration_s=left_s)
        more_s = state.settings.load_s - self.load.order.load_s
        if left_s < self.asked.duration_s - 1e-6:
            short = f"{format_duration(left_s)} of {format_duration(self.asked.duration_s)}"
            state.note(f"the load had only {short} left after the warm-up; a longer `load --duration` would leave more")
        elif more_s > 0:
            state.note(
                f"the load ended {format_duration(more_s)} before the run, which went on with it by the same law"
            )
        return self.load.origin_us

    def goes_on(self, state: "RunState") -> bool:
        """Return whether the load goes on after this run."""
        return state.closed_us < self.load.end_us

    def clipped(self, state: "RunState", evidence: Evidence) -> Evidence:
        """Leave out what a load that goes on has sent after the end of this run."""
        offered = evidence.offered
        if not self.goes_on(state):
            return evidence
        kept = [replace(b, last=min(b.last, offered)) for b in evidence.batches if b.first < offered or not b.events]
        dropped = len(evidence.batches) - len(kept)
        reported = None if evidence.reported_batches is None else evidence.reported_batches - dropped
        return replace(evidence, batches=kept, reported_batches=reported)

    def delivery(self, state: "RunState", feed: "KafkaFeed", own: Delivery) -> Delivery | None:
        """Return how well both loads were kept; the one that is followed reports it now and then."""
        goes_on = self.goes_on(state)
        end_s = state.clock.monotonic_s() + state.settings.drain_s
        while (found := self._reported(feed, goes_on)) is None and not goes_on and state.clock.monotonic_s() < end_s:
            state.clock.sleep(0.2)
        return None if found is None else Delivery.sum([found, own])

    def _reported(self, feed: "KafkaFeed", goes_on: bool) -> Delivery | None:
        found = last_announcement(feed.broker, feed.name)
        if found is None or found.load_id != self.load.load_id:
            return None
        return found.delivery if goes_on or found.closed_us is not None else None


def _refuse_other(state: "RunState", topic: str, order: LoadOrder) -> None:
    """Refuse a load whose events the workload does not read."""
    stream = state.workload.events
    if order.stream != stream.name:
        raise RunFailedError(
            f"the topic holds {order.stream} events, and {state.workload.name} reads {stream.name}",
            where=topic,
            remedy="name another --topic, or the workload that the load is for",
        )
    own = state.parameters.model_dump()
    for name, value in order.parameters.items():
        if name in stream.parameters.model_fields and own.get(name, value) != value:
            what = f"the load that runs has {name}={value}, this run {name}={own[name]}"
            raise UsageError(what, where="--set", remedy=f"add --set {name}={value}")
