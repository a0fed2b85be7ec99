"""JUnit XML, the form in which build servers read results."""

import errno
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal
from xml.etree import ElementTree

from streamgauge.errors import UsageError
from streamgauge.files import write_text_whole
from streamgauge.printable import printable
from streamgauge.suite.orders import Order
from streamgauge.suite.thresholds import Judgement, Threshold
from streamgauge.verdict import Verdict

# What XML 1.0 cannot hold, not even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_OWN_VERDICT = "the run itself"

Outcome = Literal["failure", "error", "skipped"] | None


@dataclass(frozen=True)
class RunResult:
    """What came out of one run of a suite.

    `verdict` and `reasons` are those of the run itself; `judgements` has one entry per threshold, or none when the
    run has no summary. A run that was not started has no verdict.
    """

    name: str
    workload: str
    verdict: Verdict | None
    reasons: tuple[str, ...] = ()
    judgements: tuple[tuple[Threshold, Judgement], ...] = ()
    took_s: float = 0.0
    run_id: str | None = None

    @property
    def combined(self) -> Verdict | None:
        """The verdict over the run itself and its thresholds."""
        if self.verdict is None:
            return None
        return Verdict.combine((self.verdict, *(judgement.verdict for _, judgement in self.judgements)))

    @property
    def all_reasons(self) -> tuple[str, ...]:
        """Why it is not a pass: the reasons of the run itself, then those of its thresholds."""
        missed = (judgement.text for _, judgement in self.judgements if judgement.verdict is not Verdict.PASS)
        return (*self.reasons, *missed)


@dataclass(frozen=True)
class BaselineResult:
    """How the runs of one configuration compare with the baseline; no `comparison` where none could be made."""

    name: str
    verdict: Verdict
    reason: str
    comparison: Mapping[str, Any] | None = None


def _outcome(verdict: Verdict | None) -> Outcome:
    """Return how a verdict is reported: unknown is an error, because build servers take skipped for fine."""
    by_verdict: dict[Verdict | None, Outcome] = {
        Verdict.PASS: None,
        Verdict.FAIL: "failure",
        Verdict.UNKNOWN: "error",
        None: "skipped",
    }
    return by_verdict[verdict]


def _cases(result: RunResult) -> Iterator[tuple[str, Verdict | None, str]]:
    """Yield name, verdict and message of every test case of a run."""
    reason = "; ".join(result.reasons)
    yield _OWN_VERDICT, result.verdict, reason or ("the run was not started" if result.verdict is None else "")
    for threshold, judgement in result.judgements:
        yield threshold.text, judgement.verdict, judgement.text


def _clean(text: str) -> str:
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", printable(text))


def junit_xml(
    suite: str,
    results: Iterable[RunResult],
    baseline: Iterable[BaselineResult] = (),
    orders: Iterable[tuple[Order, Judgement]] = (),
) -> str:
    """Return a report with a test case per run for its own verdict, per run and threshold, order and comparison."""
    root = ElementTree.Element("testsuite", name=_clean(suite))
    total_s = 0.0
    for result in results:
        total_s += result.took_s
        for number, (name, verdict, message) in enumerate(_cases(result)):
            # The time of a run counts once.
            took_s = 0.0 if number else result.took_s
            case = _add_case(root, f"{suite}.{result.name}", name, verdict, message, took_s)
            if result.run_id and not number:
                ElementTree.SubElement(case, "system-out").text = _clean(f"run {result.run_id}")
    for order, judgement in orders:
        _add_case(root, f"{suite}.orders", order.text, judgement.verdict, judgement.text, 0.0)
    for compared in baseline:
        _add_case(root, f"{suite}.{compared.name}", "the baseline", compared.verdict, compared.reason, 0.0)
    root.set("tests", str(len(root)))
    for outcome, plural in (("failure", "failures"), ("error", "errors"), ("skipped", "skipped")):
        root.set(plural, str(len(root.findall(f"testcase/{outcome}"))))
    root.set("time", f"{total_s:.3f}")
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"


def _add_case(
    root: ElementTree.Element, group: str, name: str, verdict: Verdict | None, message: str, took_s: float
) -> ElementTree.Element:
    attributes = {"classname": _clean(group), "name": _clean(name), "time": f"{took_s:.3f}"}
    case = ElementTree.SubElement(root, "testcase", attributes)
    outcome = _outcome(verdict)
    if outcome:
        ElementTree.SubElement(case, outcome, message=_clean(message))
    return case


def refuse_unwritable(path: Path) -> None:
    """Refuse a place where no report can be put, before time is spent on what it would say."""
    try:
        if path.exists() and not path.is_file():
            raise OSError(errno.EINVAL, "it is there already and no file")
        with tempfile.TemporaryFile(dir=path.resolve().parent):
            return
    except OSError as error:
        what = f"{path} cannot be written: {error.strerror or error}"
        raise UsageError(what, where="--junit", remedy="write the path of a file in a folder that exists") from None


def write_junit(path: Path, text: str) -> None:
    """Put a report in place in one step: a build server never reads half of it."""
    remedy = "free space there, or choose another file with --junit"
    write_text_whole(path, text, intent="write the results", remedy=remedy)
