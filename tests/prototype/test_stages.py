import pytest

from prototype.applications import COPYING, DIAMOND, FLOWS, FORK, LINEAR, SLIDING, STAR, TUMBLING, WINDOWS
from streamgauge.prototype.graph.stages import Chain, PlannedStage, spark_stages


def test_chained_tasks_are_one_stage():
    assert spark_stages(LINEAR) == (
        PlannedStage(1, (Chain("source", (), 2, ("source",)),), "balanced", ("first",)),
        PlannedStage(2, (Chain("routing", ("first",), 3),), "hash", ("second",)),
        PlannedStage(3, (Chain("routing", ("second", "third"), 2),), "sink"),
    )


def test_branches_of_a_diamond_run_side_by_side():
    stages = spark_stages(DIAMOND)
    assert stages[2] == PlannedStage(
        3, (Chain("routing", ("upper",), 3), Chain("routing", ("lower",), 2)), "hash", ("join",)
    )
    assert stages[2].partitions == 5
    assert stages[3].chains == (Chain("routing", ("join", "end"), 4),)


def test_branches_of_different_parallelism_read_the_source_twice():
    assert [stage.receivers for stage in spark_stages(DIAMOND)[:2]] == [("upper",), ("lower",)]


def test_tasks_that_are_reached_in_the_same_way_share_a_redistribution():
    assert [stage.receivers for stage in spark_stages(STAR)] == [("hub",), ("up", "down"), ("end",), ()]


def test_sources_are_read_together_in_the_partitions_of_all():
    first = spark_stages(STAR)[0]
    assert first.chains == (Chain("source", (), 3, ("left", "right")),)
    assert [stage.partitions for stage in spark_stages(FLOWS)][:1] == [5]


def test_tuples_for_children_that_are_reached_in_different_ways_are_handed_over():
    stages = spark_stages(FORK)
    assert stages[1] == PlannedStage(2, (Chain("routing", ("hub",), 3),), "handed over", ("chained", "hashed", "both"))
    assert stages[2] == PlannedStage(3, (Chain("handed over", ("hub",), 3),), "hash", ("hashed",))
    assert stages[-1].chains == (Chain("handed over", ("hub", "chained"), 3), Chain("routing", ("both",), 4))


@pytest.mark.parametrize("application", [TUMBLING, SLIDING])
def test_windows_are_put_together_in_a_stage_of_their_own(application):
    stages = spark_stages(application)
    (where,) = [k for k, stage in enumerate(stages) if stage.way == "windows"]
    assert stages[where].chains[0].components == ("window",)
    assert stages[where + 1].chains[0] == Chain("windows", ("window",), stages[where].partitions)


def test_windows_of_a_chained_task_end_its_chain():
    ways = [(stage.way, [chain.components for chain in stage.chains]) for stage in spark_stages(WINDOWS)]
    assert ("windows", [("everywhere", "window")]) in ways
    assert ("balanced", [("window",)]) in ways


def test_broadcast_tuples_are_received_in_every_instance():
    assert [stage.partitions for stage in spark_stages(COPYING)] == [2, 2, 3]


@pytest.mark.parametrize("application", [LINEAR, DIAMOND, STAR, FORK, TUMBLING, WINDOWS, FLOWS])
def test_stages_are_numbered_and_every_task_works_in_one_of_them(application):
    stages = spark_stages(application)
    assert [stage.number for stage in stages] == list(range(1, len(stages) + 1))
    working = [
        name
        for stage in stages
        for chain in stage.chains
        for name in (chain.components if chain.begin in ("source", "routing") else chain.components[1:])
    ]
    assert set(working) == {task.name for task in application.tasks}
