"""What is said of a query that failed."""

from types import SimpleNamespace

import pytest

from streamgauge.engine import query
from streamgauge.engine.query import query_failure


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
