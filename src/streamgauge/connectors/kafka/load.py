"""A load in processes of its own, seen from whoever started it, and how others find it.

While a load runs, a record in the topic `TOPIC.load` says what it is, so that a run can follow it. Further records say
how well it is kept, and the last one that it has ended.
"""

import json
import subprocess
import sys
import threading
import uuid
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import IO, Any

from streamgauge import errors
from streamgauge.clock import Clock
from streamgauge.connectors.kafka.client import DEADLINE_S, Broker
from streamgauge.connectors.kafka.delivery import Delivery, LoadOrder
from streamgauge.errors import EnvironmentNotReadyError, RunFailedError

MODULE = "streamgauge.connectors.kafka.worker"
READY_DEADLINE_S = 60.0
END_DEADLINE_S = 60.0
LISTEN_S = 5.0
# Between the decision to start and the first event.
AHEAD_US = 300_000
SUFFIX = ".load"
# A load that runs is announced every few seconds.
TELL_S = 5.0
SILENCE_S = 20.0


@dataclass(frozen=True)
class Announcement:
    """A load that runs or, with `closed_us`, ran: `base` is where each partition was when it began.

    `delivery` is how it went so far, `told_us` when that was announced.
    """

    load_id: str
    order: LoadOrder
    origin_us: int
    base: Mapping[int, int]
    closed_us: int | None = None
    delivery: Delivery | None = None
    told_us: int = 0

    def is_running(self, now_us: int) -> bool:
        """Whether it has not ended, and was heard of lately."""
        is_heard = now_us - self.told_us < SILENCE_S * 1e6
        return self.closed_us is None and now_us < self.end_us and is_heard

    def document(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "load_id": self.load_id,
            "order": self.order.document(),
            "origin_us": self.origin_us,
            "base": {str(partition): offset for partition, offset in self.base.items()},
            "closed_us": self.closed_us,
            "delivery": self.delivery.document() if self.delivery else None,
        }

    @classmethod
    def from_document(cls, document: Mapping[str, Any]) -> "Announcement":
        """Read what `document` wrote."""
        delivery = document["delivery"]
        return cls(
            load_id=str(document["load_id"]),
            order=LoadOrder(**document["order"]),
            origin_us=int(document["origin_us"]),
            base={int(partition): int(offset) for partition, offset in document["base"].items()},
            closed_us=document["closed_us"],
            delivery=Delivery.from_document(delivery) if delivery else None,
        )

    @property
    def end_us(self) -> int:
        """When the last event is due."""
        return self.origin_us + round(self.order.load_s * 1e6)


def announce(producer: Any, announcement: Announcement) -> None:
    """Announce a load to everybody who reads the topic."""
    topic = announcement.order.topic + SUFFIX
    producer.produce(topic, json.dumps(announcement.document()).encode(), key=announcement.load_id.encode())
    if producer.flush(DEADLINE_S):
        raise EnvironmentNotReadyError(
            "the broker does not take the record that announces the load",
            where=announcement.order.address,
            remedy="check that its partitions have leaders and enough copies in step",
        )


def last_announcement(broker: Broker, topic: str) -> Announcement | None:
    """Return what was last announced about the loads of a topic."""
    from confluent_kafka import TopicPartition

    name = topic + SUFFIX
    if name not in broker.topics():
        return None
    end = broker.ends(name, 1)[0]
    if end == 0:
        return None
    consumer = broker.consumer()
    try:
        consumer.assign([TopicPartition(name, 0, end - 1)])
        found = [message for message in consumer.consume(1, timeout=broker.deadline_s) if not message.error()]
    finally:
        consumer.close()
    if not found:
        return None
    try:
        told_us = int(found[0].timestamp()[1]) * 1000
        return replace(Announcement.from_document(json.loads(found[0].value())), told_us=told_us)
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise RunFailedError(
            f'the last record of the topic "{name}" is no announcement of a load',
            where=topic,
            remedy="delete that topic, or use another --topic",
        ) from error


def running_load(broker: Broker, topic: str, now_us: int) -> Announcement | None:
    """Return the load that is filling a topic now, if there is one; one that is silent was killed."""
    found = last_announcement(broker, topic)
    return found if found is not None and found.is_running(now_us) else None


