"""Orders of a suite are judged over its repetitions, and decide with the rest; ignored questions do not."""

from xml.etree import ElementTree

import pytest

from made_runs.stored_runs import FakeRun
from report.test_html_report import Page
from streamgauge.errors import RunFailedError
from streamgauge.experiments import suite as module
from streamgauge.experiments.suite import plan_suite, run_suite, suite_plan
from streamgauge.report.content.subject import find_subject
from streamgauge.report.html.page import render_subject
from streamgauge.report.markdown import render_subject_markdown
from streamgauge.store import open_set
from streamgauge.verdict import Verdict

SUITE = """\
streamgauge: 1
name: some
runs:
  - {name: none, workload: ysb, repetitions: 4}
  - {name: hash, workload: nexmark-q1, repetitions: 4}
orders:
  - processed_rate_per_s: none > hash
"""
NONE = (100.0, 101.0, 99.0, 102.0)
HASH = (50.0, 51.0, 52.0, 49.0)
OVERLOADED = {
    "verdict": "fail",
    "reasons": ["overloaded", "not drained"],
    "findings": [
        {"question": "sustained", "verdict": "fail", "reason": "overloaded"},
        {"question": "drained", "verdict": "unknown", "reason": "not drained"},
        {"question": "clock", "verdict": "pass", "reason": "the clock did not jump"},
    ],
}


