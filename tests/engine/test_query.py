"""What is said of a query that failed, and what is done with one that is interrupted."""

from types import SimpleNamespace

import pytest

from streamgauge.clock import ManualClock
from streamgauge.engine.spark import query
from streamgauge.engine.spark.listener import ProgressListener
from streamgauge.engine.spark.query import STOP_DEADLINE_S, Query, query_failure, run_to_end
from streamgauge.engine.spark.watchdog import LOOK_EVERY_S, Watchdog
from streamgauge.errors import RunFailedError


@pytest.fixture
def session(tmp_path):
    log = tmp_path / "spark.log"
    watchdog = Watchdog(poll=lambda: None, answers=lambda: True, kill=lambda: None, clock=ManualClock(), log=log)
    return SimpleNamespace(scratch=tmp_path, log=log, watchdog=watchdog)


def test_a_failure_is_told_by_its_telling_line(session):
    text = "Query terminated\njava.lang.IllegalStateException: no such table\n\tat a.b.c"
    error = query_failure(text, session)
    assert error.what == "the streaming query failed: java.lang.IllegalStateException: no such table"
    assert error.where == str(session.log)


def test_a_full_disk_is_told_by_what_spark_says(session):
    error = query_failure("Py4JJavaError: x\nCaused by: java.io.IOException: No space left on device\n", session)
    assert "the disk is full" in error.what
    assert error.where == str(session.scratch)
    assert "--runs" in error.remedy


def test_a_full_disk_is_told_by_what_is_left_of_it(session, monkeypatch):
    monkeypatch.setattr(query.shutil, "disk_usage", lambda _: SimpleNamespace(free=8192))
    assert "the disk is full" in query_failure("An error occurred while calling o686.getResult.", session).what


class BrokenOff:
    """A query whose wait is interrupted, in a Java that answers nothing after that."""

    def __getattr__(self, _name):
        return lambda *_args, **_options: self

    def awaitTermination(self, _timeout_s):  # noqa: N802
        raise KeyboardInterrupt

    def stop(self):
        raise ConnectionError("Answer from Java side is empty")


def test_an_interrupted_wait_for_a_bounded_stream_asks_java_nothing_more(session, tmp_path):
    df = SimpleNamespace(writeStream=BrokenOff())
    with pytest.raises(KeyboardInterrupt):
        run_to_end(session, df, lambda *_: None, output_mode="append", checkpoint=tmp_path)


def running(session, stop=lambda: None):
    def remove():
        pass

    return Query(session, SimpleNamespace(runId="1", stop=stop), ProgressListener(print), remove, session.scratch)


def test_whoever_waits_for_a_query_is_told_at_once_that_java_died(session):
    session.watchdog.poll = lambda: -9

    def condition():
        session.watchdog.look()
        return False

    with pytest.raises(RunFailedError, match="killed by signal 9"):
        running(session).wait(condition, deadline_s=60.0, what="the first micro-batch")
    assert session.watchdog.clock.monotonic_s() == 0.0


def test_a_stop_that_does_not_end_is_ended_by_killing_java(session):
    watchdog, kills = session.watchdog, []
    watchdog.kill = lambda: kills.append(watchdog.clock.monotonic_s())

    def stop():
        while not kills:
            watchdog.clock.sleep(LOOK_EVERY_S)
            watchdog.look()
        raise ConnectionResetError

    running(session, stop).stop()
    assert kills == [STOP_DEADLINE_S]
    assert "the stop of the query" in str(watchdog.failure)
