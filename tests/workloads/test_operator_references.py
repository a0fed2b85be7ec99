"""The references of the single operators, checked against plain Python, and the one operator that runs in Python."""

import itertools
from collections import Counter, defaultdict
from datetime import UTC, datetime, timedelta
from importlib import import_module

import numpy as np
import pytest

from streamgauge.conclude.verification import FiniteStream
from streamgauge.running.verify import BASE_TIME_US, default_stream
from streamgauge.workloads.operators.partition import close_windows
from streamgauge.workloads.reference import reference_answer

NAMES = (
    *("map", "filter", "filtermap", "reduce", "rolling_count", "window_tumbling", "window_sliding"),
    *("session", "join_window", "join_left", "partition"),
)
MODULES = [import_module(f"streamgauge.workloads.operators.{name}") for name in NAMES]
WORKLOADS = {module.WORKLOAD.name: module.WORKLOAD for module in MODULES}
STREAM = FiniteStream(4_000, 500.0, seed=3)


def finite(name, stream=STREAM, **values):
    """Return the finite events of a workload and the reference's answer to them."""
    workload = WORKLOADS[name]
    parameters = workload.parameters(**values)
    schedule = stream.schedule(workload.events, parameters)
    arrivals = schedule.arrivals(np.arange(schedule.total), load_us=BASE_TIME_US)
    table = workload.events.table(parameters, seed=stream.seed, arrivals=arrivals)
    return table.to_pylist(), reference_answer(workload, parameters, table).to_pylist()


def as_counter(rows):
    return Counter(tuple(row.values()) for row in rows)


def window_start(time, length_s):
    return datetime.fromtimestamp(int(time.timestamp()) // length_s * length_s, UTC)


def totals(groups):
    """Return (key..., records, sum) for the values of each group."""
    return Counter((*key, len(values), sum(values)) for key, values in groups.items())


@pytest.mark.parametrize("name", list(WORKLOADS))
def test_the_answer_has_rows_and_the_columns_of_the_output(name):
    _, rows = finite(name, default_stream(WORKLOADS[name]))
    assert len(rows) > 100
    assert list(rows[0]) == [field.name for field in WORKLOADS[name].output]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("operator-map", lambda e: [(e["number"], e["key"], e["value"] * 2 + 1)]),
        ("operator-filter", lambda e: [(e["number"], e["key"], e["value"])] * (e["value"] % 7 == 0)),
        ("operator-filtermap", lambda e: [(e["number"], e["key"], e["value"] * 2 + 1)] * (e["value"] % 7 == 0)),
    ],
)
def test_stateless_operators_treat_every_record_by_itself(name, expected):
    events, rows = finite(name, **({} if name == "operator-map" else {"divisor": 7}))
    assert as_counter(rows) == Counter(row for event in events for row in expected(event))


def test_reduce_and_rolling_count_hold_the_whole_stream():
    events, reduced = finite("operator-reduce", keys=50, zipf=1.0)
    _, counted = finite("operator-rolling-count", keys=50, zipf=1.0)
    values = defaultdict(list)
    for event in events:
        values[event["key"]].append(event["value"])
    assert as_counter(reduced) == Counter((key, sum(v), max(v)) for key, v in values.items())
    assert as_counter(counted) == Counter((key, len(v)) for key, v in values.items())


def test_tumbling_windows_hold_each_record_once():
    events, rows = finite("operator-window-tumbling", keys=20, window_s=3)
    groups = defaultdict(list)
    for event in events:
        groups[event["key"], window_start(event["created"], 3)].append(event["value"])
    assert as_counter(rows) == totals(groups)
    assert sum(row["records"] for row in rows) == len(events)


def test_sliding_windows_hold_each_record_as_often_as_they_overlap():
    events, rows = finite("operator-window-sliding", keys=20, slide_s=2, slides=3)
    groups = defaultdict(list)
    for event in events:
        for back in range(3):
            start = window_start(event["created"], 2) - timedelta(seconds=2 * back)
            assert start <= event["created"] < start + timedelta(seconds=6)
            groups[event["key"], start].append(event["value"])
    assert as_counter(rows) == totals(groups)


