"""A prototype has the shape of the query that was measured, and the loads that its probes lack."""

import math
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamgauge.arrivals import parse_law
from streamgauge.prototype.fit import (
    FOREVER_S,
    Cost,
    MeasuredQuery,
    MeasuredStage,
    corrected,
    draft,
    flow_of,
    keys_of,
    uncorrected,
    zipf_exponent,
)
from streamgauge.prototype.graph.application import Data, Flow, TaskWindow

SCAN = MeasuredStage("source", 2, 50_000.0)
TABLE = MeasuredStage("table", 2, 0.0)
COUNTED = replace(SCAN, rows_out=206.0, bytes_out=4300.0)
STATE = MeasuredStage("shuffle", 2, 206.0, (1,), is_aggregated=True)


def query(*stages: MeasuredStage, **changes) -> MeasuredQuery:
    usual = {"flow": Flow("uniform", 100_000.0), "events": 50_000.0, "rate_per_s": 100_000.0, "cores": 2}
    return MeasuredQuery(stages, **{**usual, **changes})


def task(found, name="stage_1"):
    return found.application.component(name)


def test_one_stage_becomes_one_task_in_the_partitions_of_the_source():
    found = draft(query(SCAN))
    (source,), (only,) = found.application.sources, found.application.tasks
    assert (source.parallelism, source.flow, source.data.size) == (2, Flow("uniform", 100_000.0), 8)
    assert (only.name, only.parents, only.routing, only.parallelism) == ("stage_1", ("source",), "none", 2)
    assert (only.processing_us, only.window, only.filtering, only.selectivity) == (0.0, None, 0.0, 1.0)
    assert found.notes == ()


def test_an_aggregation_becomes_windows_of_each_value_with_the_keys_of_the_state():
    found = draft(query(TABLE, COUNTED, STATE, updated=100.0, window_s=(10, 10)))
    (only,) = found.application.tasks
    assert only.window == TaskWindow("tumbling", 10, 10, "value")
    assert found.application.sources[0].data == Data(21, 100)
    assert found.stage_of == {"stage_1": 1}
    assert found.notes == ("one stage reads no tuples in every micro-batch, such as a table; it is part of batch_ms",)


def test_windows_that_slide_share_their_keys():
    found = draft(query(replace(COUNTED, kind="source"), replace(STATE, reads=(0,)), updated=500.0, window_s=(10, 2)))
    assert task(found).window == TaskWindow("sliding", 10, 2, "value")
    assert found.application.sources[0].data.values == 100


def test_state_that_is_never_dropped_stays_in_a_window_longer_than_any_run():
    found = draft(query(COUNTED, replace(STATE, reads=(0,)), updated=100.0))
    assert task(found).window == TaskWindow("tumbling", FOREVER_S, FOREVER_S, "value")


@pytest.mark.parametrize(
    ("rows_out", "filtering", "selectivity"), [(16_650.0, 0.333, 1.0), (50_000.0, 0.0, 1.0), (125_000.0, 0.0, 2.5)]
)
def test_rows_that_leave_a_stage_are_a_filter_or_copies(rows_out, filtering, selectivity):
    scan = replace(SCAN, rows_out=rows_out, bytes_out=30 * rows_out)
    spread = MeasuredStage("shuffle", 4, rows_out, (0,), shares=(0.25,) * 4)
    found = draft(query(scan, spread))
    assert (task(found).filtering, task(found).selectivity) == (filtering, selectivity)
    second = task(found, "stage_2")
    assert (second.routing, second.parallelism, second.parents) == ("balanced", 4, ("stage_1",))
    assert found.application.sources[0].data.size == 30


