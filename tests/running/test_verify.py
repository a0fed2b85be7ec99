"""The comparison of two answers, on planted faults."""

import pyarrow as pa
import pytest

from streamgauge.conclude.verification import FiniteStream
from streamgauge.errors import InvalidExperimentError, UsageError
from streamgauge.events import event_stream
from streamgauge.experiments.verify_all import verify
from streamgauge.running.verify import _compare, default_stream, expected_answers, final_answer, verify_workload
from streamgauge.verdict import Verdict
from streamgauge.workloads import catalogue
from streamgauge.workloads.reference import connect
from streamgauge.workloads.user import user_workload

WORDCOUNT = catalogue()["hibench-wordcount"]
EVENTS = event_stream("hibench")
STREAM = FiniteStream(1_000, 1000.0, seed=9)
ROWS = {"ip": ["a", "b", "c"], "records": [1, 2, 3]}


def compare(got, expected=None, *, batches=6, stream=STREAM):
    connection = connect()
    connection.register("got", pa.table(got))
    connection.register("expected", pa.table(ROWS if expected is None else expected))
    return _compare(connection, WORDCOUNT, WORDCOUNT.parameters(), stream, batches)


def test_equal_answers_pass_in_any_order():
    result = compare({"ip": ["c", "a", "b"], "records": [3, 1, 2]})
    assert result.verdict is Verdict.PASS
    assert (result.rows_expected, result.rows_got, result.rows_missing, result.rows_extra) == (3, 3, 0, 0)
    assert result.reasons == ()
    assert result.examples == {}


@pytest.mark.parametrize(
    ("got", "missing", "extra"),
    [
        ({"ip": ["a", "b"], "records": [1, 2]}, 1, 0),
        ({"ip": ["a", "b", "c", "c"], "records": [1, 2, 3, 3]}, 0, 1),
        ({"ip": ["a", "b", "c", "x"], "records": [1, 2, 3, 4]}, 0, 1),
        ({"ip": ["a", "b", "c"], "records": [1, 2, 4]}, 1, 1),
        ({"ip": pa.array([], pa.string()), "records": pa.array([], pa.int64())}, 3, 0),
    ],
    ids=["lost", "doubled", "foreign", "wrong", "nothing"],
)
def test_v2_every_planted_fault_is_found_and_counted(got, missing, extra):
    result = compare(got)
    assert result.verdict is Verdict.FAIL
    assert (result.rows_missing, result.rows_extra) == (missing, extra)
    assert result.reasons == (f"{missing} rows missing and {extra} extra of 3 expected",)
    assert {kind: len(rows) for kind, rows in result.examples.items()} == {
        kind: rows for kind, rows in (("missing", missing), ("extra", extra)) if rows
    }


def test_v2_two_empty_answers_prove_nothing():
    nothing = {"ip": pa.array([], pa.string()), "records": pa.array([], pa.int64())}
    result = compare(nothing, nothing)
    assert result.verdict is Verdict.UNKNOWN
    assert "--count" in result.reasons[0]


def test_too_few_micro_batches_prove_nothing():
    result = compare(ROWS, batches=4)
    assert result.verdict is Verdict.UNKNOWN
    assert "only 4 micro-batches" in result.reasons[0]


def test_stream_and_reference_that_agree_on_another_answer_than_the_stored_one_fail():
    assert compare(ROWS, stream=default_stream(WORDCOUNT)).reasons == (
        "stream and reference agree, but not with the stored answer",
    )
    assert WORDCOUNT.name in expected_answers()


def final(name, rows, closing_us=0):
    workload = catalogue()[name]
    connection = connect()
    connection.register("output", pa.table(rows))
    return final_answer(connection, workload, workload.parameters(), closing_us).to_pylist()


def test_in_update_mode_the_last_row_of_a_key_is_the_answer():
    rows = {"ip": ["a", "b", "a"], "records": [1, 1, 5], "batch": [0, 0, 2]}
    assert sorted(final("hibench-wordcount", rows), key=str) == [
        {"ip": "a", "records": 5},
        {"ip": "b", "records": 1},
    ]


def test_in_append_mode_a_doubled_row_stays_doubled():
    created = pa.array([0, 0], pa.timestamp("us", "UTC"))
    rows = {"created": created, "line": ["x", "x"], "batch": [0, 1]}
    assert len(final("hibench-identity", rows)) == 2


def test_windows_of_the_closing_events_are_no_part_of_the_answer():
    day_us = 86_400_000_000
    times = pa.array([0, 10 * day_us], pa.timestamp("us", "UTC"))
    rows = {"ip": ["a", "z"], "window_start": times, "earliest": times, "records": [1, 1], "batch": [0, 1]}
    assert [row["ip"] for row in final("hibench-fixwindow", rows, closing_us=10 * day_us)] == ["a"]


def test_a_finite_stream_holds_exactly_the_events_asked_for():
    for events, rate in ((1, 1000.0), (7, 3.0), (60_000, 1000.0), (99_999, 7_777.0)):
        assert FiniteStream(events, rate).schedule(EVENTS, EVENTS.parameters()).total == events


def test_a_function_of_the_user_has_no_reference(tmp_path):
    (tmp_path / "mine.py").write_text("def build(df):\n    return df\n")
    workload = user_workload(f"{tmp_path}/mine.py:build", event_stream("ysb"))
    with pytest.raises(InvalidExperimentError, match="has no reference"):
        verify_workload(None, workload, workload.parameters(), STREAM, folder=tmp_path)


@pytest.mark.parametrize(
    ("names", "options"),
    [
        (["ybs"], {}),
        (["ysb"], {"events": "0"}),
        (["ysb"], {"rate": "x"}),
        (["ysb"], {"parameters": {"capaigns": 1}}),
        (["ysb"], {"cores": 0}),
        (["ysb"], {"seed": 2**70}),
    ],
)
def test_mistakes_are_found_before_spark_starts(names, options):
    told = []
    with pytest.raises(UsageError):
        verify(names, report_progress=told.append, **options)
    assert told == []