@pytest.mark.parametrize(("turns", "gap_ms"), [(1, 300), (4, 500), (3, 50)])
def test_sessions_end_with_a_pause_longer_than_the_gap(turns, gap_ms):
    events, rows = finite("operator-session", keys=100, turns=turns, gap_ms=gap_ms)
    gap, sessions = timedelta(milliseconds=gap_ms), defaultdict(list)
    for event in events:
        of_key = sessions[event["key"]]
        if of_key and event["created"] <= of_key[-1][1]:
            of_key[-1][1] = event["created"] + gap
            of_key[-1][2] += 1
            of_key[-1][3] += event["value"]
        else:
            of_key.append([event["created"], event["created"] + gap, 1, event["value"]])
    assert as_counter(rows) == Counter((key, *session) for key, found in sessions.items() for session in found)


def test_there_are_sessions_of_several_records_at_low_and_high_rates():
    for rate_per_s in (1_000.0, 20_000.0):
        _, rows = finite("operator-session", FiniteStream(round(10 * rate_per_s), rate_per_s))
        assert len(rows) > 2_000
        assert 2 < np.mean([row["records"] for row in rows]) < 100


def test_the_window_join_pairs_the_sides_within_a_window():
    events, rows = finite("operator-join-window", keys=300, window_s=2)
    sides = defaultdict(lambda: ([], []))
    for event in events:
        sides[event["key"], window_start(event["created"], 2)][event["side"]].append(event["value"])
    pairs = Counter((*key, left, right) for key, (lefts, rights) in sides.items() for left in lefts for right in rights)
    assert as_counter(rows) == pairs
    assert len(rows) > 1_000


def test_the_left_join_keeps_records_without_a_match():
    events, rows = finite("operator-join-left", keys=500, within_s=1)
    rights = defaultdict(list)
    for event in events:
        if event["side"] == 1:
            rights[event["key"]].append((event["created"], event["value"]))
    expected = Counter()
    for event in (e for e in events if e["side"] == 0):
        limit = event["created"] + timedelta(seconds=1)
        matches = [right for right in rights[event["key"]] if event["created"] <= right[0] <= limit]
        for match in matches or [(None, None)]:
            expected[event["key"], event["created"], event["value"], *match] += 1
    assert as_counter(rows) == expected
    assert 0 < sum(row["right_value"] is None for row in rows) < len(rows)


def count_windows(events, size):
    """Return (key, window, total) of every complete run of `size` records of a key."""
    values = defaultdict(list)
    for event in events:
        values[event["key"]].append(event["value"])
    return Counter(
        (key, window, sum(found[window * size : (window + 1) * size]))
        for key, found in values.items()
        for window in range(len(found) // size)
    )


@pytest.mark.parametrize("size", [1, 3, 10])
def test_count_windows_hold_records_in_the_order_of_their_numbers(size):
    events, rows = finite("operator-partition", keys=70, zipf=1.0, window_records=size)
    assert as_counter(rows) == count_windows(events, size)


@pytest.mark.parametrize("size", [1, 2, 7, 1_000])
@pytest.mark.parametrize("seed", range(5))
def test_count_windows_do_not_depend_on_how_records_are_cut_into_micro_batches(size, seed):
    rng = np.random.default_rng(seed)
    number, key, value = np.arange(3_000), rng.integers(0, 40, 3_000) ** 2 // 40, rng.integers(0, 1_000, 3_000)
    state, found = np.empty((3, 0), dtype=np.int64), Counter()
    borders = np.concatenate(([0], np.sort(rng.choice(np.arange(1, 3_000), 9, replace=False)), [3_000]))
    for first, last in itertools.pairwise(borders):
        shuffled = rng.permutation(np.arange(first, last))
        windows, state = close_windows((number[shuffled], key[shuffled], value[shuffled]), state, size)
        found.update(zip(*(column.tolist() for column in windows), strict=True))
    records = [{"key": k, "value": v} for k, v in zip(key.tolist(), value.tolist(), strict=True)]
    assert found == count_windows(records, size)
    assert state[1].sum() == 3_000
