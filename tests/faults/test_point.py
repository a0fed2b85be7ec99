"""The point between sink and commit, without Spark: what a sink holds of a micro-batch, and when that is no proof."""

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from made_runs.samples import ORIGIN_US, batch
from streamgauge.arrivals import Constant
from streamgauge.clock import ManualClock
from streamgauge.faults import point as fault_point
from streamgauge.faults.driver import DriverPlace, InFlight
from streamgauge.faults.judgement import OfferedLoad, count_due, doubt_point, judge_doubles, judge_point
from streamgauge.faults.kinds import Strike
from streamgauge.faults.point import SETTLED_S, FileRows, TopicRows, Watch, WindowRows, rows_before
from streamgauge.running.sinks import counted
from streamgauge.running.sinks.counted import SINKS, RowWriter, SinkPlace, windows_updated_since, write_rows
from streamgauge.running.verify import Differences
from streamgauge.verdict import Verdict
from streamgauge.workloads import catalogue

SCHEDULE = Constant(100.0).schedule(20.0)
HIT = InFlight(7, 900, 1_000)
KILL = Strike(
    "driver",
    ORIGIN_US,
    ORIGIN_US,
    HIT,
    7,
    point="offset-commit",
    is_driver_dead=True,
    rows_in_sink=100,
    rows_due=100,
)


def place(folder: Path, attempt: int = 1) -> SinkPlace:
    return SinkPlace(folder, folder, attempt)


def logs(folder: Path, planned: int, committed: int) -> Path:
    """Spark's two logs, each micro-batch of 100 events."""
    for name, count in (("offsets", planned), ("commits", committed)):
        (folder / name).mkdir(parents=True, exist_ok=True)
        for batch_id in range(count):
            offset = json.dumps({"n": 100 * (batch_id + 1)})
            (folder / name / str(batch_id)).write_text(f"v1\n{{}}\n{offset}")
    return folder


def held(sink: str, folder: Path, batch_id: int, attempt: int = 1) -> int | None:
    return FileRows(SINKS[sink], place(folder, attempt)).rows(batch_id)


ROWS = pa.table({"line": ["a", "b", "c"]})


def test_files_by_batch_id_hold_a_micro_batch_when_they_hold_its_rows(tmp_path):
    assert held("foreach-batch", tmp_path, 1) == 0
    write_rows(tmp_path, "00000001", ROWS, 1)
    assert (held("foreach-batch", tmp_path, 1), held("foreach-batch", tmp_path, 2)) == (3, 0)


def test_files_of_an_earlier_attempt_are_no_proof_for_this_one(tmp_path):
    write_rows(tmp_path, "00000001-1", ROWS, 1)
    assert (held("append", tmp_path, 1, attempt=1), held("append", tmp_path, 1, attempt=2)) == (3, 0)
    (tmp_path / "00000001-1-0-aa.jsonl").write_text("{}\n")
    assert (held("foreach", tmp_path, 1, attempt=1), held("foreach", tmp_path, 1, attempt=2)) == (1, 0)


def test_an_empty_file_of_foreach_holds_nothing_and_a_torn_line_is_no_row(tmp_path):
    (tmp_path / "00000001-1-0-aa.jsonl").touch()
    assert held("foreach", tmp_path, 1) == 0
    (tmp_path / "00000001-1-1-bb.jsonl").write_text("{}\n{}\n{")
    assert held("foreach", tmp_path, 1) == 2


def test_of_sparks_file_sink_only_files_that_the_log_names_are_held(tmp_path):
    file = tmp_path / "part-0.parquet"
    pq.write_table(ROWS, file)
    assert held("parquet", tmp_path, 1) == 0
    (tmp_path / "_spark_metadata").mkdir()
    (tmp_path / "_spark_metadata" / "1").write_text("v1\n" + json.dumps({"path": file.as_uri(), "action": "add"}))
    assert (held("parquet", tmp_path, 1), held("parquet", tmp_path, 2)) == (3, 0)


class _Topic:
    """A topic whose end a test moves."""

    def __init__(self) -> None:
        self.end = 500

    def records(self) -> int:
        return self.end

    def close(self) -> None:
        self.end = -1


@pytest.fixture
def topic(monkeypatch):
    found = _Topic()
    monkeypatch.setattr(fault_point, "topic_reader", lambda _: found)
    return found


