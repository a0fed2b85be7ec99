import json

import pytest

from streamgauge.engine.spark.event_log import QueryTasks
from streamgauge.measure.records import MissingTasks, TaskRecord
from streamgauge.store.spool import tables_of

QUERY = "5f1d0a9e-0000-0000-0000-000000000001"
OTHER = "5f1d0a9e-0000-0000-0000-000000000002"


def job(batch_id, stages, *, query=QUERY):
    properties = {"spark.jobGroup.id": query, "streaming.sql.batchId": str(batch_id)}
    infos = [{"Stage ID": stage, "Number of Tasks": tasks} for stage, tasks in stages.items()]
    return {"Event": "SparkListenerJobStart", "Job ID": batch_id, "Stage Infos": infos, "Properties": properties}


def task(stage, partition, *, task_id=0, attempt=0, stage_attempt=0, failed=False, metrics=True):
    document = {
        "Event": "SparkListenerTaskEnd",
        "Stage ID": stage,
        "Stage Attempt ID": stage_attempt,
        "Task Info": {
            "Task ID": task_id,
            "Index": partition,
            "Attempt": attempt,
            "Partition ID": partition,
            "Launch Time": 1_700_000_000_000,
            "Finish Time": 1_700_000_000_250,
            "Executor ID": "driver",
            "Host": "localhost",
            "Failed": failed,
            "Killed": False,
        },
    }
    if metrics:
        document["Task Metrics"] = {
            "Executor Run Time": 200,
            "Executor CPU Time": 150_000_000,
            "Executor Deserialize Time": 30,
            "JVM GC Time": 5,
            "Peak Execution Memory": 4096,
            "Memory Bytes Spilled": 7,
            "Input Metrics": {"Records Read": 11},
            "Shuffle Read Metrics": {
                "Total Records Read": 12,
                "Local Bytes Read": 100,
                "Remote Bytes Read": 23,
                "Fetch Wait Time": 4,
            },
            "Shuffle Write Metrics": {"Shuffle Records Written": 13, "Shuffle Bytes Written": 456},
        }
    return document


def read_tasks(path, *, query_run_id):
    return list(QueryTasks(path.parent.parent, query_run_id=query_run_id).all())


def missing_tasks(tasks):
    missing = MissingTasks()
    for one in tasks:
        missing.take(one)
    return missing.count()


@pytest.fixture
def log(tmp_path):
    def write(*documents, end=""):
        path = tmp_path / "eventlog_v2_app-1" / "events_1_app-1"
        path.parent.mkdir()
        lines = [json.dumps(document, separators=(",", ":")) + "\n" for document in documents]
        path.write_text("".join(lines) + end)
        return path

    return write


def test_tasks_belong_to_the_micro_batch_of_their_job(log):
    path = log(
        job(0, {0: 1}), task(0, 0, task_id=1), job(1, {1: 1, 2: 1}), task(1, 0, task_id=2), task(2, 0, task_id=3)
    )
    assert [(t.task_id, t.batch_id, t.stage_id) for t in read_tasks(path, query_run_id=QUERY)] == [
        (1, 0, 0),
        (2, 1, 1),
        (3, 1, 2),
    ]


def test_metrics_are_in_seconds_bytes_and_microseconds(log):
    (found,) = read_tasks(log(job(3, {0: 1}), task(0, 0)), query_run_id=QUERY)
    assert (found.run_s, found.cpu_s, found.deserialize_s, found.gc_s) == (0.2, 0.15, 0.03, 0.005)
    assert (found.launched_us, found.finished_us) == (1_700_000_000_000_000, 1_700_000_000_250_000)
    assert (found.input_rows, found.shuffle_read_rows, found.shuffle_write_rows) == (11, 12, 13)
    assert (found.shuffle_read_bytes, found.shuffle_write_bytes, found.shuffle_wait_s) == (123, 456, 0.004)
    assert (found.spilled_bytes, found.peak_memory_bytes, found.is_ok) == (7, 4096, True)


def test_the_jobs_of_other_queries_and_of_no_query_are_left_out(log):
    plain = {"Event": "SparkListenerJobStart", "Job ID": 9, "Stage Infos": [{"Stage ID": 5, "Number of Tasks": 1}]}
    path = log(job(0, {0: 1}, query=OTHER), task(0, 0), plain, task(5, 0), job(0, {6: 1}), task(6, 0, task_id=7))
    assert [t.task_id for t in read_tasks(path, query_run_id=QUERY)] == [7]


