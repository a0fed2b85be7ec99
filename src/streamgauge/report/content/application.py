"""A prototype in words and cells: its components, what a tuple costs, and what Spark makes of it."""

from collections.abc import Iterable, Sequence
from dataclasses import asdict
from textwrap import wrap
from typing import Any, Literal

from rich.cells import cell_len

from streamgauge.errors import StreamgaugeError
from streamgauge.lookup import is_prototype
from streamgauge.prototype.graph.application import Application, Component, Flow, PrototypeTask, Source, TaskWindow
from streamgauge.prototype.graph.costs import Costs
from streamgauge.prototype.graph.flow import burst_rate_per_s, mean_rate_per_s, peak_rate_per_s
from streamgauge.prototype.graph.stages import Chain, PlannedStage, spark_stages
from streamgauge.store import StoredRun
from streamgauge.units import format_count, format_duration, format_rate

COMPONENT_COLUMNS = ("component", "level", "instances", "tuples in", "cycles", "CPU time", "work")
TUPLES_MEANING = "for one tuple of the sources, on average"
_SHAPES = {"sin": "sine", "sawtooth": "sawtooth", "revsawtooth": "reverse sawtooth"}
UNREADABLE = "The file of the application is stored, but this version cannot read it."


def wrap_facts(facts: Iterable[str], room: int) -> list[str]:
    """Put facts into lines; only a fact that is too long for one is broken, between words.

    >>> wrap_facts(["4 instances", "4.5k cycles", "100 values of 8 characters"], 25)
    ['4 instances, 4.5k cycles', '100 values of 8', 'characters']
    """
    lines: list[str] = []
    for fact in facts:
        if lines and cell_len(longer := f"{lines[-1]}, {fact}") <= room:
            lines[-1] = longer
        else:
            lines += wrap(fact, room, break_long_words=False, break_on_hyphens=False)
    return lines


def counted(count: int, word: str) -> str:
    """Write a number of things.

    >>> counted(1, "instance"), counted(4, "instance")
    ('1 instance', '4 instances')
    """
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _share(value: float) -> str:
    return f"{100 * value:.3g}%"


def window_text(window: TaskWindow) -> str:
    """Write length, slide and key of windows."""
    every = f" every {format_duration(window.slide_s)}" if window.type == "sliding" else ""
    return f"{format_duration(window.duration_s)} windows{every}{' per value' if window.key == 'value' else ''}"


def load_text(task: PrototypeTask, costs: Costs) -> str:
    """Write what a tuple costs in a task."""
    cycles, cpu_us = costs.cycles(task), costs.cpu_us(task)
    written = f"{format_count(cycles)} cycles" if cycles is not None else None
    time = format_duration(cpu_us / 1e6) if cpu_us is not None else None
    if cycles == 0 or cpu_us == 0:
        return "no load"
    return " = ".join(part for part in (written, time) if part)


def work_facts(task: PrototypeTask) -> list[str]:
    """Write what a task does besides its load."""
    facts = {
        f"waits {format_duration(task.sojourn_ms / 1000)}": task.sojourn_ms > 0,
        f"waits {format_duration(task.batch_ms / 1000)} per micro-batch": task.batch_ms > 0,
        "parses JSON": task.parse_json,
        f"keeps {_share(task.filtering)}": 0 < task.filtering < 1 and task.window is None,
        f"{task.selectivity:.4g} copies": task.selectivity != 1,
        f"cuts to {counted(task.resized_data, 'character')}": task.resized_data > 0,
    }
    return [fact for fact, holds in facts.items() if holds] + ([window_text(task.window)] if task.window else [])


def flow_text(source: Source) -> str:
    """Write in short how tuples of a source arrive."""
    flow, rate = source.flow, format_rate(peak_rate_per_s(source))
    if source.topic is not None:
        return f"topic {source.topic.name}"
    if not flow.rate_per_s:
        return "as fast as possible"
    if flow.distribution == "uniform":
        return rate
    return f"{rate} with bursts" if flow.distribution == "burst" else f"{_SHAPES[flow.distribution]} to {rate}"


def _values(source: Source) -> list[str]:
    """Write what the values of a source are; those of a topic are unknown."""
    data = source.data
    if source.topic is not None:
        return []
    drawn = {"uniform": [], "nonuniform": ["bell-shaped"], "zipf": [f"Zipf {data.exponent:.3g}"]}[data.distribution]
    return [f"{counted(data.values, 'value')} of {counted(data.size, 'character')}", *drawn]


