"""What is said of a query that failed, and what is done with one that is interrupted."""

from types import SimpleNamespace

import pytest

from streamgauge.engine import query
from streamgauge.engine.query import query_failure, run_to_end


@pytest.fixture
def session(tmp_path):
    return SimpleNamespace(scratch=tmp_path, log=tmp_path / "spark.log")


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
