"""Whole runs on a real Spark session, short ones; nothing here depends on how fast the machine is."""

import json
import shlex
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from streamgauge.conclude.sample import sample_of
from streamgauge.engine.spark.engine import OpenSpark
from streamgauge.engine.spark.generator import fields_read
from streamgauge.engine.spark.session import Session
from streamgauge.errors import InvalidExperimentError, RunFailedError, StreamgaugeError
from streamgauge.lookup import find_workload
from streamgauge.measure import check_batches
from streamgauge.report.content.command import command
from streamgauge.running.lifecycle import run
from streamgauge.store import StoredRun, list_runs, open_run

CONTRACT = {
    "schema_version", "run_id", "run_dir", "workload", "verdict", "reasons", "offered_rate_per_s",
    "ingested_rate_per_s", "processed_rate_per_s", "end_to_end_latency_s", "backlog_events", "batches",
    "batch_duration_s", "phases_s", "events",
}  # fmt: skip
SHORT: dict[str, Any] = {"rate": "2k", "duration": "4s", "warmup": "1s", "verify": False}


@pytest.fixture(scope="module")
def finished(session: Session, tmp_path_factory: pytest.TempPathFactory) -> Any:
    return run("ysb", runs=tmp_path_factory.mktemp("runs"), session=OpenSpark(session), **SHORT)


def test_v1_a_run_accounts_for_every_event(finished: Any) -> None:
    assert finished.summary["events"] == finished.summary["events_processed"] == 10_000
    assert finished.summary["events_unprocessed"] == 0


def test_a_run_has_all_keys_of_the_contract(finished: Any) -> None:
    assert set(finished.summary) >= CONTRACT
    json.dumps(finished.summary, allow_nan=False)


def test_e1_progress_has_no_holes_and_every_batch_its_tasks(finished: Any) -> None:
    stored = finished.stored()
    batches = stored.batches()
    assert check_batches(batches) == []
    tasks = stored.table("tasks").to_pandas()
    assert set(tasks["batch_id"]) >= {b.batch_id for b in batches if b.events}
    assert finished.summary["stages"]["missing_tasks"] == 0


def test_the_latency_table_counts_the_events_of_the_measured_time(finished: Any) -> None:
    counted = sum(finished.stored().table("latency")["count"].to_pylist())
    assert counted == finished.summary["end_to_end_latency_s"]["count"] > 0


def test_what_is_stored_is_what_was_returned(finished: Any) -> None:
    stored = finished.stored()
    assert stored.status == "finished"
    assert stored.document["summary"] == json.loads(json.dumps(finished.summary))
    assert not (stored.path / "work").exists()
    assert {"run.json", "events.jsonl", "batches.parquet", "tasks.parquet", "latency.parquet"} <= {
        p.name for p in stored.path.iterdir()
    }


def test_a_verified_run_says_that_the_answer_is_right_and_what_the_generator_costs(
    session: Session, tmp_path: Path
) -> None:
    result = run("hibench-fixwindow", runs=tmp_path, session=OpenSpark(session), **(SHORT | {"verify": True}))
    assert result.summary["answer"]["verdict"] == "pass"
    assert result.summary["generator"]["core_s_per_event"] > 0
    assert result.summary["generator"]["columns"] == ["created", "line"]


def test_only_the_columns_that_a_query_reads_are_charged_to_the_generator(session: Session, tmp_path: Path) -> None:
    ysb = find_workload("ysb")
    typed, text = ysb.parameters(), ysb.parameters.model_validate({"parse_json": True})
    assert fields_read(session, ysb, typed, tmp_path / "a") == ("ad_id", "event_type", "event_time")
    assert fields_read(session, ysb, text, tmp_path / "b") == ("value",)


def _user(folder: Path, body: str) -> str:
    file = folder / "mine.py"
    file.write_text(f"from pyspark.sql import functions as F\n\ndef build(df):\n    {body}\n")
    return f"{file}:build"


def test_a_function_of_ones_own_is_measured_like_any_workload(session: Session, tmp_path: Path) -> None:
    result = run("example:my_query:build", events="ysb", runs=tmp_path, session=OpenSpark(session), **SHORT)
    assert result.summary["events_processed"] == 10_000
    assert result.summary["output_mode"] == "append"


def test_an_aggregation_without_watermark_finds_its_output_mode(session: Session, tmp_path: Path) -> None:
    reference = _user(tmp_path, 'return df.groupBy("ad_type").count()')
    result = run(reference, runs=tmp_path / "runs", session=OpenSpark(session), **SHORT)
    assert result.summary["output_mode"] == "update"


