"""Event logs of applications: those that Spark wrote, and ones that are written here, line by line."""

import gzip
import json
from collections.abc import Callable, Iterable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[1] / "data" / "eventlogs"
GOLDEN = sorted(FOLDER.glob("spark-*.gz"))
NEWEST = GOLDEN[-1]
STREAMING = "org.apache.spark.sql.streaming.StreamingQueryListener$"
QUERY = "5f1d0a9e-0000-4000-8000-000000000001"
RUN = "aaaa0000-0000-4000-8000-000000000001"
START_MS = 1_700_000_000_000

Document = dict[str, Any]


def golden(path: Path = NEWEST) -> list[Document]:
    """Return the events of a log that Spark wrote."""
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]


def text(documents: Iterable[Document]) -> bytes:
    """Return events as lines."""
    return b"".join(json.dumps(document, separators=(",", ":")).encode() + b"\n" for document in documents)


def write(path: Path, documents: Iterable[Document]) -> Path:
    path.write_bytes(text(documents))
    return path


def without(documents: Iterable[Document], unwanted: Callable[[Document], bool]) -> Iterator[Document]:
    return (document for document in documents if not unwanted(document))


def is_kind(document: Document, kind: str) -> bool:
    return document["Event"].endswith(kind)


def instant(ms: int) -> str:
    return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def progress(
    batch_id: int,
    started_ms: int,
    rows: int,
    *,
    took_ms: int = 700,
    sources: list[Document] | None = None,
    **changes: Any,
) -> Document:
    """One report, as the log has it: offsets are text."""
    plain = {
        "description": "Plain[]",
        "startOffset": None,
        "endOffset": "7",
        "latestOffset": None,
        "numInputRows": rows,
    }
    return {
        "id": QUERY,
        "runId": RUN,
        "name": "clicks",
        "timestamp": instant(started_ms),
        "batchId": batch_id,
        "durationMs": {"latestOffset": 0, "addBatch": took_ms - 10, "commitOffsets": 0, "triggerExecution": took_ms},
        "eventTime": {},
        "stateOperators": [],
        "sources": [plain] if sources is None else sources,
        "sink": {"description": "NoopTable", "numOutputRows": -1},
        **changes,
    }


def kafka(rows: int, end: int, latest: int) -> Document:
    """A source that reads one partition of a topic."""
    offsets = {"startOffset": end - rows, "endOffset": end, "latestOffset": latest}
    texts = {key: json.dumps({"clicks": {"0": n}}) for key, n in offsets.items()}
    return {"description": "KafkaV2[Subscribe[clicks]]", "numInputRows": rows, **texts}


def job(job_id: int, batch_id: int, stages: dict[int, int], **properties: str) -> Document:
    usual = {"spark.jobGroup.id": RUN, "sql.streaming.queryId": QUERY, "streaming.sql.batchId": str(batch_id)}
    infos = [{"Stage ID": stage, "Number of Tasks": tasks} for stage, tasks in stages.items()]
    chosen = {**usual, "spark.sql.shuffle.partitions": "3", **properties}
    return {"Event": "SparkListenerJobStart", "Job ID": job_id, "Stage Infos": infos, "Properties": chosen}


def task(stage: int, partition: int, started_ms: int, *, run_ms: int = 200) -> Document:
    info = {
        "Task ID": 1000 * stage + partition, "Index": partition, "Attempt": 0, "Partition ID": partition,
        "Launch Time": started_ms, "Finish Time": started_ms + run_ms, "Executor ID": "driver", "Host": "localhost",
        "Failed": False, "Killed": False,
    }  # fmt: skip
    metrics = {"Executor Run Time": run_ms, "Executor CPU Time": run_ms * 900_000}
    head = {"Event": "SparkListenerTaskEnd", "Stage ID": stage, "Stage Attempt ID": 0}
    return {**head, "Task Info": info, "Task Metrics": metrics}


def stage(stage_id: int, tasks: int, started_ms: int, *, parents: Iterable[int] = ()) -> Document:
    info = {
        "Stage ID": stage_id, "Stage Attempt ID": 0, "Stage Name": "start", "Number of Tasks": tasks,
        "Parent IDs": list(parents), "Submission Time": started_ms, "Completion Time": started_ms + 300,
    }  # fmt: skip
    return {"Event": "SparkListenerStageCompleted", "Stage Info": info}


def head(version: str = "4.3.0", *, cores: int | None = 2) -> list[Document]:
    """The beginning of a log."""
    settings = {"spark.master": "local[2]", "spark.sql.ansi.enabled": "true", "spark.app.id": "local-1"}
    environment = {"JVM Information": {"Java Version": "17.0.15"}, "Spark Properties": settings}
    executor = {"Executor ID": "driver", "Executor Info": {"Host": "localhost", "Total Cores": cores}}
    return [
        {"Event": "SparkListenerLogStart", "Spark Version": version},
        *([{"Event": "SparkListenerExecutorAdded", "Timestamp": START_MS, **executor}] if cores else []),
        {"Event": "SparkListenerEnvironmentUpdate", **environment, "System Properties": {"os.name": "Linux"}},
        {"Event": "SparkListenerApplicationStart", "App Name": "clickstream", "App ID": "local-1"},
        {"Event": f"{STREAMING}QueryStartedEvent", "id": QUERY, "runId": RUN, "name": "clicks"},
    ]


def batches(reports: Iterable[Document]) -> list[Document]:
    """Two stages of two and three tasks for each report, and the report itself."""
    found: list[Document] = []
    for report in reports:
        batch_id = report["batchId"]
        started_ms = round(datetime.fromisoformat(report["timestamp"]).timestamp() * 1000)
        first, second = 2 * batch_id, 2 * batch_id + 1
        found += [job(batch_id, batch_id, {first: 2, second: 3})]
        found += [task(first, partition, started_ms + 100) for partition in range(2)]
        found += [stage(first, 2, started_ms + 90)]
        found += [task(second, partition, started_ms + 400) for partition in range(3)]
        found += [stage(second, 3, started_ms + 390, parents=[first])]
        found += [{"Event": f"{STREAMING}QueryProgressEvent", "progress": report}]
    return found


def tail(exception: str | None = None) -> list[Document]:
    """The end of a log."""
    return [
        {"Event": f"{STREAMING}QueryTerminatedEvent", "id": QUERY, "runId": RUN, "exception": exception},
        {"Event": "SparkListenerApplicationEnd", "Timestamp": START_MS},
    ]


def steady(count: int, *, period_ms: int = 1000, rows: int = 10_000, **changes: Any) -> list[Document]:
    """Reports of micro-batches of the same size, one in every period."""
    return [progress(k, START_MS + k * period_ms, rows, **changes) for k in range(count)]
