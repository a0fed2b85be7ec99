"""The Pipeline schema: the application task by task, any graph without cycles."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from streamgauge.errors import closest
from streamgauge.prototype.file.operators import read_cpu_work, read_window
from streamgauge.prototype.file.reading import PrototypeReader, PrototypeSection
from streamgauge.prototype.file.streams import read_data, read_flow, read_topic, warn_of_zookeeper
from streamgauge.prototype.file.vocabulary import ANY_TASK, MAX_COMPONENTS, MAX_PARALLELISM, SOURCE, TASK
from streamgauge.prototype.file.workflow import Components
from streamgauge.prototype.graph.application import PrototypeTask, Source
from streamgauge.prototype.graph.chaining import executed_tasks
from streamgauge.yaml_nodes import Mapping, Node, Scalar, is_empty, shown_at
from streamgauge.yaml_nodes import Sequence as ListNode


@dataclass(frozen=True)
class _Entry:
    """One entry of the list; its name is empty when it has none that can be used."""

    name: str
    section: PrototypeSection
    parents: tuple[Scalar, ...]
    is_source: bool


def tasks_of(reader: PrototypeReader, key: Scalar, node: Node) -> tuple[Node, ...] | None:
    """Return the entries of `pipeline.tasks`; None when there is something else."""
    if not isinstance(node, Mapping):
        reader.mistakes.add(shown_at(key, node), "pipeline needs the key tasks", "write `tasks:` with a list below it")
        return None
    found: tuple[Node, ...] | None = ()
    for inner, value in node.entries:
        if inner.text != "tasks":
            remedy = closest(inner.text, ["tasks"])
            reader.mistakes.add(inner.place, f'pipeline has no key "{inner.text}"', remedy)
        elif isinstance(value, ListNode):
            found = value.items
        elif not is_empty(value):
            reader.mistakes.add(value.place, "tasks needs a list", "write `- name: NAME` below it")
            found = None
    return found


def read_pipeline(reader: PrototypeReader, items: Sequence[Node]) -> Components:
    """Read the tasks in their order; nothing when they make no graph."""
    entries = _named(reader, [_read_entry(reader, item) for item in items[:MAX_COMPONENTS]])
    if len(items) > MAX_COMPONENTS:
        what = f"more than {MAX_COMPONENTS} tasks"
        reader.mistakes.add(items[MAX_COMPONENTS].place, what, "describe a smaller application")
        return (), ()
    _check_graph(reader, entries, is_whole=len(entries) == len(items))
    sources = tuple(_source(reader, entry) for entry in entries if entry.is_source)
    tasks = tuple(_task(reader, entry) for entry in entries if not entry.is_source)
    _check_rates(reader, entries, sources)
    _check_topics(reader, entries, sources)
    if reader.mistakes.found:
        return (), ()
    return sources, _executed(reader, entries, sources, _leveled(sources, tasks))


def _without_synthetic(reader: PrototypeReader, item: Node) -> Node:
    """Take `data` and `flow` out of `synthetic`, in which NAMB's documentation puts them."""
    if not isinstance(item, Mapping):
        return item
    entries: list[tuple[Scalar, Node]] = []
    for key, node in item.entries:
        if key.text == "synthetic" and isinstance(node, Mapping):
            reader.warn(key.place, "synthetic is obsolete in a task; write data and flow without it")
            entries += node.entries
        else:
            entries.append((key, node))
    return replace(item, entries=tuple(entries))


def _read_entry(reader: PrototypeReader, item: Node) -> _Entry:
    section = reader.section(_without_synthetic(reader, item), ANY_TASK)
    parents = section.given["parents"].value if "parents" in section.given else ()
    entry = _Entry(section["name"] or "", section, tuple(parents), "parents" not in section)
    if isinstance(item, Mapping):
        if "name" not in section:
            reader.mistakes.add(item.place, "this task has no name", "add `name: NAME`")
        _check_kind(reader, entry)
    return entry


