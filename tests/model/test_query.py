"""Queries and settings that are written down by hand."""

import numpy as np
import pytest

from streamgauge.errors import UsageError
from streamgauge.model import Keys, Noise, OutputCurve, QueryModel, Settings, StageModel, TaskCost, simulate
from streamgauge.model.query import PHASES


@pytest.mark.parametrize(
    ("name", "inside", "outside"),
    [
        ("rate_per_s", (1e-6, 1e9), (0.0, -1.0, float("inf"), float("nan"))),
        ("trigger_s", (0.0, 60.0), (-0.001, float("inf"))),
        ("duration_s", (1.0, 3600.0), (0.999, float("nan"))),
        ("warmup_s", (0.0, 60.0), (-0.001,)),
        ("cores", (1, 1024), (0, 1025)),
        ("shuffle_partitions", (1, 100_000, None), (0, 100_001)),
        ("source_partitions", (1, 100_000, None), (0, 100_001)),
        ("max_rows_per_batch", (1, 10**12, None), (0, 10**12 + 1)),
        ("slowdown", (1.0, 10.0), (0.999, 10.001)),
    ],
)
def test_a_setting_is_accepted_up_to_its_ends_and_refused_beyond_them(name, inside, outside):
    usual = {"rate_per_s": 1000.0, "cores": 2}
    for value in inside:
        assert getattr(Settings(**usual | {name: value}), name) == value
    for value in outside:
        with pytest.raises(UsageError) as caught:
            Settings(**usual | {name: value})
        assert caught.value.where == "--" + name.removesuffix("_per_s").removesuffix("_s").replace("_", "-")


def test_usual_settings_are_a_minute_after_ten_seconds_without_a_trigger():
    usual = Settings(1000.0, 4)
    assert (usual.duration_s, usual.warmup_s, usual.load_s, usual.trigger_s) == (60.0, 10.0, 70.0, 0.0)
    assert usual.slowdown == 1.08
    assert [usual.tasks(kind) for kind in ("source", "shuffle", "cores", 7)] == [4, 4, 4, 7]
    chosen = Settings(1000.0, 4, source_partitions=5, shuffle_partitions=6)
    assert [chosen.tasks(kind) for kind in ("source", "shuffle", "cores", 7)] == [5, 6, 4, 7]


@pytest.mark.parametrize(
    ("trigger_s", "asked_s", "target_s"), [(0.0, None, 3.0), (1.5, None, 3.0), (5.0, None, 10.0), (5.0, 4.0, 4.0)]
)
def test_a_full_micro_batch_may_take_three_seconds_or_two_triggers(trigger_s, asked_s, target_s):
    assert Settings(1000.0, 1, trigger_s=trigger_s, admission_target_s=asked_s).target_s == target_s


def test_a_stage_spreads_its_input_evenly_or_as_measured_or_by_its_keys():
    stage = StageModel("s", "shuffle", TaskCost())
    assert stage.shares_for(4).tolist() == [0.25] * 4
    assert StageModel("s", "shuffle", TaskCost(), shares=(0.4, 0.3, 0.2, 0.1)).shares_for(2) == pytest.approx(
        [0.6, 0.4]
    )
    keys = Keys((np.array([1, 2, 3]),), np.array([0.5, 0.3, 0.2]))
    both = StageModel("s", "shuffle", TaskCost(), shares=(0.4, 0.6), keys=keys)
    assert both.shares_for(2).tolist() == keys.shares(2).tolist()


def test_a_stage_reads_every_event_unless_it_is_told_otherwise_and_writes_nothing():
    stage = StageModel("s", "source", TaskCost())
    assert (stage.per_event, stage.reads, stage.after, stage.output, stage.closing) == (
        1.0,
        (),
        (),
        OutputCurve(0.0),
        None,
    )


def test_noise_of_nothing_is_one_row_with_the_phases_that_are_given():
    noise = Noise.none({"query_planning": 0.5, "between": 0.25}, (0.1, 0.2))
    assert dict(zip(PHASES, noise.phases_s[0].tolist(), strict=True)) == dict.fromkeys(PHASES, 0.0) | {
        "query_planning": 0.5, "between": 0.25,
    }  # fmt: skip
    assert (noise.gaps_s.tolist(), noise.factors.tolist(), noise.task_cv) == ([[0.1, 0.2]], [[1.0, 1.0]], (0.0, 0.0))
    assert (noise.runs, noise.block, noise.power) == (1, 10.0, 0.0)


def test_by_default_a_task_is_handed_out_and_reported_within_a_millisecond_each():
    query = QueryModel((StageModel("s", 1, TaskCost(wait_s=0.1)),), Noise.none({}, (0.0,)), 1)
    done = simulate([query], Settings(10.0, 1, duration_s=5.0), replications=1, rng=np.random.default_rng(1))
    assert done.batch_duration_s() == pytest.approx(0.102)
    assert (query.background, query.pace, query.slide_s) == (0.0, 1.0, None)
    assert query.state.held(10.0, 1000.0) == 0.0


@pytest.mark.parametrize(
    ("after", "is_chain"),
    [([()], True), ([(), (0,)], True), ([(), ()], False), ([(), (0,), (0, 1)], True), ([(), (0,), (1,)], False)],
)
def test_a_chain_is_where_every_stage_waits_for_all_before_it(after, is_chain):
    stages = tuple(StageModel("s", 1, TaskCost(), after=stages) for stages in after)
    assert QueryModel(stages, Noise.none({}, (0.0,) * len(stages)), 1).is_chain is is_chain
