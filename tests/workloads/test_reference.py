"""The references: independent definitions, checked against closed forms, plain Python and the stored answers."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from streamgauge.conclude.verification import FiniteStream
from streamgauge.events.identifiers import identifier
from streamgauge.running.verify import BASE_TIME_US, answer_digest, default_stream, expected_answers
from streamgauge.workloads import catalogue
from streamgauge.workloads.reference import connect, reference_answer

BASE = datetime.fromtimestamp(BASE_TIME_US / 1e6, UTC)


def finite_table(workload, parameters, stream):
    schedule = stream.schedule(workload.events, parameters)
    arrivals = schedule.arrivals(np.arange(schedule.total), load_us=BASE_TIME_US)
    return workload.events.table(parameters, seed=stream.seed, arrivals=arrivals)


def answer(name, stream, **values):
    workload = catalogue()[name]
    parameters = workload.parameters(**values)
    return reference_answer(workload, parameters, finite_table(workload, parameters, stream))


def records(*rows):
    """Return HiBench records of (milliseconds after the base, line)."""
    created = [BASE + timedelta(milliseconds=ms) for ms, _ in rows]
    return pa.table(
        {"created": pa.array(created, pa.timestamp("us", "UTC")), "line": pa.array([line for _, line in rows])}
    )


def hibench_answer(name, table, **values):
    workload = catalogue()[name]
    return reference_answer(workload, workload.parameters(**values), table)


@pytest.mark.parametrize("name", [name for name, workload in catalogue().items() if workload.answer.reference])
def test_the_stored_answer_is_that_of_the_reference(name):
    workload = catalogue()[name]
    result = answer(name, default_stream(workload))
    if workload.answer.invariant is None:
        assert result.column_names == [f.name for f in workload.output]
    connection = connect()
    connection.register("expected", result)
    stored = expected_answers()[name]
    assert (result.num_rows, answer_digest(connection, "expected")) == (stored["rows"], stored["sha256"])


def test_ysb_counts_100_views_per_campaign_and_complete_window_at_3000_events_per_second():
    rows = answer("ysb", FiniteStream(60_000, 3000.0)).to_pylist()
    assert len(rows) == 200
    assert {row["views"] for row in rows} == {100}
    assert {row["window_start"] for row in rows} == {BASE, BASE + timedelta(seconds=10)}
    assert {row["campaign_id"] for row in rows} == {identifier("campaign", index) for index in range(100)}


def test_ysb_counts_a_window_that_the_stream_ends_in_as_far_as_it_goes():
    rows = answer("ysb", FiniteStream(33_000, 3000.0)).to_pylist()
    assert Counter((row["window_start"], row["views"]) for row in rows) == {
        (BASE, 100): 100,
        (BASE + timedelta(seconds=10), 10): 100,
    }


def test_v2_ysb_with_random_skewed_events_equals_a_count_in_plain_python():
    values = {"campaigns": 7, "ads_per_campaign": 3, "draws": "random", "skew": True, "window_s": 2}
    workload, stream = catalogue()["ysb"], FiniteStream(5_000, 1000.0, seed=5)
    parameters = workload.parameters(**values)
    campaign_of = {identifier("ad", ad): identifier("campaign", ad // 3) for ad in range(21)}
    views = Counter()
    for event in finite_table(workload, parameters, stream).to_pylist():
        if event["event_type"] == "view":
            start_s = int(event["event_time"].timestamp()) // 2 * 2
            views[campaign_of[event["ad_id"]], datetime.fromtimestamp(start_s, UTC)] += 1
    found = {(r["campaign_id"], r["window_start"]): r["views"] for r in answer("ysb", stream, **values).to_pylist()}
    assert found == views


def test_ysb_drops_events_without_a_campaign():
    workload = catalogue()["ysb"]
    table = finite_table(workload, workload.parameters(), FiniteStream(3_000, 1000.0))
    foreign = pa.array([identifier("ad", 1_000)] * table.num_rows)
    table = table.set_column(table.column_names.index("ad_id"), "ad_id", foreign)
    assert reference_answer(workload, workload.parameters(), table).num_rows == 0


@pytest.mark.parametrize("name", ["hibench-identity", "hibench-repartition"])
def test_records_pass_unchanged_and_doubles_stay_doubled(name):
    table = records((0, "1\t1.1.1.1,a"), (5, "2\t2.2.2.2,b"), (5, "2\t2.2.2.2,b"))
    assert hibench_answer(name, table).sort_by("created").to_pylist() == table.to_pylist()


def test_wordcount_counts_the_second_field_split_at_white_space_and_commas():
    table = records((0, "1\t1.1.1.1,a,b"), (1, "2 2.2.2.2 x"), (2, "3\t1.1.1.1,,c"), (3, "4,1.1.1.1\t2.2.2.2"))
    rows = hibench_answer("hibench-wordcount", table).to_pylist()
    assert {row["ip"]: row["records"] for row in rows} == {"1.1.1.1": 3, "2.2.2.2": 1}


def test_fixwindow_keeps_the_earliest_record_and_the_count_of_each_half_open_window():
    table = records((9_999, "1\ta,x"), (1_000, "2\ta,x"), (10_000, "3\ta,x"), (4_000, "4\tb,x"))
    rows = hibench_answer("hibench-fixwindow", table).to_pylist()
    found = {(row["ip"], row["window_start"]): (row["earliest"], row["records"]) for row in rows}
    assert found == {
        ("a", BASE): (BASE + timedelta(seconds=1), 2),
        ("a", BASE + timedelta(seconds=10)): (BASE + timedelta(seconds=10), 1),
        ("b", BASE): (BASE + timedelta(seconds=4), 1),
    }


def test_fixwindow_follows_the_length_of_the_window():
    table = records((0, "1\ta,x"), (1_000, "2\ta,x"), (2_000, "3\ta,x"))
    rows = hibench_answer("hibench-fixwindow", table, window_s=2).to_pylist()
    assert sorted(row["records"] for row in rows) == [1, 2]


def test_the_digest_does_not_depend_on_the_order_of_rows_and_changes_with_any_of_them():
    one = answer("hibench-wordcount", FiniteStream(100, 1000.0))
    connection = connect()
    connection.register("one", one)
    connection.register("turned", one.take(list(range(one.num_rows))[::-1]))
    connection.register("fewer", one.slice(1))
    connection.register("none", one.slice(0, 0))
    # The digest is over the rows as text, so the name of the relation must not matter either.
    assert answer_digest(connection, "one") == answer_digest(connection, "turned")
    assert answer_digest(connection, "one") != answer_digest(connection, "fewer")
    assert answer_digest(connection, "none") is None
