"""An application as calls of the functions of `runtime`: a run makes them, and an exported program has them as text."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from streamgauge.prototype.calibration import WorkForm
from streamgauge.prototype.graph.application import Application, PrototypeTask, Source
from streamgauge.prototype.graph.flow import burst_rate_per_s, peak_rate_per_s, take_turns, to_us
from streamgauge.prototype.graph.stages import is_handed_over
from streamgauge.prototype.graph.values import takers

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


@dataclass(frozen=True)
class Name:
    """A value that is known only where the call is made."""

    text: str


@dataclass(frozen=True)
class Tuples:
    """The tuples that a task gives."""

    task: str


@dataclass(frozen=True)
class Call:
    """A call of a function of `runtime`."""

    function: str
    arguments: tuple[Any, ...]

    @classmethod
    def of(cls, function: str, *arguments: Any) -> "Call":
        """Return the call of a function with arguments, which may be calls."""
        return cls(function, arguments)


Known = Mapping[Name | Tuples, Any]
SEED, N, T_US, FROM_SOURCES = Name("SEED"), Name("n"), Name("t_us"), Name("tuples")


def result_of(argument: Any, known: Known) -> Any:
    """Make a call, and those among its arguments before it."""
    from streamgauge.prototype import runtime

    if isinstance(argument, Call):
        return getattr(runtime, argument.function)(*(result_of(one, known) for one in argument.arguments))
    return known[argument] if isinstance(argument, Name | Tuples) else argument


# Sources


def source_frame(rows: "DataFrame", sources: Sequence[Source], seed: int, wanted: Sequence[str]) -> "DataFrame":
    """Make the tuples of all sources from arrivals."""
    from pyspark.sql import functions as F

    known: Known = {SEED: seed, N: F.col("n"), T_US: F.col("time_us") - F.col("load_us")}
    if len(sources) > 1:
        rates = [result_of(rate_call(source), known) for source in sources]
        rows = rows.withColumn("source", result_of(source_call(sources, rates), known))
    fields = {
        "value": result_of(value_call(sources), known),
        "id": F.col("n"),
        "num": result_of(number_call(sources), known),
        "timestamp": F.timestamp_micros(F.col("time_us")),
        "source": F.col("source"),
    }
    return rows.select(*(fields[name].alias(name) for name in wanted))


def source_call(sources: Sequence[Source], rates: Any) -> Call:
    """Choose the source of each event; `rates` are those of all sources at its time."""
    if take_turns(sources):
        return Call.of("source_in_turn", N, len(sources))
    return Call.of("drawn_source", N, SEED, rates)


def value_call(sources: Sequence[Source]) -> Call:
    """Make the values of all sources."""
    values = []
    for data in (source.data for source in sources):
        functions = {"uniform": "uniform_index", "nonuniform": "bell_index", "zipf": "zipf_index"}
        law = (data.exponent,) if data.distribution == "zipf" else ()
        index = Call.of(functions[data.distribution], N, SEED, data.values, *law)
        values.append(Call.of("text_of", index, data.size, data.values))
    return _by_source(values)


def number_call(sources: Sequence[Source]) -> Call:
    """Count the tuples of each instance of a source."""
    turns = takers(sources)
    return _by_source([Call.of("number_in_instance", N, turns * source.parallelism) for source in sources])


def _by_source(calls: Sequence[Call]) -> Call:
    return calls[0] if len(calls) == 1 else Call.of("of_source", *calls)


def rate_call(source: Source) -> Call | float:
    """Return the rate of a source at the time of an event."""
    flow, rate_per_s = source.flow, float(peak_rate_per_s(source))
    if flow.distribution == "uniform":
        return rate_per_s
    offset_us = to_us(flow.offset_s)
    if flow.distribution == "burst":
        times = (offset_us, to_us(flow.interval_s), to_us(flow.duration_s))
        return Call.of("bursts", T_US, rate_per_s, float(burst_rate_per_s(source)), *times)
    functions = {"sin": "sine", "sawtooth": "rise", "revsawtooth": "fall"}
    return Call.of(functions[flow.distribution], T_US, rate_per_s, offset_us, to_us(flow.phase_s))


# Tasks


def build(
    df: "DataFrame", application: Application, cycles: Mapping[str, int], form: WorkForm, seed: int
) -> "DataFrame":
    """Build the dataflow over the stream of all sources; `cycles` is the CPU work of each task."""
    if application.has_windows:
        df = df.withWatermark("timestamp", "0 seconds")
    known: dict[Name | Tuples, Any] = {SEED: seed, FROM_SOURCES: df}
    for task in application.tasks:
        for call in task_calls(application, task, cycles[task.name], form):
            known[Tuples(task.name)] = result_of(call, known)
    return result_of(leaving_call(application), known)


def task_calls(application: Application, task: PrototypeTask, cycles: int, form: WorkForm = "native") -> Iterator[Call]:
    """Yield the calls that make the tuples of a task, each from those of the one before."""
    before: Call | Tuples = received(application, task)
    if isinstance(before, Call):
        yield before
        before = Tuples(task.name)
    steps = [*_arrival(application, task), *_work(task, cycles, form), *_results(task)]
    if is_handed_over(application, task):
        steps.append(("hand_over", task.parallelism))
    for function, *arguments in steps:
        yield Call.of(function, before, *arguments)
        before = Tuples(task.name)


def received(application: Application, task: PrototypeTask) -> Call | Tuples:
    """Unite the tuples of all parents; those of sources are a part of the one stream that there is."""
    indices = [k for k, source in enumerate(application.sources) if source.name in task.parents]
    parts: list[Call | Tuples] = [
        Tuples(name) for name in task.parents if isinstance(application.component(name), PrototypeTask)
    ]
    if indices:
        chosen = indices if len(indices) < len(application.sources) else []
        parts.insert(0, Call.of("from_sources", FROM_SOURCES, *chosen))
    return parts[0] if len(parts) == 1 else Call.of("unite", *parts)


def _arrival(application: Application, task: PrototypeTask) -> Iterator[tuple[Any, ...]]:
    """Take tuples to the partitions of a task, and number the instance where windows are by instance."""
    ways = {"balanced": "in_turns", "hash": "by_value", "broadcast": "broadcast"}
    if task.routing != "none":
        yield ways[task.routing], task.parallelism
    if task.name in application.instance_origins:
        if task.routing == "broadcast":
            yield ("with_partition",)
        elif task.routing == "hash":
            yield "with_instance_of_value", task.parallelism
        else:
            yield "with_drawn_instance", SEED, task.name, task.parallelism


def _work(task: PrototypeTask, cycles: int, form: WorkForm) -> Iterator[tuple[Any, ...]]:
    if task.window is not None:
        # Spark drops rows without a time, and would do so further down, in what other tasks share.
        yield "hold", f"windows of {task.name}"
        yield "in_windows", task.window.duration_s, task.window.slide_s
    if task.parse_json:
        yield ("parse_json",)
    if cycles and form == "arrow":
        yield "work_in_python", task.name, cycles, task.sojourn_ms, task.batch_ms
    elif task.sojourn_ms or task.batch_ms:
        yield "work_and_wait", task.name, cycles, task.sojourn_ms, task.batch_ms
    else:
        yield "work", task.name, cycles


def _results(task: PrototypeTask) -> Iterator[tuple[Any, ...]]:
    if task.window is not None:
        yield (f"last_by_{task.window.key}",)
    elif task.filtering not in (0.0, 1.0):
        yield "keep", SEED, task.name, task.filtering
    if task.selectivity != 1.0:
        yield "copy", SEED, task.name, task.selectivity
    if task.resized_data:
        yield "resize", task.resized_data


def leaving_call(application: Application) -> Call:
    """Put the tuples of all sinks together; where there are several, `task` names the one that they come from."""
    if len(application.sinks) == 1:
        return Call.of("unite", Tuples(application.sinks[0].name))
    return Call.of("unite", *(Call.of("leave", Tuples(sink.name), sink.name) for sink in application.sinks))