def component_facts(component: Component, costs: Costs) -> list[str]:
    """Write what the box of a component says."""
    instances = counted(component.parallelism, "instance")
    if isinstance(component, Source):
        return [instances, flow_text(component), *_values(component)]
    return [instances, load_text(component, costs), *work_facts(component)]


def _wave_words(flow: Flow, rate: str) -> str:
    phase = format_duration(flow.phase_s)
    return {
        "sin": f"swings between 0 and {rate} as a sine, once in {phase}",
        "sawtooth": f"rises from 0 to {rate} in {phase}, drops, and begins again",
        "revsawtooth": f"falls from {rate} to 0 in {phase}, jumps back, and begins again",
    }[flow.distribution]


def arrival_words(source: Source) -> str:
    """Write the arrival law of a source in words."""
    flow, per_s, mean_per_s = source.flow, peak_rate_per_s(source), mean_rate_per_s(source)
    rate = format_rate(per_s)
    if source.topic is not None:
        return f"whatever topic {source.topic.name} at {source.topic.server} holds"
    if not per_s:
        return "as fast as possible: all tuples are there at once"
    if flow.distribution == "uniform":
        words = f"{rate} all the time"
    elif flow.distribution == "burst":
        calm, burst = format_duration(flow.interval_s), format_duration(flow.duration_s)
        words = f"{rate} for {calm}, then {format_rate(burst_rate_per_s(source))} for {burst}, again and again"
    else:
        words = _wave_words(flow, rate)
    if mean_per_s is not None and mean_per_s != per_s:
        words += f"; {format_rate(mean_per_s)} on average"
    if flow.offset_s:
        words += f"; begins {format_duration(flow.offset_s)} into its phase"
    if flow.rate_scope == "instance" and source.parallelism > 1:
        words += f"; {counted(source.parallelism, 'instance')} with {format_rate(flow.rate_per_s)} each"
    return words


def parents_text(task: PrototypeTask) -> str:
    """Write where the tuples of a task come from."""
    return f"{' and '.join(task.parents)} ({task.routing})"


def component_rows(costs: Costs) -> list[tuple[str, ...]]:
    """Return the cells of `COMPONENT_COLUMNS` for each component."""
    rows: list[tuple[str, ...]] = []
    for one in costs.application.components:
        count = costs.tuples[one.name]
        tuples = "windows" if count is None else f"{count:.4g}"
        cycles, cpu_us = (costs.cycles(one), costs.cpu_us(one)) if isinstance(one, PrototypeTask) else (None, None)
        load = (
            "-" if cycles is None else format_count(cycles),
            "-" if cpu_us is None else format_duration(cpu_us / 1e6),
        )
        work = work_facts(one) if isinstance(one, PrototypeTask) else [flow_text(one), *_values(one)]
        rows.append((one.name, f"{one.level}", f"{one.parallelism}", tuples, *load, ", ".join(work) or "-"))
    return rows


def total_load_text(costs: Costs) -> str:
    """Write what one tuple of the sources costs in all tasks together."""
    cycles, timed_us, cpu_us = costs.total_cycles, costs.total_timed_us, costs.total_cpu_us
    parts = [f"{format_count(cycles)} cycles"] if cycles else []
    if cpu_us is None:
        parts += [f"{format_duration(timed_us / 1e6)} of one core"] if timed_us else []
        text = " and ".join(parts)
    else:
        text = " = ".join([*([] if timed_us else parts), f"{format_duration(cpu_us / 1e6)} of one core"])
    if not cycles and not timed_us:
        text = "no load"
    tasks = costs.application.tasks
    apart = {
        "waiting": any(task.sojourn_ms or task.batch_ms for task in tasks),
        "parsing JSON": any(task.parse_json for task in tasks),
        "results of windows": any(costs.tuples[task.name] is None for task in tasks),
    }
    left_out = " and ".join(name for name, is_there in apart.items() if is_there)
    source = "the source" if len(costs.application.sources) == 1 else "the sources"
    return f"{text} per tuple of {source}{f'; not counted: {left_out}' if left_out else ''}"


def cores_text(costs: Costs) -> str | None:
    """Write how many cores the load keeps busy; None where it is not known."""
    if costs.cores is None or costs.rate_per_s is None or not costs.total_cpu_us:
        return None
    return f"{costs.cores:.3g} kept busy by the load at {format_rate(costs.rate_per_s)}"


def _chain_text(chain: Chain) -> str:
    first, *rest = [" + ".join(chain.sources), *chain.components] if chain.sources else chain.components
    begin = {"windows": f"results of {first}", "handed over": f"tuples of {first}"}.get(chain.begin, first)
    return " → ".join([begin, *rest])