def test_rows_that_spread_unevenly_are_hashed_by_values_that_are_as_uneven():
    scan = replace(SCAN, rows_out=50_000.0, bytes_out=1e6)
    shares = (0.4, 0.2, 0.2, 0.2)
    found = draft(query(scan, MeasuredStage("shuffle", 4, 50_000.0, (0,), shares=shares)))
    data = found.application.sources[0].data
    assert task(found, "stage_2").routing == "hash"
    assert data.distribution == "zipf"
    # The first value alone, and its part of the others, fill the fullest of four tasks.
    first = 1 / math.fsum(k**-data.exponent for k in range(1, data.values + 1))
    assert first + (1 - first) / 4 == pytest.approx(0.4, rel=0.01)


def test_what_chance_explains_is_not_taken_for_skew():
    scan = replace(SCAN, rows_out=50_000.0, bytes_out=1e6)
    found = draft(query(scan, MeasuredStage("shuffle", 2, 50_000.0, (0,), shares=(0.51, 0.49))))
    assert task(found, "stage_2").routing == "hash"
    assert found.application.sources[0].data.distribution == "uniform"


def test_streams_that_meet_are_the_parents_of_one_task():
    scan = replace(SCAN, rows_out=10_000.0, bytes_out=1e5)
    met = MeasuredStage("shuffle", 2, 20_000.0, (0, 1), shares=(0.6, 0.4))
    found = draft(query(scan, scan, met))
    assert task(found, "stage_3").parents == ("stage_1", "stage_2")
    assert [task.level for task in found.application.tasks] == [2, 2, 3]


def test_other_partitions_for_state_than_for_the_source_are_told():
    found = draft(query(COUNTED, replace(STATE, reads=(0,), tasks=8), updated=100.0, window_s=(10, 10)))
    assert task(found).parallelism == 2
    assert "the run had 8" in found.notes[0]


@given(st.integers(2, 5000), st.floats(0.05, 20.0))
def test_keys_are_found_from_how_many_of_them_are_met(keys, rows_per_key):
    rows = max(10.0, keys * rows_per_key)
    met = -keys * math.expm1(-rows / keys)
    found = keys_of(met, rows)
    # Where all keys are met, or none twice, their number matters less than how many are met.
    assert -found * math.expm1(-rows / found) == pytest.approx(met, rel=0.01, abs=1.0)


@pytest.mark.parametrize(("values", "exponent"), [(10, 0.5), (1000, 1.0), (100_000, 1.3)])
def test_the_exponent_of_a_share_gives_that_share(values, exponent):
    share = 1 / math.fsum(k**-exponent for k in range(1, values + 1))
    assert zipf_exponent(share, values) == pytest.approx(exponent, rel=0.01)


@pytest.mark.parametrize(
    ("law", "flow"),
    [
        ("constant", Flow("uniform", 1000.0)),
        ("sawtooth(phase=20s, offset=3s)", Flow("sawtooth", 1000.0, phase_s=20.0, offset_s=3.0)),
        ("reverse-sawtooth(phase=5s)", Flow("revsawtooth", 1000.0, phase_s=5.0)),
        (
            "burst(burst_rate=9k, interval=4s, duration=1s)",
            Flow("burst", 1000.0, interval_s=4.0, duration_s=1.0, burst_rate_per_s=9000.0),
        ),
        ("poisson", None),
        ("constant * 0.5 + sine * 0.5", None),
    ],
)
def test_laws_that_flows_have_are_found(law, flow):
    assert flow_of(parse_law(law, rate_per_s=1000.0, seed=1)) == flow


def test_a_load_is_what_the_probe_lacks():
    found = draft(query(SCAN))
    once = corrected(found, Cost({0: 1.4}, 0.5), Cost({0: 0.5}, 0.2))
    assert task(once).processing_us == pytest.approx(0.9)
    again = corrected(once.draft, Cost({0: 1.4}, 0.5), Cost({0: 1.5}, 0.5))
    assert task(again).processing_us == pytest.approx(0.8)
    assert once.cheaper == again.cheaper == ()
    half = corrected(once.draft, Cost({0: 1.4}, 0.5), Cost({0: 1.5}, 0.4), share=0.5)
    assert task(half).processing_us == pytest.approx(0.85)
    assert 0 < task(half).batch_ms < task(corrected(once.draft, Cost({0: 1.4}, 0.5), Cost({0: 1.4}, 0.2))).batch_ms


