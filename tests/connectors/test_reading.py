"""Reading a topic apart from Spark: records that never come end the wait."""

from types import SimpleNamespace

import pytest

from streamgauge.clock import ManualClock
from streamgauge.connectors.kafka.reading import IDLE_DEADLINE_S, read_records
from streamgauge.errors import RunFailedError


class Consumer:
    """Hands out given lots of records, one per call, each call a second long."""

    def __init__(self, clock: ManualClock, lots: list[list[int]]) -> None:
        self.clock, self.lots, self.is_closed = clock, lots, False

    def assign(self, places: list[object]) -> None:
        pass

    def consume(self, _: int, timeout: float) -> list[SimpleNamespace]:
        self.clock.sleep(timeout)
        return [record(offset) for offset in (self.lots.pop(0) if self.lots else [])]

    def close(self) -> None:
        self.is_closed = True


def record(offset: int) -> SimpleNamespace:
    return SimpleNamespace(
        key=lambda: b"k",
        value=lambda: str(offset).encode(),
        offset=lambda: offset,
        partition=lambda: 0,
        error=lambda: None,
    )


def broker(lots: list[list[int]]) -> tuple[SimpleNamespace, Consumer]:
    clock = ManualClock()
    consumer = Consumer(clock, lots)
    return SimpleNamespace(clock=clock, consumer=lambda: consumer), consumer


def test_records_are_read_up_to_the_end_and_no_further():
    one, consumer = broker([[5, 6], [], [7, 8]])
    values = [value for _, lot in read_records(one, "t", {0: 5}, {0: 8}) for value in lot]
    assert values == [b"5", b"6", b"7"]
    assert consumer.is_closed


def test_records_that_do_not_come_end_the_wait_and_a_pause_between_others_does_not():
    pause = [[]] * int(IDLE_DEADLINE_S - 1)
    one, _ = broker([[5], *pause, [6], *pause, [7]])
    assert len(list(read_records(one, "t", {0: 5}, {0: 8}))) == 3
    one, consumer = broker([[5, 6]])
    with pytest.raises(RunFailedError, match="t: 1 records of the topic cannot be read within 30 s"):
        list(read_records(one, "t", {0: 5}, {0: 8}))
    assert consumer.clock.monotonic_s() == 1 + IDLE_DEADLINE_S + 1
    assert consumer.is_closed
