"""Stage and task metrics from Spark's event log, joined to the micro-batch they worked for."""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Task:
    """One attempt of one task. Times are microseconds since the epoch, durations seconds of this task."""

    batch_id: int
    stage_id: int
    stage_attempt: int
    stage_tasks: int
    task_id: int
    partition: int
    attempt: int
    executor: str
    host: str
    launched_us: int
    finished_us: int
    is_ok: bool
    run_s: float
    cpu_s: float
    deserialize_s: float
    gc_s: float
    input_rows: int
    shuffle_read_rows: int
    shuffle_read_bytes: int
    shuffle_wait_s: float
    shuffle_write_rows: int
    shuffle_write_bytes: int
    spilled_bytes: int
    peak_memory_bytes: int


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    # A log of a killed process may end in the middle of a character.
    with path.open(encoding="utf-8", errors="replace") as file:
        for line in file:
            # Only these events are read; the others, with their long plans, need not be parsed.
            if line.startswith(('{"Event":"SparkListenerTaskEnd"', '{"Event":"SparkListenerJobStart"')):
                try:
                    yield json.loads(line)
                except json.JSONDecodeError:
                    return


def _task(document: dict[str, Any], batch_id: int, stage_tasks: int) -> Task:
    info, metrics = document["Task Info"], document.get("Task Metrics") or {}
    read, write = metrics.get("Shuffle Read Metrics", {}), metrics.get("Shuffle Write Metrics", {})
    return Task(
        batch_id=batch_id,
        stage_id=document["Stage ID"],
        stage_attempt=document["Stage Attempt ID"],
        stage_tasks=stage_tasks,
        task_id=info["Task ID"],
        partition=info.get("Partition ID", info["Index"]),
        attempt=info["Attempt"],
        executor=info["Executor ID"],
        host=info["Host"],
        launched_us=info["Launch Time"] * 1000,
        finished_us=info["Finish Time"] * 1000,
        is_ok=not (info["Failed"] or info["Killed"]),
        run_s=metrics.get("Executor Run Time", 0) / 1e3,
        cpu_s=metrics.get("Executor CPU Time", 0) / 1e9,
        deserialize_s=metrics.get("Executor Deserialize Time", 0) / 1e3,
        gc_s=metrics.get("JVM GC Time", 0) / 1e3,
        input_rows=metrics.get("Input Metrics", {}).get("Records Read", 0),
        shuffle_read_rows=read.get("Total Records Read", 0),
        shuffle_read_bytes=read.get("Local Bytes Read", 0) + read.get("Remote Bytes Read", 0),
        shuffle_wait_s=read.get("Fetch Wait Time", 0) / 1e3,
        shuffle_write_rows=write.get("Shuffle Records Written", 0),
        shuffle_write_bytes=write.get("Shuffle Bytes Written", 0),
        spilled_bytes=metrics.get("Memory Bytes Spilled", 0),
        peak_memory_bytes=metrics.get("Peak Execution Memory", 0),
    )


def read_tasks(path: Path, *, query_run_id: str) -> list[Task]:
    """Read the tasks of one run of a streaming query, in the order in which they finished."""
    batch_of_stage: dict[int, tuple[int, int]] = {}
    tasks = []
    for document in _lines(path):
        if document["Event"] == "SparkListenerJobStart":
            properties = document.get("Properties", {})
            if properties.get("spark.jobGroup.id") == query_run_id and "streaming.sql.batchId" in properties:
                for stage in document["Stage Infos"]:
                    batch_of_stage[stage["Stage ID"]] = (
                        int(properties["streaming.sql.batchId"]),
                        stage["Number of Tasks"],
                    )
        elif document["Stage ID"] in batch_of_stage:
            tasks.append(_task(document, *batch_of_stage[document["Stage ID"]]))
    return tasks


def find_event_log(folder: Path) -> Path | None:
    """Return the newest event log in a folder, finished or not."""
    logs = [path for path in folder.glob("*") if path.is_file() and not path.name.startswith(".")]
    return max(logs, key=lambda path: path.stat().st_mtime, default=None)


def missing_tasks(tasks: Iterable[Task]) -> int:
    """Count the tasks that a stage had and the log does not show: Spark drops events when it is overrun."""
    expected: dict[int, int] = {}
    seen: dict[int, set[int]] = {}
    for task in tasks:
        # All attempts together: a repeated stage runs only the partitions that were lost.
        expected[task.stage_id] = task.stage_tasks
        seen.setdefault(task.stage_id, set()).add(task.partition)
    return sum(expected[stage] - len(seen[stage]) for stage in expected)


def tasks_table(tasks: Iterable[Task]) -> "pa.Table":
    """Return the tasks as a table with one column per field."""
    import pyarrow as pa

    types = {"int": pa.int64(), "str": pa.string(), "float": pa.float64(), "bool": pa.bool_()}
    rows = list(tasks)
    return pa.table(
        {
            f.name: pa.array(
                [getattr(task, f.name) for task in rows],
                types[f.type if isinstance(f.type, str) else f.type.__name__],
            )
            for f in fields(Task)
        }
    )
