"""From the values of a suite file to checked settings, thresholds and workloads, one by one.

Everything here notes what it cannot use and goes on without it, so that all mistakes are found.
"""

import os
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamgauge.bundle import is_bundled
from streamgauge.errors import StreamgaugeError, closest
from streamgauge.lookup import find_workload, is_prototype, is_user_function
from streamgauge.metrics import METRIC
from streamgauge.settings.table import GROUPS, KEYS, Setting, in_words_of_the_file, renamed
from streamgauge.suite.orders import Order, read_orders
from streamgauge.suite.thresholds import Misreading, Threshold, read_threshold, suggest_metric
from streamgauge.workloads import catalogue
from streamgauge.yaml_nodes import Mapping, Mistakes, Node, Place, Scalar, Sequence, is_empty, shown_at

MAX_REPETITIONS = 1000
NAME = r"[A-Za-z0-9][A-Za-z0-9._-]{0,99}"
# What a load that is meant to be too high, or a short one, answers by no.
IGNORABLE = ("sustained", "drained", "steady")

FILE_KEYS = {
    "streamgauge": "version of the format: 1",
    "name": "name of the suite: letters, digits, dots, dashes and underscores",
    "description": "what the suite is for",
    "defaults": "settings of all runs",
    "runs": "what to run",
    "thresholds": "what must hold for every run",
    "orders": "which runs must have more of something than others",
    "ignore": "questions behind the verdicts of runs that do not count here",
    "baseline": "a run or a set of runs to compare with: its id, or its path",
    "drift": "by how much the machine may have changed since the baseline, such as 10%",
}
RUN_KEYS = {
    "workload": "a name of the catalogue, a prototype file, file.py:function, or a list of them",
    "matrix": "settings with lists of values; every combination is run",
    "repetitions": "how often every combination is run; 1",
    "thresholds": "what must hold for these runs",
    "name": "name of these runs: letters, digits, dots, dashes and underscores",
    "ignore": "questions behind the verdicts of these runs that do not count",
}
SETTING_KEYS = (*KEYS, *GROUPS)

# A key and its value, by the name of the key.
Keys = dict[str, tuple[Scalar, Node]]


@dataclass(frozen=True)
class Choice:
    """A value that the file chooses for a setting; `key` is where the name of the setting stands."""

    key: Scalar
    scalar: Scalar
    value: Any


# By setting, set.NAME or conf.KEY.
Choices = dict[str, Choice]


@dataclass(frozen=True)
class Entry:
    """One entry of `runs`, read but not unfolded."""

    workloads: tuple[Scalar, ...]
    fixed: Choices
    matrix: dict[str, list[Choice]]
    repetitions: int
    thresholds: tuple[Threshold, ...]
    place: Place
    name: str | None = None
    ignored: tuple[str, ...] = ()


@dataclass(frozen=True)
class LocatedOrder:
    """An order, and where the names of its two sides stand."""

    order: Order
    left: Place
    right: Place


def workload_path(text: str, suite: str) -> str:
    """Return the path of a prototype file, which counts from the folder of the suite file; others as they are.

    >>> workload_path("../examples/ysb.yaml", "suites/all.yaml"), workload_path("ysb", "suites/all.yaml")
    ('examples/ysb.yaml', 'ysb')
    """
    is_file = is_prototype(text) and not is_bundled(text, "prototype")
    return os.path.normpath(Path(suite).parent / text) if is_file else text


def _known_key(name: str, known: list[str]) -> str:
    """Return a remedy: what an old spelling is called now, or the closest known key."""
    new = renamed("run", name)
    return f"it is now `{new}`" if new in known else closest(name, known)


def _written(setting: Setting, scalar: Scalar) -> Any:
    """Return a value as it is written; YAML decides only what is a whole number, a flag or a text."""
    return scalar.value if setting.kind in ("whole", "flag", "text", "stream") else scalar.text


