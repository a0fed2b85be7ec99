"""Orders: which runs of a suite must have more of something than others, e.g. `none > balanced ~ 10% hash`.

    order = NAME (sign NAME)+
    sign  = "<" | ">" | "~" NUMBER "%"

Every value is one run. `<` and `>` hold when the medians are in this order and the difference is shown by the test that
compares sets of runs; `~` holds when the whole interval of the ratio lies within the tolerance. Runs of which one side
was made before the other decide nothing: the machine may have changed in between.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from statistics import median
from typing import TYPE_CHECKING, Literal, cast

from streamgauge.metrics import METRIC
from streamgauge.suite.thresholds import Judgement, Misreading
from streamgauge.verdict import Verdict

if TYPE_CHECKING:
    from streamgauge.measure.statistics import Effect

CONFIDENCE = 0.95
MAX_LENGTH = 1000
Sign = Literal["<", ">", "~"]

_SIGN = re.compile(r"\s*(?P<sign>[<>~]=?)(?:\s*(?P<tolerance>\d{1,4}(?:\.\d{1,4})?)\s*%)?\s*")
_FORM = "write NAME > NAME, with one of < > or ~ 10%"


@dataclass(frozen=True)
class Order:
    """One order between two configurations, by their names; `tolerance` belongs to `~`."""

    metric: str
    left: str
    sign: Sign
    right: str
    tolerance: float = 0.0

    @property
    def text(self) -> str:
        """How a user would write it."""
        tolerance = f" {100 * self.tolerance:g}%" if self.tolerance else ""
        return f"{self.metric}: {self.left} {self.sign}{tolerance} {self.right}"

    def evaluate(self, left: Sequence[float], right: Sequence[float], *, is_sequential: bool = False) -> Judgement:
        """Judge the values of both sides; too few of them give unknown, never pass."""
        from streamgauge.measure.statistics import Rule, compare_samples

        missing = [name for name, values in ((self.left, left), (self.right, right)) if not values]
        if missing:
            text = f"no run of {' and of '.join(missing)} has a value of {self.metric}"
            return Judgement(Verdict.UNKNOWN, None, None, text)
        sides = median(left), median(right)
        try:
            effect = compare_samples(right, left, Rule(CONFIDENCE))
        except ValueError:
            text = f"{self._medians(sides)}: values at or below 0 have no ratio, which an order rests on"
            return Judgement(Verdict.UNKNOWN, *sides, text)
        if is_sequential:
            text = f"{self._medians(sides)}: the runs of one were made before those of the other, which decides nothing"
            return Judgement(Verdict.UNKNOWN, *sides, f"{text}; run the suite anew, which takes turns")
        verdict = self._likeness(effect) if self.sign == "~" else self._strict(sides, effect)
        return Judgement(verdict, *sides, self._say(sides, effect, verdict))

    def _strict(self, sides: tuple[float, float], effect: "Effect") -> Verdict:
        is_in_order = sides[0] > sides[1] if self.sign == ">" else sides[0] < sides[1]
        if not is_in_order:
            return Verdict.FAIL
        return Verdict.PASS if effect.decision == {">": "higher", "<": "lower"}[self.sign] else Verdict.UNKNOWN

    def _likeness(self, effect: "Effect") -> Verdict:
        if effect.low is None or effect.high is None:
            return Verdict.UNKNOWN
        reach = 1 + self.tolerance
        if effect.low > reach or effect.high < 1 / reach:
            return Verdict.FAIL
        return Verdict.PASS if effect.low >= 1 / reach and effect.high <= reach else Verdict.UNKNOWN

    def _medians(self, sides: tuple[float, float]) -> str:
        shown = [METRIC[self.metric].form(value) for value in sides]
        if shown[0] == shown[1] and sides[0] != sides[1]:
            shown = [f"{value!r}" for value in sides]
        return f"{self.left} has {shown[0]}, {self.right} {shown[1]}"

    def _say(self, sides: tuple[float, float], effect: "Effect", verdict: Verdict) -> str:
        ends = "" if effect.low is None else f", between {effect.low:.3g} and {effect.high:.3g}"
        sign = f"~ {100 * self.tolerance:g}%" if self.tolerance else self.sign
        ending = {
            Verdict.PASS: f"as required {sign}",
            Verdict.FAIL: f"but required {sign}",
            Verdict.UNKNOWN: f"which cannot decide {sign} at {100 * CONFIDENCE:g} % confidence",
        }
        return f"{self._medians(sides)}: {effect.ratio:.3g} times{ends}, {ending[verdict]}"


def runs_lacking(order: Order, runs: tuple[int, int]) -> str | None:
    """Say how many runs an order needs before any values could decide it; None when there are enough."""
    from streamgauge.measure.statistics import MIN_RUNS

    if order.sign == "~":
        return None if min(runs) > 1 else "2 or more on each side"
    return None if min(runs) >= MIN_RUNS else f"{MIN_RUNS} or more on each side"


@dataclass(frozen=True)
class Word:
    """A name in the text of an order, and which characters of it these are."""

    text: str
    start: int
    end: int


def read_orders(metric: str, text: str) -> list[tuple[Order, Word, Word]]:
    """Read an order, which is one for every sign; raises `Misreading` with the characters that are wrong.

    >>> [order.text for order, _, _ in read_orders("batches", "a > b ~ 5% c")]
    ['batches: a > b', 'batches: b ~ 5% c']
    """
    if len(text) > MAX_LENGTH:
        raise Misreading(f"an order has at most {MAX_LENGTH} characters", "shorten it", 0, len(text))
    signs = list(_SIGN.finditer(text))
    if not signs:
        raise Misreading(f'"{text}" is no order', _FORM, 0, len(text))
    words = list(_words(text, signs))
    return [
        (Order(metric, left.text, _sign(match), right.text, _tolerance(match)), left, right)
        for match, left, right in zip(signs, words, words[1:], strict=False)
    ]


def _words(text: str, signs: Sequence[re.Match[str]]) -> Iterator[Word]:
    """Yield what stands between the signs; spaces inside a name count once."""
    for before, after in zip((None, *signs), (*signs, None), strict=True):
        start, end = before.end() if before else 0, after.start() if after else len(text)
        name = text[start:end]
        if not name.strip():
            sign = before or after
            assert sign is not None
            what = f'a name is missing beside "{sign["sign"]}"'
            raise Misreading(what, _FORM, sign.start("sign"), sign.end("sign"))
        start += len(name) - len(name.lstrip())
        yield Word(" ".join(name.split()), start, start + len(name.strip()))


def _sign(match: re.Match[str]) -> Sign:
    if match["sign"] not in ("<", ">", "~"):
        raise Misreading(f'an order knows no "{match["sign"]}"', _FORM, match.start("sign"), match.end("sign"))
    return cast(Sign, match["sign"])


def _tolerance(match: re.Match[str]) -> float:
    start, end = match.start("sign"), match.end("sign")
    if match["sign"] != "~":
        if match["tolerance"] is not None:
            raise Misreading(f'only "~" has a tolerance, not "{match["sign"]}"', "leave it out", start, end)
        return 0.0
    if match["tolerance"] is None or not float(match["tolerance"]):
        raise Misreading('"~" needs a tolerance above 0%', "write e.g. ~ 10%", start, end)
    return float(match["tolerance"]) / 100
