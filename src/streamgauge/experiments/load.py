"""`load`: publish an event stream to a topic by an arrival law, open loop, for runs of others to read."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Unpack

from streamgauge.clock import BoundedClock, Clock, SystemClock
from streamgauge.connectors.kafka.client import Broker
from streamgauge.connectors.kafka.delivery import Delivery, LoadOrder
from streamgauge.connectors.kafka.load import Load, running_load
from streamgauge.errors import UsageError
from streamgauge.running.interrupts import counted_interrupts
from streamgauge.running.lifecycle import prepare
from streamgauge.running.sinks.kafka import kafka_place, topic_name
from streamgauge.settings.keywords import LoadKeywords
from streamgauge.settings.signature import takes_settings
from streamgauge.verdict import Verdict

POLL_S = 0.1
PARTITIONS = 2
MAX_PROCESSES = 64


@dataclass(frozen=True)
class Loaded:
    """What a load has sent; `closed_us` is when it ended."""

    order: LoadOrder
    load_id: str
    origin_us: int
    closed_us: int
    delivery: Delivery
    is_interrupted: bool

    @property
    def verdict(self) -> Verdict:
        """Pass when the law was kept; a load that fell behind, or was ended, is another one than was asked for."""
        return Verdict.UNKNOWN if self.delivery.is_behind or self.is_interrupted else Verdict.PASS

    @property
    def sent_rate_per_s(self) -> float | None:
        """Events sent per second over the whole load."""
        seconds = (self.closed_us - self.origin_us) / 1e6
        return self.delivery.sent / seconds if seconds > 0 else None

    def document(self) -> dict[str, Any]:
        """Return all of it for JSON."""
        order = self.order.document()
        return {
            "verdict": self.verdict.value,
            "load_id": self.load_id,
            **{name: order[name] for name in ("topic", "partitions", "workload", "stream", "seed", "format")},
            "kafka": self.order.address,
            "offered_rate_per_s": self.order.rate_per_s,
            "sent_rate_per_s": self.sent_rate_per_s,
            "origin_us": self.origin_us,
            "closed_us": self.closed_us,
            "events": self.delivery.sent,
            "delivery": self.delivery.document(),
        }


Progress = Callable[[float, float, Delivery], None]


@takes_settings("load")
def load(
    workload: str,
    *,
    partitions: int | None = None,
    processes: int = 1,
    report_progress: Progress = lambda _elapsed_s, _load_s, _delivery: None,
    clock: Clock | None = None,
    **settings: Unpack[LoadKeywords],
) -> Loaded:
    """Publish the events of a workload for `duration`.

    `report_progress` gets the elapsed seconds, those of the whole load, and what was sent so far.
    """
    clock = clock or SystemClock()
    asked = {**settings, "warmup": "0s", "source": "kafka", "source_partitions": partitions}
    chosen, checked, parsed = prepare(workload, asked, command="load")
    if not 1 <= processes <= MAX_PROCESSES:
        raise UsageError(f"cannot use {processes} processes", where="--processes", remedy=f"use 1 to {MAX_PROCESSES}")
    place, topic = kafka_place(parsed), topic_name(parsed, chosen)
    broker = Broker(place)
    _refuse_second(broker, topic, clock)
    found = broker.make_topic(topic, partitions or max(PARTITIONS, processes))
    if partitions not in (None, found):
        what = f'the topic "{topic}" has {found} partitions, not {partitions}'
        raise UsageError(what, where="--partitions", remedy="leave it out, or name another --topic")
    order = LoadOrder(
        address=place.address,
        topic=topic,
        partitions=found,
        workload=workload,
        stream=chosen.events.name,
        parameters=checked.model_dump(mode="json"),
        seed=parsed.seed,
        rate_per_s=parsed.rate_per_s,
        arrivals=parsed.arrivals,
        load_s=parsed.load_s,
        format=parsed.record_format,
        options=parsed.kafka_options,
    )
    return _send(order, min(processes, found), clock, report_progress)


def _refuse_second(broker: Broker, topic: str, clock: Clock) -> None:
    running = running_load(broker, topic, round(clock.wall_s() * 1e6))
    if running is not None:
        left_s = running.end_us / 1e6 - clock.wall_s()
        raise UsageError(
            f'the load {running.load_id} fills the topic "{topic}" already, for another {left_s:.0f} s',
            where="--topic",
            remedy="wait for its end, or name another --topic",
        )


def _send(order: LoadOrder, processes: int, clock: Clock, report_progress: Progress) -> Loaded:
    with counted_interrupts() as interrupts:
        sender = Load(order, processes=processes, clock=clock)
        try:
            wall, origin_us = BoundedClock(clock), sender.begin()
            interrupts.allow_drain()
            closed_us = origin_us + round(order.load_s * 1e6)
            while not sender.is_done:
                sender.watch()
                if interrupts.count and closed_us > (now_us := round(wall.wall_s() * 1e6)):
                    closed_us = now_us
                    sender.close_at(closed_us)
                report_progress(wall.wall_s() - origin_us / 1e6, order.load_s, sender.delivery())
                clock.sleep(POLL_S)
            delivery = sender.finish(closed_us)
            return Loaded(order, sender.load_id, origin_us, closed_us, delivery, interrupts.count > 0)
        finally:
            sender.end()
