"""The embedded source: exact replay, any partitioning, admission, the gate."""

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from streamgauge.arrivals import Constant
from streamgauge.engine.session import Session
from streamgauge.engine.source import AdaptiveAdmission, EmbeddedReader, FixedAdmission, Gate, read_events
from streamgauge.events import event_stream
from streamgauge.experiment.generate import generate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def _reader(control: Path, **options: Any) -> EmbeddedReader:
    Constant(1000.0).schedule(10.0).save(control / "schedule.npy")
    return EmbeddedReader({"control": str(control), "partitions": "2", "max_rows_per_batch": "4000"} | options)


def test_no_event_exists_before_the_gate_opens(tmp_path: Path) -> None:
    reader = _reader(tmp_path)
    assert reader.latestOffset({"n": 0}, reader.getDefaultReadLimit()) == {"n": 0}
    Gate(origin_us=0).write(tmp_path)
    assert reader.reportLatestOffset() == {"n": 10_000}


def test_an_offset_tells_how_many_events_the_limit_left_out(tmp_path: Path) -> None:
    reader = _reader(tmp_path)
    Gate(origin_us=0).write(tmp_path)
    limit = reader.getDefaultReadLimit()
    assert reader.latestOffset({"n": 0}, limit) == {"n": 4_000, "left": 6_000}
    assert reader.latestOffset({"n": 8_000}, limit) == {"n": 10_000, "left": 0}
    assert reader.latestOffset({"n": 10_000, "left": 0}, limit) == {"n": 10_000, "left": 0}


def test_a_gate_that_closes_early_ends_the_load_early(tmp_path: Path) -> None:
    reader = _reader(tmp_path)
    Gate(origin_us=0, closed_us=2_000_000).write(tmp_path)
    assert reader.reportLatestOffset() == {"n": 2_001}


def test_partitions_cover_the_batch_without_gap_or_overlap(tmp_path: Path) -> None:
    reader = _reader(tmp_path, partitions="3")
    Gate(origin_us=0).write(tmp_path)
    parts = reader.partitions({"n": 100}, {"n": 7_001})
    ranges = [(int(f), int(last)) for part in parts for f, last in zip(part.columns[0], part.columns[1], strict=True)]
    assert [n for first, last in ranges for n in range(first, last + 1)] == list(range(100, 7_001))
    assert len(parts) == 3


def test_adaptive_admission_keeps_a_slow_query_to_short_batches() -> None:
    admission, now_s, start = AdaptiveAdmission(3.0, 500_000), 0.0, 0
    for _ in range(20):
        allowed = admission.allow(start, now_s)
        start, now_s = start + allowed, now_s + allowed / 10_000
    assert admission.limit == pytest.approx(30_000, rel=0.01)


def test_adaptive_admission_does_not_hold_a_fast_query_back() -> None:
    admission, now_s, start = AdaptiveAdmission(3.0, 500_000), 0.0, 0
    for _ in range(20):
        allowed = admission.allow(start, now_s)
        start, now_s = start + allowed, now_s + 0.2 + allowed / 5_000_000
    assert admission.limit > 10_000_000


def test_a_fixed_limit_stays() -> None:
    assert [FixedAdmission(7).allow(0, 0.0), FixedAdmission(7).allow(7, 99.0)] == [7, 7]


def _stream(session: Session, control: Path, partitions: int, limit: int) -> "DataFrame":
    stream = event_stream("hibench")
    return read_events(
        session.spark,
        stream,
        stream.parameters(),
        seed=1,
        control=control,
        source_partitions=partitions,
        max_rows_per_batch=limit,
    )


def _run(df: "DataFrame", folder: Path, rows: dict[int, list[Any]], *, fail_at: int | None = None) -> None:
    def keep(batch: "DataFrame", batch_id: int) -> None:
        if batch_id == fail_at:
            raise RuntimeError("planted")
        rows[batch_id] = [tuple(row) for row in batch.collect()]

    query = df.writeStream.foreachBatch(keep).option("checkpointLocation", str(folder)).trigger(availableNow=True)
    started = query.start()
    try:
        started.awaitTermination(120)
    except Exception:
        assert fail_at is not None
    finally:
        started.stop()


def test_a_restart_replays_the_unfinished_batch_exactly(session: Session, tmp_path: Path) -> None:
    Constant(1000.0).schedule(5.0).save(tmp_path / "schedule.npy")
    Gate(origin_us=1_436_918_400_000_000).write(tmp_path)
    whole: dict[int, list[Any]] = {}
    _run(_stream(session, tmp_path, 2, 1000), tmp_path / "a", whole)
    broken: dict[int, list[Any]] = {}
    _run(_stream(session, tmp_path, 2, 1000), tmp_path / "b", broken, fail_at=2)
    assert sorted(broken) == [0, 1]
    time.sleep(0)  # the clock moves on between the two starts; offsets do not care
    _run(_stream(session, tmp_path, 5, 1000), tmp_path / "b", broken)
    assert {k: sorted(v) for k, v in broken.items()} == {k: sorted(v) for k, v in whole.items()}
    assert sum(len(v) for v in whole.values()) == 5_000


@pytest.mark.parametrize("name", ["ysb", "hibench"])
def test_generated_events_have_one_digest_for_any_partition_count_and_format(
    session: Session, tmp_path: Path, name: str
) -> None:
    def digest(number: int, **options: Any) -> str:
        return generate(name, events=5_000, output=tmp_path / str(number), session=session, **options).sha256

    one = digest(1)
    assert digest(2, source_partitions=3, format="json") == one
    assert digest(3, source_partitions=7, format="csv") == one
    assert digest(4, seed=2, parameters={"draws": "random"} if name == "ysb" else {}) != one
