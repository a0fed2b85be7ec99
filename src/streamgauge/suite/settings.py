"""The settings of a run that a suite may choose: how each is written, read and described."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal

from streamgauge.arrivals.notation import MAX_SEED
from streamgauge.errors import UsageError, closest
from streamgauge.events import event_stream
from streamgauge.located import Scalar
from streamgauge.units import MAX_RATE_PER_S, parse_count, parse_duration, parse_rate
from streamgauge.workloads.modes import MODES, UNBATCHED

MAX_CORES = 1024
MAX_PARTITIONS = 100_000
# The rate where none is given, by load. Where all events are there at once it only says how many they are, and a
# maximum needs several micro-batches of full size.
DEFAULT_RATES = {"open": "50k", "offline": "500k", "online": "500k"}
# Without micro-batches latency is the question, and generator, broker and query share the machine.
UNBATCHED_RATE = "10k"
SOURCES = ("embedded", "kafka")
SINKS = ("noop", "kafka", "redis")
LATENCIES = ("commit", "record")

Kind = Literal["rate", "duration", "count", "whole", "choice", "flag", "text"]


@dataclass(frozen=True)
class Setting:
    """One setting: its name in a suite file and in Python, what it means, and its domain.

    `default` is what `run` takes when it is not given, as a user would write it; None where it depends.
    """

    name: str
    meaning: str
    kind: Kind
    default: str | int | bool | None = None
    low: float = 0
    high: float = 0
    choices: tuple[str, ...] = ()

    def read(self, scalar: Scalar) -> Any:
        """Return the value in SI units, or raise a `StreamgaugeError` that says what is wrong with it."""
        return _READERS[self.kind](self, scalar)


def _read_duration(setting: Setting, scalar: Scalar) -> float:
    return parse_duration(scalar.text, where=setting.name, minimum_s=setting.low)


def _read_whole(setting: Setting, scalar: Scalar) -> int:
    value = scalar.value
    if isinstance(value, bool) or not isinstance(value, int) or not setting.low <= value <= setting.high:
        remedy = f"use a whole number from {setting.low} to {setting.high}"
        raise UsageError(f'{setting.name} "{scalar.text}" cannot be used', remedy=remedy)
    return value


def _read_choice(setting: Setting, scalar: Scalar) -> str:
    if scalar.text not in setting.choices:
        remedy = closest(scalar.text, setting.choices)
        raise UsageError(f'{setting.name} "{scalar.text}" is not available', remedy=remedy)
    return scalar.text


def _read_flag(setting: Setting, scalar: Scalar) -> bool:
    if not isinstance(scalar.value, bool):
        raise UsageError(f'{setting.name} "{scalar.text}" is neither true nor false', remedy="use true or false")
    return scalar.value


def _read_text(setting: Setting, scalar: Scalar) -> str:
    if not isinstance(scalar.value, str) or not scalar.text.strip():
        raise UsageError(
            f'{setting.name} "{scalar.text}" is not a text', remedy="write a word, in quotes if it looks like a number"
        )
    return event_stream(scalar.text).name if setting.name == "events" else scalar.text


_READERS: dict[Kind, Callable[[Setting, Scalar], Any]] = {
    "rate": lambda setting, scalar: parse_rate(scalar.text, where=setting.name),
    "count": lambda setting, scalar: parse_count(scalar.text, where=setting.name),
    "duration": _read_duration,
    "whole": _read_whole,
    "choice": _read_choice,
    "flag": _read_flag,
    "text": _read_text,
}

_ALL = (
    Setting(
        "load",
        "events arrive by the law, are all there at once, or both",
        "choice",
        "open",
        choices=tuple(DEFAULT_RATES),
    ),
    Setting(
        "rate",
        "events offered per second; 50k, 500k when not open, 10k without micro-batches",
        "rate",
        high=MAX_RATE_PER_S,
    ),
    Setting("arrivals", "arrival law", "text", "constant"),
    Setting("duration", "how long to measure, after the warm-up", "duration", "30s", low=1.0),
    Setting("warmup", "load before the measurement", "duration", "10s"),
    Setting("drain", "longest wait for the backlog after the load", "duration", "30s"),
    Setting("trigger", "trigger interval; 0 s starts micro-batches back to back", "duration", "0s"),
    Setting("cores", "cores of this machine; all", "whole", low=1, high=MAX_CORES),
    Setting("master", "Spark master, instead of cores", "text"),
    Setting("shuffle_partitions", "partitions after a shuffle; one per core", "whole", low=1, high=MAX_PARTITIONS),
    Setting("source_partitions", "partitions of the source; one per core", "whole", low=1, high=MAX_PARTITIONS),
    Setting("max_rows_per_batch", "admission limit, in events; adapts", "count"),
    Setting("source", "where events come from", "choice", "embedded", choices=SOURCES),
    Setting("sink", "where results go; noop, or kafka outside of micro-batches", "choice", choices=SINKS),
    Setting("mode", "execution mode of Spark", "choice", "micro-batch", choices=MODES),
    Setting(
        "latency",
        "what ends a latency: the commit of a micro-batch, or each record's arrival in Kafka",
        "choice",
        choices=LATENCIES,
    ),
    Setting("topic", "topic of the events; the workload's name", "text"),
    Setting("events", "event stream for a function of your own; ysb", "text"),
    Setting("verify", "check the answer and measure the generator, before the load", "flag", True),
    Setting("seed", "seed of everything random", "whole", 1, low=-MAX_SEED, high=MAX_SEED),
)
SETTINGS = {setting.name: setting for setting in _ALL}
# Settings that hold further names: parameters of the workload, and settings of Spark.
GROUPS = {"set": "parameters of the workload", "conf": "settings of Spark"}


def usual_rate(load: str, mode: str) -> str:
    """Return the rate of a run that names none.

    >>> usual_rate("open", "micro-batch"), usual_rate("open", "real-time")
    ('50k', '10k')
    """
    return UNBATCHED_RATE if mode in UNBATCHED else DEFAULT_RATES[load]


def with_defaults(
    given: Mapping[str, Any], defaults: Mapping[str, Any], usual: Mapping[str, Any] | None = None
) -> dict[str, Any]:
    """Return the settings that a user gives and, where there is none, that of the workload, or else of the command.

    A file without a rate has a load without arrivals: who gives a rate asks for arrivals too. Who asks for another
    source than the topic of a file does not want that topic.

    >>> with_defaults({"rate": None, "seed": 2}, {"rate": 500.0}), with_defaults({"rate": "1k"}, {"load": "offline"})
    ({'rate': 500.0, 'seed': 2}, {'rate': '1k'})
    """
    chosen = {name: value for name, value in given.items() if value is not None}
    unwanted = {"load"} if "rate" in chosen else set()
    if chosen.get("source", "kafka") != "kafka":
        unwanted |= {"kafka", "topic"}
    kept = {name: value for name, value in defaults.items() if name not in unwanted}
    return {**(usual or {}), **kept, **chosen}


def in_words_of_the_file(text: str) -> str:
    """Say in words of the file what is said in words of the command line.

    >>> in_words_of_the_file("use --set clock=fine, or lower --max-rows-per-batch")
    'use set: {clock: fine}, or lower max_rows_per_batch'
    """
    text = re.sub(r"--set (\w+)=([\w.]+)", r"set: {\1: \2}", text)
    return re.sub(r"--([a-z][a-z-]*)", lambda match: match[1].replace("-", "_"), text)
