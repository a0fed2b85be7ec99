"""A process that sends the events of a load, open loop: each at its time, or as soon after it as it can.

`python -m streamgauge.connectors.kafka.worker` reads its order as one line of JSON from standard input, prepares, and
says that it is ready. A second line says when the load begins, a further one that it ends early. What it has sent is
reported on standard output, a line of JSON at a time. When the input closes, whoever gave the order is gone, and the
process ends too.
"""

import gc
import json
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import IO, Any

import numpy as np

from streamgauge.arrivals import Schedule
from streamgauge.clock import BoundedClock, Clock, SystemClock
from streamgauge.connectors.kafka.client import Broker
from streamgauge.connectors.kafka.delivery import LATE_S, Delivery, LoadOrder
from streamgauge.connectors.kafka.records import Render, keys, of_stream, renderer
from streamgauge.errors import EXIT_INTERRUPTED, StreamgaugeError

SLICE_S = 0.02
SLICE_EVENTS = 5_000
TICK_S = 0.002
REPORT_S = 0.5
FLUSH_DEADLINE_S = 30.0
PRODUCER = {
    "linger.ms": 5,
    "batch.num.messages": 20_000,
    "batch.size": 1_000_000,
    "queue.buffering.max.messages": 2_000_000,
    "queue.buffering.max.kbytes": 1_048_576,
    # Each event once and in order, so that its place in the partition is its number.
    "enable.idempotence": True,
    "delivery.report.only.error": True,
}