def test_a_topic_holds_what_came_beyond_the_rows_of_earlier_micro_batches(tmp_path, topic):
    rows = TopicRows(place(tmp_path), {3: 500}.get)
    assert rows.rows(3) == 0
    topic.end += 100
    assert rows.rows(3) == 100
    assert rows.rows(4) is None
    rows.close()
    assert topic.end == -1


def test_records_before_a_micro_batch_are_those_at_the_start_and_those_that_spark_reports_since():
    reported = [replace(batch(n, 1.0 * n, 100 * n, 100 * n + 100), output_rows=100) for n in range(5)]
    # Of a micro-batch that was doubled, the first time is in what was there when the new driver started.
    assert rows_before(3, 350, reported, 5) == 550
    assert rows_before(3, 350, reported, 3) == 350
    assert rows_before(0, 0, reported, 6) is None
    assert rows_before(0, 0, [*reported[:2], replace(reported[2], output_rows=None)], 3) is None


def test_redis_holds_the_counts_that_were_written_since_the_micro_batch_was_planned(tmp_path, monkeypatch):
    planned_ms = int((logs(tmp_path, planned=3, committed=2) / "offsets" / "2").stat().st_mtime * 1000)

    class _Redis:
        def windows(self) -> pa.Table:
            return pa.table({"updated_ms": [planned_ms - 1, planned_ms, planned_ms + 50]})

    monkeypatch.setattr(counted, "redis_sink", lambda _: _Redis())
    assert windows_updated_since(place(tmp_path), planned_ms) == 2
    assert WindowRows(place(tmp_path), tmp_path).rows(2) == 2


class _Scene:
    def __init__(self, folder: Path, sink: str, due: int | None) -> None:
        self.place, self.sink, self.clock, self.due = DriverPlace(folder), SINKS[sink], ManualClock(), due
        self.before: int | None = None
        self.place.sink.mkdir()
        logs(self.place.checkpoint, planned=2, committed=1)

    def sink_place(self) -> SinkPlace:
        return place(self.place.sink)

    def rows_before(self, _batch_id: int) -> int | None:
        return self.before

    def rows_due(self, _hit: InFlight) -> int | None:
        return self.due


def test_a_sink_that_shows_rows_one_by_one_must_hold_as_many_as_are_due(tmp_path):
    scene = _Scene(tmp_path, "foreach", due=3)
    watch = Watch(scene, "offset-commit")
    assert not watch.is_there()
    (scene.place.sink / "00000001-1-0-aa.jsonl").write_text("{}\n{}\n")
    assert not watch.is_there()
    (scene.place.sink / "00000001-1-1-bb.jsonl").write_text("{}\n")
    assert watch.is_there()
    (scene.place.checkpoint / "commits" / "1").touch()
    assert not watch.is_still_there()


def test_where_it_is_not_known_how_many_rows_are_due_their_number_must_have_settled(tmp_path):
    scene = _Scene(tmp_path, "foreach", due=None)
    watch = Watch(scene, "offset-commit")
    (scene.place.sink / "00000001-1-0-aa.jsonl").write_text("{}\n{}\n")
    assert not watch.is_there()
    scene.clock.sleep(SETTLED_S)
    (scene.place.sink / "00000001-1-1-bb.jsonl").write_text("{}\n")
    assert not watch.is_there()
    scene.clock.sleep(SETTLED_S)
    assert watch.is_there()


def test_a_topic_of_which_nothing_is_known_is_at_no_point(tmp_path, topic):
    scene = _Scene(tmp_path, "kafka", due=100)
    watches = {point: Watch(scene, point) for point in ("in-batch", "offset-commit")}
    reached = lambda: [point for point, watch in watches.items() if watch.is_there()]  # noqa: E731
    assert reached() == []
    scene.before = 500
    assert reached() == ["in-batch"]
    topic.end += 99
    assert reached() == []
    topic.end += 1
    assert reached() == ["offset-commit"]
    (scene.place.checkpoint / "commits" / "1").touch()
    assert reached() == []


