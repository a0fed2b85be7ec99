"""From settings and a matrix to single runs: which, in what order, under which names, and how long they take."""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from math import prod
from pathlib import Path
from typing import Any, TypeVar

from streamgauge.bundle import locate
from streamgauge.lookup import is_prototype, is_user_function
from streamgauge.settings.table import SETTINGS
from streamgauge.suite.thresholds import Threshold
from streamgauge.units import parse_duration

# Starting Spark, the checks before the load, the first micro-batch: what a run takes besides its load.
OVERHEAD_S = 35.0
# Who starts more runs than this by one command may have mistyped a matrix.
CONFIRM_ABOVE = 200

# What a load lasts where the file does not say.
_LOAD_S = {name: parse_duration(str(SETTINGS[name].default)) for name in ("warmup", "duration")}

Value = TypeVar("Value")


@dataclass(frozen=True)
class Configuration:
    """One combination of settings; `settings` and `parameters` are as `run` takes them, in SI units.

    `code_sha256` is the digest of a prototype file or of the file of a user's function. `ignored` are the questions
    behind the verdict of a run that do not count.
    """

    name: str
    workload: str
    settings: Mapping[str, Any]
    parameters: Mapping[str, Any] = field(default_factory=dict)
    thresholds: tuple[Threshold, ...] = ()
    repetitions: int = 1
    code_sha256: str | None = None
    ignored: tuple[str, ...] = ()

    def arguments(self) -> dict[str, Any]:
        """Return the keyword arguments of `run`."""
        return {"workload": self.workload, "parameters": dict(self.parameters), **self.settings}

    @property
    def expected_s(self) -> float:
        """How long one run takes, about.

        An offline load is counted as long as the time that its events span, which only a run can show better.
        """
        return OVERHEAD_S + load_duration_s(self.settings) * (2 if self.settings.get("load") == "online" else 1)

    def identity(self) -> dict[str, Any]:
        """Return what makes this configuration another one than the next: all but its name and its thresholds."""
        return self.arguments() | {"code_sha256": self.code_sha256}


@dataclass(frozen=True)
class PlannedRun:
    """One run of a suite: a configuration for the first, second … time."""

    configuration: Configuration
    repetition: int

    @property
    def name(self) -> str:
        """A name that is the same whenever the same file is read."""
        several = max(self.repetition, self.configuration.repetitions) > 1
        return f"{self.configuration.name}#{self.repetition}" if several else self.configuration.name

    @property
    def key(self) -> str:
        """The identity of this run, whatever file it is written in: a digest of what decides its numbers.

        Spelling does not matter (`10k` and `10000` are the same), nor do thresholds.
        """
        identity = self.configuration.identity() | {"repetition": self.repetition}
        text = json.dumps(identity, sort_keys=True, separators=(",", ":"))
        return hashlib.sha256(text.encode()).hexdigest()[:16]


def code_digest(workload: str, root: Path) -> str | None:
    """Return the digest of a prototype file or of the file of a user's function, with paths from `root`; else None."""
    if not is_user_function(workload) and not is_prototype(workload):
        return None
    file = workload if is_prototype(workload) else workload.rpartition(":")[0]
    return hashlib.sha256((root / locate(file)).read_bytes()).hexdigest()


def load_duration_s(settings: Mapping[str, Any]) -> float:
    """Return how long events are offered: warm-up and measurement.

    >>> load_duration_s({"duration": 5.0})
    15.0
    """
    return sum(float(settings.get(name, default_s)) for name, default_s in _LOAD_S.items())


def combinations_count(matrix: Mapping[str, Sequence[Value]]) -> int:
    """Return how many combinations a matrix has, without making them.

    >>> combinations_count({"rate": ["10k", "50k"], "cores": [1, 2, 4]}), combinations_count({})
    (6, 1)
    """
    return prod(len(values) for values in matrix.values())


def combinations(matrix: Mapping[str, Sequence[Value]]) -> Iterator[dict[str, Value]]:
    """Yield every combination of one value per key; the last key changes fastest.

    >>> list(combinations({"rate": ["10k", "50k"], "cores": [1]}))
    [{'rate': '10k', 'cores': 1}, {'rate': '50k', 'cores': 1}]
    """
    for values in product(*matrix.values()):
        yield dict(zip(matrix, values, strict=True))


def configuration_name(workload: str, chosen: Mapping[str, str]) -> str:
    """Name a configuration after the settings that its entry chooses, as they are written.

    >>> configuration_name("ysb", {"rate": "10k", "set.campaigns": "10"}), configuration_name("ysb", {})
    ('ysb[rate=10k,set.campaigns=10]', 'ysb')
    """
    inside = ",".join(f"{key}={' '.join(text.split())}" for key, text in chosen.items())
    return f"{workload}[{inside}]" if inside else workload


def interleave(configurations: Iterable[Configuration]) -> Iterator[PlannedRun]:
    """Yield all runs: every configuration once, then all that repeat a second time, and so on.

    A machine that gets slower by the hour then slows all configurations alike.
    """
    rest = list(configurations)
    repetition = 1
    while rest:
        yield from (PlannedRun(configuration, repetition) for configuration in rest)
        rest = [configuration for configuration in rest if configuration.repetitions > repetition]
        repetition += 1
