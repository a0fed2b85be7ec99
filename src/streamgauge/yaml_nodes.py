"""YAML with places: every value knows its line and column, and every mistake shows them.

Only the parser's events are used, not its objects, so that duplicate keys, anchors that contain themselves and files
that would unfold to millions of values are seen before anything is built from them.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, NoReturn

from streamgauge.errors import InvalidExperimentError, UsageError

MAX_BYTES = 1_000_000
MAX_SHOWN = 50
MAX_LINE = 110

_BREAK = re.compile("\r\n|[\n\r\x85\u2028\u2029]")
_NULL = re.compile(r"~|null|Null|NULL|")
_TRUE = re.compile(r"true|True|TRUE")
_FALSE = re.compile(r"false|False|FALSE")
# Longer ones stay text: nobody means a number of more than 20 digits.
_INT = re.compile(r"[-+]?[0-9]{1,20}")
_FLOAT = re.compile(r"[-+]?(?:\.[0-9]+|[0-9]+(?:\.[0-9]*)?)(?:[eE][-+]?[0-9]+)?")


@dataclass(frozen=True)
class Limits:
    """How large a file may be, and what messages call it: a `kind` such as suite."""

    kind: str
    size_bytes: int = MAX_BYTES
    lines: int = MAX_BYTES
    values: int = 10_000
    levels: int = 20


SUITE_LIMITS = Limits("suite")


@dataclass(frozen=True)
class Place:
    """Where something stands: line and column from 1 on, and how many characters it takes of that line."""

    line: int
    column: int
    width: int = 1


@dataclass(frozen=True)
class Scalar:
    """One value, as written and as YAML 1.2 reads it."""

    text: str
    value: bool | int | float | str | None
    place: Place
    size: int = 1


@dataclass(frozen=True)
class Sequence:
    """A list; `size` counts all values in it, those of aliases each time."""

    items: tuple["Node", ...]
    place: Place
    size: int


@dataclass(frozen=True)
class Mapping:
    """Keys with values, merges unfolded; a key that is there twice has its first value."""

    entries: tuple[tuple[Scalar, "Node"], ...]
    place: Place
    size: int


Node = Scalar | Sequence | Mapping


def is_empty(node: Node) -> bool:
    """Return whether nothing is written where a value belongs."""
    return isinstance(node, Scalar) and node.value is None


def shown_at(key: Scalar, node: Node) -> Place:
    """Return where a mistake in a value is shown: at the value, or at its key when there is none."""
    return key.place if is_empty(node) else node.place


@dataclass(frozen=True)
class Mistake:
    """What is wrong, where, and what to do."""

    place: Place
    what: str
    remedy: str


@dataclass
class Mistakes:
    """All mistakes of one file, each once."""

    name: str
    text: str
    found: dict[tuple[Place, str], Mistake] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.lines = _BREAK.split(self.text)

    def add(self, place: Place, what: str, remedy: str) -> None:
        """Note a mistake; the same one at the same place is noted once."""
        self.found.setdefault((place, what), Mistake(place, what, remedy))

    def sorted(self) -> list[Mistake]:
        """Return the mistakes in the order of the file."""
        return sorted(self.found.values(), key=lambda mistake: (mistake.place.line, mistake.place.column))

    def place_at(self, index: int) -> Place:
        """Return the place of a character of the text."""
        before = _BREAK.split(self.text[:index])
        return Place(len(before), len(before[-1]) + 1)

    def inside(self, scalar: Scalar, start: int, end: int) -> Place:
        """Return the place of some characters of a value; that of all of it when it is not written as it reads."""
        place = scalar.place
        written = self.lines[place.line - 1][place.column - 1 :]
        for quote in ("", '"', "'"):
            if written.startswith(quote + scalar.text):
                return Place(place.line, place.column + len(quote) + start, end - start)
        return place

    def error(self) -> InvalidExperimentError:
        """Return all mistakes as one error."""
        mistakes = self.sorted()
        shown = [self._show(mistake) for mistake in mistakes[:MAX_SHOWN]]
        if len(mistakes) > MAX_SHOWN:
            shown.append(f"and {len(mistakes) - MAX_SHOWN} more mistakes")
        return InvalidExperimentError("\n".join(shown))

    def _show(self, mistake: Mistake) -> str:
        """Show a mistake with its line and a mark below it."""
        place = mistake.place
        line = self.lines[place.line - 1] if place.line <= len(self.lines) else ""
        # Long lines are cut so that the place stays in sight.
        start = max(0, place.column - 1 - MAX_LINE // 2) if len(line) > MAX_LINE else 0
        line = _printable(line[start : start + MAX_LINE]).rstrip()
        indent = place.column - 1 - start
        marks = "^" * max(1, min(place.width, len(line) - indent))
        gutter = " " * len(str(place.line))
        return (
            f"{self.name}:{place.line}:{place.column}: {_printable(mistake.what)}\n"
            f"  {place.line} | {line}\n"
            f"  {gutter} | {' ' * indent}{marks} {_printable(mistake.remedy)}".rstrip()
        )


def _printable(text: str) -> str:
    """Replace what would move the cursor, one character by one, so that marks stay below their value."""
    return "".join(c if c.isprintable() else " " if c.isspace() else "\N{REPLACEMENT CHARACTER}" for c in text)


def read_value(text: str) -> bool | int | float | str | None:
    """Read a plain scalar as YAML 1.2 does.

    >>> [read_value(text) for text in ("20k", "20", "2.5", "true", "yes", "~")]
    ['20k', 20, 2.5, True, 'yes', None]
    """
    if _NULL.fullmatch(text):
        return None
    if _TRUE.fullmatch(text) or _FALSE.fullmatch(text):
        return bool(_TRUE.fullmatch(text))
    if _INT.fullmatch(text):
        return int(text)
    return float(text) if _FLOAT.fullmatch(text) else text


@dataclass
class _Open:
    """A list or mapping whose end has not come yet."""

    place: Place
    anchor: str | None
    is_mapping: bool
    children: list[Node] = field(default_factory=list)


class _StopReading(Exception):  # noqa: N818
    """A mistake after which nothing else of the file can be trusted."""


class _Composer:
    """Builds values from the events of the parser."""

    def __init__(self, mistakes: Mistakes, limits: Limits) -> None:
        self.mistakes = mistakes
        self.limits = limits
        self.open: list[_Open] = []
        self.anchors: dict[str, Node] = {}
        self.root: Node | None = None
        self.documents = 0
        self.values = 0
        self.end = Place(1, 1)

    def compose(self) -> Node | None:
        """Return the value of the file; None when there is none or after a mistake that ends reading."""
        try:
            self._count_lines()
            for event in _events(self.mistakes):
                self._take(event)
        except _StopReading:
            return None
        return self.root

    def _count_lines(self) -> None:
        most = self.limits.lines
        if len(self.mistakes.lines) > most:
            self._stop(Place(most + 1, 1), f"more than {most:,} lines", self._smaller())

    def _smaller(self) -> str:
        return f"cut the file into smaller {self.limits.kind}s"

    def _take(self, event: Any) -> None:
        kind = type(event).__name__.removesuffix("Event")
        place = self._place(event)
        if kind == "Scalar" and not event.value and not event.style:
            # The parser puts a value that is not there where the next one begins.
            place = self.end
        self.end = Place(event.end_mark.line + 1, event.end_mark.column + 1)
        if getattr(event, "ctag", None) is not None:
            self._stop(place, "tags are not supported", "leave the tag out")
        if kind == "DocumentStart":
            self.documents += 1
            if self.documents > 1:
                remedy = f"keep one {self.limits.kind} in one file, without ---"
                self._stop(place, "a second document begins here", remedy)
        elif kind == "Scalar":
            value = event.value if event.style else read_value(event.value)
            self._put(Scalar(event.value, value, place), event.anchor, weight=1)
        elif kind == "Alias":
            self._alias(event.anchor, place)
        elif kind in ("SequenceStart", "MappingStart"):
            self.open.append(_Open(place, event.anchor, kind == "MappingStart"))
            if len(self.open) > self.limits.levels:
                remedy = f"a {self.limits.kind} needs five at most"
                self._stop(place, f"more than {self.limits.levels} levels", remedy)
        elif kind in ("SequenceEnd", "MappingEnd"):
            self._close(event)

    def _stop(self, place: Place, what: str, remedy: str) -> NoReturn:
        self.mistakes.add(place, what, remedy)
        raise _StopReading

    def _place(self, event: Any) -> Place:
        """Return where an event begins, and its width or that of the rest of its first line."""
        start, end = event.start_mark, event.end_mark
        lines = self.mistakes.lines
        line = lines[start.line] if start.line < len(lines) else ""
        is_opening = type(event).__name__ in ("SequenceStartEvent", "MappingStartEvent")
        last = end.column if end.line == start.line and not is_opening else len(line.rstrip())
        return Place(start.line + 1, start.column + 1, max(1, last - start.column))

    def _alias(self, anchor: str, place: Place) -> None:
        if anchor not in self.anchors:
            self._stop(place, f"there is no anchor &{anchor} before this", "define the anchor first")
        self._put(self.anchors[anchor], None, weight=self.anchors[anchor].size)

    def _put(self, node: Node, anchor: str | None, *, weight: int) -> None:
        """Add a finished value to what is open."""
        self.values += weight
        if self.values > self.limits.values:
            self._stop(node.place, f"more than {self.limits.values:,} values", self._smaller())
        # An anchor is known from the end of its value on, so nothing can contain itself.
        if anchor:
            self.anchors[anchor] = node
        if self.open:
            self.open[-1].children.append(node)
        else:
            self.root = node

    def _close(self, event: Any) -> None:
        last = self.open.pop()
        size = 1 + sum(child.size for child in last.children)
        place = last.place
        if event.end_mark.line + 1 == place.line:
            place = replace(place, width=max(1, event.end_mark.column + 1 - place.column))
        if last.is_mapping:
            entries = tuple(self._entries(last.children))
            self._put(Mapping(entries, place, size), last.anchor, weight=1)
        else:
            self._put(Sequence(tuple(last.children), place, size), last.anchor, weight=1)

    def _entries(self, children: list[Node]) -> Iterator[tuple[Scalar, Node]]:
        """Pair keys with values; keys that come with a merge stand behind those that are written here."""
        own: dict[str, tuple[Scalar, Node]] = {}
        merged: list[tuple[Scalar, Node]] = []
        for key, value in zip(children[::2], children[1::2], strict=True):
            if not isinstance(key, Scalar):
                self.mistakes.add(key.place, "a key must be a word", "write NAME: VALUE")
            elif key.text == "<<" and key.value == "<<":
                merged += self._merge(value)
            elif key.text in own:
                line = own[key.text][0].place.line
                self.mistakes.add(key.place, f'"{key.text}" is there already, in line {line}', "keep one of them")
            else:
                own[key.text] = (key, value)
        for key, value in merged:
            own.setdefault(key.text, (key, value))
        yield from own.values()

    def _merge(self, value: Node) -> list[tuple[Scalar, Node]]:
        sources = value.items if isinstance(value, Sequence) else (value,)
        entries: list[tuple[Scalar, Node]] = []
        for source in sources:
            if isinstance(source, Mapping):
                entries += source.entries
            else:
                self.mistakes.add(source.place, "only keys with values can be merged", "write <<: *ANCHOR")
        return entries


def _events(mistakes: Mistakes) -> Iterator[Any]:
    """Yield the parser's events; what it refuses becomes a mistake."""
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError
    from ruamel.yaml.reader import ReaderError

    place = Place(1, 1)
    try:
        for event in YAML(typ="safe", pure=True).parse(mistakes.text):
            place = Place(event.end_mark.line + 1, event.end_mark.column + 1)
            yield event
    except ReaderError as error:
        what = f"the character U+{error.character:04X} is not allowed in YAML"
        mistakes.add(mistakes.place_at(error.position), what, "remove this character")
    except MarkedYAMLError as error:
        problem = error.problem or error.context or "it cannot be read"
        # What never ends is shown where it begins.
        begins = error.context_mark if "end of stream" in problem else None
        mark = begins or error.problem_mark or error.context_mark
        place = Place(mark.line + 1, mark.column + 1) if mark else place
        is_tab = "'\\t'" in problem
        remedy = "indent with spaces, not tabs" if is_tab else "check quotes, brackets, colons and indentation here"
        mistakes.add(place, "there is a tab here" if is_tab else f"this is not YAML: {problem}", remedy)
    # The parser lets errors of Python through, such as that of the escape \U99999999.
    except (ValueError, ArithmeticError, LookupError, TypeError, AttributeError, AssertionError) as error:
        mistakes.add(place, f"this is not YAML: {error}", "check quotes and escapes after this place")


def compose(mistakes: Mistakes, limits: Limits = SUITE_LIMITS) -> Node | None:
    """Read the text as one YAML document; None when it is empty or cannot be read."""
    return _Composer(mistakes, limits).compose()


def read_text(path: Path, limits: Limits) -> str:
    """Return the text of a file; one that is too large is refused without being read whole."""
    try:
        with path.open("rb") as file:
            content = file.read(limits.size_bytes + 1)
    except OSError as error:
        remedy = f"write the path of a {limits.kind} file"
        raise UsageError(f"{path} cannot be read: {error.strerror}", remedy=remedy) from None
    if len(content) > limits.size_bytes:
        remedy = f"cut it into smaller {limits.kind}s, or check that it is one"
        raise InvalidExperimentError(f"more than {limits.size_bytes:,} bytes", where=f"{path}:1:1", remedy=remedy)
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        before = content[: error.start].decode("utf-8-sig")
        mistakes = Mistakes(str(path), before)
        what = f"the byte 0x{content[error.start]:02X} is not UTF-8"
        mistakes.add(mistakes.place_at(len(before)), what, "save the file as UTF-8")
        raise mistakes.error() from None
