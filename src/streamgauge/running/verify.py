"""Is the answer right? The streaming query over a finite stream, compared row by row with the reference."""

import json
import shutil
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from streamgauge.arrivals import Schedule
from streamgauge.conclude.verification import FiniteStream, Verification
from streamgauge.engine.engine import FiniteOrder, Session
from streamgauge.errors import InvalidExperimentError
from streamgauge.events import Parameters
from streamgauge.verdict import Verdict
from streamgauge.workloads import Workload
from streamgauge.workloads.reference import connect, reference_answer

if TYPE_CHECKING:
    import duckdb
    import pyarrow as pa

# 2015-07-15T00:00:00Z: finite streams have a fixed past, so that their answers can be stored.
BASE_TIME_US = 1_436_918_400_000_000
CLOSING_AFTER_S = 7 * 86_400.0
MIN_BATCHES = 5
EXAMPLES = 3
TABLE_EVENTS = 250_000
EXPECTED = Path(__file__).parent.parent / "workloads" / "expected.json"


@cache
def expected_answers() -> dict[str, Any]:
    """Return the stored answers (rows and digest) for default parameters."""
    return dict(json.loads(EXPECTED.read_text())) if EXPECTED.is_file() else {}


def default_stream(workload: Workload) -> FiniteStream:
    """Return the finite stream that the stored answers belong to."""
    return FiniteStream(workload.answer.events, workload.answer.rate_per_s)


def verify_workload(
    session: Session,
    workload: Workload,
    parameters: Parameters,
    stream: FiniteStream,
    *,
    folder: Path,
    fields: tuple[str, ...] | None = None,
    save: Path | None = None,
) -> Verification:
    """Run the stream in several micro-batches, close all windows, and compare with the reference.

    `fields` are those that the dataflow reads; without them it is planned once more.
    """
    if not workload.answer.is_known:
        raise InvalidExperimentError(
            f"{workload.name} has no reference to compare with",
            remedy="only workloads of the catalogue can be verified; see `streamgauge list`",
        )
    schedule = stream.schedule(workload.events, parameters)
    shutil.rmtree(folder, ignore_errors=True)
    answer = session.run_to_end(_finite_order(session, workload, parameters, stream, folder, fields))
    if answer is None:
        return _not_verified(workload, stream)
    connection = connect()
    connection.register("output", answer.rows)
    got = final_answer(connection, workload, parameters, closing_time_us(schedule, BASE_TIME_US))
    table = event_table(workload, parameters, schedule, seed=stream.seed, load_us=BASE_TIME_US)
    expected = expected_answer(workload, parameters, table, seed=stream.seed, borders=answer.borders)
    connection.register("got", got)
    connection.register("expected", expected)
    if save is not None:
        _save(save / workload.name, got, expected)
    shutil.rmtree(folder, ignore_errors=True)
    return _compare(connection, workload, parameters, stream, answer.batches)


def expected_answer(
    workload: Workload, parameters: Parameters, events: "pa.Table", *, seed: int, borders: Sequence[int] = ()
) -> "pa.Table":
    """Compute what the stream must answer in the end, by the reference that the workload has."""
    if workload.answer.function is not None:
        return workload.answer.function(events, parameters, seed, borders)
    return reference_answer(workload, parameters, events)


def closing_time_us(schedule: Schedule, load_us: int) -> int:
    """Return when the events that close all windows arrive, in a load that starts at `load_us`."""
    return load_us + schedule.end_us + round(CLOSING_AFTER_S * 1e6)


def event_table(
    workload: Workload, parameters: Parameters, schedule: Schedule, *, seed: int, load_us: int
) -> "pa.Table":
    """Make the events of a schedule for the reference, some at a time: making them takes more space than they do."""
    import pyarrow as pa

    starts = range(0, max(1, schedule.total), TABLE_EVENTS)
    numbers = [np.arange(start, min(start + TABLE_EVENTS, schedule.total)) for start in starts]
    arrivals = [schedule.arrivals(n, load_us=load_us) for n in numbers]
    return pa.concat_tables(workload.events.table(parameters, seed=seed, arrivals=a) for a in arrivals)


