import signal
import threading

import pytest

from streamgauge.running.interrupts import GRACE_S, Interrupts, counted_interrupts


def test_before_the_load_the_first_request_stops_at_once():
    interrupts = Interrupts(arm=lambda _: None)
    with pytest.raises(KeyboardInterrupt):
        interrupts.note(signal.SIGINT, None)


def test_k6_under_load_two_requests_are_counted_and_the_third_stops():
    done = []
    interrupts = Interrupts(hurry=lambda: done.append("hurry"), arm=done.append)
    interrupts.allow_drain()
    interrupts.note(signal.SIGINT, None)
    assert done == []
    interrupts.note(signal.SIGTERM, None)
    assert interrupts.count == 2
    # What is left to do gets a few seconds, whether it blocks or not.
    assert done == ["hurry", GRACE_S]
    with pytest.raises(KeyboardInterrupt):
        interrupts.expire(signal.SIGALRM, None)
    with pytest.raises(KeyboardInterrupt):
        interrupts.note(signal.SIGINT, None)
    assert done[2:] == [0.0]


def test_handlers_are_put_in_place_and_taken_away_again():
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGALRM)}
    with counted_interrupts() as interrupts:
        interrupts.allow_drain()
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
        assert interrupts.count == 2
        assert 0 < signal.getitimer(signal.ITIMER_REAL)[0] <= GRACE_S
    assert signal.getitimer(signal.ITIMER_REAL)[0] == 0
    assert {number: signal.getsignal(number) for number in before} == before


def test_another_thread_than_the_main_one_leaves_signals_alone():
    before, found = signal.getsignal(signal.SIGINT), []

    def look():
        with counted_interrupts():
            found.append(signal.getsignal(signal.SIGINT))

    thread = threading.Thread(target=look)
    thread.start()
    thread.join(10)
    assert found == [before]


def test_a_wait_that_blocks_is_aborted_when_the_grace_is_over(monkeypatch):
    monkeypatch.setattr("streamgauge.running.interrupts.GRACE_S", 0.01)
    with counted_interrupts() as interrupts:
        interrupts.allow_drain()
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
            threading.Event().wait(60)
            pytest.fail("nothing has ended the wait")