@dataclass
class Reader:
    """Reads the parts of one file; relative paths begin at `root`."""

    mistakes: Mistakes
    root: Path

    def keys(self, node: Node, known: Iterable[str], owner: str) -> Keys | None:
        """Return the keys of a mapping by name; unknown ones are noted. None when it is no mapping."""
        if not isinstance(node, Mapping):
            self.mistakes.add(node.place, f"{owner} needs keys with values", "write NAME: VALUE, one per line")
            return None
        names = list(known)
        for key, _ in node.entries:
            if key.text not in names:
                self.mistakes.add(key.place, f'{owner} has no key "{key.text}"', _known_key(key.text, names))
        return {key.text: (key, value) for key, value in node.entries if key.text in names}

    def text(self, keys: Keys, name: str, known: dict[str, str] = FILE_KEYS) -> str | None:
        """Return a text; None when it is not given."""
        if name not in keys:
            return None
        key, node = keys[name]
        if isinstance(node, Scalar) and node.value is not None and node.text.strip():
            return node.text.strip()
        self.mistakes.add(shown_at(key, node), f"{name} needs a text", f"write the {known[name]}")
        return None

    def name(self, keys: Keys, known: dict[str, str] = FILE_KEYS) -> str | None:
        """Return the name of the suite or of an entry; None when it is not given or cannot be used."""
        name = self.text(keys, "name", known)
        if name and not re.fullmatch(NAME, name):
            remedy = "use letters, digits, dots, dashes and underscores, at most 100"
            self.mistakes.add(keys["name"][1].place, f'name "{name}" cannot be used', remedy)
        return name

    def items(self, key: Scalar, node: Node, name: str, remedy: str) -> list[Scalar]:
        """Return the values of a list that may not be empty and holds only single values."""
        if not isinstance(node, Sequence) or not node.items:
            self.mistakes.add(shown_at(key, node), f"{name} needs a list of values", remedy)
            return []
        for item in node.items:
            if not isinstance(item, Scalar) or is_empty(item):
                self.mistakes.add(item.place, f"{name} needs a list of single values", remedy)
        return [item for item in node.items if isinstance(item, Scalar) and not is_empty(item)]

    def _list(self, keys: Keys, name: str, remedy: str) -> tuple[Node, ...]:
        """Return the entries of a list that may not be empty; none when it is not given."""
        if name not in keys:
            return ()
        key, node = keys[name]
        if isinstance(node, Sequence) and node.items:
            return node.items
        self.mistakes.add(shown_at(key, node), f"{name} needs a list", remedy)
        return ()

    def thresholds(self, keys: Keys) -> tuple[Threshold, ...]:
        """Read the thresholds of the file or of one entry."""
        if "thresholds" not in keys:
            return ()
        scalars = self.items(*keys["thresholds"], "thresholds", 'e.g. ["end_to_end_latency_s.p95 < 2 s"]')
        read = [self._threshold(scalar) for scalar in scalars]
        return tuple(threshold for threshold in read if threshold is not None)

    def _threshold(self, scalar: Scalar) -> Threshold | None:
        try:
            return read_threshold(scalar.text)
        except Misreading as misreading:
            place = self.mistakes.inside(scalar, misreading.start, misreading.end)
            self.mistakes.add(place, misreading.what, misreading.remedy)
            return None

    def ignored(self, keys: Keys) -> tuple[str, ...]:
        """Read the questions that do not count, of the file or of one entry."""
        if "ignore" not in keys:
            return ()
        scalars = self.items(*keys["ignore"], "ignore", f"e.g. [{IGNORABLE[0]}]")
        for scalar in [scalar for scalar in scalars if scalar.text not in IGNORABLE]:
            self.mistakes.add(scalar.place, f'"{scalar.text}" cannot be ignored', closest(scalar.text, IGNORABLE))
        return tuple(scalar.text for scalar in scalars if scalar.text in IGNORABLE)

    def orders(self, keys: Keys) -> list[LocatedOrder]:
        """Read the orders of the file; whether there are runs of these names is not known yet."""
        remedy = "write `- METRIC: NAME > NAME`, one per line"
        found: list[LocatedOrder] = []
        for item in self._list(keys, "orders", remedy):
            if not isinstance(item, Mapping) or not item.entries:
                self.mistakes.add(item.place, "an order needs a metric and names", remedy)
                continue
            for metric, text in item.entries:
                found += self._orders(metric, text, remedy)
        return found

    def _orders(self, metric: Scalar, node: Node, remedy: str) -> list[LocatedOrder]:
        if metric.text not in METRIC:
            self.mistakes.add(metric.place, f'there is no metric "{metric.text}"', suggest_metric(metric.text))
        if not isinstance(node, Scalar) or is_empty(node):
            self.mistakes.add(node.place, f"{metric.text} needs names in their order", remedy)
            return []
        try:
            read = read_orders(metric.text, node.text)
        except Misreading as misreading:
            place = self.mistakes.inside(node, misreading.start, misreading.end)
            self.mistakes.add(place, misreading.what, misreading.remedy)
            return []
        return [
            LocatedOrder(order, *(self.mistakes.inside(node, word.start, word.end) for word in words))
            for order, *words in read
            if metric.text in METRIC
        ]

    def settings(self, keys: Keys) -> Choices:
        """Read all settings among the keys."""
        choices: Choices = {}
        for name, (key, node) in keys.items():
            if name in GROUPS:
                choices |= self._group(name, key, node)
            elif name in KEYS:
                choices |= self._choice(name, key, node)
        return choices

    def _group(self, name: str, key: Scalar, node: Node) -> Choices:
        """Read the names and values of `set` or `conf`."""
        if not isinstance(node, Mapping):
            self.mistakes.add(shown_at(key, node), f"{name} needs names with values", f"write {name}: {{NAME: VALUE}}")
            return {}
        choices: Choices = {}
        for inner, value in node.entries:
            choices |= self._choice(f"{name}.{inner.text}", inner, value)
        return choices

    def _choice(self, name: str, key: Scalar, node: Node) -> Choices:
        """Read one value of a setting; nothing when it cannot be used."""
        if not isinstance(node, Scalar):
            self.mistakes.add(node.place, f"{name} takes one value", f"several belong in matrix: {{{name}: [ … ]}}")
            return {}
        if is_empty(node):
            self.mistakes.add(key.place, f"{name} has no value", "give it one, or leave it out")
            return {}
        if name not in KEYS:
            return {name: Choice(key, node, node.text)}
        try:
            return {name: Choice(key, node, KEYS[name].read(_written(KEYS[name], node)))}
        except StreamgaugeError as error:
            what = f"{name} {error.what}" if error.what.startswith('"') else error.what
            self.mistakes.add(node.place, what, in_words_of_the_file(error.remedy or ""))
            return {}

    def entries(self, keys: Keys) -> Iterator[Entry]:
        """Read the entries of `runs`."""
        for item in self._list(keys, "runs", "write `- workload: NAME` below it"):
            inside = self.keys(item, (*RUN_KEYS, *SETTING_KEYS), "a run")
            if inside is not None:
                yield self._entry(item, inside)

    def _entry(self, node: Node, keys: Keys) -> Entry:
        fixed = self.settings(keys)
        matrix = self._matrix(*keys["matrix"]) if "matrix" in keys else {}
        for name in [name for name in matrix if name in fixed]:
            line = fixed[name].key.place.line
            what = f"{name} has one value for all of these runs already, in line {line}"
            self.mistakes.add(matrix[name][0].key.place, what, "keep one of them")
        return Entry(
            workloads=tuple(self._workloads(node, keys)),
            fixed=fixed,
            matrix=matrix,
            repetitions=self._repetitions(keys),
            thresholds=self.thresholds(keys),
            place=node.place,
            name=self.name(keys, RUN_KEYS),
            ignored=self.ignored(keys),
        )

    def _repetitions(self, keys: Keys) -> int:
        if "repetitions" not in keys:
            return 1
        key, node = keys["repetitions"]
        value = node.value if isinstance(node, Scalar) else None
        if isinstance(value, int) and not isinstance(value, bool) and 1 <= value <= MAX_REPETITIONS:
            return value
        written = f' "{node.text}"' if isinstance(node, Scalar) else ""
        remedy = f"use a whole number from 1 to {MAX_REPETITIONS}"
        self.mistakes.add(shown_at(key, node), f"repetitions{written} cannot be used", remedy)
        return 1

    def _matrix(self, key: Scalar, node: Node) -> dict[str, list[Choice]]:
        """Read the lists of a matrix; its keys are settings, set.NAME or conf.KEY."""
        if not isinstance(node, Mapping) or not node.entries:
            self.mistakes.add(shown_at(key, node), "matrix needs settings with lists", "e.g. {rate: [10k, 50k]}")
            return {}
        lists: dict[str, list[Choice]] = {}
        for inner, values in node.entries:
            name = inner.text
            group, _, rest = name.partition(".")
            if name not in KEYS and not (group in GROUPS and rest):
                remedy = _known_key(name, [*KEYS, "set.NAME", "conf.KEY"])
                self.mistakes.add(inner.place, f'a matrix has no key "{name}"', remedy)
                continue
            scalars = self.items(inner, values, name, f"write {name}: [ … ] with one value or more")
            chosen = [self._choice(name, inner, scalar) for scalar in scalars]
            usable = [choice for found in chosen for choice in found.values()]
            lists |= {name: usable} if usable else {}
        return lists

    def _workloads(self, node: Node, keys: Keys) -> Iterator[Scalar]:
        """Yield the workloads of an entry that exist."""
        if "workload" not in keys:
            self.mistakes.add(node.place, "this run has no workload", "add `workload: NAME`")
            return
        key, value = keys["workload"]
        if isinstance(value, Scalar) and not is_empty(value):
            scalars = [value]
        else:
            remedy = "write a name, a prototype file, file.py:function, or a list of them"
            scalars = self.items(key, value, "workload", remedy)
        for scalar in scalars:
            if is_user_function(scalar.text):
                if self._is_function(scalar):
                    yield scalar
            elif is_prototype(scalar.text):
                if self._can_run(scalar):
                    yield scalar
            elif scalar.text in catalogue():
                yield scalar
            else:
                what = f'unknown workload "{scalar.text}"'
                self.mistakes.add(scalar.place, what, closest(scalar.text, catalogue()))

    def _can_run(self, scalar: Scalar) -> bool:
        """Return whether a prototype file describes an application that can run."""
        path = workload_path(scalar.text, self.mistakes.name)
        try:
            find_workload(path)
        except StreamgaugeError as error:
            what = f"{scalar.text} cannot be run: {error.what.partition(chr(10))[0]}"
            self.mistakes.add(scalar.place, what, f"see `streamgauge describe {path}`")
            return False
        return True

    def _is_function(self, scalar: Scalar) -> bool:
        """Return whether a function of the user's own is named as it must be; its file is not run."""
        file, _, function = scalar.text.rpartition(":")
        if not file or not function.isidentifier():
            self.mistakes.add(scalar.place, f'"{scalar.text}" does not name a function', "write file.py:FUNCTION")
            return False
        if not self.exists(file):
            remedy = "write its path as seen from the working directory"
            self.mistakes.add(scalar.place, f'there is no file "{file}"', remedy)
            return False
        return True

    def exists(self, path: str) -> bool:
        """Return whether a path leads somewhere; what cannot be a path does not."""
        try:
            return (self.root / path).exists()
        except (OSError, ValueError):
            return False
