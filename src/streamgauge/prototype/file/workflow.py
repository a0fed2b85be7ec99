"""The Workflow schema: the application as a whole, from which rules make the components."""

from streamgauge.prototype.file.operators import read_cpu_work, read_window
from streamgauge.prototype.file.reading import PrototypeReader, PrototypeSection
from streamgauge.prototype.file.rules import (
    LEAST_DEPTH,
    component_levels,
    component_parents,
    filter_level,
    is_routed_first,
    spread_parallelism,
    spread_work,
    window_place,
)
from streamgauge.prototype.file.streams import read_data, read_flow, read_topic, warn_of_zookeeper
from streamgauge.prototype.graph.application import PrototypeTask, Routing, Source
from streamgauge.prototype.graph.chaining import executed_tasks

# Sources and tasks of an application.
Components = tuple[tuple[Source, ...], tuple[PrototypeTask, ...]]


def read_workflow(reader: PrototypeReader, datastream: PrototypeSection, workflow: PrototypeSection) -> Components:
    """Read what sources emit and what tasks do, and apply the rules; nothing where the graph cannot be built."""
    instances = _read_parallelism(reader, workflow)
    sources = _read_sources(reader, datastream, workflow, instances)
    tasks = _read_tasks(reader, workflow, sources, instances[len(sources) :])
    return sources, _executed(reader, workflow, sources, tasks)


def _levels(workflow: PrototypeSection) -> tuple[int, ...]:
    return component_levels(workflow.part("connection")["shape"], workflow["depth"])


def _read_parallelism(reader: PrototypeReader, workflow: PrototypeSection) -> tuple[int, ...]:
    """Return the instances of each component; none of them when they are too few."""
    scalability, connection = workflow.part("scalability"), workflow.part("connection")
    depth, shape, total = workflow["depth"], connection["shape"], scalability["parallelism"]
    if not (workflow.is_usable("depth") and connection.is_usable("shape") and scalability.is_usable("parallelism")):
        return ()
    if depth < LEAST_DEPTH[shape]:
        what = f"depth {depth} is too small for a {shape}"
        reader.mistakes.add(workflow.place_of("depth"), what, f"use {LEAST_DEPTH[shape]} levels or more")
        return ()
    components = len(_levels(workflow))
    if total < components:
        is_default = "" if "parallelism" in scalability.given else " by default"
        what = (
            f"parallelism is {total:,}{is_default}, but the {shape} shape of depth {depth} has {components} components"
        )
        place = scalability.place_of("parallelism") if "parallelism" in scalability else workflow.place_of("depth")
        reader.mistakes.add(place, what, f"use {components} instances or more, or fewer levels")
        return ()
    return spread_parallelism(total, components, scalability["balancing"], scalability["variability"])


def _read_sources(
    reader: PrototypeReader, datastream: PrototypeSection, workflow: PrototypeSection, instances: tuple[int, ...]
) -> tuple[Source, ...]:
    """Return one source, or the two alike of a star."""
    synthetic, external = datastream.part("synthetic"), datastream.part("external")
    connection, kafka = workflow.part("connection"), external.part("kafka")
    warn_of_zookeeper(reader, external)
    topic = read_topic(kafka, reader)
    data = read_data(synthetic.part("data"), reader)
    if topic and connection["shape"] == "star":
        what = "a star has two sources, but there is one topic"
        reader.mistakes.add(kafka.place_of("server"), what, "use linear or diamond, or tuples that are made")
    count = _levels(workflow).count(1)
    # The flow is read once for the mistakes in it, also where instances are not known.
    flow = read_flow(synthetic.part("flow"), reader, max(instances[:count], default=1))
    names = ("source",) if count == 1 else ("source_1", "source_2")
    return tuple(
        Source(name, parallelism, data, flow, topic, workflow["reliability"])
        for name, parallelism in zip(names, instances, strict=False)
    )


def _read_tasks(
    reader: PrototypeReader, workflow: PrototypeSection, sources: tuple[Source, ...], instances: tuple[int, ...]
) -> tuple[PrototypeTask, ...]:
    shape, depth = workflow.part("connection")["shape"], workflow["depth"]
    work = _read_work(reader, workflow, max(1, len(instances)))
    window = read_window(workflow.part("windowing"), reader)
    if not instances:
        return ()
    levels, parents = component_levels(shape, depth), component_parents(shape, depth)
    names = [source.name for source in sources] + [f"task_{number}" for number in range(1, len(instances) + 1)]
    tasks = []
    for place, (parallelism, (processing, processing_us)) in enumerate(
        zip(instances, work, strict=True), start=len(sources)
    ):
        is_windowed = window is not None and place == window_place(levels)
        is_filter = levels[place] == filter_level(depth) and not is_windowed
        tasks.append(
            PrototypeTask(
                name=names[place],
                parallelism=parallelism,
                parents=tuple(names[parent] for parent in parents[place]),
                routing=_routing(workflow, levels[place]),
                processing=processing,
                processing_us=processing_us,
                filtering=float(workflow["filtering"]) if is_filter else 0.0,
                window=window if is_windowed else None,
                reliability=workflow["reliability"],
                level=levels[place],
            )
        )
    if workflow["filtering"] and not any(task.filtering for task in tasks):
        what = "filtering has no effect: the only task that would filter has windows"
        reader.warn(workflow.place_of("filtering"), what)
    return tuple(tasks)


def _routing(workflow: PrototypeSection, level: int) -> Routing:
    connection = workflow.part("connection")
    routing: Routing = connection["routing"]
    is_routed = connection["routing_scope"] == "all" or is_routed_first(connection["shape"], level)
    return routing if is_routed else "none"


def _read_work(reader: PrototypeReader, workflow: PrototypeSection, tasks: int) -> list[tuple[float, float | None]]:
    """Return the cycles or the microseconds of each task."""
    workload = workflow.part("workload")
    processing, processing_us = read_cpu_work(workload, reader)
    is_time = processing_us is not None
    work = spread_work(processing if processing_us is None else processing_us, tasks, workload["balancing"])
    most = workload.group.key("processing_us" if is_time else "processing").high
    for number, one in enumerate(work, start=1):
        if one > most:
            what = f"{workload['balancing']} makes the CPU work of task_{number} {one:,.0f}"
            place = workload.place_of("balancing", "processing_us", "processing")
            reader.mistakes.add(place, what, f"use fewer levels or less CPU work, so that it is at most {most:,}")
            break
    return [(0.0, one) if is_time else (one, None) for one in work]


def _executed(
    reader: PrototypeReader, workflow: PrototypeSection, sources: tuple[Source, ...], tasks: tuple[PrototypeTask, ...]
) -> tuple[PrototypeTask, ...]:
    executed, changes = executed_tasks(sources, tasks)
    if changes:
        found = ", ".join(
            f"{change.executed:,} instead of {change.declared:,} of {change.task.name}" for change in changes
        )
        what = f"routing none chains tasks to their parents: Spark executes {found}"
        reader.warn(workflow.part("connection").place_of("routing_scope", "routing"), what)
    return executed
