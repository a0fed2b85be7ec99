"""JUnit XML, the form in which build servers read results."""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Literal
from xml.etree import ElementTree

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
    return _FORBIDDEN.sub("\N{REPLACEMENT CHARACTER}", text)


def junit_xml(suite: str, results: Iterable[RunResult]) -> str:
    """Return a report with one test case per run for its own verdict, and one per run and threshold."""
    root = ElementTree.Element("testsuite", name=_clean(suite))
    counts = {"tests": 0, "failures": 0, "errors": 0, "skipped": 0}
    plurals = {"failure": "failures", "error": "errors", "skipped": "skipped"}
    total_s = 0.0
    for result in results:
        total_s += result.took_s
        for number, (name, verdict, message) in enumerate(_cases(result)):
            # The time of a run counts once.
            took_s = 0.0 if number else result.took_s
            attributes = {"classname": _clean(f"{suite}.{result.name}"), "name": _clean(name), "time": f"{took_s:.3f}"}
            case = ElementTree.SubElement(root, "testcase", attributes)
            counts["tests"] += 1
            outcome = _outcome(verdict)
            if outcome:
                counts[plurals[outcome]] += 1
                ElementTree.SubElement(case, outcome, message=_clean(message))
            if result.run_id and not number:
                ElementTree.SubElement(case, "system-out").text = _clean(f"run {result.run_id}")
    for name, count in counts.items():
        root.set(name, str(count))
    root.set("time", f"{total_s:.3f}")
    ElementTree.indent(root)
    return '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, encoding="unicode") + "\n"