def _check_kind(reader: PrototypeReader, entry: _Entry) -> None:
    """Note keys of tasks at a source, keys of sources at a task, and a type that says otherwise."""
    section, known = entry.section, SOURCE if entry.is_source else TASK
    called = f'"{entry.name}"' if entry.name else "this task"
    has = "has no parents, so it is a source" if entry.is_source else "has parents, so it is not a source"
    for name, key in section.keys.items():
        if name not in known.names:
            remedy = "add `parents: [NAME]`" if entry.is_source else "leave `parents` out"
            reader.mistakes.add(key.place, f"{called} {has} and takes no {name}", f"leave {name} out, or {remedy}")
    if "type" in section.given:
        kind = "source" if entry.is_source else "task"
        if section["type"] == kind:
            reader.warn(section.keys["type"].place, "type is not needed: a task without parents is a source")
        else:
            what = f'type "{section["type"]}" is not right: {called} {has}'
            reader.mistakes.add(section.place_of("type"), what, f"leave type out, or write {kind}")


def _named(reader: PrototypeReader, entries: Sequence[_Entry]) -> list[_Entry]:
    """Return the entries that have a name of their own."""
    lines: dict[str, int] = {}
    named = []
    for entry in entries:
        if entry.name in lines:
            what = f'"{entry.name}" is the name of another task already, in line {lines[entry.name]}'
            reader.mistakes.add(entry.section.place_of("name"), what, "give each task a name of its own")
        elif entry.name:
            lines[entry.name] = entry.section.place_of("name").line
            named.append(entry)
    return named


def _check_graph(reader: PrototypeReader, entries: Sequence[_Entry], *, is_whole: bool) -> None:
    """Check who gets tuples from whom; `is_whole` says that all tasks of the file are there."""
    graph = _Graph(reader, entries)
    for entry in entries:
        seen: set[str] = set()
        for parent in entry.parents:
            what, remedy = graph.objection(entry.name, parent.text)
            if parent.text in seen:
                what, remedy = f'parent "{parent.text}" is there already', "name each parent once"
            if what:
                reader.mistakes.add(parent.place, what, remedy)
                is_whole = False
            seen.add(parent.text)
    # Where parents are wrong or missing, a source may be meant by one of them.
    is_whole = is_whole and all(entry.section.is_usable("parents") for entry in entries)
    for entry in entries:
        if is_whole and entry.is_source and entry.name not in graph.read_names:
            what = f'no task gets the tuples of source "{entry.name}"'
            remedy = f"write `parents: [{entry.name}]` at a task, or leave the source out"
            reader.mistakes.add(entry.section.place_of("name"), what, remedy)


class _Graph:
    """Who gets tuples from whom, as written."""

    def __init__(self, reader: PrototypeReader, entries: Sequence[_Entry]) -> None:
        self.reader = reader
        self.lines = {entry.name: entry.section.place_of("name").line for entry in entries}
        self.order = {entry.name: place for place, entry in enumerate(entries)}
        self.parents = {entry.name: [parent.text for parent in entry.parents] for entry in entries}
        self.read_names = {name for names in self.parents.values() for name in names}
        self._ancestors: dict[str, dict[str, str]] = {}

    def objection(self, child: str, parent: str) -> tuple[str, str]:
        """Return what is wrong with a parent and what to do; nothing when it stands before its child."""
        if parent == child:
            return f'"{child}" cannot be its own parent', "tuples flow one way; name another task"
        if parent not in self.order:
            known = [name for name in self.order if name != child]
            return f'there is no task "{parent}"', self.reader.suggest(parent, known)
        if self.order[parent] < self.order[child]:
            return "", ""
        if child in self._reached(parent):
            cycle = " → ".join([*self._way(child, parent), child])
            return f"tuples go round in a circle: {cycle}", "tuples flow one way; take one of these parents out"
        what = f'parent "{parent}" stands after "{child}", in line {self.lines[parent]}'
        return what, f'move "{parent}" before "{child}"'

    def _reached(self, name: str) -> dict[str, str]:
        """Return all that tuples of a task have passed, each with the one that they went to next."""
        if name not in self._ancestors:
            found: dict[str, str] = {}
            waiting = [name]
            while waiting:
                current = waiting.pop()
                for parent in self.parents.get(current, ()):
                    if parent not in found:
                        found[parent] = current
                        waiting.append(parent)
            self._ancestors[name] = found
        return self._ancestors[name]

    def _way(self, start: str, end: str) -> Iterator[str]:
        """Yield the tasks that tuples pass from one task to another."""
        passed = self._reached(end)
        while start != end:
            yield start
            start = passed[start]
        yield end