class Load:
    """Processes that send the events of an order, from their start to their end."""

    def __init__(self, order: LoadOrder, *, processes: int, clock: Clock) -> None:
        self.order, self.clock = order, clock
        self.broker = Broker(order.place)
        self.load_id = uuid.uuid4().hex[:12]
        self.announcement: Announcement | None = None
        self._told_s = 0.0
        self._lock = threading.Lock()
        self._listeners: list[threading.Thread] = []
        self.broker.make_topic(order.topic + SUFFIX, 1)
        self._producer = self.broker.producer(**{"enable.idempotence": True})
        self._documents: list[dict[str, Any]] = [{} for _ in range(processes)]
        self._workers = [self._start(index, processes) for index in range(processes)]

    def _start(self, index: int, processes: int) -> "subprocess.Popen[bytes]":
        # A session of its own keeps the terminal's Ctrl-C away: who started it decides when it ends.
        worker = subprocess.Popen(
            [sys.executable, "-P", "-m", MODULE],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            start_new_session=True,
        )
        self._tell(worker, {"order": self.order.document(), "index": index, "processes": processes})
        listener = threading.Thread(target=self._listen, args=(index, worker.stdout), daemon=True)
        listener.start()
        self._listeners.append(listener)
        return worker

    def _tell(self, worker: "subprocess.Popen[bytes]", document: Mapping[str, Any]) -> None:
        assert worker.stdin is not None
        with suppress(BrokenPipeError):
            worker.stdin.write(json.dumps(document).encode() + b"\n")
            worker.stdin.flush()

    def _listen(self, index: int, pipe: IO[bytes]) -> None:
        for line in pipe:
            with self._lock:
                self._documents[index] |= json.loads(line)

    def _state(self, index: int) -> dict[str, Any]:
        with self._lock:
            return dict(self._documents[index])

    def check(self) -> None:
        """Raise what ended a process before its time."""
        for index, worker in enumerate(self._workers):
            is_over = worker.poll() is not None
            if is_over:
                # What it said last may still be on its way.
                self._listeners[index].join(LISTEN_S)
            state = self._state(index)
            if error := state.get("error"):
                raise getattr(errors, error["kind"])(error["what"], where=error["where"], remedy=error["remedy"])
            if is_over and not state.get("done"):
                said = worker.stderr.read().decode(errors="replace").strip() if worker.stderr else ""
                last = said.splitlines()[-1][:300] if said else "it said nothing"
                raise RunFailedError(
                    f"the load generator ended by itself with code {worker.returncode}: {last}",
                    where=self.order.topic,
                    remedy="see whether memory ran out or somebody killed it",
                )

    def begin(self) -> int:
        """Wait until every process is ready, let the load begin, and return when: microseconds since the epoch."""
        self._wait_until_ready()
        base = self.broker.ends(self.order.topic, self.order.partitions)
        origin_us = round(self.clock.wall_s() * 1e6) + AHEAD_US
        self._tell_all({"origin_us": origin_us})
        self.announcement = Announcement(self.load_id, self.order, origin_us, base)
        self._announce(None)
        return origin_us

    def go_on_after(self, other: Announcement) -> None:
        """Send what comes after the last event of another load, as if it had not ended."""
        self._wait_until_ready()
        self._tell_all({"origin_us": other.origin_us})

    def _wait_until_ready(self) -> None:
        self._wait(lambda index: "ready" in self._state(index), READY_DEADLINE_S, "get ready")

    def _tell_all(self, document: Mapping[str, Any]) -> None:
        for worker in self._workers:
            self._tell(worker, document)

    def _wait(self, is_done: Any, deadline_s: float, what: str) -> None:
        end_s = self.clock.monotonic_s() + deadline_s
        while not all(is_done(index) for index in range(len(self._workers))):
            if self.clock.monotonic_s() > end_s:
                raise RunFailedError(
                    f"the load generator did not {what} within {deadline_s:.0f} s",
                    where=self.order.address,
                    remedy="check that the brokers answer",
                )
            self.clock.sleep(0.02)
            self.check()

    def delivery(self) -> Delivery:
        """Return what has been sent so far."""
        states = [self._state(index).get("delivery") for index in range(len(self._workers))]
        return Delivery.sum(Delivery.from_document(state) for state in states if state)

    @property
    def is_done(self) -> bool:
        """Whether all is sent."""
        return all(self._state(index).get("done") for index in range(len(self._workers)))

    def close_at(self, closed_us: int) -> None:
        """End the load early."""
        self._tell_all({"closed_us": closed_us})

    def finish(self, closed_us: int | None = None) -> Delivery:
        """Wait until all is sent, announce how it went, and return it."""
        self._wait(lambda index: bool(self._state(index).get("done")), END_DEADLINE_S, "send the last events")
        if self.announcement is not None:
            self._announce(closed_us if closed_us is not None else self.announcement.end_us)
        return self.delivery()

    def watch(self) -> None:
        """Raise what ended a process before its time; announce every few seconds how the load goes."""
        self.check()
        if self.announcement is not None and self.clock.monotonic_s() - self._told_s > TELL_S:
            self._announce(None)

    def _announce(self, closed_us: int | None) -> None:
        assert self.announcement is not None
        self._told_s = self.clock.monotonic_s()
        announce(self._producer, replace(self.announcement, closed_us=closed_us, delivery=self.delivery()))

    def end(self) -> None:
        """End all processes, whatever they do."""
        for worker in self._workers:
            if worker.poll() is None:
                worker.kill()
            worker.wait()
            for pipe in (worker.stdin, worker.stdout, worker.stderr):
                if pipe is not None:
                    with suppress(OSError):
                        pipe.close()