def test_without_a_probe_the_whole_time_is_the_load():
    assert uncorrected(draft(query(SCAN)), Cost({0: 1.4}, 0.5)).tasks[0].processing_us == pytest.approx(1.4)


def test_a_query_that_is_cheaper_than_its_prototype_is_told_and_gets_no_load():
    found = corrected(draft(query(SCAN)), Cost({0: 0.15}, 0.2), Cost({0: 0.35}, 0.3))
    assert (task(found).processing_us, task(found).batch_ms) == (0.0, 0.0)
    assert "stage_1 has no CPU work, and takes 0.2 µs more" in found.cheaper
    assert any("stage_1 has no wait, and a micro-batch takes" in text for text in found.cheaper)


def micro_batch_s(fixed_s: float, us_per_event: float, *, rate_per_s: float, trigger_s: float = 0.0) -> float:
    """Return how long micro-batches of two tasks are in the end: each takes what came meanwhile, or in an interval."""
    per_event_s = us_per_event * 1e-6 / 2
    if trigger_s:
        return fixed_s + per_event_s * rate_per_s * trigger_s
    return fixed_s / (1 - per_event_s * rate_per_s)


@pytest.mark.parametrize("trigger_s", [0.0, 2.0])
@pytest.mark.parametrize(("fixed_s", "us"), [(0.3, 1.4), (0.2, 8.0), (0.5, 0.6)])
def test_load_and_wait_together_make_micro_batches_as_long_as_those_of_the_query(fixed_s, us, trigger_s):
    rate = 100_000.0
    target_s = micro_batch_s(fixed_s, us, rate_per_s=rate, trigger_s=trigger_s)
    events = rate * (trigger_s or target_s)
    stage = replace(SCAN, rows=events)
    found = draft(query(stage, events=events, is_triggered=trigger_s > 0))
    own_s, own_us = 0.12, 0.5
    probed = Cost({0: own_us}, micro_batch_s(own_s, own_us, rate_per_s=rate, trigger_s=trigger_s))
    loaded = task(corrected(found, Cost({0: us}, target_s), probed))
    made_s = micro_batch_s(
        own_s + loaded.batch_ms / 1000, own_us + loaded.processing_us, rate_per_s=rate, trigger_s=trigger_s
    )
    assert made_s == pytest.approx(target_s, rel=0.01)


def test_a_wait_is_shared_by_tasks_that_run_one_after_the_other():
    four = replace(SCAN, tasks=4)
    loaded = task(corrected(draft(query(four)), Cost({0: 0.5}, 0.6), Cost({0: 0.5}, 0.2)))
    alone = task(corrected(draft(query(SCAN)), Cost({0: 0.5}, 0.6), Cost({0: 0.5}, 0.2)))
    assert loaded.batch_ms == pytest.approx(alone.batch_ms / 2, rel=0.01)


def test_a_load_in_windows_that_overlap_is_paid_in_each_of_them():
    found = draft(query(COUNTED, replace(STATE, reads=(0,)), updated=500.0, window_s=(10, 2)))
    assert task(corrected(found, Cost({0: 5.0}, None), Cost({0: 1.0}, None))).processing_us == pytest.approx(0.8)


def test_an_aggregation_that_leaves_many_rows_is_paid_before_it():
    many = replace(STATE, reads=(0,), rows=25_000.0)
    found = draft(query(replace(COUNTED, rows_out=25_000.0), many, updated=25_000.0, window_s=(10, 10)))
    loaded = corrected(found, Cost({0: 1.0, 1: 4.0}, None), Cost({0: 0.5, 1: 2.0}, None))
    assert task(loaded).processing_us == pytest.approx(0.5 + 2.0 / 2)