def stage_text(stage: PlannedStage) -> str:
    """Write what runs in a stage, and where its tuples go."""
    receivers = " and ".join(stage.receivers)
    way = {
        "balanced": f"round robin to {receivers}",
        "hash": f"by value to {receivers}",
        "broadcast": f"to every instance of {receivers}",
        "windows": "the parts of each window together",
        "handed over": f"handed over to {receivers}",
        "sink": "to the sink",
    }[stage.way]
    chains = " and ".join(map(_chain_text, stage.chains))
    return f"{counted(stage.partitions, 'partition')}: {chains}, then {way}"


def stage_rows(costs: Costs) -> list[tuple[str, str]]:
    """Return the stages of a micro-batch, as names and texts."""
    return [(f"stage {stage.number}", stage_text(stage)) for stage in spark_stages(costs.application)]


def total_rows(costs: Costs) -> list[tuple[str, str]]:
    """Return the totals of an application, as names and texts."""
    application = costs.application
    sources, tasks = counted(len(application.sources), "source"), counted(len(application.tasks), "task")
    unreliable = [component.name for component in application.components if not component.reliability]
    rows = [
        ("depth", counted(application.depth, "level")),
        ("components", f"{len(application.components)}: {sources}, {tasks}"),
        ("instances", f"{sum(component.parallelism for component in application.components):,} in all"),
        ("load", total_load_text(costs)),
        *([("cores", text)] if (text := cores_text(costs)) else []),
        *([("routing", "only from sources and where streams join")] if application.routing_scope == "first" else []),
        *([("unreliable", ", ".join(unreliable))] if unreliable else []),
    ]
    many = len(application.sources) > 1
    return rows + [
        (f"arrivals{f' of {source.name}' if many else ''}", arrival_words(source)) for source in application.sources
    ]


def _describe_component(component: Component, costs: Costs) -> dict[str, Any]:
    shared = {
        "name": component.name,
        "kind": "source" if isinstance(component, Source) else "task",
        "level": component.level,
        "instances": component.parallelism,
        "reliability": component.reliability,
        "tuples": costs.tuples[component.name],
    }
    if isinstance(component, Source):
        topic = asdict(component.topic) if component.topic else None
        own = {"data": asdict(component.data), "flow": asdict(component.flow), "topic": topic}
        return {**shared, **own, "arrivals": arrival_words(component), "mean_rate_per_s": mean_rate_per_s(component)}
    return {
        **shared,
        "parents": list(component.parents),
        "routing": component.routing,
        "cycles": costs.cycles(component),
        "cpu_us": costs.cpu_us(component),
        "sojourn_ms": component.sojourn_ms,
        "batch_ms": component.batch_ms,
        "parse_json": component.parse_json,
        "filtering": component.filtering,
        "selectivity": component.selectivity,
        "resized_data": component.resized_data,
        "window": asdict(component.window) if component.window else None,
    }


def describe_application(
    application: Application, ns_per_cycle: float | None = None, notes: Sequence[str] = ()
) -> dict[str, Any]:
    """Return an application as a document, with notes besides the warnings of its file."""
    costs = Costs(application, ns_per_cycle)
    return {
        "name": application.name,
        "schema": application.schema,
        "depth": application.depth,
        "instances": sum(component.parallelism for component in application.components),
        "routing_scope": application.routing_scope,
        "components": [_describe_component(component, costs) for component in application.components],
        "edges": [
            {"from": parent, "to": task.name, "routing": task.routing}
            for task in application.tasks
            for parent in task.parents
        ],
        "load_per_tuple": {
            "cycles": costs.total_cycles,
            "timed_us": costs.total_timed_us,
            "cpu_us": costs.total_cpu_us,
            "ns_per_cycle": ns_per_cycle,
        },
        "mean_rate_per_s": costs.rate_per_s,
        "cores": costs.cores,
        "stages": [
            asdict(stage) | {"partitions": stage.partitions, "text": stage_text(stage)}
            for stage in spark_stages(application)
        ],
        "warnings": [*application.warnings, *notes],
    }


def stored_costs(stored: StoredRun) -> Costs | Literal["unreadable"] | None:
    """Return the application of a run with its costs; None for a run of anything else than a prototype."""
    from streamgauge.prototype.file.document import read_application

    name = str(stored.document["workload"])
    parameters = stored.configuration.get("parameters") or {}
    text = parameters.get("application")
    if not is_prototype(name) or not isinstance(text, str):
        return None
    try:
        return Costs(read_application(text, name=name), parameters.get("ns_per_cycle"))
    except StreamgaugeError:
        return "unreadable"
