"""An application as a PySpark program that needs nothing but PySpark, with the same plan.

The program is text from small templates: one function that makes the values of each source, a few lines for each task,
and those functions of `program` that they call.
"""

import builtins
import json
import keyword
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from streamgauge.errors import InvalidExperimentError
from streamgauge.prototype import program
from streamgauge.prototype.application import Application, Data, Source, Task
from streamgauge.prototype.costs import peak_rate_per_s
from streamgauge.prototype.dataflow import (
    columns_of_windows,
    instance_origin,
    is_handed_over,
    needs_instance,
)
from streamgauge.prototype.flow import burst_rate_per_s, take_turns, total_rate_per_s
from streamgauge.prototype.parameters import parameters_of
from streamgauge.prototype.program import CONSTANTS, FUNCTIONS, MODULES, NAMES
from streamgauge.prototype.values import PAIRS, _parts
from streamgauge.prototype.workload import conf_of, refuse

# As wide as formatters leave lines by default.
WIDTH = 88
INDENT = "    "
LONGEST_NAME = 30
SEED = 1
# Where the file gives no rate, times of events advance at this one, as in a run without arrivals.
OFFLINE_RATE_PER_S = 500_000
SPARK_IMPORTS = (
    "from pyspark.sql import Column, DataFrame, SparkSession",
    "from pyspark.sql import functions as F",
    "from pyspark.sql.streaming import DataStreamWriter, StreamingQuery",
)
# Names that no task can have for its variable, because programs use them.
TAKEN = {
    *FUNCTIONS,
    *MODULES,
    *NAMES,
    *re.findall(r"^def (\w+)", program.WHOLE, re.MULTILINE),
    "results",
    "tuples",
    "F",
}


def export_program(application: Application) -> str:
    """Write the program; loads in microseconds become cycles by the calibration of this machine."""
    refuse(application, where=application.name)
    topic = application.sources[0].topic
    if topic is not None:
        raise InvalidExperimentError(
            f"the program would make its own tuples, and {application.sources[0].name} reads the topic {topic.name}",
            where=application.name,
            remedy="describe its data and flow instead of kafka",
        )
    return _Program(application).text()


def _name_of(component: str, known: Mapping[str, str]) -> str:
    """Return a name for a variable that no other has.

    >>> _name_of("my-task.1", {}), _name_of("for", {}), _name_of("my_task", {"my-task": "my_task"})
    ('my_task_1', 'for_', 'my_task_2')
    """
    name = re.sub(r"\W", "_", component, flags=re.ASCII).lower()[:LONGEST_NAME].rstrip("_") or "task"
    name = f"task_{name}" if name[0].isdigit() else name
    if keyword.iskeyword(name) or name in TAKEN or hasattr(builtins, name):
        name += "_"
    taken, found, number = set(known.values()), name, 2
    while found in taken:
        found, number = f"{name}_{number}", number + 1
    return found


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)


def call(target: str, function: str, arguments: Sequence[str]) -> list[str]:
    """Write a call, in one line where it fits and else with a line for each argument.

    >>> call("a =", "work", ["b", "1"])
    ['    a = work(b, 1)']
    """
    line = f"{INDENT}{target} {function}({', '.join(arguments)})"
    if len(line) <= WIDTH:
        return [line]
    return [f"{INDENT}{target} {function}(", *(f"{INDENT * 2}{argument}," for argument in arguments), f"{INDENT})"]


def call_in_list(function: str, arguments: Sequence[str]) -> list[str]:
    """Write a call as an entry of a list."""
    line = f"{INDENT * 2}{function}({', '.join(arguments)}),"
    if len(line) <= WIDTH:
        return [line]
    return [f"{INDENT * 2}{function}(", *(f"{INDENT * 3}{argument}," for argument in arguments), f"{INDENT * 2}),"]


