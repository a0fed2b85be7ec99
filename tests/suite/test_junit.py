"""JUnit XML: parsed back, it says what came out."""

from xml.etree import ElementTree

from streamgauge.suite import RunResult, junit_xml, parse_threshold
from streamgauge.verdict import Verdict

SUMMARY = {"batches": 17, "end_to_end_latency_s": {"p95": 1.5}, "state": None}
THRESHOLDS = [
    parse_threshold(text) for text in ("batches > 3", "end_to_end_latency_s.p95 < 1 s", "state.rows_max < 10")
]


def result(**changes) -> RunResult:
    fields = {
        "name": "ysb[rate=10k]#1",
        "workload": "ysb",
        "verdict": Verdict.PASS,
        "judgements": tuple((threshold, threshold.evaluate(SUMMARY)) for threshold in THRESHOLDS),
        "took_s": 61.25,
        "run_id": "20261115T194503-ysb-2358",
    }
    return RunResult(**(fields | changes))


def parsed(*results: RunResult, suite: str = "smoke") -> ElementTree.Element:
    text = junit_xml(suite, results)
    assert text.startswith('<?xml version="1.0" encoding="UTF-8"?>\n')
    return ElementTree.fromstring(text.encode())


def outcomes(root: ElementTree.Element) -> list[tuple[str, list[str]]]:
    return [(case.get("name"), [c.tag for c in case if c.tag != "system-out"]) for case in root.iter("testcase")]


def test_there_is_a_case_for_the_run_and_one_for_every_threshold():
    root = parsed(result())
    assert outcomes(root) == [
        ("the run itself", []),
        ("batches > 3", []),
        ("end_to_end_latency_s.p95 < 1 s", ["failure"]),
        ("state.rows_max < 10", ["error"]),
    ]
    assert {case.get("classname") for case in root.iter("testcase")} == {"smoke.ysb[rate=10k]#1"}
    assert root.find(".//failure").get("message") == "end_to_end_latency_s.p95 is 1.5 s, but required < 1 s"
    assert "state.rows_max is not known" in root.find(".//error").get("message")


def test_counts_and_times_are_those_of_the_cases():
    root = parsed(result(), result(name="two", verdict=Verdict.FAIL, reasons=("overloaded",)))
    counts = {name: root.get(name) for name in ("tests", "failures", "errors", "skipped", "time")}
    assert counts == {"tests": "8", "failures": "3", "errors": "2", "skipped": "0", "time": "122.500"}
    assert sum(float(case.get("time")) for case in root.iter("testcase")) == 122.5
    assert len(root.findall(".//failure")) == 3


def test_an_unknown_verdict_of_the_run_is_an_error_with_its_reasons():
    root = parsed(result(verdict=Verdict.UNKNOWN, reasons=("starved", "the clock jumped"), judgements=()))
    assert outcomes(root) == [("the run itself", ["error"])]
    assert root.find(".//error").get("message") == "starved; the clock jumped"


def test_a_run_that_was_not_started_is_skipped():
    root = parsed(result(verdict=None, judgements=(), run_id=None, took_s=0.0))
    assert outcomes(root) == [("the run itself", ["skipped"])]
    assert root.find(".//skipped").get("message") == "the run was not started"
    assert root.get("skipped") == "1"


def test_texts_come_back_as_they_were_and_what_xml_cannot_hold_is_replaced():
    nasty = """<a href="x">&amp; ]]> 'quoted' ünïcode 😀"""
    root = parsed(result(name=nasty, verdict=Verdict.FAIL, reasons=(nasty, "bell \x07, half \ud800")), suite=nasty)
    assert root.get("name") == nasty
    assert root.find("testcase").get("classname") == f"{nasty}.{nasty}"
    message = root.find(".//failure").get("message")
    assert message == f"{nasty}; bell \N{REPLACEMENT CHARACTER}, half \N{REPLACEMENT CHARACTER}"


def test_no_results_are_an_empty_report():
    assert parsed().get("tests") == "0"
