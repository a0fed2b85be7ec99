"""Reads arrival laws as people write them.

law     = sum [ "for" duration "then" law ]
sum     = product { "+" product }
product = factor { "*" factor }         one factor is a law, the others are numbers
factor  = number | name [ "(" arguments ")" ] | "(" law ")"
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import partial
from typing import Any, NoReturn, cast

from streamgauge.arrivals.composition import Scaled, Sum, Then
from streamgauge.arrivals.constant import Constant
from streamgauge.arrivals.law import BaseLaw
from streamgauge.arrivals.levels import Burst, Square
from streamgauge.arrivals.notation import parameter_name, read_factor, read_rate, read_value
from streamgauge.arrivals.poisson import Poisson
from streamgauge.arrivals.ramp import Ramp
from streamgauge.arrivals.steps import Steps
from streamgauge.arrivals.trace import Trace
from streamgauge.arrivals.waves import ReverseSawtooth, Sawtooth, Sine
from streamgauge.errors import UsageError, closest
from streamgauge.units import MAX_SEED, parse_duration

# An open loop cannot offer events without limit, so a burst has a rate.
BURST_FACTOR = 10.0
LOW_SHARE = 0.1
# Enough for a day of half-hours, and far from Python's limit on nested calls.
MAX_PARTS = 100

_NAME = re.compile(r"[A-Za-z][\w-]*")
_NUMBER = re.compile(r"[-+]?(?:\d[\d_]*\.?\d*|\.\d+)(?:[eE][-+]?\d+)?[\w./]*")
_ARGUMENT = re.compile(r"([A-Za-z][\w-]*)\s*=\s*")
_QUOTED = re.compile(r'"((?:[^"\\]|\\.)*)"')
_VALUE = re.compile(r"[^,()]*")
_UNTIL_THEN = re.compile(r"(?:(?!\bthen\b)[^()+*,])*")

Span = tuple[int, int]


@dataclass(frozen=True)
class _Form:
    """How a law is made: its class, and the fields that `--rate` fills when they are not given."""

    kind: type[BaseLaw]
    from_rate: Callable[[Mapping[str, Any], float], Mapping[str, Any]]

    def parameters(self) -> dict[str, str]:
        """Return the fields by the names that users write."""
        names = [field.name for field in fields(cast(Any, self.kind)) if field.compare and field.name != "levels_per_s"]
        return {parameter_name(name): name for name in names}


def _ramp(given: Mapping[str, Any], rate_per_s: float) -> Mapping[str, Any]:  # noqa: ARG001
    return {"from_per_s": 0.0, "to_per_s": rate_per_s}


def _square(given: Mapping[str, Any], rate_per_s: float) -> Mapping[str, Any]:
    high_per_s = given.get("high_per_s", rate_per_s)
    return {"low_per_s": LOW_SHARE * high_per_s, "high_per_s": high_per_s}


def _burst(given: Mapping[str, Any], rate_per_s: float) -> Mapping[str, Any]:
    usual_per_s = given.get("rate_per_s", rate_per_s)
    return {"rate_per_s": usual_per_s, "burst_rate_per_s": BURST_FACTOR * usual_per_s}


_FORMS = {
    "burst": _Form(Burst, _burst),
    "constant": _Form(Constant, lambda _, rate_per_s: {"rate_per_s": rate_per_s}),
    "poisson": _Form(Poisson, lambda _, rate_per_s: {"rate_per_s": rate_per_s}),
    "ramp": _Form(Ramp, _ramp),
    "reverse-sawtooth": _Form(ReverseSawtooth, lambda _, rate_per_s: {"peak_per_s": rate_per_s}),
    "sawtooth": _Form(Sawtooth, lambda _, rate_per_s: {"peak_per_s": rate_per_s}),
    "sine": _Form(Sine, lambda _, rate_per_s: {"peak_per_s": rate_per_s}),
    "square": _Form(Square, _square),
    "steps": _Form(Steps, lambda _, __: {}),
    "trace": _Form(Trace, lambda _, __: {}),
}


@dataclass
class _Arguments:
    """What stands between the parentheses of a law, and where."""

    levels: list[float]
    values: dict[str, Any]
    spans: dict[str, Span]


class _Parser:
    def __init__(self, text: str, rate_per_s: float, seed: int, where: str) -> None:
        self.text = re.sub(r"\s", " ", text).rstrip()
        self.rate_per_s = rate_per_s
        self.seed = seed
        self.where = where
        self.at = 0
        self.parts = 0

    def fail(self, what: str, span: Span, remedy: str | None) -> NoReturn:
        """Raise an error that shows the law and marks the place."""
        shift = len(self.text) - len(self.text.lstrip())
        mark = " " * (span[0] - shift) + "^" * max(1, span[1] - span[0])
        raise UsageError(f"{what}\n  {self.text.lstrip()}\n  {mark}", where=self.where, remedy=remedy)

    def checked(self, span: Span, make: Callable[[], Any], spans: Mapping[str, Span] | None = None) -> Any:
        """Return what `make` returns; an error is shown where its parameter stands, or else at `span`."""
        try:
            return make()
        except UsageError as error:
            self.fail(error.what, (spans or {}).get(error.where or "", span), error.remedy)

    def peek(self) -> str:
        """Skip blanks and return the next character, or nothing at the end."""
        while self.at < len(self.text) and self.text[self.at] == " ":
            self.at += 1
        return self.text[self.at : self.at + 1]

    def take(self, character: str) -> bool:
        """Skip the character if it is the next one."""
        if self.peek() != character:
            return False
        self.at += 1
        return True

    def word(self) -> tuple[str, Span]:
        """Return the next word and where it stands, without skipping it."""
        self.peek()
        match = _NAME.match(self.text, self.at)
        return (match.group(), match.span()) if match else ("", (self.at, self.at))

    def count_part(self) -> None:
        """Refuse laws that are made of too many parts."""
        self.parts += 1
        if self.parts > MAX_PARTS:
            remedy = f"use at most {MAX_PARTS} laws and factors, or a trace"
            self.fail("the law has too many parts", (self.at, self.at + 1), remedy)

    def whole(self) -> BaseLaw:
        """Read the text to its end."""
        if not self.text:
            raise UsageError("the arrival law is empty", where=self.where, remedy=closest("", _FORMS))
        law = self.sequence()
        if self.peek() == ")":
            self.fail('there is no "(" for this ")"', (self.at, self.at + 1), 'remove it, or add a "("')
        if self.peek():
            self.fail_end()
        if law.max_rate_per_s(math.inf) == 0:
            shift = len(self.text) - len(self.text.lstrip())
            self.fail("the law never offers an event", (shift, len(self.text)), "use a rate above 0")
        return law

    def sequence(self) -> BaseLaw:
        """Read laws that follow one another."""
        first = self.sum()
        name, span = self.word()
        if name != "for":
            return first
        self.at = span[1]
        self.peek()
        match = _UNTIL_THEN.match(self.text, self.at)
        assert match
        text = match.group().strip()
        time = (self.at, self.at + len(text))
        first_s = self.checked(time, partial(parse_duration, text))
        self.at = match.end()
        then, then_span = self.word()
        if then != "then":
            self.fail('"for" needs "then"', span, "write LAW for 20s then LAW")
        self.at = then_span[1]
        second = self.sequence()
        law: BaseLaw = self.checked(time, partial(Then, first, first_s, second))
        return law

    def sum(self) -> BaseLaw:
        """Read laws that are added."""
        start = self.at
        laws = [self.product()]
        while self.take("+"):
            laws.append(self.product())
        if len(laws) == 1:
            return laws[0]
        law: BaseLaw = self.checked((start, self.at), partial(Sum, tuple(laws)))
        return law

    def product(self) -> BaseLaw:
        """Read a law and the numbers by which it is multiplied."""
        self.peek()
        start = self.at
        law: BaseLaw | None = None
        factors: list[tuple[float, Span]] = []
        while True:
            self.count_part()
            self.peek()
            number = _NUMBER.match(self.text, self.at)
            place = self.at
            if number:
                self.at = number.end()
                if law is None and not factors and self.peek() != "*":
                    remedy = "write constant(rate=10k), for example"
                    self.fail(f'the number "{number.group()}" is not a law', number.span(), remedy)
                factors.append((self.checked(number.span(), partial(read_factor, number.group())), number.span()))
            elif law is None:
                law = self.factor()
            else:
                self.factor()
                self.fail("a law cannot be multiplied by a law", (place, self.at), "multiply by a number, or add laws")
            if not self.take("*"):
                break
        if law is None:
            text = self.text[start : self.at].rstrip()
            self.fail("there is no law to multiply", (start, start + len(text)), "write sine * 2, for example")
        for factor, span in factors:
            law = self.checked(span, partial(Scaled, law, factor))
        return law

    def factor(self) -> BaseLaw:
        """Read a law with its parameters, or one in parentheses."""
        if self.take("("):
            opened = self.at - 1
            inner = self.sequence()
            if self.take(")"):
                return inner
            if self.peek():
                self.fail_end()
            self.fail_open(opened)
        name, span = self.word()
        if not name or name in ("for", "then"):
            found = f' before "{name or self.peek()}"' if self.peek() else " at the end"
            self.fail(f"a law is missing{found}", (span[0], max(span)), closest("", _FORMS))
        if name not in _FORMS:
            self.fail(f'unknown arrival law "{name}"', span, closest(name, _FORMS))
        self.at = span[1]
        form = _FORMS[name]
        return self.build(form, span, self.arguments(name, form))

    def fail_end(self) -> NoReturn:
        """Say that something follows a law and does not belong to it."""
        span = self.word()[1]
        span = span if span[1] > span[0] else (self.at, self.at + 1)
        self.fail("the law should end here", span, 'join laws with "+" or "for ... then"')

    def fail_open(self, opened: int) -> NoReturn:
        """Say that a parenthesis is not closed, or what stands where it should be."""
        if self.peek():
            self.fail(f'"{self.peek()}" cannot stand here', (self.at, self.at + 1), 'write "," or ")" before it')
        self.fail('this "(" is not closed', (opened, opened + 1), 'add a ")"')

    def build(self, form: _Form, span: Span, given: _Arguments) -> BaseLaw:
        """Make a law of the parameters that are given and the defaults of the others."""
        values = {**form.from_rate(given.values, self.rate_per_s), **given.values}
        if form.kind is Steps:
            values["levels_per_s"] = tuple(given.levels)
        if form.kind is Trace and "file" not in values:
            self.fail("trace has no file", span, "write trace(file=load.csv)")
        if form.kind is Poisson and "seed" not in values:
            values["seed"] = self.seed
            # Two random laws with the same seed would not be independent.
            self.seed = self.seed + 1 if self.seed < MAX_SEED else -MAX_SEED
        law: BaseLaw = self.checked(
            span, partial(Trace.read if form.kind is Trace else form.kind, **values), given.spans
        )
        return law

    def arguments(self, name: str, form: _Form) -> _Arguments:
        """Read what stands in the parentheses after a law's name, if there are any."""
        found = _Arguments([], {}, {})
        if not self.take("("):
            return found
        opened = self.at - 1
        if self.take(")"):
            return found
        while True:
            self.argument(name, form, found)
            if self.take(")"):
                return found
            if not self.take(","):
                self.fail_open(opened)

    def argument(self, law: str, form: _Form, found: _Arguments) -> None:
        """Read one parameter with its value, or a level of steps."""
        self.peek()
        match = _ARGUMENT.match(self.text, self.at)
        if not match:
            self.level(law, form, found)
            return
        name, known = match.group(1), form.parameters()
        if name not in known:
            self.fail(f'{law} has no parameter "{name}"', match.span(1), closest(name, known))
        if name in found.spans:
            self.fail(f"{name} is given twice", match.span(1), "remove one of both")
        self.at = match.end()
        text, span = self.value()
        if not text:
            self.fail(f"{name} has no value", span, f"write {name}=VALUE")
        found.values[known[name]] = self.checked(span, partial(read_value, known[name], text))
        found.spans[name] = span

    def level(self, law: str, form: _Form, found: _Arguments) -> None:
        """Read a value without a name, which only steps has."""
        text, span = self.value()
        if not text:
            self.fail("a parameter is missing here", span, 'remove the ","' if self.peek() else 'add a ")"')
        if form.kind is not Steps:
            names = ", ".join(form.parameters())
            self.fail(f'"{text}" has no name', span, f"write NAME=VALUE; {law} knows {names}")
        found.levels.append(self.checked(span, partial(read_rate, text)))

    def value(self) -> tuple[str, Span]:
        """Read a value, in quotes or up to the next comma or parenthesis."""
        quoted = _QUOTED.match(self.text, self.at)
        match = quoted or _VALUE.match(self.text, self.at)
        assert match
        self.at = match.end()
        if quoted:
            return re.sub(r'\\(["\\])', r"\1", quoted.group(1)), quoted.span()
        text = match.group().rstrip()
        if text.startswith('"'):
            self.fail("this quotation does not end", (match.start(), match.start() + 1), 'add a "')
        return text, (match.start(), match.start() + len(text))


def parse_law(text: str, *, rate_per_s: float, seed: int = 1, where: str = "--arrivals") -> BaseLaw:
    """Read an arrival law; `rate_per_s` is the rate of laws that name none, `seed` that of the first random law.

    Further random laws without a seed get the numbers after it.

    >>> parse_law("constant", rate_per_s=5.0)
    Constant(rate_per_s=5.0)
    >>> parse_law("sine(phase=20s) * 2 + poisson", rate_per_s=100.0).describe()
    'sine(peak=100, phase=20s, offset=0s) * 2 + poisson(rate=100, seed=1)'
    """
    return _Parser(text, rate_per_s, seed, where).whole()