@pytest.fixture
def execute(tmp_path, monkeypatch):
    """Run a suite in an empty working directory; `rates` are those of both sides, by repetition."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STREAMGAUGE_RUNS", raising=False)

    def one(*rates, text=SUITE, outcomes=(), **options):
        planted = outcomes or [{"processed_rate_per_s": rate} for pair in zip(*rates, strict=True) for rate in pair]
        fake = FakeRun(*planted)
        monkeypatch.setattr(module, "run", fake)
        (tmp_path / "some.yaml").write_text(text)
        return run_suite("some.yaml", **options)

    return one


@pytest.mark.parametrize(
    ("left", "right", "verdict"),
    [(NONE, HASH, "pass"), (HASH, NONE, "fail"), ((100.0, 101.0, 99.0, 102.0), (98.0, 101.5, 97.0, 102.5), "unknown")],
)
def test_an_order_decides_with_the_rest(execute, left, right, verdict):
    found = execute(left, right)
    assert all(result.combined is Verdict.PASS for result in found.results)
    assert found.verdict == verdict


def test_the_document_of_the_set_tells_medians_and_reason(execute, tmp_path):
    found = execute(NONE, HASH)
    ((_, judgement),) = found.orders
    (row,) = found.document()["orders"]
    assert row == {
        "text": "processed_rate_per_s: none > hash",
        "metric": "processed_rate_per_s",
        "verdict": "pass",
        "reason": judgement.text,
        "left": {"name": "none", "median": 100.5},
        "right": {"name": "hash", "median": 50.5},
    }
    stored = open_set(tmp_path / "runs", found.set_id).document
    assert stored["result"] == found.document()
    assert {member["name"] for member in stored["members"]} == {"none", "hash"}


def test_a_suite_without_orders_has_none(execute):
    found = execute(NONE, HASH, text=SUITE.partition("orders:")[0])
    assert (found.verdict, found.document()["orders"]) == (Verdict.PASS, [])


def test_runs_that_broke_or_lack_the_number_do_not_count(execute):
    pairs = zip(NONE, HASH, strict=True)
    outcomes = [{"processed_rate_per_s": rate} for pair in pairs for rate in pair]
    outcomes[1], outcomes[3] = RunFailedError("boom"), {"processed_rate_per_s": None}
    found = execute(outcomes=outcomes)
    ((_, judgement),) = found.orders
    assert (judgement.verdict, judgement.right) == (Verdict.UNKNOWN, 50.5)
    assert found.verdict is Verdict.UNKNOWN


def test_orders_are_judged_again_when_a_suite_goes_on(execute):
    first = execute(NONE, HASH)
    again = execute(NONE, HASH, text=SUITE.replace("none > hash", "none < hash"), resume=first.set_id)
    assert (first.verdict, again.verdict) == (Verdict.PASS, Verdict.FAIL)
    assert [result.run_id for result in again.results] == [result.run_id for result in first.results]


def slowed(rate: float, slowdown: float) -> dict:
    return {"processed_rate_per_s": rate, "resources": {"slowdown": slowdown}}


def interleaved(left, right, slowdown: float = 1.1) -> list[dict]:
    return [slowed(rate, slowdown) for pair in zip(left, right, strict=True) for rate in pair]


def test_runs_in_which_something_slowed_the_processor_are_made_again_and_others_count(execute, tmp_path):
    outcomes = interleaved(NONE, HASH)
    outcomes[2], outcomes[5] = slowed(30.0, 1.5), slowed(20.0, 1.3)
    # Of those made again, that of hash is slowed once more.
    found = execute(outcomes=[*outcomes, slowed(103.0, 1.1), slowed(25.0, 1.4), slowed(52.0, 1.1)])
    ((_, judgement),) = found.orders
    assert (judgement.verdict, judgement.left, judgement.right) == (Verdict.PASS, 101.0, 50.5)
    assert [result.name for result in found.results][8:] == ["none#5", "hash#5", "hash#6"]
    assert found.document()["slowed"] == ["none#2", "hash#3", "hash#5"]
    words = Page(render_subject(find_subject(tmp_path / "runs", [found.set_id]))).words()
    assert "re-run none#2, hash#3, hash#5: contended, so orders and baseline count quieter runs instead" in words


def test_a_processor_that_stays_slow_ends_the_repetitions_and_those_slowed_least_count(execute):
    found = execute(outcomes=[*interleaved(NONE, HASH, 1.5), *(slowed(80.0 + k, 1.3) for k in range(16))])
    assert len(found.results) == 3 * 8
    ((_, judgement),) = found.orders
    assert (judgement.left, judgement.right) == (81.5, 85.5)


def test_runs_that_are_not_compared_are_not_made_again(execute):
    found = execute(outcomes=interleaved(NONE, HASH, 1.5), text=SUITE.partition("orders:")[0])
    assert (len(found.results), found.document()["slowed"]) == (8, [])


def test_a_suite_that_goes_on_keeps_what_was_made_again(execute):
    outcomes = interleaved(NONE, HASH)
    outcomes[0] = slowed(30.0, 1.5)
    first = execute(outcomes=[*outcomes, slowed(100.0, 1.1)])
    again = execute(resume=first.set_id)
    assert [result.run_id for result in again.results] == [result.run_id for result in first.results]
    assert (again.document()["slowed"], again.dropped) == (["none#1"], ())


def test_the_junit_report_has_a_case_for_an_order(execute, tmp_path):
    execute(HASH, NONE, junit=tmp_path / "out.xml")
    cases = list(ElementTree.parse(tmp_path / "out.xml").getroot().iter("testcase"))
    last = cases[-1]
    assert (last.get("classname"), last.get("name")) == ("some.orders", "processed_rate_per_s: none > hash")
    assert [element.tag for element in last] == ["failure"]
    assert len(cases) == 8 + 1


def test_html_and_markdown_show_orders_before_the_runs(execute, tmp_path):
    found = execute(NONE, HASH)
    reason = found.orders[0][1].text
    subject = find_subject(tmp_path / "runs", [found.set_id])
    words = Page(render_subject(subject)).words()
    assert "orders 1: 1 pass" in words
    assert f"processed_rate_per_s: none > hash pass {reason}" in words
    markdown = render_subject_markdown(subject)
    assert markdown.index("## Orders") < markdown.index("## Runs")
    assert "| processed_rate_per_s: none \\> hash | pass |" in markdown


def test_a_plan_lists_the_orders(execute, tmp_path):
    (tmp_path / "some.yaml").write_text(SUITE)
    assert suite_plan(plan_suite("some.yaml"))["orders"] == ["processed_rate_per_s: none > hash"]


@pytest.mark.parametrize(
    ("ignored", "verdict", "reasons"),
    [
        ("[sustained, drained]", "pass", ()),
        ("[drained]", "fail", ("overloaded",)),
        ("[sustained]", "unknown", ("not drained",)),
    ],
)
def test_questions_that_are_ignored_do_not_decide(execute, ignored, verdict, reasons):
    text = f"streamgauge: 1\nname: some\nruns:\n  - {{workload: ysb, ignore: {ignored}}}\n"
    found = execute(outcomes=[OVERLOADED], text=text)
    assert found.verdict == verdict
    assert found.results[0].reasons == reasons
    assert execute(outcomes=[OVERLOADED], text=text.replace(f", ignore: {ignored}", "")).verdict is Verdict.FAIL


def test_a_run_that_broke_is_unknown_whatever_is_ignored(execute):
    text = "streamgauge: 1\nname: some\nruns: [{workload: ysb}]\nignore: [sustained, drained, steady]\n"
    assert execute(outcomes=[RunFailedError("boom")], text=text).verdict is Verdict.UNKNOWN


def test_a_wrong_answer_fails_whatever_is_ignored(execute):
    text = "streamgauge: 1\nname: some\nruns: [{workload: ysb}]\nignore: [sustained, drained, steady]\n"
    wrong = {"question": "answer", "verdict": "fail", "reason": "wrong answer: 3 rows are missing"}
    found = execute(outcomes=[OVERLOADED | {"findings": [*OVERLOADED["findings"], wrong]}], text=text)
    assert (found.verdict, found.results[0].reasons) == (Verdict.FAIL, (wrong["reason"],))
