import signal
import threading

import pytest

from streamgauge.experiment.interrupts import Interrupts, counted_interrupts


def test_before_the_load_the_first_request_stops_at_once():
    interrupts = Interrupts()
    with pytest.raises(KeyboardInterrupt):
        interrupts.note(signal.SIGINT, None)


def test_k6_under_load_two_requests_are_counted_and_the_third_stops():
    interrupts = Interrupts()
    interrupts.be_patient()
    interrupts.note(signal.SIGINT, None)
    interrupts.note(signal.SIGTERM, None)
    assert interrupts.count == 2
    with pytest.raises(KeyboardInterrupt):
        interrupts.note(signal.SIGINT, None)


def test_handlers_are_put_in_place_and_taken_away_again():
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    with counted_interrupts() as interrupts:
        interrupts.be_patient()
        signal.raise_signal(signal.SIGTERM)
        signal.raise_signal(signal.SIGINT)
        assert interrupts.count == 2
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