def test_other_events_are_skipped_without_being_parsed(log):
    path = log({"Event": "SparkListenerLogStart"}, job(0, {0: 1}), task(0, 0))
    path.write_text('{"Event":"SparkListenerEnvironmentUpdate", this is no JSON\n' + path.read_text())
    assert len(read_tasks(path, query_run_id=QUERY)) == 1


@pytest.mark.parametrize("end", ['{"Event":"SparkListenerTaskEnd","Stage ID":0,"Sta', '{"Event":"Spa', "\n"])
def test_a_torn_last_line_is_left_out(log, end):
    assert len(read_tasks(log(job(0, {0: 2}), task(0, 0), end=end), query_run_id=QUERY)) == 1


def test_a_log_torn_inside_a_character_is_read_up_to_there(log):
    path = log(job(0, {0: 2}), task(0, 0))
    path.write_bytes(path.read_bytes() + '{"Event":"SparkListenerTaskEnd","Host":"ü'.encode()[:-1])
    assert len(read_tasks(path, query_run_id=QUERY)) == 1


def test_a_failed_task_is_kept_and_marked_even_without_metrics(log):
    path = log(job(0, {0: 1}), task(0, 0, failed=True, metrics=False), task(0, 0, task_id=1, attempt=1))
    found = read_tasks(path, query_run_id=QUERY)
    assert [(t.is_ok, t.attempt, t.run_s) for t in found] == [(False, 0, 0.0), (True, 1, 0.2)]


def test_tasks_that_the_log_does_not_show_are_counted(log):
    path = log(job(0, {0: 4, 1: 2}), task(0, 0), task(0, 2), task(1, 0), task(1, 1))
    assert missing_tasks(read_tasks(path, query_run_id=QUERY)) == 2


def test_a_retried_task_is_not_missing(log):
    path = log(job(0, {0: 2}), task(0, 0, failed=True), task(0, 0, attempt=1), task(0, 1))
    assert missing_tasks(read_tasks(path, query_run_id=QUERY)) == 0


def test_a_repeated_stage_that_runs_only_lost_partitions_misses_none(log):
    first = [task(0, partition) for partition in range(4)]
    path = log(job(0, {0: 4}), *first, task(0, 2, stage_attempt=1, task_id=9))
    assert missing_tasks(read_tasks(path, query_run_id=QUERY)) == 0


def test_no_tasks_are_none_missing():
    assert missing_tasks([]) == 0


def test_the_table_has_a_column_per_field_also_when_it_is_empty(log):
    tasks = read_tasks(log(job(0, {0: 1}), task(0, 0)), query_run_id=QUERY)
    (full,), (empty,) = tables_of(TaskRecord, tasks), tables_of(TaskRecord, [])
    assert full.schema == empty.schema
    assert (full.num_rows, empty.num_rows) == (1, 0)
    assert full.to_pylist()[0]["executor"] == "driver"
    assert full.to_pylist()[0]["is_ok"] is True


def test_a_closed_file_is_read_and_deleted_while_the_query_runs(log):
    first = log(job(0, {0: 2}), task(0, 0))
    tasks = QueryTasks(first.parent.parent, query_run_id=QUERY)
    tasks.follow()
    assert first.exists()
    second = first.with_name("events_2_app-1")
    second.write_text(json.dumps(task(0, 1), separators=(",", ":")) + "\n")
    tasks.follow()
    assert not first.exists()
    assert second.exists()
    assert [one.partition for one in tasks.all()] == [0, 1]


@pytest.mark.parametrize(
    "fields",
    [
        {"Stage ID": "0"},
        {"Stage ID": 0, "Stage Attempt ID": 2**63},
        {"Stage ID": 0, "Task Info": None},
        {"Stage ID": 0, "Task Metrics": {"JVM GC Time": {}}},
        {"Stage ID": []},
    ],
)
def test_a_line_with_foreign_values_is_counted_and_left_out(log, fields):
    path = log(job(0, {0: 2}), task(0, 0), task(0, 1) | fields, task(0, 1, task_id=9))
    tasks = QueryTasks(path.parent.parent, query_run_id=QUERY)
    kept = [one.task_id for one in tasks.all()]
    # A stage of another name is a task of no query.
    assert (kept, tasks.unreadable) == ([0, 9], 0 if fields == {"Stage ID": "0"} else 1)


def test_an_application_without_a_log_has_no_tasks(tmp_path):
    assert list(QueryTasks(tmp_path, query_run_id=QUERY).all()) == []
