"""How many instances of a task Spark executes: as many as asked for, or as its parents have when it is chained."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from streamgauge.prototype.graph.application import PrototypeTask, Source


@dataclass(frozen=True)
class Change:
    """A chained task that Spark executes with other than the declared number of instances.

    `stream` is the number of partitions in which all sources come; None for a task without a source among its parents.
    """

    task: PrototypeTask
    declared: int
    parents: tuple[tuple[str, int], ...]
    stream: int | None

    @property
    def executed(self) -> int:
        """The number of instances that Spark executes."""
        return self.task.parallelism

    def __str__(self) -> str:
        before = " and ".join(f'"{name}" ({instances:,})' for name, instances in self.parents)
        is_shared = self.executed != sum(instances for _, instances in self.parents)
        return (
            f'"{self.task.name}" has parallelism {self.declared:,}, but routing none chains it to {before}: '
            f"Spark executes {self.executed:,}"
            + (f", because all sources share a stream of {self.stream:,} partitions" if is_shared else "")
        )


def executed_tasks(
    sources: Sequence[Source], tasks: Sequence[PrototypeTask]
) -> tuple[tuple[PrototypeTask, ...], tuple[Change, ...]]:
    """Return the tasks with the parallelism that Spark executes, and those for which it is not the declared one.

    Without redistribution a task runs in the partitions of its parents, and a union has those of all of them. All
    sources come in one stream, which has as many partitions as they have instances together.
    """
    stream = sum(source.parallelism for source in sources)
    instances = {source.name: source.parallelism for source in sources}
    executed: dict[str, PrototypeTask] = {}
    changes: list[Change] = []
    for task in tasks:
        from_tasks = [executed[name].parallelism for name in task.parents if name in executed]
        reads_stream = len(from_tasks) < len(task.parents)
        found = task
        if task.routing == "none":
            found = replace(task, parallelism=sum(from_tasks) + (stream if reads_stream else 0))
        if found.parallelism != task.parallelism:
            parents = tuple((name, instances[name]) for name in task.parents)
            changes.append(Change(found, task.parallelism, parents, stream if reads_stream else None))
        instances[task.name] = found.parallelism
        executed[task.name] = found
    return tuple(executed.values()), tuple(changes)