WRONG = [
    ('raise KeyError("colour")', "KeyError", InvalidExperimentError),
    ("return 42", "returned int", InvalidExperimentError),
    ("return df.sparkSession.range(3)", "does not come from its input", InvalidExperimentError),
    ('return df.select("colour")', "colour", InvalidExperimentError),
    ('return df.orderBy("ad_id")', "cannot run this", InvalidExperimentError),
    (
        'return df.select(F.assert_true(F.col("ad_type") != "mail"))',
        "the streaming query failed",
        RunFailedError,
    ),
]


@pytest.mark.parametrize(("body", "said", "kind"), WRONG)
def test_a_wrong_function_gets_a_clear_error_and_a_stored_run(
    session: Session, tmp_path: Path, body: str, said: str, kind: type[StreamgaugeError]
) -> None:
    with pytest.raises(kind) as caught:
        run(_user(tmp_path, body), runs=tmp_path / "runs", session=OpenSpark(session), **SHORT)
    assert said in str(caught.value)
    assert caught.value.remedy
    assert [r.status for r in list_runs(tmp_path / "runs")] == ["failed"]
    assert session.spark.streams.active == []


def _rows_by_task(stored: StoredRun) -> list[tuple[int, ...]]:
    """Return what every task read and wrote; in a word count, how many rows leave one depends on the words."""
    tasks = stored.table("tasks").to_pandas().sort_values(["batch_id", "stage_id", "partition"])
    columns = ["batch_id", "partition", "shuffle_read_rows", "shuffle_write_rows"]
    return list(tasks[columns].itertuples(index=False, name=None))


def _verdicts(stored: StoredRun) -> dict[str, str]:
    """Return the verdicts by question; other tests beside this one make the machine busy, which is not the run's."""
    found = stored.document["summary"]["findings"]
    return {one["question"]: one["verdict"] for one in found if one["question"] != "machine"}


def test_e7_the_command_of_a_report_repeats_a_run_with_the_same_input_and_verdict(
    session: Session, tmp_path: Path
) -> None:
    asked = SHORT | {"load": "offline", "warmup": "0s", "max_rows_per_batch": 2_000, "seed": 7, "cores": 2}
    first = run("streambench-wordcount", runs=tmp_path, session=OpenSpark(session), **asked).stored()
    other = run("streambench-wordcount", runs=tmp_path, session=OpenSpark(session), **(asked | {"seed": 8})).stored()
    words = shlex.split(command(first).replace("\\\n", ""))[1:]
    done = subprocess.run(
        [sys.executable, "-m", "streamgauge", *words, "--json", "-q", "--runs", str(tmp_path / "again")],
        capture_output=True, text=True, timeout=180,
    )  # fmt: skip
    (listed,) = list_runs(tmp_path / "again")
    again = open_run(tmp_path / "again", listed.run_id)
    assert done.returncode in (0, 7), done.stderr
    assert _verdicts(again) == _verdicts(first)
    assert set(_verdicts(first).values()) == {"pass"}
    assert again.document["configuration"] == first.document["configuration"]
    assert (again.path / "schedule.npy").read_bytes() == (first.path / "schedule.npy").read_bytes()
    assert _rows_by_task(again) == _rows_by_task(first) != _rows_by_task(other)


def test_micro_batches_of_other_sizes_after_the_load_are_no_part_of_the_run(
    session: Session, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("streamgauge.running.explore.LEAST_DURATION_S", 3.0)
    monkeypatch.setattr("streamgauge.running.explore.SHARE", 10.0)
    found = run("ysb", runs=tmp_path, session=OpenSpark(session), **SHORT)
    stored = found.stored()
    assert (found.summary["events"], found.summary["events_processed"]) == (10_000, 10_000)
    assert [f["verdict"] for f in found.summary["findings"] if f["question"] == "evidence"] == ["pass"]
    explored, tasks = stored.table("explored").to_pandas(), stored.table("explored_tasks").to_pandas()
    assert explored["first"].min() == 10_000
    assert set(explored["batch_id"]).isdisjoint(batch.batch_id for batch in stored.batches())
    assert set(tasks["batch_id"]) >= set(explored["batch_id"])
    assert set(tasks["batch_id"]).isdisjoint(stored.table("tasks").to_pandas()["batch_id"])
    # Sizes differ by far, and the last ones find only what came after the jump of event time.
    assert explored["events"].max() > 8 * explored["events"].min()
    assert explored["watermark_us"].max() - explored["watermark_us"].min() > 80_000 * 1e6
    sample = sample_of(stored, least=1)
    assert sample.explored is not None
    assert sample.explored.batches >= 8