@dataclass(frozen=True)
class _Program:
    application: Application

    @cached_property
    def names(self) -> dict[str, str]:
        """Return the variable of every component."""
        found: dict[str, str] = {}
        for component in self.application.components:
            found[component.name] = _name_of(component.name, found)
        return found

    @cached_property
    def cycles(self) -> dict[str, int]:
        """Return the load of every task."""
        return parameters_of(self.application)().cycles()

    @property
    def has_windows(self) -> bool:
        return self.application.has_windows

    def text(self) -> str:
        own = [
            *(self._value_function(source) for source in self.application.sources),
            *([self._rates()] if self.has_rates else []),
            *([program.ARRIVE.replace("<peak>", repr(self.peak_per_s))] if self.is_shaped else []),
            self._numbers(),
            self._tuples(),
            self._application(),
            self._session(),
            program.START,
            self._count(),
            program.RUN,
            self._arguments(),
            program.MAIN.replace("<arrive>", program.ARRIVING if self.is_shaped else ""),
        ]
        body = "\n\n".join(text.strip("\n") + "\n" for text in own)
        called = _called(body)
        functions = "\n\n".join(FUNCTIONS[name].strip("\n") + "\n" for name in FUNCTIONS if name in called)
        everything = f"{functions}\n\n{body}\n\n{program.MAIN_CALL.strip()}\n"
        constants = _constants(everything).replace("<sinks>", self._sinks())
        head = f"{self._docstring()}\n\n{_imports(everything)}\n\n{constants}"
        return f"{head}\n\n\n{everything}"

    def _docstring(self) -> str:
        name = self.application.name.replace("\\", "/").replace('"', "'")
        return program.HEAD.strip().replace("<name>", name)

    # Sources

    def _value_function(self, source: Source) -> str:
        data = source.data
        constant, parts = _parts(data)
        texts = [f'F.lit("a" * {len(constant)})'] if constant else []
        for divisor, choices in parts:
            place = round(math.log(divisor, len(PAIRS)))
            texts.append(f"letters(index, {place}{'' if len(choices) == len(PAIRS) else ', ascii_lowercase'})")
        # One part needs no concatenation.
        result = call("return", "F.concat", texts) if len(texts) > 1 else [f"{INDENT}return {texts[0]}"]
        lines = [
            f"def {self._values_of(source)}(n: Column) -> Column:",
            f'{INDENT}"""Return a value of {source.name}: {_data_in_words(data)}."""',
            f"{INDENT}index = {_index(data)}",
            *result,
        ]
        return "\n".join(lines)

    def _values_of(self, source: Source) -> str:
        return f"{self.names[source.name].rstrip('_')}_value"

    @property
    def has_rates(self) -> bool:
        """Whether rates decide anything: which source an event is of, or whether it arrives."""
        sources = self.application.sources
        return self.is_shaped or (len(sources) > 1 and not take_turns(sources))

    @property
    def is_shaped(self) -> bool:
        """Whether the load changes with time."""
        return any(source.flow.distribution != "uniform" for source in self.application.sources)

    @property
    def peak_per_s(self) -> float:
        """Return the highest rate of all sources together."""
        return math.fsum(
            max(peak_rate_per_s(source), burst_rate_per_s(source))
            if source.flow.distribution == "burst"
            else peak_rate_per_s(source)
            for source in self.application.sources
        )

    def _rates(self) -> str:
        lines = [
            "def rates(t_us: Column) -> list[Column | float]:",
            f'{INDENT}"""Return the tuples per second of each source, by the time since the start."""',
            f"{INDENT}return [",
        ]
        for source in self.application.sources:
            lines += [f"{INDENT * 2}# {source.name}: {_flow_in_words(source)}", *_rate(source)]
        return "\n".join([*lines, f"{INDENT}]"])

    def _numbers(self) -> str:
        ratio = self.peak_per_s / total if (total := total_rate_per_s(self.application.sources)) else 1.0
        rows = "args.rate" if ratio == 1 else f"round(args.rate * {ratio!r})"
        closing = (program.CLOSING, " + 1") if self.has_windows else ("", "")
        text = program.NUMBERS.replace("<rows>", rows).replace("<closing>", closing[0]).replace("<one>", closing[1])
        partitions = sum(source.parallelism for source in self.application.sources)
        text = text.replace("<offline>", f"{OFFLINE_RATE_PER_S:_}").replace("<partitions>", str(partitions))
        since = f"{INDENT * 2}t_us = F.floor(n * 1e6 / rows_per_s)\n" if self.has_rates else ""
        fields = ['n.alias("n")', *(['t_us.alias("t_us")'] if self.has_rates else []), 'timestamp.alias("timestamp")']
        text = text.replace("<select>", "\n".join(call("return", "rows.select", fields))).replace("<t_us>", since)
        return text.replace("<also>", ", also in µs from the start" if self.has_rates else "")

    def _tuples(self) -> str:
        sources = self.application.sources
        takers = len(sources) if take_turns(sources) else 1
        watermark = [f'{INDENT}events = events.withWatermark("timestamp", "0 seconds")'] if self.has_windows else []
        lines = [
            "def tuples(events: DataFrame) -> DataFrame:",
            f'{INDENT}"""Make a tuple of each event, by its number alone."""',
            *watermark,
            f'{INDENT}n = F.col("n")',
        ]
        if len(sources) == 1:
            lines += [
                f"{INDENT}value = {self._values_of(sources[0])}(n)",
                f"{INDENT}num = {_num(sources[0].parallelism)}",
            ]
            fields = ['value.alias("value")', 'n.alias("id")', 'num.alias("num")', '"timestamp"']
            return "\n".join([*lines, *call("return", "events.select", fields)])
        chosen = f"n % {len(sources)}" if take_turns(sources) else 'source_of(n, rates(F.col("t_us")))'
        lines += [f"{INDENT}# Sources by their number, from 0: {', '.join(source.name for source in sources)}."]
        lines += [f'{INDENT}events = events.withColumn("source", {chosen})', f'{INDENT}source = F.col("source")']
        values = [f"{self._values_of(source)}(n)" for source in sources]
        nums = [_num(takers * source.parallelism) for source in sources]
        lines += [*_by_source("value", values), *_by_source("num", nums)]
        fields = ['value.alias("value")', 'n.alias("id")', 'num.alias("num")', '"timestamp"', '"source"']
        return "\n".join([*lines, *call("return", "events.select", fields)])

    # Tasks

    def _application(self) -> str:
        lines = [
            "def application(tuples: DataFrame) -> DataFrame:",
            f'{INDENT}"""Send the tuples of the sources through all tasks."""',
        ]
        sources = self.application.sources
        if len(sources) == 1:
            lines += [f"{INDENT}{self.names[sources[0].name]} = tuples.select(*COLUMNS)"]
        for task in self.application.tasks:
            lines += ["", *self._task(task)]
        return "\n".join([*lines, "", *self._leave()])

    def _task(self, task: Task) -> Iterator[str]:
        name, said = self.names[task.name], _quoted(task.name)
        target, cycles = f"{name} =", f"{self.cycles[task.name]:_}"
        yield f"{INDENT}# {_task_in_words(task, self.cycles[task.name])}"
        received = self._received(task)
        if received is not None:
            yield from call(target, *received)
            before = name
        else:
            before = self.names[task.parents[0]]
        steps = list(self._route(task, before))
        steps += self._instance(task, said)
        if task.window is not None:
            steps.append(("in_windows", ["<>", str(task.window.duration_s), str(task.window.slide_s)]))
        if task.parse_json:
            steps.append(("parse_json", ["<>"]))
        if task.sojourn_ms or task.batch_ms:
            once = [f"batch_ms={task.batch_ms!r}"] if task.batch_ms else []
            steps.append(("wait", ["<>", said, cycles, repr(task.sojourn_ms), *once]))
        else:
            steps.append(("work", ["<>", said, cycles]))
        if task.window is not None:
            steps.append((f"last_by_{task.window.key}", ["<>"]))
        elif task.filtering not in (0.0, 1.0):
            steps.append(("keep", ["<>", said, repr(task.filtering)]))
        if task.selectivity != 1.0:
            steps.append(("copy", ["<>", said, repr(task.selectivity)]))
        if task.resized_data:
            steps.append(("resize", ["<>", str(task.resized_data)]))
        if is_handed_over(self.application, task):
            steps.append(("hand_over", ["<>", str(task.parallelism)]))
        for function, arguments in steps:
            yield from call(target, function, [before if argument == "<>" else argument for argument in arguments])
            before = name

    def _received(self, task: Task) -> tuple[str, list[str]] | None:
        """Return the call that puts the tuples of all parents together; None where there is one parent only."""
        sources = [source for source in self.application.sources if source.name in task.parents]
        others = [self.names[name] for name in task.parents if name not in {source.name for source in sources}]
        if len(self.application.sources) == 1 and len(task.parents) == 1:
            return None
        if not sources:
            return None if len(others) == 1 else ("unite", others)
        if len(self.application.sources) == 1:
            return "unite", [self.names[sources[0].name], *others]
        function, arguments = "tuples.select", ["*COLUMNS"]
        if len(sources) < len(self.application.sources):
            indices = [str(self.application.sources.index(source)) for source in sources]
            function, arguments = "of_sources", ["tuples", *indices]
        if not others:
            return function, arguments
        return "unite", [f"{function}({', '.join(arguments)})", *others]

    def _route(self, task: Task, before: str) -> Iterator[tuple[str, list[str]]]:
        if task.routing == "balanced":
            yield f"{before}.repartition", [str(task.parallelism)]
        elif task.routing == "hash":
            yield "by_value", ["<>", str(task.parallelism)]
        elif task.routing == "broadcast":
            yield "broadcast", ["<>", str(task.parallelism)]

    def _instance(self, task: Task, said: str) -> Iterator[tuple[str, list[str]]]:
        numbered = {
            instance_origin(self.application, one).name for one in self.application.tasks if needs_instance(one)
        }
        if task.name not in numbered:
            return
        if task.routing == "broadcast":
            yield "with_partition", ["<>"]
        elif task.routing == "hash":
            yield "with_instance_of_value", ["<>", str(task.parallelism)]
        else:
            yield "with_drawn_instance", ["<>", said, str(task.parallelism)]

    def _leave(self) -> list[str]:
        sinks = self.application.sinks
        extra = columns_of_windows(self.application)
        fields = ["*COLUMNS", *(["*OF_WINDOWS"] if extra else [])]
        if len(sinks) == 1:
            return call("return", f"{self.names[sinks[0].name]}.select", fields)
        lines, parts = [f"{INDENT}# All sinks together; `task` tells them apart."], []
        function = "leave_beside_windows" if extra else "leave"
        for sink in sinks:
            name = self.names[sink.name]
            lines += call(f"{name} =", function, [name, _quoted(sink.name)])
            parts.append(name)
        first, *between, last = parts
        for name in between:
            lines += call("results =", f"{first}.union", [name])
            first = "results"
        return [*lines, *call("return", f"{first}.union", [last])]

    # Running

    def _session(self) -> str:
        windowed = [task.parallelism for task in self.application.tasks if task.window is not None]
        settings = conf_of(self.application)
        conf = [f'{INDENT * 2}.config("{key}", "{value}")' for key, value in settings.items()]
        if windowed:
            conf += [f"{INDENT * 2}# Windows are kept in so many partitions."]
            conf += [f'{INDENT * 2}.config("spark.sql.shuffle.partitions", "{windowed[0]}")']
        title = _quoted(self.application.name)
        return program.SESSION.replace("<title>", title).replace("<conf>", "\n".join(conf))

    def _count(self) -> str:
        kept = 'batch.where(F.col("id") < args.events)' if self.has_windows else "batch"
        if len(self.application.sinks) == 1:
            body = [f"{INDENT * 2}rows[SINKS[0]] += {kept}.count()"]
        else:
            body = [
                f"{INDENT * 2}kept = {kept}",
                f'{INDENT * 2}for task, number in kept.groupBy("task").count().collect():',
                f"{INDENT * 3}rows[task] += number",
            ]
        return program.COUNT.replace("<body>", "\n".join(body))

    def _sinks(self) -> str:
        names = [_quoted(sink.name) for sink in self.application.sinks]
        line = f"SINKS = [{', '.join(names)}]"
        return line if len(line) <= WIDTH else "\n".join(["SINKS = [", *(f"{INDENT}{name}," for name in names), "]"])

    def _arguments(self) -> str:
        rate_per_s = total_rate_per_s(self.application.sources)
        return program.ARGUMENTS.replace("<rate>", f"{max(1, round(rate_per_s)) if rate_per_s else 0:_}")


