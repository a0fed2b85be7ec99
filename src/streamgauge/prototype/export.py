"""An application as a PySpark program that needs nothing but PySpark, with the same plan.

The program has the calls that a run makes, written out, and the source of the functions of `runtime` and `launcher`
that it uses.
"""

import ast
import builtins
import json
import keyword
import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from streamgauge.errors import InvalidExperimentError
from streamgauge.prototype.dataflow import (
    Call,
    Name,
    Tuples,
    leaving_call,
    number_call,
    rate_call,
    source_call,
    task_calls,
    value_call,
)
from streamgauge.prototype.graph.application import Application, Data, PrototypeTask, Source
from streamgauge.prototype.graph.flow import burst_rate_per_s, peak_rate_per_s, take_turns, total_rate_per_s
from streamgauge.prototype.parameters import parameters_of
from streamgauge.prototype.source_text import SourceText, names_of, used_names
from streamgauge.prototype.workload import conf_of, refuse

# As wide as formatters leave lines by default.
WIDTH = 88
INDENT = "    "
LONGEST_NAME = 30
SEED = 1
MODULES = ("streamgauge.prototype.runtime", "streamgauge.prototype.launcher")
# Names that no task can have for its variable, because programs use them.
TAKEN = {"tuples", "rates", "application", "main"}.union(*map(names_of, MODULES))

HEAD = '''\
"""<name>: a streaming application on Spark, exported from a prototype.

Its tasks do no real work. They keep the processor busy: a cycle hashes 8 bytes.

    python app.py --count 20000                count what leaves, of 20,000 events
    python app.py --rate 1000 --duration 60     run it as a stream, for a minute
    spark-submit app.py --sink console          the same with Spark's own launcher
"""'''

RATES = '''\
def rates(t_us: Column) -> list[Column | float]:
    """Return the tuples per second of each source, by the time since the start."""
    return [
<rates>
    ]'''

TUPLES = '''\
def tuples(events: DataFrame) -> DataFrame:
    """Make a tuple of each event, by its number alone."""
<lines>'''

APPLICATION = '''\
def application(tuples: DataFrame) -> DataFrame:
    """Send the tuples of the sources through all tasks."""
<lines>'''

MAIN = '''\
def main() -> None:
    """Run the application."""
    args = arguments(__doc__.splitlines()[0], <rate>)
    spark = session(<title>, CONF)
    events = numbers(spark, args, <partitions>, <peak>)
<arrive>    results = application(tuples(events))
    if args.count is None:
        run(results, args)
    else:
        count(results, args, SINKS)
    spark.stop()


if __name__ == "__main__":
    main()
'''

ARRIVE = """\
    if args.count is None and args.rate:
        events = arrive(events, SEED, rates(F.col("t_us")), <peak>)
"""


def export_program(application: Application) -> str:
    """Write the program; CPU work in microseconds becomes cycles by the calibration of this machine."""
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


def _literal(value: Any) -> str:
    """Write a constant as a formatter leaves it.

    >>> print(_literal("it's"), _literal(10_000), _literal(0.5))
    "it's" 10_000 0.5
    """
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False)
    return f"{value:_}" if isinstance(value, int) else repr(value)


def _fitted(head: str, items: Sequence[str], tail: str, depth: int) -> str:
    """Write items between brackets: in one line where that fits, else in a line each.

    >>> _fitted("a = work(", ["b", "1"], ")", 1)
    '    a = work(b, 1)'
    """
    indent = INDENT * depth
    line = f"{indent}{head}{', '.join(items)}{tail}"
    if len(line) <= WIDTH and "\n" not in line:
        return line
    return "\n".join([f"{indent}{head}", *(f"{indent}{INDENT}{item}," for item in items), f"{indent}{tail}"])


