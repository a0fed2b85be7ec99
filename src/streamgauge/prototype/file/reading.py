"""From the values of a prototype file to checked ones, key by key.

What cannot be used is noted, and reading goes on without it, so that all mistakes are found.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from streamgauge.errors import closest
from streamgauge.prototype.file.vocabulary import DATASTREAM, TASK, WORKFLOW, Group, Key, Value
from streamgauge.yaml_nodes import Mapping, Mistakes, Node, Place, Scalar, Sequence, is_empty, shown_at

# More than are shown of one file.
MAX_SUGGESTIONS = 100
# Where people look for what is chosen elsewhere.
_ELSEWHERE = {
    "seed": "the seed is chosen with --seed",
    "seeds": "the seed is chosen with --seed",
    "debugFrequency": "this belongs to a platform file of NAMB, which is not needed",
    "workers": "this belongs to a platform file of NAMB; cores are chosen with --cores",
    "deployment": "this belongs to a platform file of NAMB; the cluster is chosen with --master",
    "maxSpoutPending": "this belongs to a platform file of NAMB; use --max-rows-per-batch",
}


@dataclass(frozen=True)
class Given:
    """A value that the file has, and where its key and it stand."""

    key: Scalar
    node: Node
    value: Any


@dataclass
class PrototypeSection:
    """The keys of one mapping: what the file gives, and the defaults for the rest.

    `keys` has all that are written, by their names of today, and `broken` those whose values cannot be used.
    """

    group: Group
    place: Place
    keys: dict[str, Scalar] = field(default_factory=dict)
    given: dict[str, Given] = field(default_factory=dict)
    parts: dict[str, "PrototypeSection"] = field(default_factory=dict)
    broken: set[str] = field(default_factory=set)

    def __getitem__(self, name: str) -> Any:
        if name in self.given:
            return self.given[name].value
        return self.group.key(name).default

    def __contains__(self, name: str) -> bool:
        return name in self.keys

    def part(self, name: str) -> "PrototypeSection":
        """Return the keys of a group in it; one with nothing but defaults when it is not there."""
        return self.parts.get(name) or PrototypeSection(self.group.group(name), self.place)

    def place_of(self, *names: str) -> Place:
        """Return where the first of these keys that the file has stands; else where the mapping does."""
        return next((self.given[name].node.place for name in names if name in self.given), self.place)

    def is_usable(self, *names: str) -> bool:
        """Return whether none of these keys has a mistake that was noted already."""
        return self.broken.isdisjoint(names)


def _paths(group: Group, name: str) -> list[str]:
    """Return the paths of all keys of this name below a group."""
    found: list[str] = []
    for member in group.members:
        below = _paths(member, name) if isinstance(member, Group) else []
        found += [f"{member.name}.{path}" for path in below] + ([name] if member.name == name else [])
    return found


@dataclass
class PrototypeReader:
    """Reads the parts of one file, and keeps what to warn of."""

    mistakes: Mistakes
    warnings: list[tuple[Place, str]] = field(default_factory=list)
    suggestions: int = 0

    def suggest(self, name: str, known: Iterable[str]) -> str:
        """Return a remedy that names the closest known name; searching takes long, so after many there are no more."""
        self.suggestions += 1
        return closest(name, known) if self.suggestions <= MAX_SUGGESTIONS else "correct the names before it first"

    def warn(self, place: Place, what: str) -> None:
        """Note something that is read, but not as one might think."""
        self.warnings.append((place, what))

    def sorted_warnings(self) -> tuple[str, ...]:
        """Return the warnings in the order of the file, each once, with its line."""
        found = sorted(dict.fromkeys(self.warnings), key=lambda warning: (warning[0].line, warning[0].column))
        return tuple(f"line {place.line}: {what}" for place, what in found)

    def section(self, node: Node, group: Group, *, key: Scalar | None = None) -> PrototypeSection:
        """Read a mapping; unknown keys, double ones and wrong values are noted."""
        section = PrototypeSection(group, node.place)
        if not isinstance(node, Mapping):
            place = shown_at(key, node) if key else node.place
            self.mistakes.add(place, f"{group.name} needs keys with values", "write NAME: VALUE, one per line")
            return section
        for inner, value in node.entries:
            self._member(section, inner, value)
        return section

    def _member(self, section: PrototypeSection, key: Scalar, node: Node) -> None:
        member = section.group.member(key.text)
        if member is None:
            self._unknown(section.group, key)
            return
        if member.name in section:
            other = section.keys[member.name]
            what = f'"{key.text}" is the same as "{other.text}" in line {other.place.line}'
            self.mistakes.add(key.place, what, f"keep one of them, as {member.name}")
            return
        section.keys[member.name] = key
        if key.text != member.name:
            self.warn(key.place, f"{key.text} is an obsolete name; write {member.name}")
        if isinstance(member, Group):
            section.parts[member.name] = self.section(node, member, key=key)
            return
        value = self._value(member, key, node)
        if value is None:
            section.broken.add(member.name)
        else:
            section.given[member.name] = Given(key, node, value)

    def _unknown(self, group: Group, key: Scalar) -> None:
        """Note a key that is not known here, and where it belongs if it is known elsewhere."""
        remedy = _ELSEWHERE.get(key.text) or self.suggest(key.text, group.names)
        if remedy.startswith("known names"):
            paths = [f"{root.name}.{path}" for root in (WORKFLOW, DATASTREAM) for path in _paths(root, key.text)]
            paths += [path for path in _paths(TASK, key.text) if group.name == "task"]
            remedy = f"did you mean `{paths[0]}`?" if paths else remedy
        self.mistakes.add(key.place, f'{group.name} has no key "{key.text}"', remedy)

    def _value(self, key: Key, name: Scalar, node: Node) -> Value | list[Scalar]:
        """Return a value of its domain; None when it cannot be used."""
        if is_empty(node):
            self.mistakes.add(name.place, f"{key.name} has no value", "give it one, or leave it out")
            return None
        if key.kind == "names":
            return self._names(key, node)
        if not isinstance(node, Scalar):
            self.mistakes.add(node.place, f"{key.name} takes one value", f"use {key.domain}")
            return None
        value, what = _READERS[key.kind](key, node)
        if what:
            self.mistakes.add(node.place, f'{key.name} "{node.text}" {what}', self._remedy(key, node))
        elif node.text in key.older_values:
            self.warn(node.place, f"{node.text} is an obsolete name; write {value}")
        return value

    def _remedy(self, key: Key, node: Scalar) -> str:
        if key.kind == "choice":
            return self.suggest(node.text, key.choices)
        if key.kind in ("whole", "number") and isinstance(node.value, str) and _NUMBER.match(node.text):
            return f"use {key.domain}, without a unit or quotes"
        return f"use {key.domain}"

    def _names(self, key: Key, node: Node) -> list[Scalar] | None:
        """Return the names of a list that may not be empty."""
        if not isinstance(node, Sequence) or not node.items:
            name = node.text if isinstance(node, Scalar) else "NAME"
            self.mistakes.add(node.place, f"{key.name} needs a list of names", f"write {key.name}: [{name}]")
            return None
        names = []
        for item in node.items:
            if isinstance(item, Scalar) and not is_empty(item):
                names.append(item)
            else:
                self.mistakes.add(item.place, f"{key.name} needs a list of names", f"write {key.name}: [NAME]")
        return names if len(names) == len(node.items) else None


_NUMBER = re.compile(r"\s*[-+]?\.?[0-9]")
# A value, and what is wrong with it: one of them says nothing.
_Reading = tuple[Value, str]


def _read_number(key: Key, node: Scalar) -> _Reading:
    value = node.value
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None, "is not a number"
    if key.kind == "whole" and not isinstance(value, int):
        return None, "is not a whole number"
    # Written so that what is not a number at all is out of range, too.
    is_low_enough = value < key.high if key.is_below else value <= key.high
    is_high_enough = value > key.low if key.is_above else value >= key.low
    return (value, "") if is_low_enough and is_high_enough else (None, "is out of range")


def _read_choice(key: Key, node: Scalar) -> _Reading:
    value = key.older_values.get(node.text, node.text)
    return (value, "") if value in key.choices else (None, "is not known")


def _read_flag(_: Key, node: Scalar) -> _Reading:
    return (node.value, "") if isinstance(node.value, bool) else (None, "is neither true nor false")


def _read_text(key: Key, node: Scalar) -> _Reading:
    return (node.text, "") if re.fullmatch(key.form, node.text) else (None, "cannot be used")


_READERS = {
    "whole": _read_number,
    "number": _read_number,
    "choice": _read_choice,
    "flag": _read_flag,
    "text": _read_text,
}