def _called(body: str) -> set[str]:
    """Return the functions that a text calls, and those that they call."""
    found: set[str] = set()
    new = {name for name in FUNCTIONS if re.search(rf"(?<![\w.]){name}\(", body)}
    while new:
        found |= new
        texts = "".join(FUNCTIONS[name] for name in new)
        new = {name for name in FUNCTIONS if re.search(rf"(?<![\w.]){name}\(", texts)} - found
    return found


def _uses(text: str, name: str) -> bool:
    return re.search(rf"(?<![\w.\"]){name}\b", text) is not None


def _constants(text: str) -> str:
    lines = []
    for names, definition in CONSTANTS.items():
        if any(_uses(text, name) for name in names):
            lines.append(definition.replace("<seed>", str(SEED)))
    return "\n".join(lines)


def _imports(text: str) -> str:
    everything = text + _constants(text)
    modules = [f"import {module}" for name, module in sorted(MODULES.items()) if _uses(everything, rf"{name}\.")]
    homes: dict[str, list[str]] = {}
    for name, home in NAMES.items():
        if _uses(everything, name):
            homes.setdefault(home, []).append(name)
    lines = [f"from {home} import {', '.join(sorted(names))}" for home, names in sorted(homes.items())]
    return "\n".join([*modules, *lines, "", *SPARK_IMPORTS])


