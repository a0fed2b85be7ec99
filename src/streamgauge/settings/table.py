"""The settings of a run, one row each.

Command-line options, the keys of suite files and their JSON Schema, `RunSettings`, the keywords of Python functions,
the command that repeats a run and the tables of the documentation follow these rows; `scripts/settings` writes what
has to be static.
"""

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from streamgauge.connectors.kafka.options import FORMATS
from streamgauge.errors import UsageError, closest
from streamgauge.units import (
    MAX_CORES,
    MAX_PARTITIONS,
    MAX_RATE_PER_S,
    MAX_SEED,
    parse_count,
    parse_duration,
    parse_rate,
)

Kind = Literal["rate", "duration", "count", "whole", "choice", "flag", "text", "stream", "pairs"]
Value = str | int | bool

# Commands that run a workload; `run` stands for `plan` and `repeat` too.
MEASURING = frozenset({"run", "sustain", "scale", "surge", "fault", "calibrate"})
COMMANDS = (*sorted(MEASURING), "load", "generate", "verify")
# What `predict` varies is given as lists of values, and is by default that of a measured run.
PREDICTING = frozenset({"predict"})

_METAVARS: dict[Kind, str] = {"rate": "RATE", "duration": "TIME", "count": "COUNT", "whole": "N", "choice": "NAME"}
_UNITS: dict[Kind, str] = {"rate": "_per_s", "duration": "_s"}


@dataclass(frozen=True)
class Setting:
    """One setting: `name` is its keyword in Python, and `commands` are those that have it.

    `default` and the defaults `usual` for single commands are written as a user would; where there is none, or where it
    depends on something, `otherwise` says what is taken. `special` has another meaning, and what is taken otherwise,
    for single commands. `option` is given where it is not the name with dashes. `older` are names in earlier versions.
    """

    name: str
    kind: Kind
    help: str
    default: Value | None = None
    otherwise: str = ""
    low: float = 0
    high: float = 0
    choices: tuple[str, ...] = ()
    metavar: str = ""
    option: str = ""
    commands: frozenset[str] = MEASURING
    in_suites: bool = True
    usual: Mapping[str, Value] = field(default_factory=dict)
    special: Mapping[str, tuple[str, str]] = field(default_factory=dict)
    older: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "option", self.option or f"--{self.name.replace('_', '-')}")
        object.__setattr__(self, "metavar", self.metavar or _METAVARS.get(self.kind, ""))

    @property
    def key(self) -> str:
        """Its name in a suite file."""
        return self.option.removeprefix("--").replace("-", "_")

    @property
    def field(self) -> str:
        """Its name in `RunSettings` and in run.json, which ends with the unit.

        >>> SETTINGS["rate"].field, SETTINGS["warmup"].field, SETTINGS["seed"].field
        ('rate_per_s', 'warmup_s', 'seed')
        """
        return f"{self.name}{_UNITS.get(self.kind, '')}"

    @property
    def help_in_file(self) -> str:
        """What it means, in words of a suite file.

        >>> SETTINGS["conf"].help_in_file
        'a Spark setting; secrets as `KEY=@FILE` or `KEY=env:VARIABLE`'
        """
        return in_words_of_the_file(self.help.replace("; repeatable", ""))

    def default_in_words(self, command: str = "run") -> str:
        """Say what is taken when the setting is not given.

        >>> SETTINGS["duration"].default_in_words("sustain"), SETTINGS["cores"].default_in_words()
        ('`50s`', 'all')
        """
        _, otherwise = self.special.get(command, ("", ""))
        otherwise = otherwise or self.otherwise
        default = self.usual.get(command, None if otherwise else self.default)
        if default is None:
            return otherwise
        return ("no", "yes")[default] if isinstance(default, bool) else f"`{default}`"

    def read(self, value: Any) -> Any:
        """Return what a user wrote in SI units; a mistake is a `UsageError` that names the option."""
        return _READERS[self.kind](self, value)


