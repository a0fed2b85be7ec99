"""Executors, without a cluster: clocks from round trips, and what was used between two surveys."""

import json

import pytest

from streamgauge.engine.spark.event_log import QueryTasks
from streamgauge.engine.spark.executors import Look, Survey, clock_offset, executor_use, look_here
from streamgauge.measure.records import LostExecutor


def look(executor: str, wall_s: float = 0.0, cpu_s: float = 0.0, memory_bytes: int = 0) -> Look:
    return Look(executor, "here", 1, wall_s, cpu_s, memory_bytes)


@pytest.mark.parametrize("ahead_s", [-0.08, 0.0, 0.2])
def test_an_offset_lies_in_the_interval_that_every_round_trip_leaves(ahead_s):
    # Round trips of 30 to 60 ms, in which the executor looks at its clock early, late and in the middle.
    trips = [(100.0, 0.05, 0.01), (200.0, 0.06, 0.05), (300.0, 0.03, 0.015)]
    found = clock_offset([(s, look("0", s + at_s + ahead_s), s + long_s) for s, long_s, at_s in trips])
    assert abs(found.offset_s - ahead_s) <= found.uncertainty_s + 1e-9
    assert found.uncertainty_s <= 0.0151


def test_more_round_trips_never_make_it_less_certain():
    trips = [(float(n), look("0", n + 0.01 + n % 3 * 0.01), n + 0.05) for n in range(6)]
    widths = [clock_offset(trips[: n + 1]).uncertainty_s for n in range(6)]
    assert widths == sorted(widths, reverse=True)


def test_what_an_executor_used_needs_both_surveys():
    before = Survey((look("0", cpu_s=2.0), look("1", cpu_s=3.0)), ())
    after = Survey((look("0", cpu_s=5.5, memory_bytes=7), look("2", cpu_s=1.0, memory_bytes=9)), ())
    used = {use.executor: (use.cpu_s, use.memory_bytes) for use in executor_use(before, after)}
    assert used == {"0": (3.5, 7), "1": (None, None), "2": (None, 9)}


def test_a_look_outside_of_a_cluster_is_at_the_driver():
    ((executor, host, pid, wall_s, cpu_s, memory_bytes),) = look_here([])
    assert executor == "driver"
    assert host
    assert min(pid, wall_s, memory_bytes) > 0
    assert cpu_s >= 0


def test_lost_executors_are_read_from_the_event_log(tmp_path):
    gone = {"Event": "SparkListenerExecutorRemoved", "Timestamp": 1_000, "Executor ID": "1"}
    lines = [
        {"Event": "SparkListenerLogStart", "Spark Version": "4.3.0"},
        {**gone, "Removed Reason": "worker lost\nat x"},
    ]
    log = tmp_path / "eventlog_v2_app-1" / "events_1_app-1"
    log.parent.mkdir()
    log.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    tasks = QueryTasks(tmp_path, query_run_id="1")
    assert list(tasks.all()) == []
    assert tasks.lost == [LostExecutor("1", 1_000_000, "worker lost")]