def _num(instances: int) -> str:
    """Write which tuple of its source instance a tuple is."""
    return "n + 1" if instances == 1 else f'F.expr("n div {instances} + 1")'


def _index(data: Data) -> str:
    if data.distribution == "zipf":
        return f"draw_slot(n, zipf_borders({data.values:_}, {float(data.exponent)!r}))"
    if data.distribution == "nonuniform":
        return f"draw_slot(n, bell_borders({data.values:_}))"
    return f"draw(n, INDEX, {data.values:_})"


def _data_in_words(data: Data) -> str:
    laws = {"uniform": "all equally likely", "nonuniform": "by a bell", "zipf": f"by Zipf's law, {data.exponent:g}"}
    return f"{data.values:,} texts of {data.size:,} letters, {laws[data.distribution]}"


def _flow_in_words(source: Source) -> str:
    flow, rate = source.flow, f"{peak_rate_per_s(source):,g}"
    if flow.distribution == "burst":
        bursts = f"{burst_rate_per_s(source):,g} per second in bursts of {flow.duration_s:g} s"
        return f"{rate} per second, and after {flow.interval_s:g} s {bursts}"
    waves = {"sin": "a sine", "sawtooth": "a sawtooth", "revsawtooth": "a reverse sawtooth"}
    if flow.distribution == "uniform":
        return f"{rate} per second"
    return f"{waves[flow.distribution]} up to {rate} per second, every {flow.phase_s:g} s"


