"""The streaming answers equal the references, and wrong ones are found."""

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq
import pytest
from pyspark.sql import functions as F

from streamgauge.conclude.verification import FiniteStream
from streamgauge.engine.spark.engine import OpenSpark
from streamgauge.engine.spark.session import Session
from streamgauge.lookup import find_workload
from streamgauge.running import verify
from streamgauge.running.verify import default_stream, verify_workload
from streamgauge.verdict import Verdict
from streamgauge.workloads import Workload, catalogue

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@pytest.mark.parametrize("name", list(catalogue()))
def test_v2_the_default_answer_equals_reference_and_stored_answer(
    session: Session, name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    workload = find_workload(name)
    # Two micro-batches fewer save minutes; only the iterative answer depends on their number.
    if workload.sink.each_batch is None:
        monkeypatch.setattr(verify, "MIN_BATCHES", 3)
    result = verify_workload(
        OpenSpark(session), workload, workload.parameters(), default_stream(workload), folder=tmp_path / "v"
    )
    assert (result.verdict, result.reasons) == (Verdict.PASS, ())
    assert result.batches >= 4


CASES: list[tuple[str, dict[str, Any]]] = [
    ("ysb", {"parse_json": True, "output": "append", "window_s": 3}),
    ("ysb", {"draws": "random", "skew": True, "late": True, "campaigns": 7}),
    ("hibench-wordcount", {"keys": 50, "zipf": 1.0}),
    ("hibench-fixwindow", {"keys": 20, "window_s": 1}),
    ("hibench-repartition", {"partitions": 3}),
]


@pytest.mark.parametrize(("name", "values"), CASES)
def test_v2_other_parameters_give_the_reference_answer_too(
    session: Session, name: str, values: dict[str, Any], tmp_path: Path
) -> None:
    workload = find_workload(name)
    parameters = workload.parameters.model_validate(values)
    result = verify_workload(
        OpenSpark(session), workload, parameters, FiniteStream(9_000, 500.0, 3), folder=tmp_path / "v"
    )
    assert (result.verdict, result.reasons) == (Verdict.PASS, ())


def _verified(session: Session, workload: Workload, folder: Path, save: Path | None = None) -> Any:
    return verify_workload(
        OpenSpark(session), workload, workload.parameters(), FiniteStream(3_000, 1000.0), folder=folder / "v", save=save
    )


def _lose(df: "DataFrame", _: Any) -> "DataFrame":
    return df.select("created", "line").where(~F.col("line").startswith("000017\t"))


def _double(df: "DataFrame", _: Any) -> "DataFrame":
    twice = F.when(F.col("line").startswith("000017\t"), F.lit(2)).otherwise(F.lit(1))
    return df.select("created", "line", F.explode(F.sequence(F.lit(1), twice)).alias("k")).drop("k")


def _alter(df: "DataFrame", _: Any) -> "DataFrame":
    altered = F.when(F.col("line").startswith("000017\t"), F.lit("foreign")).otherwise(F.col("line"))
    return df.select("created", altered.alias("line"))


@pytest.mark.parametrize(("fault", "missing", "extra"), [(_lose, 1, 0), (_double, 0, 1), (_alter, 1, 1)])
def test_a_lost_a_doubled_and_a_foreign_row_are_found(
    session: Session, tmp_path: Path, fault: Any, missing: int, extra: int
) -> None:
    wrong = replace(find_workload("hibench-identity"), name="planted", dataflow=fault)
    result = _verified(session, wrong, tmp_path)
    assert result.verdict is Verdict.FAIL
    assert (result.rows_missing, result.rows_extra) == (missing, extra)
    assert set(result.examples) == {kind for kind, n in (("missing", missing), ("extra", extra)) if n}


def test_an_empty_answer_is_unknown_not_right(session: Session, tmp_path: Path) -> None:
    nothing = tmp_path / "nothing.sql"
    nothing.write_text("SELECT created, line FROM events WHERE FALSE")
    identity = find_workload("hibench-identity")
    empty = replace(
        identity,
        name="empty",
        answer=replace(identity.answer, reference=nothing),
        dataflow=lambda df, _: df.select("created", "line").where("FALSE"),
    )
    assert _verified(session, empty, tmp_path).verdict is Verdict.UNKNOWN


def test_both_answers_are_kept_on_request(session: Session, tmp_path: Path) -> None:
    _verified(session, find_workload("hibench-identity"), tmp_path, save=tmp_path / "kept")
    kept = {p.name: pq.read_table(p).num_rows for p in (tmp_path / "kept" / "hibench-identity").iterdir()}
    assert kept == {"stream.parquet": 3_000, "reference.parquet": 3_000}
