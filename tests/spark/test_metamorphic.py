"""Changes that must not change an answer: micro-batch borders, partitions, a restart, and the order of events."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from streamgauge.engine.spark import engine
from streamgauge.engine.spark.engine import OpenSpark
from streamgauge.engine.spark.session import Session
from streamgauge.errors import RunFailedError
from streamgauge.lookup import find_workload
from streamgauge.running import verify
from streamgauge.running.verify import default_stream, verify_workload
from streamgauge.verdict import Verdict
from streamgauge.workloads.parameters import choose_variant

# A window, a join and a running aggregation; Spark plans the larger queries for most of a minute.
QUERIES = ["nexmark-q5", "nexmark-q8", "nexmark-q17"]


def _verified(session: Session, name: str, folder: Path, **values: Any) -> Any:
    workload, parameters = choose_variant(find_workload(name), values)
    return verify_workload(OpenSpark(session), workload, parameters, default_stream(workload), folder=folder / "v")


@pytest.mark.parametrize("name", QUERIES)
def test_v3_other_borders_of_micro_batches_give_the_same_answer(
    session: Session, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(verify, "MIN_BATCHES", 12)
    result = _verified(session, name, tmp_path)
    assert (result.verdict, result.reasons) == (Verdict.PASS, ())
    assert result.batches >= 12


@pytest.mark.parametrize("name", QUERIES)
def test_v3_another_number_of_partitions_gives_the_same_answer(session: Session, name: str, tmp_path: Path) -> None:
    session.spark.conf.set("spark.sql.shuffle.partitions", "5")
    try:
        result = _verified(session, name, tmp_path)
    finally:
        session.spark.conf.set("spark.sql.shuffle.partitions", "2")
    assert (result.verdict, result.reasons) == (Verdict.PASS, ())


@pytest.mark.parametrize("name", QUERIES)
def test_v3_a_restart_from_the_checkpoint_gives_the_same_answer(
    session: Session, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run_to_end = engine.run_to_end
    crashed: list[int] = []

    def crashing(session: Session, df: Any, keep: Callable[[Any, int], None], **settings: Any) -> int:
        done = set()

        def keep_until_the_crash(batch: Any, batch_id: int) -> None:
            if batch_id == 3 and not crashed:
                crashed.append(batch_id)
                raise RuntimeError("planted crash")
            done.add(batch_id)
            keep(batch, batch_id)

        with pytest.raises(RunFailedError, match="planted crash"):
            run_to_end(session, df, keep_until_the_crash, **settings)
        run_to_end(session, df, keep_until_the_crash, **settings)
        return len(done)

    monkeypatch.setattr(engine, "run_to_end", crashing)
    result = _verified(session, name, tmp_path)
    assert crashed == [3], "the planted crash did not happen"
    assert (result.verdict, result.reasons) == (Verdict.PASS, ())


@pytest.mark.parametrize("name", QUERIES)
def test_v3_events_out_of_order_within_the_watermark_give_the_answer_of_the_reference(
    session: Session, name: str, tmp_path: Path
) -> None:
    result = _verified(session, name, tmp_path, out_of_order_group=1000, delayed_share=0.1, delayed_up_to_s=2)
    assert (result.verdict, result.reasons) == (Verdict.PASS, ())


@pytest.mark.parametrize("number", [1, 4, 5, 7, 8, 9, 13])
def test_beam_semantics_give_the_answer_of_their_own_reference(session: Session, number: int, tmp_path: Path) -> None:
    result = _verified(session, f"nexmark-q{number}", tmp_path, semantics="beam")
    assert (result.verdict, result.reasons) == (Verdict.PASS, ())
