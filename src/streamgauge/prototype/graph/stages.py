"""The stages that Spark makes of an application: they end where tuples are redistributed, and at the sink."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

from streamgauge.prototype.graph.application import Application, PrototypeTask, Source

Begin = Literal["source", "routing", "windows", "handed over"]
Way = Literal["balanced", "hash", "broadcast", "windows", "handed over", "sink"]


def is_handed_over(application: Application, task: PrototypeTask) -> bool:
    """Return whether the tuples of a task need a shuffle of their own, so that it is computed only once."""
    children = application.children(task.name)
    return len(children) > 1 and not _share_shuffle(children)


def _share_shuffle(tasks: Sequence[PrototypeTask]) -> bool:
    """Return whether tasks are reached by equal shuffles, of which Spark makes one."""
    ways = {(task.parents, task.routing, task.parallelism) for task in tasks}
    return len(ways) == 1 and tasks[0].routing != "none"


@dataclass(frozen=True)
class Chain:
    """Components that work on a tuple one after the other, in the same Spark task.

    It begins with tuples of `sources`, with those that are routed to its first component, with the results of the
    windows of that, or with tuples that the first component, which works elsewhere, has handed over.
    """

    begin: Begin
    components: tuple[str, ...]
    partitions: int
    sources: tuple[str, ...] = ()

    def before(self, task: PrototypeTask) -> "Chain":
        """Return this chain with one more task at its end."""
        return replace(self, components=(*self.components, task.name))


@dataclass(frozen=True)
class PlannedStage:
    """Chains that run side by side, and the way of their tuples to the tasks that receive them."""

    number: int
    chains: tuple[Chain, ...]
    way: Way
    receivers: tuple[str, ...] = ()

    @property
    def partitions(self) -> int:
        """How many Spark tasks a micro-batch has in this stage."""
        return sum(chain.partitions for chain in self.chains)


@dataclass(frozen=True)
class _Chains:
    """How tuples come to a task: each function goes one step further than the one before."""

    application: Application

    def received(self, task: PrototypeTask) -> tuple[Chain, ...]:
        """Return the chains of all parents; sources are parts of one stream, which is read once for all of them."""
        parents = [self.application.component(name) for name in task.parents]
        sources = tuple(parent.name for parent in parents if isinstance(parent, Source))
        partitions = sum(source.parallelism for source in self.application.sources)
        made = (Chain("source", (), partitions, sources),) if sources else ()
        return made + self.left(parent for parent in parents if isinstance(parent, PrototypeTask))

    def routed(self, task: PrototypeTask) -> tuple[Chain, ...]:
        if task.routing == "none":
            return tuple(chain.before(task) for chain in self.received(task))
        return (Chain("routing", (task.name,), task.parallelism),)

    def done(self, task: PrototypeTask) -> tuple[Chain, ...]:
        return (Chain("windows", (task.name,), task.parallelism),) if task.window else self.routed(task)

    def left(self, tasks: Iterable[PrototypeTask]) -> tuple[Chain, ...]:
        found: list[Chain] = []
        for task in tasks:
            if is_handed_over(self.application, task):
                found.append(Chain("handed over", (task.name,), task.parallelism))
            else:
                found += self.done(task)
        return tuple(found)


def spark_stages(application: Application) -> tuple[PlannedStage, ...]:
    """Return the stages of a micro-batch, in an order in which they can run."""
    chains = _Chains(application)
    # By what makes a redistribution the same: Spark makes one for all tasks that need it.
    found: dict[tuple[object, ...], PlannedStage] = {}
    for task in application.tasks:
        if task.routing != "none":
            key = (task.parents, task.routing, task.parallelism)
            known = found.get(key, PlannedStage(len(found) + 1, chains.received(task), task.routing))
            found[key] = replace(known, receivers=(*known.receivers, task.name))
        if task.window:
            found[task.name, "windows"] = PlannedStage(len(found) + 1, chains.routed(task), "windows", (task.name,))
        if is_handed_over(application, task):
            receivers = tuple(child.name for child in application.children(task.name))
            found[task.name, "handed over"] = PlannedStage(len(found) + 1, chains.done(task), "handed over", receivers)
    return (*found.values(), PlannedStage(len(found) + 1, chains.left(application.sinks), "sink"))