def _rate(source: Source) -> list[str]:
    """Write the rate of a source as an entry of a list."""
    flow, rate, indent = source.flow, repr(float(peak_rate_per_s(source))), INDENT * 2
    if flow.distribution == "uniform":
        return [f"{indent}{rate},"]
    offset_us = round(flow.offset_s * 1e6)
    if flow.distribution == "burst":
        calm_us, burst_us = round(flow.interval_s * 1e6), round(flow.duration_s * 1e6)
        condition = ["t_us", f"{offset_us:_}", f"{calm_us:_}", f"{burst_us:_}"]
        bursts = repr(float(burst_rate_per_s(source)))
        return call_in_list("bursts", [*condition, rate, bursts])
    turn = f"turn(t_us, {offset_us:_}, {round(flow.phase_s * 1e6):_})"
    shares = {
        "sin": f"(1.0 + F.sin(2 * math.pi * {turn})) / 2.0",
        "sawtooth": turn,
        "revsawtooth": f"1.0 - {turn}",
    }
    return call_in_list("wave", [rate, shares[flow.distribution]])


def _by_source(name: str, columns: Sequence[str]) -> list[str]:
    """Choose the column of the source that a tuple is of; the last one is what remains."""
    lines = [f"{INDENT}{name} = {columns[-1]}"]
    for index in reversed(range(len(columns) - 1)):
        lines += call(f"{name} =", f"F.when(source == {index}, {columns[index]}).otherwise", [name])
    return lines


def _task_in_words(task: Task, cycles: int) -> str:
    instances = "one instance" if task.parallelism == 1 else f"{task.parallelism:,} instances"
    ways = {
        "none": "chained",
        "balanced": f"in turns to {instances}",
        "hash": f"by value to {instances}",
        "broadcast": f"a copy to each of {instances}",
    }
    said = f", {task.processing_us:g} µs" if task.processing_us is not None else ""
    facts = [
        ways[task.routing],
        f"{cycles:,} cycles{said}",
        f"waits {task.sojourn_ms:g} ms" if task.sojourn_ms else "",
        f"waits {task.batch_ms:g} ms once in a micro-batch" if task.batch_ms else "",
        "parses JSON" if task.parse_json else "",
        f"windows of {task.window.duration_s} s every {task.window.slide_s} s" if task.window else "",
        f"forwards {task.filtering:.4g} of the tuples" if task.filtering and task.window is None else "",
        f"{task.selectivity:g} copies" if task.selectivity != 1.0 else "",
        f"values cut to {task.resized_data}" if task.resized_data else "",
    ]
    return f"{task.name}: {'; '.join(fact for fact in facts if fact)}"
