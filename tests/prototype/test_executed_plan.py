"""The check of the executed plan accepts the right plan and finds every planted fault."""

from dataclasses import replace

import pytest

from prototype.applications import pipeline, source
from streamgauge.errors import RunFailedError
from streamgauge.prototype.executed_plan import find_mismatches, mark, partitions_of, refuse_other_plan
from streamgauge.prototype.graph.application import PrototypeTask, TaskWindow
from streamgauge.workloads.executed_plan import PlanNode

APPLICATION = pipeline(
    source(),
    PrototypeTask("first", 3, ("source",), "balanced"),
    PrototypeTask("chained", 3, ("first",), "none"),
    PrototypeTask("second", 4, ("chained",), "hash", window=TaskWindow("tumbling", 3, 3)),
)
SCAN = PlanNode("MicroBatchScan")


def step(name, *children):
    return PlanNode(name, children=children)


def work(task, *children):
    return PlanNode("Project", frozenset({mark(task), "other text"}), children=children)


def shuffle(partitions, *children):
    return PlanNode("Exchange", partitions=partitions, children=children)


def plan(first=3, second=4, state=4):
    below = work("second", shuffle(second, work("chained", work("first", shuffle(first, SCAN)))))
    return step("WriteToDataSourceV2", step("StateStoreSave", shuffle(state, step("HashAggregate", below))))


def test_the_right_plan_has_no_mismatch():
    assert find_mismatches(APPLICATION, plan()) == []
    refuse_other_plan(APPLICATION, plan(), where="x.yaml")


@pytest.mark.parametrize(
    ("wrong", "told"),
    [
        (plan(first=2), ["first runs in 2 partitions instead of 3", "chained runs in 2 partitions instead of 3"]),
        (plan(second=5), ["second runs in 5 partitions instead of 4"]),
        (plan(state=200), ["the windows of second runs in 200 partitions instead of 4"]),
    ],
)
def test_another_number_of_partitions_is_found(wrong, told):
    assert find_mismatches(APPLICATION, wrong) == told


def test_a_task_that_is_gone_or_computed_twice_is_found():
    gone = step("Write", step("Project", shuffle(3, SCAN)))
    assert find_mismatches(APPLICATION, gone)[0] == "first is executed nowhere instead of once"
    twice = step("Union", plan(), plan())
    assert find_mismatches(APPLICATION, twice)[0] == "first is executed 2 times instead of once"


def test_a_redistribution_that_is_used_again_does_not_count_as_computed_again():
    application = pipeline(source(), *(PrototypeTask(name, 3, ("source",), "balanced") for name in ("a", "b")))
    shared = step("Union", work("a", shuffle(3, SCAN)), work("b", PlanNode("ReusedExchange", partitions=3)))
    assert find_mismatches(application, shared) == []


def test_windows_that_no_watermark_reaches_are_found_where_watermarks_are_passed_on():
    window = TaskWindow("tumbling", 3, 3)
    first = PrototypeTask("first", 3, ("source",), "balanced")
    left, right = (PrototypeTask(name, 3, ("first",), "balanced", window=window) for name in ("left", "right"))
    over = PrototypeTask("over", 3, ("left",), "balanced", window=window)

    def windows(task, *below):
        return step("StateStoreSave", shuffle(3, work(task, *below)))

    whole = shuffle(3, work("first", shuffle(3, step("EventTimeWatermark", SCAN))))
    over_left = windows("over", shuffle(3, windows("left", whole)))
    shared = step("Union", over_left, windows("right", PlanNode("ReusedExchange", partitions=3)))
    told = ["there are windows of windows, and windows beside a fork that Spark would never close"]
    assert find_mismatches(pipeline(source(), first, left, right, over), shared) == told
    alone = step("Union", windows("left", whole), windows("right", PlanNode("ReusedExchange", partitions=3)))
    assert find_mismatches(pipeline(source(), first, left, right), alone) == []


def test_a_union_runs_in_the_partitions_of_all_its_parts():
    assert partitions_of(step("Union", shuffle(3, SCAN), shuffle(2, SCAN))) == 5
    application = pipeline(
        source(),
        PrototypeTask("a", 3, ("source",), "balanced"),
        PrototypeTask("b", 2, ("source",), "balanced"),
        PrototypeTask("join", 5, ("a", "b"), "none"),
    )
    united = work("join", step("Union", work("a", shuffle(3, SCAN)), work("b", shuffle(2, SCAN))))
    assert find_mismatches(application, united) == []
    other = replace(application, tasks=(*application.tasks[:2], replace(application.tasks[2], parallelism=4)))
    assert find_mismatches(other, united) == ["join runs in 5 partitions instead of 4"]


def test_how_many_partitions_a_source_has_is_for_the_run_to_say():
    application = pipeline(source(parallelism=2), PrototypeTask("chained", 2, ("source",), "none"))
    assert find_mismatches(application, work("chained", SCAN)) == []


def test_a_mismatch_ends_the_run_and_says_what_to_leave_out():
    with pytest.raises(
        RunFailedError, match=r"x\.yaml: Spark does not execute.*second runs in 200.*\n.*--shuffle-part"
    ):
        refuse_other_plan(APPLICATION, plan(second=200), where="x.yaml")
