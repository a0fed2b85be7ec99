"""JUnit XML: parsed back, it says what came out."""

import os
from xml.etree import ElementTree

import pytest

from streamgauge.errors import EnvironmentNotReadyError, UsageError
from streamgauge.suite import BaselineResult, RunResult, junit_xml, refuse_unwritable, write_junit
from streamgauge.suite.thresholds import read_threshold
from streamgauge.verdict import Verdict

SUMMARY = {"batches": 17, "end_to_end_latency_s": {"p95": 1.5}, "state": None}
THRESHOLDS = [read_threshold(text) for text in ("batches > 3", "end_to_end_latency_s.p95 < 1 s", "state.rows_max < 10")]


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


def test_a_comparison_with_the_baseline_is_a_case_of_its_own():
    compared = BaselineResult("ysb[rate=10k]", Verdict.FAIL, "B processes half as many events per second as A")
    root = ElementTree.fromstring(junit_xml("smoke", [result(judgements=())], [compared]).encode())
    assert outcomes(root) == [("the run itself", []), ("the baseline", ["failure"])]
    assert root.findall("testcase")[1].get("classname") == "smoke.ysb[rate=10k]"
    assert root.find(".//failure").get("message") == compared.reason
    assert (root.get("tests"), root.get("failures")) == ("2", "1")


def test_the_verdict_over_a_run_and_its_thresholds_is_the_worst_of_them():
    assert result().combined is Verdict.FAIL
    assert result(judgements=()).combined is Verdict.PASS
    assert result(verdict=None, judgements=()).combined is None
    assert result(verdict=Verdict.UNKNOWN, reasons=("starved",)).all_reasons == (
        "starved",
        "end_to_end_latency_s.p95 is 1.5 s, but required < 1 s",
        "state.rows_max is not known: state.rows_max < 10",
    )


def test_a_report_replaces_the_one_before_it(tmp_path):
    path = tmp_path / "junit.xml"
    for text in ("first", "second"):
        write_junit(path, text)
    assert path.read_text() == "second"
    assert list(tmp_path.iterdir()) == [path]


def test_a_report_that_cannot_be_put_in_place_leaves_the_old_one(tmp_path, monkeypatch):
    path = tmp_path / "junit.xml"
    write_junit(path, "first")

    def break_off(_file: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", break_off)
    with pytest.raises(EnvironmentNotReadyError, match="No space left on device"):
        write_junit(path, "second")
    assert path.read_text() == "first"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_to_a_report_stays_a_link(tmp_path):
    (tmp_path / "link.xml").symlink_to(tmp_path / "junit.xml")
    write_junit(tmp_path / "link.xml", "text")
    assert (tmp_path / "link.xml").is_symlink()
    assert (tmp_path / "junit.xml").read_text() == "text"


@pytest.mark.parametrize("place", [".", "absent/junit.xml", "file/junit.xml", "/dev/null"])
def test_a_place_where_no_report_can_be_put_is_refused(tmp_path, place):
    (tmp_path / "file").write_text("")
    with pytest.raises(UsageError, match="cannot be written") as caught:
        refuse_unwritable(tmp_path / place)
    assert caught.value.where == "--junit"


def test_a_place_for_a_report_is_tried_without_leaving_anything(tmp_path):
    refuse_unwritable(tmp_path / "junit.xml")
    assert list(tmp_path.iterdir()) == []


def test_no_results_are_an_empty_report():
    assert parsed().get("tests") == "0"