def _source(reader: PrototypeReader, entry: _Entry) -> Source:
    section, kafka = entry.section, entry.section.part("kafka")
    warn_of_zookeeper(reader, kafka)
    topic = read_topic(kafka, reader)
    data = read_data(section.part("data"), reader)
    flow = read_flow(section.part("flow"), reader, section["parallelism"])
    return Source(entry.name, section["parallelism"], data, flow, topic, section["reliability"])


def _task(reader: PrototypeReader, entry: _Entry) -> PrototypeTask:
    section = entry.section
    processing, processing_us = read_cpu_work(section, reader)
    window = read_window(section.part("windowing"), reader)
    filtering = section["filtering"]
    if window and filtering:
        what = f'filtering has no effect: "{entry.name}" has windows, and tasks with windows do not filter'
        reader.warn(section.place_of("filtering"), what)
        filtering = 0.0
    return PrototypeTask(
        name=entry.name,
        parallelism=section["parallelism"],
        parents=tuple(parent.text for parent in entry.parents),
        routing=section["routing"],
        processing=processing,
        processing_us=processing_us,
        sojourn_ms=float(section["sojourn_ms"]),
        batch_ms=float(section["batch_ms"]),
        parse_json=section["parse_json"],
        filtering=float(filtering),
        selectivity=float(section["selectivity"]),
        resized_data=section["resizeddata"],
        window=window,
        reliability=section["reliability"],
    )


def _check_rates(reader: PrototypeReader, entries: Sequence[_Entry], sources: Sequence[Source]) -> None:
    """Refuse sources as fast as possible beside others with a rate: one stream feeds all of them."""
    flows = {
        entry.name: entry.section.part("flow")
        for entry in entries
        if entry.section.part("flow").is_usable("rate") and entry.section.part("kafka").is_usable("server")
    }
    made = {source.name: source.flow.rate_per_s for source in sources if source.topic is None and source.name in flows}
    fixed = [name for name, rate in made.items() if rate > 0]
    for name, rate in made.items():
        if rate == 0 and fixed:
            what = f'"{name}" is as fast as possible, but "{fixed[0]}" has {made[fixed[0]]:,.10g} tuples per second'
            remedy = "give all sources a rate of 0, or none"
            reader.mistakes.add(flows[name].place_of("rate"), what, remedy)


def _check_topics(reader: PrototypeReader, entries: Sequence[_Entry], sources: Sequence[Source]) -> None:
    """Refuse a topic beside other sources: one stream feeds all of them."""
    external = {source.name for source in sources if source.topic is not None}
    for entry in entries:
        if entry.name in external and len(sources) > 1:
            what = f'"{entry.name}" reads a topic, but there are {len(sources)} sources'
            remedy = "let one source read the topic, or describe data and flow of all of them"
            reader.mistakes.add(entry.section.part("kafka").place_of("server"), what, remedy)


def _leveled(sources: Sequence[Source], tasks: Sequence[PrototypeTask]) -> list[PrototypeTask]:
    """Put each task one level after the last of its parents."""
    levels = {source.name: source.level for source in sources}
    for task in tasks:
        levels[task.name] = 1 + max(levels[parent] for parent in task.parents)
    return [replace(task, level=levels[task.name]) for task in tasks]


def _executed(
    reader: PrototypeReader, entries: Sequence[_Entry], sources: Sequence[Source], tasks: Sequence[PrototypeTask]
) -> tuple[PrototypeTask, ...]:
    """Return the tasks as Spark executes them, which has one number of partitions for all windows."""
    sections = {entry.name: entry.section for entry in entries}
    executed, changes = executed_tasks(sources, tasks)
    for change in changes:
        place = sections[change.task.name].place_of("parallelism")
        reader.warn(place, str(change))
        if change.executed > MAX_PARALLELISM:
            reader.mistakes.add(place, str(change), f"use a routing, so that it is at most {MAX_PARALLELISM:,}")
            break
    windowed = [task for task in executed if task.window]
    for task in windowed[1:]:
        if task.parallelism != windowed[0].parallelism:
            what = (
                f'"{task.name}" has windows and {task.parallelism:,} instances, '
                f'but "{windowed[0].name}" has windows and {windowed[0].parallelism:,}'
            )
            place = sections[task.name].place_of("parallelism")
            reader.mistakes.add(place, what, "give all tasks with windows the same number of instances")
    return executed
