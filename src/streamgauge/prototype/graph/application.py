"""An application as a graph: sources, tasks and how tuples travel between them.

Both schemas are read into this one form, with every rule already applied; the dataflow, the drawing, the exported
program and the check of the executed plan all work from it.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

Distribution = Literal["uniform", "nonuniform", "zipf"]
FlowShape = Literal["uniform", "burst", "sin", "sawtooth", "revsawtooth"]
Routing = Literal["none", "balanced", "hash", "broadcast"]
RoutingScope = Literal["all", "first"]
RateScope = Literal["instance", "total"]
WindowType = Literal["tumbling", "sliding"]
WindowKey = Literal["instance", "value"]


@dataclass(frozen=True)
class Data:
    """What the values of a source are: strings over a to z, the first `values` of them in order."""

    size: int = 8
    values: int = 100
    distribution: Distribution = "uniform"
    exponent: float = 1.0


@dataclass(frozen=True)
class Flow:
    """How tuples of a source arrive; a rate of 0 is as fast as possible."""

    distribution: FlowShape = "uniform"
    rate_per_s: float = 1000.0
    phase_s: float = 300.0
    interval_s: float = 300.0
    duration_s: float = 120.0
    offset_s: float = 0.0
    rate_scope: RateScope = "total"
    burst_rate_per_s: float | None = None


@dataclass(frozen=True)
class SourceTopic:
    """An external source: a topic of a Kafka broker."""

    server: str
    group: str = "namb_default"
    name: str = "namb_topic"


@dataclass(frozen=True)
class TaskWindow:
    """Event-time windows; one tuple per window and instance, or per window and value."""

    type: WindowType
    duration_s: int
    interval_s: int
    key: WindowKey = "instance"

    @property
    def slide_s(self) -> int:
        """How far the beginnings of two windows are apart."""
        return self.interval_s if self.type == "sliding" else self.duration_s


@dataclass(frozen=True)
class Source:
    """A component that makes tuples."""

    name: str
    parallelism: int
    data: Data
    flow: Flow
    topic: SourceTopic | None = None
    reliability: bool = True
    level: int = 1


@dataclass(frozen=True)
class PrototypeTask:
    """A component that works on tuples.

    `processing` is the CPU work in thousands of cycles per tuple, or `processing_us` in microseconds of one core, which
    takes its place. A tuple waits `sojourn_ms` without use of the processor, and the first one of a micro-batch in
    each instance waits `batch_ms`. `filtering` is the share that is forwarded and 0 forwards all; `selectivity` is the
    mean number of copies of what is forwarded; `resized_data` truncates values, and 0 keeps them.
    """

    name: str
    parallelism: int
    parents: tuple[str, ...]
    routing: Routing = "none"
    processing: float = 10.0
    processing_us: float | None = None
    sojourn_ms: float = 0.0
    batch_ms: float = 0.0
    parse_json: bool = False
    filtering: float = 0.0
    selectivity: float = 1.0
    resized_data: int = 0
    window: TaskWindow | None = None
    reliability: bool = True
    level: int = 2


Component = Source | PrototypeTask


@dataclass(frozen=True)
class Application:
    """The whole graph, components in order: parents stand before their children.

    `text` is the file as written, and `warnings` say what was read under an obsolete name.
    """

    name: str
    schema: Literal["workflow", "pipeline"]
    sources: tuple[Source, ...]
    tasks: tuple[PrototypeTask, ...]
    routing_scope: RoutingScope = "all"
    text: str = ""
    warnings: tuple[str, ...] = ()

    @property
    def components(self) -> tuple[Component, ...]:
        """Sources first, then tasks."""
        return (*self.sources, *self.tasks)

    @cached_property
    def _by_name(self) -> dict[str, Component]:
        return {component.name: component for component in self.components}

    def component(self, name: str) -> Component:
        """Return a component by its name."""
        return self._by_name[name]

    def children(self, name: str) -> tuple[PrototypeTask, ...]:
        """Return the tasks that get the tuples of a component."""
        return tuple(task for task in self.tasks if name in task.parents)

    @property
    def sinks(self) -> tuple[PrototypeTask, ...]:
        """Return the tasks whose tuples leave the application."""
        return tuple(task for task in self.tasks if not self.children(task.name))

    @property
    def has_windows(self) -> bool:
        """Return whether any task has windows."""
        return any(task.window is not None for task in self.tasks)

    @property
    def has_forks(self) -> bool:
        """Return whether tuples of a component go to several tasks."""
        return any(len(self.children(component.name)) > 1 for component in self.components)

    @cached_property
    def results_of_windows(self) -> frozenset[str]:
        """Return the tasks whose tuples come out of windows, or are made of such tuples."""
        found: set[str] = set()
        for task in self.tasks:
            if task.window is not None or found.intersection(task.parents):
                found.add(task.name)
        return frozenset(found)

    @property
    def has_windows_of_windows(self) -> bool:
        """Return whether a task has windows over results of windows."""
        return any(
            task.window is not None and self.results_of_windows.intersection(task.parents) for task in self.tasks
        )

    @cached_property
    def instance_origins(self) -> frozenset[str]:
        """Return the tasks whose routing decides in which instance tuples are, where windows are by instance."""
        windowed = [task for task in self.tasks if task.window is not None and task.window.key == "instance"]
        return frozenset(self._instance_origin(task).name for task in windowed)

    def _instance_origin(self, task: PrototypeTask) -> PrototypeTask:
        """Follow a chained task to where its tuples were routed to: they stay where its parent is."""
        while task.routing == "none" and len(task.parents) == 1:
            parent = self.component(task.parents[0])
            if isinstance(parent, Source) or parent.window is not None:
                break
            task = parent
        return task

    @property
    def depth(self) -> int:
        """Return the number of levels, that of the sources included."""
        return max(component.level for component in self.components)
