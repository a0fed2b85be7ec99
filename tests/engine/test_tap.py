"""Reading a log that grows, without Spark: files appear as Spark writes them."""

import pytest

from made_runs.event_logs import head, text
from streamgauge.engine.spark.log_files import GrowingLog
from streamgauge.errors import UsageError


@pytest.fixture
def growing(tmp_path):
    """A log, and the folder in which it grows."""
    folder = tmp_path / "eventlog_v2_local-1"
    folder.mkdir()
    return GrowingLog(tmp_path), folder


def append(path, data):
    with path.open("ab") as file:
        file.write(data)


def test_before_the_first_event_there_is_nothing(growing):
    tap, folder = growing
    assert list(tap.lines()) == []
    (folder / "appstatus_local-1.inprogress").touch()
    assert list(tap.lines()) == []


def test_every_line_comes_once_and_whole(growing):
    tap, folder = growing
    data = text(head())
    found = []
    for start in range(0, len(data), 97):
        append(folder / "events_1_local-1", data[start : start + 97])
        found += tap.lines()
    assert found == data.splitlines()
    assert list(tap.lines()) == []


def test_rolled_files_are_read_in_order_and_deleted_when_the_next_one_has_begun(growing):
    tap, folder = growing
    first, second = text(head()[:2]), text(head()[2:])
    append(folder / "events_1_local-1", first)
    assert list(tap.lines()) == first.splitlines()
    append(folder / "events_1_local-1", second)
    for number in range(2, 12):
        append(folder / f"events_{number}_local-1", first)
    assert list(tap.lines()) == second.splitlines() + 10 * first.splitlines()
    assert [path.name for path in folder.iterdir()] == ["events_11_local-1"]


def test_the_file_that_spark_writes_to_can_be_left_for_later(growing):
    log, folder = growing
    append(folder / "events_1_local-1", text(head()))
    assert list(log.lines(only_closed=True)) == []
    append(folder / "events_2_local-1", text(head()[:1]))
    assert list(log.lines(only_closed=True)) == text(head()).splitlines()
    assert list(log.lines(only_closed=True)) == []
    assert list(log.lines()) == text(head()[:1]).splitlines()


@pytest.mark.parametrize("session", [None, "spark", object()])
def test_what_is_no_session_is_refused(session):
    from streamgauge import attach

    with pytest.raises(UsageError, match="no session that can be watched") as refused:
        attach(session)
    assert "runs import" in refused.value.remedy
