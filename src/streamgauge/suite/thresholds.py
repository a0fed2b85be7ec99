"""Thresholds: what must hold for the numbers of a run, e.g. `end_to_end_latency_s.p95 < 2 s`.

    threshold = METRIC ("<" | "<=" | ">" | ">=" | "==") sum
    sum       = product (("+" | "-") product)*
    product   = factor (("*" | "/") factor)*
    factor    = NUMBER [UNIT] | METRIC | "-" factor | "(" sum ")"

Units of both sides must fit; a number without a unit fits everything.
"""

import math
import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from streamgauge.errors import closest
from streamgauge.metrics import METRIC, Unit
from streamgauge.units import parse_duration, parse_rate
from streamgauge.verdict import Verdict

MAX_LENGTH = 500
MAX_NESTING = 20
COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "<=": operator.le,
    ">=": operator.ge,
    "==": operator.eq,
    "<": operator.lt,
    ">": operator.gt,
}
_ARITHMETIC: dict[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}
_UNITS: dict[str, tuple[float, Unit]] = {
    **{unit: (parse_duration(f"1{unit}"), "seconds") for unit in ("us", "µs", "ms", "s", "min", "h")},
    **{unit: (parse_rate(f"1{unit}"), None) for unit in ("k", "K", "M", "G")},
    **{unit: (parse_rate(f"1{unit}"), "per second") for unit in ("/s", "k/s", "K/s", "M/s", "G/s")},
    **{unit: (1024.0**power, "bytes") for power, unit in enumerate(("B", "KiB", "MiB", "GiB"))},
    "%": (0.01, None),
}
_TOKEN = re.compile(
    r"\s*(?:(?P<number>(?:\d+(?:_\d{3})*(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)(?:\s*(?P<unit>[kKMG]?/s\b|%|[^\W\d_]+))?"
    r"|(?P<metric>[^\W\d]\w*(?:\.\w+)*)|(?P<operator><=|>=|==|[-+*/()<>])|(?P<other>\S))"
)
_FORM = "write METRIC < VALUE, with one of < <= > >= =="


class Misreading(Exception):  # noqa: N818  (users never see it: it becomes a located mistake or an error)
    """Why a text is not a threshold, and which characters of it say so."""

    def __init__(self, what: str, remedy: str, start: int, end: int) -> None:
        super().__init__(what)
        self.what = what
        self.remedy = remedy
        self.start = start
        self.end = end


@dataclass(frozen=True)
class Judgement:
    """What a threshold says about a run; `left` and `right` are its two sides, None where they are not known."""

    verdict: Verdict
    left: float | None
    right: float | None
    text: str


@dataclass(frozen=True)
class _Number:
    value: float
    unit: Unit


@dataclass(frozen=True)
class _Metric:
    path: str

    @property
    def unit(self) -> Unit:
        return METRIC[self.path].unit


@dataclass(frozen=True)
class _Operation:
    symbol: str
    left: "_Expression"
    right: "_Expression"
    unit: Unit


_Expression = _Number | _Metric | _Operation


def _value(expression: _Expression, summary: Mapping[str, Any]) -> float | None:
    """Return the number, or None when part of it is missing or it is not finite."""
    if isinstance(expression, _Number):
        return expression.value
    if isinstance(expression, _Metric):
        return METRIC[expression.path].value(summary)
    left, right = _value(expression.left, summary), _value(expression.right, summary)
    if left is None or right is None or (expression.symbol == "/" and right == 0):
        return None
    return _ARITHMETIC[expression.symbol](left, right)


@dataclass(frozen=True)
class Threshold:
    """One threshold, read and checked."""

    text: str
    metric: str
    comparison: str
    expression: _Expression

    def evaluate(self, summary: Mapping[str, Any]) -> Judgement:
        """Judge the summary of a run; a side that is not known gives unknown, never pass."""
        left, right = METRIC[self.metric].value(summary), _value(self.expression, summary)
        missing = [
            what
            for what, value in ((self.metric, left), ("the right side", right))
            if value is None or not math.isfinite(value)
        ]
        if missing or left is None or right is None:
            return Judgement(Verdict.UNKNOWN, left, right, f"{' and '.join(missing)} is not known: {self.text}")
        verdict = Verdict.PASS if COMPARISONS[self.comparison](left, right) else Verdict.FAIL
        return Judgement(verdict, left, right, self._say(left, right, verdict))

    def _say(self, left: float, right: float, verdict: Verdict) -> str:
        shown = [METRIC[self.metric].form(value) for value in (left, right)]
        if shown[0] == shown[1] and left != right:
            shown = [f"{left!r}", f"{right!r}"]
        is_as = "as required" if verdict is Verdict.PASS else "but required"
        return f"{self.metric} is {shown[0]}, {is_as} {self.comparison} {shown[1]}"


@dataclass(frozen=True)
class _Token:
    kind: str
    text: str
    start: int
    end: int
    unit: str = ""


