"""The embedded source in Spark: exact replay, any partitioning."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from streamgauge.arrivals import Constant
from streamgauge.engine.spark.gate import Gate
from streamgauge.engine.spark.query import run_to_end
from streamgauge.engine.spark.session import Session
from streamgauge.engine.spark.source import read_events
from streamgauge.errors import RunFailedError
from streamgauge.events import event_stream
from streamgauge.experiments.generate import generate

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


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


def test_l2_a_restart_replays_the_unfinished_batch_exactly(session: Session, tmp_path: Path) -> None:
    Constant(1000.0).schedule(5.0).save(tmp_path / "schedule.npy")
    Gate(origin_us=1_436_918_400_000_000).write(tmp_path)
    whole: dict[int, list[Any]] = {}
    _run(_stream(session, tmp_path, 2, 1000), tmp_path / "a", whole)
    broken: dict[int, list[Any]] = {}
    _run(_stream(session, tmp_path, 2, 1000), tmp_path / "b", broken, fail_at=2)
    assert sorted(broken) == [0, 1]
    _run(_stream(session, tmp_path, 5, 1000), tmp_path / "b", broken)
    assert {k: sorted(v) for k, v in broken.items()} == {k: sorted(v) for k, v in whole.items()}
    assert sum(len(v) for v in whole.values()) == 5_000


def test_f3_a_checkpoint_that_is_torn_is_an_error_and_no_results(session: Session, tmp_path: Path) -> None:
    Constant(1000.0).schedule(2.0).save(tmp_path / "schedule.npy")
    Gate(origin_us=1_436_918_400_000_000).write(tmp_path)
    checkpoint, results = tmp_path / "checkpoint", []

    def go_on() -> int:
        stream = _stream(session, tmp_path, 2, 1000)
        return run_to_end(
            session, stream, lambda df, _: results.append(df.count()), output_mode="append", checkpoint=checkpoint
        )

    assert go_on() == 2
    last = checkpoint / "offsets" / "1"
    last.write_bytes(last.read_bytes()[:20])
    (checkpoint / "offsets" / ".1.crc").unlink(missing_ok=True)
    (checkpoint / "commits" / "1").unlink()
    with pytest.raises(RunFailedError, match="the streaming query failed"):
        go_on()
    assert results == [1000, 1000]


@pytest.mark.parametrize("name", ["ysb", "hibench"])
def test_l2_generated_events_have_one_digest_for_any_partition_count_and_format(
    session: Session, tmp_path: Path, name: str
) -> None:
    def digest(number: int, **options: Any) -> str:
        return generate(name, count=5_000, output=tmp_path / str(number), session=session, **options).sha256

    one = digest(1)
    assert digest(2, source_partitions=3, format="json") == one
    assert digest(3, source_partitions=7, format="csv") == one
    assert digest(4, seed=2, parameters={"draws": "random"} if name == "ysb" else {}) != one
