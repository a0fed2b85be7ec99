"""The plan that Spark executes, as far as a workload may want to check it."""

from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class PlanNode:
    """One step of a plan: its name, the texts that its expressions hold, and the steps that it gets rows from.

    `partitions` is the number of partitions into which it redistributes rows; None for steps that do not. A step whose
    rows are those of another redistribution, computed once for both, has no children.
    """

    name: str
    texts: frozenset[str] = frozenset()
    partitions: int | None = None
    children: tuple["PlanNode", ...] = ()

    def walk(self) -> Iterator["PlanNode"]:
        """Yield this step and all below it."""
        yield self
        for child in self.children:
            yield from child.walk()
