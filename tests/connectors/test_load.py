"""The load generator sends every event once, at its time, to its partition, and counts what comes late."""

import time
from dataclasses import replace

import pytest

from streamgauge.clock import Clock, ManualClock
from streamgauge.connectors.kafka import worker
from streamgauge.connectors.kafka.client import Broker
from streamgauge.connectors.kafka.delivery import Delivery, LoadOrder
from streamgauge.connectors.kafka.load import Announcement
from streamgauge.connectors.kafka.options import KafkaPlace
from streamgauge.connectors.kafka.records import KEY
from streamgauge.connectors.kafka.worker import Sender
from streamgauge.errors import EnvironmentNotReadyError

ORDER = LoadOrder("h:1", "t", 3, "ysb", "ysb", {}, 1, 20_000.0, "constant", 0.1)


class Producer:
    """Takes records; every `full_every`-th time its buffer is full."""

    def __init__(self, *, full_every: int = 0, left: int = 0) -> None:
        self.records: list[tuple[int, int, int]] = []
        self.calls, self.full_every, self.left = 0, full_every, left

    def produce(self, _topic, _value, key, partition, _callback, _on_delivery, timestamp):
        self.calls += 1
        if self.full_every and self.calls % self.full_every == 0:
            raise BufferError
        n, time_us = KEY.unpack(key)
        assert timestamp == time_us // 1000
        self.records.append((n, partition, time_us))

    def poll(self, _timeout):
        return 0

    def flush(self, _timeout):
        return self.left


@pytest.fixture
def sender(monkeypatch):
    def make(
        producer: Producer,
        *,
        index: int = 0,
        processes: int = 1,
        order: LoadOrder = ORDER,
        clock: Clock | None = None,
    ) -> Sender:
        class FakeBroker:
            def __init__(self, place: KafkaPlace) -> None:
                pass

            def producer(self, **_: object) -> Producer:
                return producer

        monkeypatch.setattr(worker, "Broker", FakeBroker)
        return Sender(order, index, processes, clock)

    return make


def now_us() -> int:
    return time.time_ns() // 1000


def quiet(_: Delivery) -> None:
    pass


def test_every_event_is_sent_once_in_order_to_the_partition_of_its_number(sender):
    producer = Producer()
    origin_us = now_us()
    sender(producer).send(origin_us, quiet)
    assert [n for n, _, _ in producer.records] == list(range(2_000))
    assert all(partition == n % 3 for n, partition, _ in producer.records)
    assert [time_us - origin_us for _, _, time_us in producer.records[:3]] == [0, 50, 100]


def test_no_event_is_sent_before_its_time(sender):
    producer = Producer()
    sent_us = []
    original = producer.produce
    producer.produce = lambda *record: (sent_us.append(now_us()), original(*record))
    sender(producer).send(now_us(), quiet)
    assert all(sent >= due for sent, (_, _, due) in zip(sent_us, producer.records, strict=True))


@pytest.mark.parametrize("step_s", [-3600.0, 3600.0])
def test_t3_a_step_of_the_wall_clock_neither_halts_the_load_nor_hurries_it(sender, step_s):
    clock, producer = ManualClock(wall_offset_s=1e9), Producer()
    original = producer.produce

    def produce(*record):
        if len(producer.records) == 5_000:
            clock.wall_offset_s = 1e9 + step_s
        original(*record)

    producer.produce = produce
    order = replace(ORDER, rate_per_s=1_000.0, load_s=10.0)
    sender(producer, order=order, clock=clock).send(round(clock.wall_s() * 1e6), quiet)
    assert [n for n, _, _ in producer.records] == list(range(10_000))
    assert clock.monotonic_s() == pytest.approx(10.0, abs=0.6)


def test_several_processes_share_the_partitions(sender):
    parts = []
    for index in range(2):
        producer = Producer()
        sender(producer, index=index, processes=2).send(now_us() - 200_000, quiet)
        parts.append(producer.records)
    assert {partition for _, partition, _ in parts[0]} == {0, 2}
    assert {partition for _, partition, _ in parts[1]} == {1}
    assert sorted(n for part in parts for n, _, _ in part) == list(range(2_000))


def test_a_full_buffer_loses_nothing(sender):
    producer = Producer(full_every=7)
    sender(producer).send(now_us(), quiet)
    assert [n for n, _, _ in producer.records] == list(range(2_000))


def test_a_generator_that_is_behind_counts_how_late_each_event_was(sender):
    made = sender(Producer())
    made.send(now_us() - 5_000_000, quiet)
    found = made.tally.delivery()
    assert (found.sent, found.late, found.is_behind) == (2_000, 2_000, True)
    assert sum(found.late_in.values()) == found.late_since(0) == 2_000
    assert 4.9 < (found.mean_late_s or 0) <= found.max_late_s


def test_records_that_no_broker_takes_are_counted(sender):
    made = sender(Producer(left=5))
    made.send(now_us(), quiet)
    assert made.tally.delivery().failed == 5
    assert made.tally.delivery().is_behind


def test_a_load_that_is_closed_sends_no_later_event(sender):
    producer = Producer()
    made = sender(producer, order=replace(ORDER, load_s=60.0))
    origin_us = now_us()
    made.closed_us = origin_us + 30_000
    made.send(origin_us, quiet)
    assert [n for n, _, _ in producer.records] == list(range(601))


def test_few_late_events_are_forgiven_and_many_are_not():
    assert not Delivery(sent=1000, late=10).is_behind
    assert Delivery(sent=1000, late=11).is_behind
    assert Delivery(sent=1000, failed=1).is_behind


def test_the_numbers_of_several_processes_add_up():
    parts = [Delivery(10, 1, 0.5, 1.0, late_in={3: 1}), Delivery(20, 2, 0.2, 3.0, 1, "gone", {3: 1, 4: 1})]
    assert Delivery.sum(parts) == Delivery(30, 3, 0.5, 4.0, 1, "gone", {3: 2, 4: 1})
    assert Delivery.from_document(parts[1].document()) == parts[1]


def test_an_announcement_reads_back_and_holds_no_secret():
    order = replace(ORDER, options={"sasl.password": "env:PASSWORD"})
    told = Announcement("a", order, 5, {0: 3, 1: 4}, 9, Delivery(1))
    assert Announcement.from_document(told.document()) == told
    assert told.end_us == 5 + 100_000


def test_a_load_that_is_silent_or_has_ended_or_is_over_does_not_run():
    told = Announcement("a", replace(ORDER, load_s=100.0), 0, {0: 0}, told_us=50_000_000)
    assert told.is_running(60_000_000)
    assert not told.is_running(75_000_000), "somebody killed it"
    assert not replace(told, closed_us=55_000_000).is_running(60_000_000)
    assert not replace(told, told_us=101_000_000).is_running(101_000_000)


def test_a_broker_that_is_not_there_is_told_within_the_deadline():
    start_s = time.monotonic()
    with pytest.raises(EnvironmentNotReadyError, match="does not answer within 1 s") as caught:
        Broker(KafkaPlace("127.0.0.1:1"), deadline_s=1.0).topics()
    assert caught.value.where == "127.0.0.1:1"
    assert time.monotonic() - start_s < 10
