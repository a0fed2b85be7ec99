"""Reads the plan that Spark executes."""

from typing import Any

from streamgauge.workloads.executed_plan import PlanNode

REDISTRIBUTIONS = ("Exchange", "ReusedExchange")


def read_plan(plan: Any) -> PlanNode:
    """Read a physical plan of Java; texts are read from projections only."""
    name = str(plan.nodeName())
    is_redistribution = name in REDISTRIBUTIONS
    return PlanNode(
        name=name,
        texts=_texts(plan) if name == "Project" else frozenset(),
        partitions=int(plan.outputPartitioning().numPartitions()) if is_redistribution else None,
        children=tuple(read_plan(child) for child in _items(plan.children())),
    )


def _texts(plan: Any) -> frozenset[str]:
    leaves = [leaf for expression in _items(plan.expressions()) for leaf in _items(expression.collectLeaves())]
    literals = [leaf for leaf in leaves if leaf.nodeName() == "Literal" and leaf.dataType().typeName() == "string"]
    return frozenset(str(leaf.value()) for leaf in literals)


def _items(sequence: Any) -> list[Any]:
    return [sequence.apply(index) for index in range(sequence.length())]