def _finite_order(
    session: Session,
    workload: Workload,
    parameters: Parameters,
    stream: FiniteStream,
    folder: Path,
    fields: tuple[str, ...] | None,
) -> FiniteOrder:
    """Return the stream in several micro-batches, with the events that close all windows."""
    schedule = stream.schedule(workload.events, parameters)
    closing = workload.answer.closing_events
    return FiniteOrder(
        workload=workload,
        parameters=parameters,
        seed=stream.seed,
        schedule=schedule.with_tail(closing, after_s=CLOSING_AFTER_S) if closing else schedule,
        origin_us=BASE_TIME_US,
        folder=folder,
        max_rows_per_batch=max(1, -(-schedule.total // (MIN_BATCHES + 1))),
        fields=session.fields_read(workload, parameters, folder / "empty") if fields is None else fields,
    )


def _not_verified(workload: Workload, stream: FiniteStream) -> Verification:
    reason = "not verified: a rehearsal computes no answer"
    return Verification(workload.name, Verdict.UNKNOWN, (reason,), 0, 0, 0, 0, 0, None, stream)


def final_answer(
    connection: "duckdb.DuckDBPyConnection", workload: Workload, parameters: Parameters, closing_us: int
) -> "pa.Table":
    """Return what a reader of the sink, the table `output`, knows in the end: with keys, the last row of each."""
    columns = ", ".join(f.name for f in workload.output)
    where = "TRUE"
    if workload.window is not None:
        where = f"epoch_us({workload.window(parameters).column}) < {closing_us - 86_400_000_000}"
    latest = ""
    if workload.answer.keys:
        keys = ", ".join(workload.answer.keys)
        latest = f"QUALIFY row_number() OVER (PARTITION BY {keys} ORDER BY batch DESC) = 1"
    answer = f"SELECT {columns} FROM output WHERE {where} {latest}"
    if workload.answer.invariant is not None:
        answer = f"WITH answer AS ({answer}) {workload.answer.invariant}"
    return connection.sql(answer).to_arrow_table()


def _count(connection: "duckdb.DuckDBPyConnection", query: str) -> int:
    row = connection.execute(f"SELECT count(*) FROM ({query})").fetchone()
    assert row is not None
    return int(row[0])


def answer_digest(connection: "duckdb.DuckDBPyConnection", relation: str) -> str | None:
    """Return a SHA-256 over all rows of an answer, whatever their order."""
    rows = f"SELECT {relation}::VARCHAR AS text FROM {relation}"
    row = connection.execute(f"SELECT sha256(string_agg(text, chr(10) ORDER BY text)) FROM ({rows})").fetchone()
    return str(row[0]) if row and row[0] is not None else None


@dataclass(frozen=True)
class Differences:
    """Two answers compared as bags of rows; an extra row is doubled when an equal one is expected, else foreign."""

    rows_expected: int
    rows_got: int
    rows_missing: int
    rows_extra: int
    rows_doubled: int
    examples: dict[str, list[str]]

    @property
    def rows_foreign(self) -> int:
        """Extra rows that are expected not even once."""
        return self.rows_extra - self.rows_doubled


def find_differences(connection: "duckdb.DuckDBPyConnection", workload: Workload) -> Differences:
    """Compare the tables `got` and `expected` row by row."""
    columns = (
        connection.sql("FROM expected").columns if workload.answer.invariant else [f.name for f in workload.output]
    )
    names = ", ".join(columns)
    missing = f"SELECT {names} FROM expected EXCEPT ALL SELECT {names} FROM got"
    extra = f"SELECT {names} FROM got EXCEPT ALL SELECT {names} FROM expected"
    is_equal = " AND ".join(f"one.{name} IS NOT DISTINCT FROM other.{name}" for name in columns)
    doubled = f"FROM ({extra}) AS one WHERE EXISTS (FROM expected AS other WHERE {is_equal})"
    rows_missing, rows_extra = _count(connection, missing), _count(connection, extra)
    return Differences(
        rows_expected=_count(connection, "FROM expected"),
        rows_got=_count(connection, "FROM got"),
        rows_missing=rows_missing,
        rows_extra=rows_extra,
        rows_doubled=_count(connection, doubled) if rows_extra else 0,
        examples={
            kind: [str(row) for row in connection.execute(f"{query} ORDER BY ALL LIMIT {EXAMPLES}").fetchall()]
            for kind, query, rows in (("missing", missing, rows_missing), ("extra", extra, rows_extra))
            if rows
        },
    )


def _compare(
    connection: "duckdb.DuckDBPyConnection",
    workload: Workload,
    parameters: Parameters,
    stream: FiniteStream,
    batches: int,
) -> Verification:
    found = find_differences(connection, workload)
    digest = answer_digest(connection, "got")
    verdict, reasons = _judge(found.rows_expected, found.rows_missing, found.rows_extra, batches)
    if verdict is Verdict.PASS and _has_stored_answer(workload, parameters, stream):
        stored = expected_answers()[workload.name]
        if (stored["rows"], stored["sha256"]) != (found.rows_got, digest):
            verdict, reasons = Verdict.FAIL, ["stream and reference agree, but not with the stored answer"]
    return Verification(
        name=workload.name,
        verdict=verdict,
        reasons=tuple(reasons),
        rows_expected=found.rows_expected,
        rows_got=found.rows_got,
        rows_missing=found.rows_missing,
        rows_extra=found.rows_extra,
        batches=batches,
        sha256=digest,
        stream=stream,
        examples=found.examples,
    )


def _has_stored_answer(workload: Workload, parameters: Parameters, stream: FiniteStream) -> bool:
    return (
        workload.name in expected_answers()
        and not workload.variant
        and parameters == workload.parameters()
        and stream == default_stream(workload)
    )


def _judge(rows_expected: int, rows_missing: int, rows_extra: int, batches: int) -> tuple[Verdict, list[str]]:
    if rows_missing or rows_extra:
        return Verdict.FAIL, [f"{rows_missing} rows missing and {rows_extra} extra of {rows_expected} expected"]
    if rows_expected == 0:
        return Verdict.UNKNOWN, ["the reference expects no rows at all, so nothing was compared; raise --count"]
    if batches < MIN_BATCHES:
        return Verdict.UNKNOWN, [f"only {batches} micro-batches ran; raise --count"]
    return Verdict.PASS, []


def _save(folder: Path, got: "pa.Table", expected: "pa.Table") -> None:
    import pyarrow.parquet as pq

    folder.mkdir(parents=True, exist_ok=True)
    pq.write_table(got, folder / "stream.parquet")
    pq.write_table(expected, folder / "reference.parquet")