@dataclass(frozen=True)
class _Program:
    application: Application

    @cached_property
    def names(self) -> dict[str, str]:
        """Return the variable of every task."""
        found: dict[str, str] = {}
        for task in self.application.tasks:
            found[task.name] = _name_of(task.name, found)
        return found

    @cached_property
    def cycles(self) -> dict[str, int]:
        """Return the CPU work of every task."""
        return parameters_of(self.application)().cycles()

    def text(self) -> str:
        own = [self._rates()] if self.has_rates else []
        own += [self._tuples(), self._application(), self._main()]
        body = "\n\n\n".join(own)
        used = SourceText()
        for name in used_names(ast.parse(body)):
            for module in MODULES:
                used.add(module, name)
        constants = [*used.constants, *self._constants()]
        blocks = [HEAD.replace("<name>", self._title), used.import_lines(), "\n".join(constants)]
        return "\n\n".join(blocks) + "\n\n\n" + "\n\n\n".join([*used.functions, body])

    @property
    def _title(self) -> str:
        return self.application.name.replace("\\", "/").replace('"', "'")

    def _constants(self) -> list[str]:
        sinks = [_literal(sink.name) for sink in self.application.sinks]
        conf = dict(conf_of(self.application))
        windowed = [task.parallelism for task in self.application.tasks if task.window is not None]
        if windowed:
            # Windows are kept in that many partitions.
            conf["spark.sql.shuffle.partitions"] = str(windowed[0])
        settings = [f"{_literal(key)}: {_literal(value)}" for key, value in conf.items()]
        return [
            f"# Of everything that is drawn.\nSEED = {SEED}",
            _fitted("SINKS = [", sinks, "]", 0),
            _fitted("CONF = {", settings, "}", 0),
        ]

    def _written(self, argument: Any, depth: int = 0) -> str:
        """Write a call, or an argument of one; `depth` is that of the line which it begins."""
        if isinstance(argument, Tuples):
            return self.names[argument.task]
        if isinstance(argument, Name):
            return argument.text
        if isinstance(argument, Call):
            items = [self._written(one, depth + 1) for one in argument.arguments]
            return _fitted(f"{argument.function}(", items, ")", depth).lstrip()
        return _literal(argument)

    def _statement(self, target: str, call: Call) -> str:
        """Write a call behind an assignment or `return`."""
        items = [self._written(one, 2) for one in call.arguments]
        return _fitted(f"{target} {call.function}(", items, ")", 1)

    # Sources

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
        lines = []
        for source in self.application.sources:
            lines += [f"# {source.name}: {_flow_in_words(source)}", f"{self._written(rate_call(source), 2)},"]
        return RATES.replace("<rates>", "\n".join(INDENT * 2 + line for line in lines))

    def _tuples(self) -> str:
        sources = self.application.sources
        lines = [f'{INDENT}events = events.withWatermark("timestamp", "0 seconds")'] * self.application.has_windows
        lines += [f'{INDENT}n = F.col("n")']
        fields = ['value.alias("value")', 'n.alias("id")', 'num.alias("num")', '"timestamp"']
        if len(sources) > 1:
            chosen = self._written(source_call(sources, Name('rates(F.col("t_us"))')))
            lines += [f'{INDENT}events = events.withColumn("source", {chosen})']
            fields.append('"source"')
        lines += [f"{INDENT}# {source.name}: {_data_in_words(source.data)}" for source in sources]
        lines += [self._statement("value =", value_call(sources)), self._statement("num =", number_call(sources))]
        return TUPLES.replace("<lines>", "\n".join([*lines, _fitted("return events.select(", fields, ")", 1)]))

    # Tasks

    def _application(self) -> str:
        tasks = ["\n".join(self._task(task)) for task in self.application.tasks]
        leaving = [f"{INDENT}# All sinks together; `task` names the one that a tuple leaves."]
        leaving *= len(self.application.sinks) > 1
        leaving += [self._statement("return", leaving_call(self.application))]
        return APPLICATION.replace("<lines>", "\n\n".join([*tasks, "\n".join(leaving)]))

    def _task(self, task: PrototypeTask) -> Iterator[str]:
        yield f"{INDENT}# {_task_in_words(task, self.cycles[task.name])}"
        for call in task_calls(self.application, task, self.cycles[task.name]):
            yield self._statement(f"{self.names[task.name]} =", call)

    def _main(self) -> str:
        sources = self.application.sources
        total_per_s = total_rate_per_s(sources)
        peak = self.peak_per_s / total_per_s if total_per_s else 1.0
        values = {
            "<arrive>": ARRIVE.replace("<peak>", repr(self.peak_per_s)) if self.is_shaped else "",
            "<rate>": _literal(max(1, round(total_per_s)) if total_per_s else 0),
            "<title>": _literal(self.application.name),
            "<partitions>": _literal(sum(source.parallelism for source in sources)),
            "<peak>": repr(peak),
        }
        text = MAIN
        for placeholder, value in values.items():
            text = text.replace(placeholder, value)
        return text


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


def _task_in_words(task: PrototypeTask, cycles: int) -> str:
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