def test_a_writer_waits_after_rows_only(tmp_path, monkeypatch):
    waited = []
    monkeypatch.setattr(counted, "linger_while_told", waited.append)
    writer = RowWriter(tmp_path, tmp_path, 1)
    writer.open(0, 4)
    writer.close(None)
    assert waited == []
    writer.open(1, 4)
    writer.process(type("Row", (), {"value": "{}"}))
    writer.close(None)
    assert waited == [tmp_path]
    assert held("foreach", tmp_path, 4) == 1


def due(name: str, mode: str, hit: InFlight = HIT, **parameters) -> int | None:
    workload = catalogue()[name]
    chosen = workload.parameters.model_validate(parameters)
    return count_due(hit, OfferedLoad(workload, chosen, SCHEDULE, 1, ORIGIN_US, mode))


def test_rows_that_are_due_follow_from_the_events_where_there_is_no_state():
    assert due("hibench-identity", "append") == 100
    # About one event in three is a view, and each of 100 campaigns and windows gives one row at most.
    assert 0 < (due("ysb", "update") or 0) < 60
    assert due("ysb", "append", output="append") is None
    assert due("hibench-wordcount", "update") is None


def test_due_rows_of_parts_add_up_to_those_of_the_whole():
    parts = [due("nexmark-q2", "append", InFlight(0, first, first + 500)) for first in range(0, 2_000, 500)]
    assert sum(filter(None, parts)) == due("nexmark-q2", "append", InFlight(0, 0, 2_000))
    assert np.sum([part is None for part in parts]) == 0


@pytest.mark.parametrize(
    ("sink", "changes", "rows_repeated", "said"),
    [
        ("foreach", {"rows_in_sink": None}, 100, "0 of 100 rows"),
        ("foreach", {"rows_in_sink": 0}, 100, "0 of 100 rows"),
        ("foreach", {"rows_in_sink": 60}, None, "60 of 100 rows"),
        ("kafka", {"rows_in_sink": 60, "rows_due": None}, 100, "60 of 100 rows"),
        ("kafka", {"rows_due": None}, None, "is not known"),
        ("foreach-batch", {"rows_in_sink": 0, "rows_due": None}, None, "0 rows"),
        ("foreach-batch", {"batches_committed": 8}, None, "in the commit log"),
        ("foreach-batch", {"in_flight": None}, None, "in flight"),
        ("kafka", {"is_driver_dead": False}, None, "lived on"),
    ],
)
def test_f5_the_point_is_not_proven_without_all_rows_in_the_sink_and_none_in_the_log(
    sink, changes, rows_repeated, said
):
    strike = replace(KILL, **changes)
    doubt = doubt_point(strike, SINKS[sink], rows_repeated)
    assert said in doubt
    judged = judge_point(replace(strike, point_doubt=doubt))
    assert (judged.verdict, said in judged.reason) == (Verdict.UNKNOWN, True)


@pytest.mark.parametrize(
    ("sink", "changes", "rows_repeated"),
    [("kafka", {}, None), ("foreach", {"rows_due": None}, 100), ("parquet", {"rows_due": None}, None)],
)
def test_the_point_is_proven_by_all_rows_in_the_sink_and_none_in_the_log(sink, changes, rows_repeated):
    strike = replace(KILL, **changes)
    assert doubt_point(strike, SINKS[sink], rows_repeated) is None
    judged = judge_point(strike)
    assert judged.verdict is Verdict.PASS
    assert "held all 100 rows of micro-batch 7, which the commit log does not have" in judged.reason


def test_other_points_are_not_judged_by_what_the_sink_holds():
    assert judge_point(replace(KILL, point="in-batch")) is None


def test_a_sink_of_at_least_once_without_doubles_means_that_the_point_was_not_hit():
    none, some = Differences(700, 700, 0, 0, 0, {}), Differences(700, 800, 0, 100, 100, {})
    doubted = judge_doubles(none, (KILL,), "at-least-once", None)
    assert (doubted.verdict, "was not hit" in doubted.reason) == (Verdict.UNKNOWN, True)
    assert judge_doubles(some, (KILL,), "at-least-once", None) is None
    assert judge_doubles(none, (KILL,), "exactly-once", None) is None
    assert judge_doubles(none, (KILL,), "at-least-once", "later rows replace earlier ones") is None
    assert judge_doubles(none, (replace(KILL, point="after-batch"),), "at-least-once", None) is None