def _read_whole(setting: Setting, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or not setting.low <= value <= setting.high:
        remedy = f"use a whole number from {setting.low} to {setting.high}"
        raise UsageError(f'"{value}" cannot be used', where=setting.option, remedy=remedy)
    return value


def _read_choice(setting: Setting, value: Any) -> str:
    if value not in setting.choices:
        raise UsageError(
            f'"{value}" is not available', where=setting.option, remedy=closest(str(value), setting.choices)
        )
    return str(value)


def _read_flag(setting: Setting, value: Any) -> bool:
    if not isinstance(value, bool):
        raise UsageError(f'"{value}" is neither true nor false', where=setting.option, remedy="use true or false")
    return value


def _read_text(setting: Setting, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        remedy = "write a word, in quotes if it looks like a number"
        raise UsageError(f'"{value}" is not a text', where=setting.option, remedy=remedy)
    return value


def _read_stream(setting: Setting, value: Any) -> str:
    from streamgauge.events import event_stream

    return event_stream(_read_text(setting, value), where=setting.option).name


def _read_pairs(setting: Setting, value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise UsageError(f'"{value}" has no names with values', where=setting.option, remedy="write {NAME: VALUE}")
    return dict(value)


_READERS: dict[Kind, Callable[[Setting, Any], Any]] = {
    "rate": lambda setting, value: parse_rate(value, where=setting.option),
    "count": lambda setting, value: parse_count(value, where=setting.option),
    "duration": lambda setting, value: parse_duration(value, where=setting.option, minimum_s=setting.low),
    "whole": _read_whole,
    "choice": _read_choice,
    "flag": _read_flag,
    "text": _read_text,
    "stream": _read_stream,
    "pairs": _read_pairs,
}

# The rate where none is given, by load. Where all events exist at once it only says how many they are, and a maximum
# needs several micro-batches of full size.
_RATES = {"open": "50k", "offline": "500k", "online": "500k"}
# Without micro-batches latency is the question, and generator, broker and query share the machine.
_UNBATCHED_RATE = "10k"
# Modes whose results appear record by record, without micro-batches that could be timed.
UNBATCHED = ("real-time", "continuous")

_RUN = frozenset({"run"})
_NOT_FAULT, _NOT_SCALE = MEASURING - {"fault"}, MEASURING - {"scale"}
_GENERATING = MEASURING | {"load", "generate", "verify"}
_PUBLISHING = MEASURING | {"load"}

# fmt: off
_ALL = (
    Setting("load", "choice", "`open`: events arrive by the arrival law; `offline`: all events exist before the query "
            "starts; `online`: first `offline`, then `open` at half of the rate that it reached",
            "open", choices=tuple(_RATES), commands=_RUN),
    Setting("rate", "rate", "events offered per second; an offline load has `--rate` × (`--warmup` + `--duration`) "
            "events", otherwise="`50k`, `500k` when not `open`, `10k` without micro-batches", high=MAX_RATE_PER_S,
            commands=_GENERATING | PREDICTING, usual={"fault": "20k", "generate": "1000"}, special={
                "sustain": ("where the search begins", "where an offline load points"),
                "scale": ("events per second of warm-up and duration; all exist at once", "what a first run processes"),
                "surge": ("events per second before and after the spike", "30 % of the capacity"),
                "fault": ("events offered per second; at most 5M in all", ""),
                "load": ("events per second", f"`{_RATES['open']}`"),
                "generate": ("rate at which event times advance", ""),
                "verify": ("rate at which event times advance", "by workload"),
                "predict": ("events offered per second", ""),
            }),
    Setting("arrivals", "text", "arrival law, e.g. `sine(peak=200k, phase=20s)`", "constant", metavar="LAW",
            commands=_RUN | PREDICTING | {"fault", "load"}),
    # Near the border of what is sustained, micro-batches are long. In 50 s there are enough of them for a steady state,
    # and slow moments of a machine that others use too are a smaller part of it.
    Setting("duration", "duration", "how long to measure, after the warm-up; at least 1 s", "30s", low=1.0,
            commands=_PUBLISHING | PREDICTING,
            usual={"sustain": "50s", "surge": "60s", "fault": "75s", "calibrate": "45s"},
            special={"fault": ("how long events are offered; no warm-up", ""), "load": ("how long to send", "")}),
    # New Java compiles the query for most of 15 s. The load of a probe rises meanwhile, or the queue that is left over
    # from then would hide for minutes whether a rate near the border is sustained. A longer warm-up leaves time for
    # fewer probes: after 15 s, events of YSB cost what they cost later.
    Setting("warmup", "duration", "load before the measurement", "10s",
            commands=_NOT_FAULT | PREDICTING, usual={"sustain": "15s", "calibrate": "15s"}),
    Setting("drain", "duration", "longest wait for the backlog after the load; an offline load may take that long, or "
            "10 times `--warmup` + `--duration` if that is longer", "30s"),
    Setting("trigger", "duration", "trigger interval; `0s` starts micro-batches back to back", "0s",
            commands=MEASURING | PREDICTING),
    Setting("cores", "whole", "cores of this machine, as `local[N]`", otherwise="all", low=1, high=MAX_CORES,
            commands=_NOT_SCALE | PREDICTING | {"generate", "verify"}),
    Setting("master", "text", "Spark master, instead of `--cores`", metavar="URL",
            commands=MEASURING - {"calibrate"} | {"verify"}),
    Setting("shuffle_partitions", "whole", "partitions after a shuffle", otherwise="one per core",
            low=1, high=MAX_PARTITIONS, commands=_NOT_SCALE | PREDICTING),
    Setting("source_partitions", "whole", "partitions of the source", otherwise="one per core",
            low=1, high=MAX_PARTITIONS, commands=MEASURING | PREDICTING | {"generate"}, usual={"generate": 1},
            special={"generate": ("number of files", "")}),
    Setting("max_rows_per_batch", "count", "admission limit, in events",
            otherwise="adapts to micro-batches of 3 s or 2 triggers", commands=MEASURING | PREDICTING),
    Setting("parameters", "pairs", "a parameter of the workload, or of the event stream for your own function; "
            "repeatable", metavar="NAME=VALUE", option="--set", commands=_GENERATING),
    Setting("conf", "pairs", "a Spark setting; repeatable; secrets as `KEY=@FILE` or `KEY=env:VARIABLE`",
            metavar="KEY=VALUE", commands=MEASURING | {"verify"}),
    Setting("events", "stream", "event stream for your own function", otherwise="`ysb`", metavar="STREAM",
            commands=_PUBLISHING - {"fault"}),
    Setting("source", "choice", "where events come from: `embedded` or `kafka`", "embedded",
            choices=("embedded", "kafka"), commands=_NOT_FAULT),
    Setting("sink", "choice", "where results go: `noop`, `kafka` or `redis`",
            otherwise="`noop`, or `kafka` without micro-batches", choices=("noop", "kafka", "redis"),
            commands=_NOT_FAULT),
    Setting("kafka", "text", "brokers, separated by commas", otherwise="those of `services up kafka`",
            metavar="HOST:PORT", commands=_PUBLISHING, in_suites=False),
    Setting("topic", "text", "topic of the events", otherwise="the workload's name", metavar="TOPIC",
            commands=_PUBLISHING, special={"load": ("topic of the events; created if it does not exist", "")}),
    Setting("record_format", "choice", "form of the records in the topic: `json` or `binary`", "json", choices=FORMATS,
            commands=_PUBLISHING, in_suites=False, older=("format",)),
    Setting("kafka_options", "pairs", "a setting of the Kafka client; repeatable; secrets as `KEY=@FILE` or "
            "`KEY=env:VARIABLE`", metavar="KEY=VALUE", option="--kafka-option", commands=_PUBLISHING, in_suites=False),
    Setting("external_load", "flag", "wait for a `streamgauge load` that fills the topic, and start none", False,
            in_suites=False),
    Setting("redis", "text", "Redis of the sink", otherwise="that of `services up redis`", metavar="HOST:PORT",
            in_suites=False),
    Setting("mode", "choice", "execution mode of Spark: `micro-batch`, `micro-batch-async`, `real-time` or "
            "`continuous`", "micro-batch", choices=("micro-batch", "micro-batch-async", *UNBATCHED),
            commands=_NOT_FAULT),
    Setting("timing", "choice", "what ends a latency: the `commit` of a micro-batch, or each `record` in Kafka",
            otherwise="`commit`, or `record` without micro-batches", choices=("commit", "record"), commands=_NOT_FAULT,
            older=("latency",)),
    Setting("engine", "text", "engine that runs the query: `spark`, or e.g. `fake(capacity=200k, noise=5%)` for a "
            "rehearsal", "spark", metavar="ENGINE", commands=MEASURING - {"calibrate"} | {"verify"}),
    Setting("verify", "flag", "check the answer and measure the generator, before the load", True, commands=_NOT_FAULT),
    Setting("explore", "flag", "after a constant load of 30 s or more, run micro-batches of other sizes for a sixth of "
            "`--duration`; they are not measured, and `predict` learns from them; never in sets", True,
            commands=_RUN, in_suites=False),
    Setting("seed", "whole", "seed of everything random in the events", 1, low=-MAX_SEED, high=MAX_SEED,
            commands=_GENERATING),
)
# fmt: on
SETTINGS = {setting.name: setting for setting in _ALL}
# A suite file that is shared does not say where servers are and how to log in. Its groups hold further names.
KEYS = {setting.key: setting for setting in _ALL if setting.in_suites and setting.kind != "pairs"}
GROUPS = {setting.key: setting for setting in _ALL if setting.in_suites and setting.kind == "pairs"}
# Old spellings of what only one command has.
_OLDER = {
    ("sustain", "latency"): "limit", ("fault", "count"): "length",
    ("generate", "events"): "count", ("verify", "events"): "count",
}  # fmt: skip


def settings_of(command: str) -> list[Setting]:
    """Return the settings that a command has."""
    return [setting for setting in _ALL if command in setting.commands]


def renamed(command: str, name: str) -> str | None:
    """Return what an old spelling is called now.

    >>> renamed("run", "latency"), renamed("sustain", "latency"), renamed("run", "rate")
    ('timing', 'limit', None)
    """
    found = (setting.name for setting in settings_of(command) if name in setting.older)
    return _OLDER.get((command, name)) or next(found, None)


def refuse_unknown(command: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Refuse settings that a command does not have; an old spelling is answered with the new one."""
    for name in names:
        if new := renamed(command, name):
            raise UsageError(f"renamed to {new}", where=name, remedy=f"use {new}")
        if name not in known:
            raise UsageError(f'{command} has no setting "{name}"', remedy=closest(name, known))


def usual_rate(load: str, mode: str = "micro-batch") -> str:
    """Return the rate of a run that names none.

    >>> usual_rate("open"), usual_rate("open", "real-time")
    ('50k', '10k')
    """
    return _UNBATCHED_RATE if mode in UNBATCHED else _RATES[load]


def with_defaults(given: Mapping[str, Any], defaults: Mapping[str, Any], command: str = "run") -> dict[str, Any]:
    """Return the settings that a user gives and, where there is none, that of the workload, or else of the command.

    A file without a rate has a load without arrivals: who gives a rate asks for arrivals too. Who asks for another
    source than the topic of a file does not want that topic.

    >>> with_defaults({"rate": None, "seed": 2}, {"rate": 500.0}), with_defaults({"rate": "1k"}, {"load": "offline"})
    ({'rate': 500.0, 'seed': 2}, {'rate': '1k'})
    >>> with_defaults({}, {}, "surge")
    {'duration': '60s'}
    """
    usual = {setting.name: setting.usual[command] for setting in _ALL if command in setting.usual}
    chosen = {name: value for name, value in given.items() if value is not None}
    unwanted = {"load"} if "rate" in chosen else set()
    if chosen.get("source", "kafka") != "kafka":
        unwanted |= {"kafka", "topic"}
    kept = {name: value for name, value in defaults.items() if name not in unwanted}
    return {**usual, **kept, **chosen}


def in_words_of_the_file(text: str) -> str:
    """Say in words of a suite file what is said in words of the command line.

    >>> in_words_of_the_file("use --set clock=fine, or lower --max-rows-per-batch")
    'use set: {clock: fine}, or lower max_rows_per_batch'
    """
    text = re.sub(r"--set (\w+)=([\w.]+)", r"set: {\1: \2}", text)
    return re.sub(r"--([a-z][a-z-]*)", lambda match: match[1].replace("-", "_"), text)
