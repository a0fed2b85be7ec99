"""StreamBench's references, checked against plain Python."""

from collections import Counter
from datetime import UTC, datetime, timedelta

import numpy as np
import pyarrow as pa
import pytest

from streamgauge.conclude.verification import FiniteStream
from streamgauge.running.verify import BASE_TIME_US
from streamgauge.workloads.reference import reference_answer
from streamgauge.workloads.streambench import advclick, windowed_wordcount, wordcount

BASE = datetime.fromtimestamp(BASE_TIME_US / 1e6, UTC)
WORKLOADS = {module.WORKLOAD.name: module.WORKLOAD for module in (wordcount, windowed_wordcount, advclick)}


def finite(name, stream, **values):
    """Return the finite events of a workload and the reference's answer to them."""
    workload = WORKLOADS[name]
    parameters = workload.parameters(**values)
    schedule = stream.schedule(workload.events, parameters)
    arrivals = schedule.arrivals(np.arange(schedule.total), load_us=BASE_TIME_US)
    table = workload.events.table(parameters, seed=stream.seed, arrivals=arrivals)
    return table.to_pylist(), reference_answer(workload, parameters, table).to_pylist()


def answer(name, columns, **values):
    workload = WORKLOADS[name]
    columns = {key: [BASE + timedelta(seconds=s) for s in c] if key == "created" else c for key, c in columns.items()}
    table = pa.table(columns).cast(pa.schema({key: _arrow(key) for key in columns}))
    return reference_answer(workload, workload.parameters(**values), table).to_pylist()


def _arrow(column):
    return pa.timestamp("us", "UTC") if column == "created" else pa.string()


@pytest.mark.parametrize("law", ["uniform", "zipf"])
def test_wordcount_is_an_exact_count_of_the_generated_words(law):
    events, rows = finite("streambench-wordcount", FiniteStream(5_000, 1000.0, seed=3), law=law)
    counted = Counter(word for event in events for word in event["sentence"].split())
    assert {row["word"]: row["occurrences"] for row in rows} == counted
    assert counted.total() == pytest.approx(5_000 * 10.5, rel=0.01)


@pytest.mark.parametrize("window_s", [1, 2])
def test_windowed_wordcount_is_an_exact_count_per_second(window_s):
    stream = FiniteStream(5_000, 1000.0, seed=3)
    events, rows = finite("streambench-windowed-wordcount", stream, law="zipf", window_s=window_s)
    counted = Counter()
    for event in events:
        start_s = int(event["created"].timestamp()) // window_s * window_s
        counted.update((word, datetime.fromtimestamp(start_s, UTC)) for word in event["sentence"].split())
    assert {(row["word"], row["window_start"]): row["occurrences"] for row in rows} == counted


def test_words_are_cut_at_non_word_characters_and_made_small():
    rows = answer("streambench-wordcount", {"sentence": ["Ab, cd;ab", "CD-cd"], "created": [0, 0]})
    assert {row["word"]: row["occurrences"] for row in rows} == {"ab": 2, "cd": 3}


def test_advclick_joins_every_click_of_a_delay_up_to_20_s_exactly_once():
    events, rows = finite("streambench-advclick", FiniteStream(6_000, 200.0, seed=5))
    shown = {event["id"]: event["created"] for event in events if event["kind"] == "ad"}
    clicks = [(e["id"], shown[e["id"]], e["created"]) for e in events if e["kind"] == "click"]
    assert sorted((row["id"], row["shown"], row["clicked"]) for row in rows) == sorted(clicks)
    assert len(clicks) == pytest.approx((30 - 10) * 200 * 0.3 / 1.3, rel=0.02)


def test_advclick_leaves_out_clicks_that_come_too_late_too_early_or_without_an_ad():
    kinds = ["ad"] * 4 + ["click"] * 5
    ids = ["a", "b", "c", "d", "a", "b", "c", "d", "x"]
    created = [10, 10, 10, 10, 30, 30.001, 5, 4.999, 11]
    rows = answer("streambench-advclick", {"kind": kinds, "id": ids, "created": created})
    assert sorted(row["id"] for row in rows) == ["a", "c"]


def test_advclick_follows_its_windows():
    columns = {"kind": ["ad", "ad", "click", "click"], "id": ["a", "b", "a", "b"], "created": [10, 10, 13, 9]}
    found = {
        windows: sorted(row["id"] for row in answer("streambench-advclick", columns, **dict(windows)))
        for windows in (
            (("ad_window_s", 2), ("click_window_s", 5)),
            (("ad_window_s", 3), ("click_window_s", 0)),
            (("ad_window_s", 3), ("click_window_s", 1)),
        )
    }
    assert list(found.values()) == [["b"], ["a"], ["a", "b"]]


def test_an_ad_clicked_twice_is_joined_twice():
    columns = {"kind": ["ad", "click", "click"], "id": ["a"] * 3, "created": [0, 1, 2]}
    assert len(answer("streambench-advclick", columns)) == 2