@dataclass
class Tally:
    """What has been sent so far."""

    sent: int = 0
    late: int = 0
    max_late_s: float = 0.0
    sum_late_s: float = 0.0
    failed: int = 0
    failure: str | None = None
    late_in: Counter[int] = field(default_factory=Counter)

    def add(self, due_us: "np.ndarray[Any, np.dtype[np.int64]]", now_us: int) -> None:
        """Count events that the client got `now_us` after the start of the load, by when they were due."""
        late_s = np.maximum(now_us - due_us, 0) / 1e6
        is_late = late_s > LATE_S
        self.sent += len(late_s)
        if is_late.any():
            self.late += int(np.count_nonzero(is_late))
            self.late_in.update((due_us[is_late] // 1_000_000).tolist())
        self.max_late_s = max(self.max_late_s, float(late_s.max(initial=0.0)))
        self.sum_late_s += float(late_s.sum())

    def failed_with(self, error: Any, _message: Any) -> None:
        """Count a record that the brokers have not taken."""
        self.failed += 1
        self.failure = self.failure or str(error.str())

    def delivery(self) -> Delivery:
        """Return the numbers."""
        return Delivery(**vars(self) | {"late_in": dict(self.late_in)})


class Sender:
    """Sends the events of some partitions of a load: those whose number modulo `processes` is `index`."""

    def __init__(self, order: LoadOrder, index: int, processes: int, clock: Clock | None = None) -> None:
        self.clock: Clock = clock or SystemClock()
        self.order, self.index, self.processes = order, index, processes
        self.schedule: Schedule = order.schedule()
        stream = order.events()
        self.render: Render = renderer(
            stream, of_stream(stream, order.parameters), seed=order.seed, format=order.format
        )
        self.tally = Tally()
        self.producer = Broker(order.place).producer(**PRODUCER, on_delivery=self.tally.failed_with)
        self.closed_us: int | None = None

    def warm_up(self) -> None:
        """Make some events, so that tables are there and code is loaded, and connect."""
        self.render(self.schedule.arrivals(np.arange(min(1000, self.schedule.total)), load_us=0))
        self.producer.list_topics(self.order.topic, timeout=10)

    def send(self, origin_us: int, report: Callable[[Delivery], None]) -> None:
        """Send all events, and return when the brokers have them."""
        # From here on: a step of the wall clock neither halts the load nor hurries it.
        self.clock = BoundedClock(self.clock)
        reported_s = self.clock.monotonic_s()
        size = max(1, min(SLICE_EVENTS, round(self.order.rate_per_s * SLICE_S)))
        first = self.order.first
        while first < self.schedule.total and not self._is_closed(first, origin_us):
            last = min(first + size, self.schedule.total)
            self._send_slice(first, last, origin_us)
            first = last
            if self.clock.monotonic_s() - reported_s > REPORT_S:
                reported_s = self.clock.monotonic_s()
                report(self.tally.delivery())
        left = self.producer.flush(FLUSH_DEADLINE_S)
        if left:
            self.tally.failed += left
            self.tally.failure = self.tally.failure or f"the brokers took too long for the last {left} records"

    def _is_closed(self, first: int, origin_us: int) -> bool:
        due_us = origin_us + int(self.schedule.times_us(first))
        return self.closed_us is not None and due_us > self.closed_us

    def _send_slice(self, first: int, last: int, origin_us: int) -> None:
        numbers = np.arange(first, last)
        partitions = numbers % self.order.partitions
        if self.processes > 1:
            ours = partitions % self.processes == self.index
            numbers, partitions = numbers[ours], partitions[ours]
        # What is far away need not be made yet.
        self._wait_for(origin_us + int(self.schedule.times_us(first)) - round(SLICE_S * 2e6))
        arrivals = self.schedule.arrivals(numbers, load_us=origin_us)
        messages = list(
            zip(
                self.render(arrivals),
                keys(arrivals),
                partitions.tolist(),
                (arrivals.time_us // 1000).tolist(),
                strict=True,
            )
        )
        sent = 0
        while sent < len(messages):
            self._wait_for(int(arrivals.time_us[sent]))
            due = int(np.searchsorted(arrivals.time_us, self._now_us(), side="right"))
            if self.closed_us is not None:
                due = min(due, int(np.searchsorted(arrivals.time_us, self.closed_us, side="right")))
                if due <= sent:
                    return
            self._produce(messages[sent:due])
            self.tally.add(arrivals.time_us[sent:due] - origin_us, self._now_us() - origin_us)
            sent = due
            # A few at a time: one by one, sending would keep a core busy at any rate.
            self._wait_for(min(self._now_us() + round(TICK_S * 1e6), int(arrivals.time_us[-1])))

    def _wait_for(self, due_us: int) -> None:
        while (wait_s := (due_us - self._now_us()) / 1e6) > 0:
            if self.closed_us is not None and due_us > self.closed_us:
                return
            self.producer.poll(0)
            self.clock.sleep(min(0.05, max(wait_s, TICK_S)))

    def _now_us(self) -> int:
        return int(self.clock.wall_s() * 1e6)

    def _produce(self, messages: "list[tuple[bytes, bytes, int, int]]") -> None:
        """Hand records to the client; where its buffer is full, wait: the events are late then, and counted so."""
        produce, topic = self.producer.produce, self.order.topic
        for value, key, partition, time_ms in messages:
            while True:
                try:
                    # The callback has two names, and so two places.
                    produce(topic, value, key, partition, None, None, time_ms)
                    break
                except BufferError:
                    self.producer.poll(0.01)
        self.producer.poll(0)


def _say(document: dict[str, Any]) -> None:
    sys.stdout.write(json.dumps(document) + "\n")
    sys.stdout.flush()


def _listen(pipe: IO[bytes], sender: Sender) -> None:
    while line := pipe.readline():
        sender.closed_us = int(json.loads(line)["closed_us"])
    os._exit(EXIT_INTERRUPTED)


def main() -> None:
    """Carry out the order that stands on standard input."""
    pipe = open(0, "rb", buffering=0, closefd=False)  # noqa: SIM115
    asked = json.loads(pipe.readline())
    try:
        sender = Sender(LoadOrder(**asked["order"]), asked["index"], asked["processes"])
        sender.warm_up()
    except StreamgaugeError as error:
        document = {"kind": type(error).__name__, "what": error.what, "where": error.where, "remedy": error.remedy}
        _say({"error": document})
        sys.exit(error.exit_code)
    gc.freeze()
    gc.disable()
    _say({"ready": True})
    begin = pipe.readline()
    if not begin:
        os._exit(EXIT_INTERRUPTED)
    threading.Thread(target=_listen, args=(pipe, sender), daemon=True).start()
    sender.send(int(json.loads(begin)["origin_us"]), lambda delivery: _say({"delivery": delivery.document()}))
    _say({"done": True, "delivery": sender.tally.delivery().document()})
    sys.stdout.flush()
    # The thread that listens holds on to the input.
    os._exit(0)


if __name__ == "__main__":
    main()