class _Parser:
    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = [self._token(match) for match in _TOKEN.finditer(text)]
        self.position = 0
        self.nesting = 0

    @staticmethod
    def _token(match: re.Match[str]) -> _Token:
        kind = next(name for name in ("number", "metric", "operator", "other") if match[name] is not None)
        return _Token(kind, match[kind], match.start(kind), match.end(), match["unit"] or "")

    def peek(self) -> _Token:
        """Return the next token; at the end, one that is like none other."""
        end = len(self.text.rstrip())
        return self.tokens[self.position] if self.position < len(self.tokens) else _Token("end", "", end, end + 1)

    def take(self) -> _Token:
        token = self.peek()
        self.position += 1
        return token

    def take_operator(self, *symbols: str) -> _Token | None:
        token = self.peek()
        return self.take() if token.kind == "operator" and token.text in symbols else None

    def threshold(self) -> Threshold:
        if len(self.text) > MAX_LENGTH:
            raise Misreading(f"a threshold has at most {MAX_LENGTH} characters", "shorten it", 0, len(self.text))
        first = self.peek()
        if first.kind != "metric":
            raise self.unexpected(first, "a threshold begins with a metric", _FORM)
        left = self.metric()
        comparison = self.peek()
        if not self.take_operator(*COMPARISONS):
            raise self.unexpected(comparison, "a comparison belongs here", _FORM)
        right = self.sum()
        if self.peek().kind != "end":
            raise self.unexpected(self.peek(), "the threshold should end here", "use + - * / ( ) between values")
        self.require_fit(left, right, comparison, "compared")
        return Threshold(" ".join(self.text.split()), left.path, comparison.text, right)

    def unexpected(self, token: _Token, expected: str, remedy: str) -> Misreading:
        found = "the text ends" if token.kind == "end" else f'"{self.text[token.start : token.end]}" is found'
        return Misreading(f"{expected}, but {found}", remedy, token.start, token.end)

    def sum(self) -> _Expression:
        left = self.product()
        while token := self.take_operator("+", "-"):
            right = self.product()
            self.require_fit(left, right, token, "added" if token.text == "+" else "subtracted")
            left = _Operation(token.text, left, right, left.unit or right.unit)
        return left

    def product(self) -> _Expression:
        left = self.factor()
        while token := self.take_operator("*", "/"):
            right = self.factor()
            left = _Operation(token.text, left, right, _product_unit(token.text, left.unit, right.unit))
        return left

    def factor(self) -> _Expression:
        self.nesting += 1
        if self.nesting > MAX_NESTING:
            token = self.peek()
            raise Misreading("this is nested too deeply", "use fewer parentheses", token.start, token.end)
        try:
            return self._factor()
        finally:
            self.nesting -= 1

    def _factor(self) -> _Expression:
        token = self.peek()
        if token.kind == "number":
            return self.number()
        if token.kind == "metric":
            return self.metric()
        if self.take_operator("-"):
            inner = self.factor()
            return _Operation("*", _Number(-1.0, None), inner, inner.unit)
        if self.take_operator("("):
            inner = self.sum()
            if not self.take_operator(")"):
                raise self.unexpected(self.peek(), "a parenthesis is open", "close it with )")
            return inner
        raise self.unexpected(token, "a number or a metric belongs here", "e.g. 2 s, 50k or offered_rate_per_s")

    def number(self) -> _Number:
        token = self.take()
        known = _UNITS.get(token.unit, (1.0, None)) if not token.unit or token.unit in _UNITS else None
        if known is None:
            remedy = f"use one of {', '.join(_UNITS)}, or no unit"
            raise Misreading(f'"{token.unit}" is not a unit', remedy, token.end - len(token.unit), token.end)
        value = float(token.text) * known[0]
        if not math.isfinite(value):
            raise Misreading(f'"{token.text}" is too large', "use a smaller number", token.start, token.end)
        return _Number(value, known[1])

    def metric(self) -> _Metric:
        token = self.take()
        if token.text in METRIC:
            return _Metric(token.text)
        raise Misreading(f'there is no metric "{token.text}"', suggest_metric(token.text), token.start, token.end)

    def require_fit(self, left: _Expression, right: _Expression, token: _Token, verb: str) -> None:
        if left.unit and right.unit and left.unit != right.unit:
            what = f"{left.unit} and {right.unit} cannot be {verb}"
            raise Misreading(what, "use the same unit on both sides, or none", token.start, token.end)


def _product_unit(symbol: str, left: Unit, right: Unit) -> Unit:
    """Return the unit of a product or quotient as far as it is one of ours.

    >>> _product_unit("*", None, "seconds"), _product_unit("/", "bytes", "bytes"), _product_unit("/", None, "bytes")
    ('seconds', None, None)
    """
    if right is None:
        return left
    return right if left is None and symbol == "*" else None


def suggest_metric(path: str) -> str:
    """Return what a user may have meant: a number of the named group, a close path, or what there is."""
    members = [known.removeprefix(f"{path}.") for known in METRIC if known.startswith(f"{path}.")]
    if members:
        return f"it has several numbers, write {path}.NAME with one of {', '.join(members)}"
    remedy = closest(path, METRIC)
    is_close = remedy.startswith("did you mean")
    return remedy if is_close else closest(path, {known.partition(".")[0] for known in METRIC})


def read_threshold(text: str) -> Threshold:
    """Read a threshold; raises `Misreading` with the characters that are wrong.

    >>> threshold = read_threshold("end_to_end_latency_s.p95 < 200 ms")
    >>> judgement = threshold.evaluate({"end_to_end_latency_s": {"p95": 0.3}})
    >>> judgement.verdict.value, judgement.text
    ('fail', 'end_to_end_latency_s.p95 is 300 ms, but required < 200 ms')
    """
    return _Parser(text).threshold()
