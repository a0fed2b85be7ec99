"""A prototype file as a workload: whatever runs a workload of the catalogue runs an application described in YAML."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from streamgauge.errors import InvalidExperimentError
from streamgauge.events.stream import EventStream, Field
from streamgauge.prototype.dataflow import build, source_frame
from streamgauge.prototype.executed_plan import refuse_other_plan
from streamgauge.prototype.file.vocabulary import MAX_VALUES, MAX_ZIPF_VALUES
from streamgauge.prototype.graph.application import Application, PrototypeTask, Source
from streamgauge.prototype.graph.costs import Costs
from streamgauge.prototype.graph.flow import arrivals_of, peak_rate_per_s, total_rate_per_s
from streamgauge.prototype.graph.values import COLUMNS, OF_WINDOWS, TYPES, columns_of_windows, skewed, source_arrays
from streamgauge.prototype.parameters import PrototypeParameters, parameters_of
from streamgauge.prototype.reference import expected_tuples
from streamgauge.units import format_count, format_rate
from streamgauge.workloads.executed_plan import PlanNode
from streamgauge.workloads.traits import NO_STATE, Operator, Traits, bounded
from streamgauge.workloads.workload import ExpectedAnswer, RunRules, Window, Workload

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

FAMILY = "prototype"
# Verification does all CPU work; these are about the most and the fewest tuples, and the CPU time that it may take.
VERIFY_EVENTS, LEAST_VERIFY_EVENTS, VERIFY_S = 20_000, 300, 5.0
NS_PER_CYCLE = 1.0
VERIFY_RATE_PER_S = 1000.0
# Enough that windows open, close and overlap.
VERIFY_WINDOWS = 4
# How many tuples per second of a load exist at once where the file has no rate, at most.
MAX_OFFLINE_PER_S = 500_000.0

CONF = {
    # Adaptive execution changes the numbers of partitions.
    "spark.sql.adaptive.enabled": "false",
    # By default Spark sorts all rows before it deals them out in turns. Without, it repeats a whole stage instead of a
    # task when an executor is lost.
    "spark.sql.execution.sortBeforeRepartition": "false",
    # Spark joins the partitions of streams that are shuffled alike; here those of each parent stay apart.
    "spark.sql.unionOutputPartitioning": "false",
}

# Only for tasks that wait once in a micro-batch, see `cpu_work.is_first_row`, and for windows beside a fork.
UNCHECKED = {"spark.sql.streaming.unsupportedOperationCheck": "false"}
# Only for windows beside a fork. Spark passes the watermark on from operator to operator, but not through a shuffle
# that two branches share, so windows of the second would never close. With this, all have the watermark of the sources,
# which is right as long as no windows are behind windows.
ONE_WATERMARK = {"spark.sql.streaming.statefulOperator.allowMultiple": "false", **UNCHECKED}

MEANINGS = {
    "value": "payload, a text over a to z",
    "id": "number of the event that the tuple comes from, from 0",
    "num": "number of the tuple among those of its source instance, from 1",
    "timestamp": "when the tuple was due, in whole microseconds",
    "count": "tuples in the window; null for tuples out of no window",
    "earliest": "when the first of them was due",
    "source": "index of the source, from 0",
    "task": "name of the task that the tuple leaves the application from",
}


def fields(*names: str) -> tuple[Field, ...]:
    """Describe columns of tuples."""
    types = {**TYPES, **OF_WINDOWS, "source": "bigint", "task": "string"}
    return tuple(Field(name, types[name], MEANINGS[name]) for name in names)


def prototype_workload(path: str) -> Workload:
    """Read a prototype file; whatever cannot run is refused."""
    from streamgauge.prototype.file.document import load_application

    return application_workload(load_application(path), name=path)


def application_workload(application: Application, *, name: str) -> Workload:
    """Wrap an application as a workload."""
    refuse(application, where=name)
    parameters = parameters_of(application)

    def dataflow(df: "DataFrame", p: PrototypeParameters, seed: int) -> "DataFrame":
        return build(df, application, p.cycles(), p.load_form, seed)

    def reference(events: "pa.Table", _: Any, seed: int, __: Sequence[int]) -> "pa.Table":
        return expected_tuples(events, application, seed)

    def check_plan(plan: PlanNode) -> None:
        refuse_other_plan(application, plan, where=name)

    def check_limits(p: PrototypeParameters, _: float) -> None:
        for source in skewed(application.sources, p.zipf):
            _refuse_source(source, name)
        p.cycles()

    reference.__doc__ = expected_tuples.__doc__
    windows = [task.window for task in application.tasks if task.window is not None]
    events = verify_events(application)
    longest_s = max((window.duration_s for window in windows), default=0)
    return Workload(
        name=name,
        family=FAMILY,
        question=f"How does an application of {len(application.components)} components behave?",
        events=application_events(application, parameters),
        parameters=parameters,
        dataflow=dataflow,
        traits=traits_of(application),
        output=fields(*COLUMNS, *columns_of_windows(application), *(["task"] if len(application.sinks) > 1 else [])),
        window=(lambda _: Window(windows[0].duration_s, windows[0].slide_s, "timestamp")) if windows else None,
        answer=ExpectedAnswer(
            function=reference,
            events=events,
            rate_per_s=min(VERIFY_RATE_PER_S, events / (VERIFY_WINDOWS * longest_s)) if windows else VERIFY_RATE_PER_S,
            closing_events=1 if windows else 0,
        ),
        rules=RunRules(
            conf=conf_of(application),
            defaults=defaults_of(application),
            limits=check_limits,
            check_plan=check_plan,
            warnings=application.warnings,
        ),
        differences="Prototypes on Spark are described in the documentation, with what differs from NAMB and why.",
    )


def traits_of(application: Application) -> Traits:
    """Return what the tasks do, in words; it is one step, of the kind that asks most of Spark."""
    is_shuffled = any(task.routing != "none" for task in application.tasks)
    operator = Operator.SHUFFLE if is_shuffled else Operator.MAP
    text = "; ".join(_operators(task) for task in application.tasks)
    state = bounded("tuples of open windows, added up") if application.has_windows else NO_STATE
    return Traits((operator.step(text),), state, draws=True)


def application_events(application: Application, parameters: type[PrototypeParameters]) -> EventStream:
    """Return the stream that feeds all sources of an application."""
    sources = application.sources
    return EventStream(
        name=f"tuples of {application.name}",
        summary=f"tuples of {', '.join(source.name for source in sources)}",
        fields=fields(*COLUMNS, *(["source"] if len(sources) > 1 else [])),
        parameters=parameters,
        frame=lambda rows, p, seed, wanted: source_frame(rows, skewed(sources, p.zipf), seed, wanted),
        arrays=lambda p, seed, arrivals: source_arrays(skewed(sources, p.zipf), seed, arrivals),
    )


def conf_of(application: Application) -> dict[str, str]:
    """Return the Spark settings without which the application is not executed as it is described."""
    waits = UNCHECKED if any(task.batch_ms for task in application.tasks) else {}
    is_forked = application.has_forks and application.has_windows and not application.has_windows_of_windows
    return CONF | waits | (ONE_WATERMARK if is_forked else {})


def _operators(task: PrototypeTask) -> str:
    facts = [
        task.routing if task.routing != "none" else "",
        f"filter {task.filtering:g}" if task.filtering and task.window is None else "",
        f"window {task.window.duration_s} s" if task.window else "",
        f"{task.selectivity:g} copies" if task.selectivity != 1 else "",
        f"cut to {task.resized_data}" if task.resized_data else "",
    ]
    said = ", ".join(fact for fact in facts if fact)
    return f"{task.name} ({said})" if said else task.name


def defaults_of(application: Application) -> dict[str, Any]:
    """Return the settings of a run that the file decides, unless the user does."""
    found: dict[str, Any] = {"source_partitions": sum(source.parallelism for source in application.sources)}
    windowed = [task.parallelism for task in application.tasks if task.window is not None]
    if windowed:
        found["shuffle_partitions"] = windowed[0]
    topic = application.sources[0].topic
    if topic is not None:
        found |= {"source": "kafka", "kafka": topic.server, "topic": topic.name}
    rate_per_s = total_rate_per_s(application.sources)
    if rate_per_s:
        return found | {"rate": rate_per_s, "arrivals": arrivals_of(application.sources)}
    # Nobody fills a topic with all events at once.
    return found if topic else found | {"load": "offline", "rate": offline_rate_per_s(application)}


def cost_s(application: Application) -> float:
    """Return about how long one tuple of the sources keeps one core busy or one task waiting."""
    costs = Costs(application, NS_PER_CYCLE)
    waiting_s = sum((costs.tuples[task.name] or 0.0) * task.sojourn_ms / 1e3 for task in application.tasks)
    return (costs.total_cpu_us or 0.0) / 1e6 + waiting_s


def verify_events(application: Application) -> int:
    """Return how many tuples verification can afford."""
    cost = cost_s(application)
    affordable = VERIFY_EVENTS if not cost else int(VERIFY_S / cost)
    return max(LEAST_VERIFY_EVENTS, min(VERIFY_EVENTS, affordable))


def offline_rate_per_s(application: Application) -> float:
    """Return about as many tuples per second as one core can work on: they take about as long as they span."""
    cost = cost_s(application)
    return float(round(min(MAX_OFFLINE_PER_S, 1 / cost if cost else MAX_OFFLINE_PER_S)))


def refuse(application: Application, *, where: str) -> None:
    """Refuse what Spark cannot execute as it is described."""
    for source in application.sources:
        _refuse_source(source, where)
    _refuse_mixed_sources(application.sources, where)
    _refuse_mixed_rates(application.sources, where)
    windowed: Mapping[int, str] = {task.parallelism: task.name for task in application.tasks if task.window is not None}
    if len(windowed) > 1:
        counts = " and ".join(f"{name} has {count}" for count, name in windowed.items())
        raise InvalidExperimentError(
            f"tasks with windows have different numbers of instances: {counts}",
            where=where,
            remedy="give them the same parallelism: Spark keeps the state of a query in one number of partitions",
        )


def _refuse_source(source: Source, where: str) -> None:
    data = source.data
    most = MAX_ZIPF_VALUES if data.distribution == "zipf" else MAX_VALUES
    if data.values > most:
        raise InvalidExperimentError(
            f"{source.name} has {format_count(data.values)} values, and {data.distribution} ones can be"
            f" {format_count(most)} at most",
            where=where,
            remedy="lower values",
        )


def _refuse_mixed_sources(sources: Sequence[Source], where: str) -> None:
    """Refuse a topic beside another source: a run has one stream of events."""
    for source in sources:
        if source.topic is not None and len(sources) > 1:
            raise InvalidExperimentError(
                f"{source.name} reads the topic {source.topic.name}, and there are {len(sources)} sources",
                where=where,
                remedy="let one source read the topic, or describe data and flow of all of them",
            )


def _refuse_mixed_rates(sources: Sequence[Source], where: str) -> None:
    """Refuse a source without limit beside one with a rate: no law offers both."""
    unlimited = [source for source in sources if not peak_rate_per_s(source)]
    limited = [source for source in sources if peak_rate_per_s(source)]
    if unlimited and limited:
        raise InvalidExperimentError(
            f"{unlimited[0].name} is as fast as possible, and {limited[0].name} has"
            f" {format_rate(peak_rate_per_s(limited[0]))}",
            where=where,
            remedy="give all sources a rate, or none",
        )
