"""Suites run what is missing, in order, and conclude from what is stored."""

import json
import os
import signal
from pathlib import Path
from types import SimpleNamespace
from xml.etree import ElementTree

import pytest

from made_runs.stored_runs import FakeRun, Watcher
from streamgauge.clock import ManualClock, SystemClock
from streamgauge.errors import (
    EnvironmentNotReadyError,
    InvalidExperimentError,
    RunFailedError,
    StreamgaugeError,
    UsageError,
)
from streamgauge.experiments import suite as module
from streamgauge.experiments.planned_runs import run_planned, stored_result
from streamgauge.experiments.suite import plan_repetitions, plan_suite, repeat, run_suite, suite_plan
from streamgauge.store import SetWriter, list_runs, open_set
from streamgauge.suite import read_suite
from streamgauge.verdict import Verdict

HEAD = "streamgauge: 1\nname: some\n"
TWO = HEAD + "runs:\n  - {workload: [ysb, nexmark-q1], repetitions: 2}\nthresholds: [batches > 10]\n"


def planned(text: str = TWO):
    return read_suite(text, name="some.yaml").runs()


def make_set(root: Path) -> SetWriter:
    return SetWriter.create(root, kind="suite", title="some", document={}, clock=SystemClock())


@pytest.fixture
def measure(monkeypatch):
    """Let suites run something that takes no time, and keep what they ran."""

    def use(*outcomes) -> FakeRun:
        fake = FakeRun(*outcomes)
        monkeypatch.setattr(module, "run", fake)
        return fake

    return use


@pytest.fixture
def write(tmp_path, monkeypatch):
    """Write a suite file in an empty working directory."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("STREAMGAUGE_RUNS", raising=False)

    def one(text: str = TWO, name: str = "some.yaml") -> Path:
        path = tmp_path / name
        path.write_text(text)
        return path

    return one


def planned_names(found) -> list[str]:
    return [result.name for result in found.results]


def test_runs_are_made_in_the_given_order_with_the_arguments_of_their_configuration(tmp_path):
    fake, watcher, writer = FakeRun(), Watcher(), make_set(tmp_path)
    text = HEAD + "runs: [{workload: [ysb, nexmark-q1], rate: 10k, repetitions: 2, conf: {spark.a: 1}}]\n"
    results = run_planned(planned(text), writer, root=tmp_path, monitor=watcher, run=fake)
    assert fake.workloads == ["ysb", "nexmark-q1", "ysb", "nexmark-q1"]
    asked = {"workload": "ysb", "parameters": {}, "rate": 10_000.0, "conf": {"spark.a": "1"}}
    assert fake.calls[0] == asked | {"explore": False}
    assert [result.run_id for result in results] == open_set(tmp_path, writer.set_id).run_ids
    assert watcher.phases[1] == "2 of 4, nexmark-q1[rate=10k,conf.spark.a=1]#1: measure"


def test_the_set_knows_key_configuration_repetition_verdict_and_time_of_its_runs(tmp_path):
    writer, clock = make_set(tmp_path), ManualClock()
    watcher = Watcher(lambda _: clock.sleep(60.0))
    results = run_planned(planned(), writer, root=tmp_path, monitor=watcher, run=FakeRun(), clock=clock)
    members = open_set(tmp_path, writer.set_id).document["members"]
    assert [(m["name"], m["repetition"]) for m in members] == [
        *(("ysb", 1), ("nexmark-q1", 1), ("ysb", 2), ("nexmark-q1", 2)),
    ]
    assert [m["key"] for m in members] == [one.key for one in planned()]
    assert {(m["verdict"], m["took_s"]) for m in members} == {("pass", 60.0)}
    assert {result.took_s for result in results} == {60.0}


def test_what_the_set_holds_is_not_run_again(tmp_path):
    writer, whole = make_set(tmp_path), planned()
    first = run_planned(whole[:3], writer, root=tmp_path, monitor=Watcher(), run=FakeRun())
    fake, watcher = FakeRun(), Watcher()
    again = run_planned(whole, writer, root=tmp_path, monitor=watcher, run=fake)
    assert fake.workloads == ["nexmark-q1"]
    assert watcher.phases == ["4 of 4, nexmark-q1#2: measure"]
    assert again[:3] == first


def test_a_run_that_breaks_is_unknown_with_its_reason_and_the_others_go_on(tmp_path):
    broken = RunFailedError("the streaming query failed: boom", remedy="look into the log")
    fake, writer = FakeRun(None, broken), make_set(tmp_path)
    results = run_planned(planned(), writer, root=tmp_path, monitor=Watcher(), run=fake)
    assert len(fake.calls) == 4
    assert [result.verdict for result in results] == [Verdict.PASS, Verdict.UNKNOWN, Verdict.PASS, Verdict.PASS]
    assert results[1].reasons == ("the streaming query failed: boom look into the log",)
    assert results[1].judgements[0][1].verdict is Verdict.UNKNOWN
    assert results[1].run_id == open_set(tmp_path, writer.set_id).run_ids[1]


def test_a_run_that_breaks_before_it_is_stored_is_unknown_and_can_be_run_later(tmp_path):
    def refuse(**_arguments):
        raise InvalidExperimentError("mine.py cannot be imported")

    writer = make_set(tmp_path)
    (result,) = run_planned(planned()[:1], writer, root=tmp_path, monitor=Watcher(), run=refuse)
    assert (result.verdict, result.run_id, result.reasons) == (Verdict.UNKNOWN, None, ("mine.py cannot be imported",))
    assert writer.document["members"] == []


def test_a_machine_that_is_not_ready_ends_the_set_and_says_how_to_resume(tmp_path):
    fake, writer = FakeRun(None, EnvironmentNotReadyError("no Java 17 or newer was found")), make_set(tmp_path)
    with pytest.raises(EnvironmentNotReadyError) as caught:
        run_planned(planned(), writer, root=tmp_path, monitor=Watcher(), run=fake)
    assert caught.value.__notes__ == [
        f"1 of 4 runs are done; to resume, repeat the command with --resume {writer.set_id}"
    ]
    assert open_set(tmp_path, writer.set_id).document["status"] == "interrupted"
    assert len(writer.document["members"]) == 1


@pytest.mark.parametrize("outcome", [KeyboardInterrupt(), "interrupted"])
def test_an_interrupt_ends_the_set_and_the_run_in_hand_is_re_run_later(tmp_path, outcome):
    writer = make_set(tmp_path)
    with pytest.raises(KeyboardInterrupt) as caught:
        run_planned(planned(), writer, root=tmp_path, monitor=Watcher(), run=FakeRun(None, None, outcome))
    assert (
        f"2 of 4 runs are done; to resume, repeat the command with --resume {writer.set_id}"
        in caught.value.__notes__[0]
    )
    stored = open_set(tmp_path, writer.set_id)
    assert stored.document["status"] == "interrupted"
    fake = FakeRun()
    run_planned(planned(), SetWriter.resume(stored), root=tmp_path, monitor=Watcher(), run=fake)
    assert fake.workloads == ["ysb", "nexmark-q1"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_between_runs_is_an_interrupt(tmp_path, number):
    watcher, writer = Watcher(lambda _: os.kill(os.getpid(), number)), make_set(tmp_path)
    with pytest.raises(KeyboardInterrupt):
        run_planned(planned(), writer, root=tmp_path, monitor=watcher, run=FakeRun())
    assert open_set(tmp_path, writer.set_id).document["status"] == "interrupted"


def test_thresholds_are_judged_from_what_is_stored(tmp_path):
    writer = make_set(tmp_path)
    run_planned(planned()[:1], writer, root=tmp_path, monitor=Watcher(), run=FakeRun())
    (run_id,) = writer.document["members"][0]["run_id"].splitlines()
    for text, verdict in (
        ("batches > 10", "pass"),
        ("batches > 1000", "fail"),
        ("generator.share_of_cores < 1", "unknown"),
    ):
        (one,) = planned(HEAD + f"runs: [{{workload: ysb}}]\nthresholds: [{text}]\n")
        result = stored_result(one, run_id, tmp_path)
        assert result.judgements[0][1].verdict == verdict
        assert result.combined == verdict
        assert result.verdict is Verdict.PASS


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("end_to_end_latency_s.p95 < 1 ms", "unknown"),
        ("processed_rate_per_s > 1G", "unknown"),
        ("end_to_end_latency_s.p95 < 1 h", "pass"),
        ("batches > 1000", "fail"),
    ],
)
def test_times_and_rates_of_a_contended_run_that_miss_a_threshold_are_inconclusive(tmp_path, text, verdict):
    writer = make_set(tmp_path)
    run_planned(planned()[:1], writer, root=tmp_path, monitor=Watcher(), run=FakeRun())
    run_id = writer.document["members"][0]["run_id"]
    file = tmp_path / run_id / "run.json"
    document = json.loads(file.read_text())
    document["summary"]["machine"] = {"level": 9.0, "reasons": ["other processes used 1.8 of 2 cores"]}
    file.write_text(json.dumps(document))
    (one,) = planned(HEAD + f'runs: [{{workload: ysb}}]\nthresholds: ["{text}"]\n')
    ((_, found),) = stored_result(one, run_id, tmp_path).judgements
    assert found.verdict == verdict
    assert ("other processes used 1.8 of 2 cores" in found.text) == (verdict == "unknown")


def test_a_run_that_is_no_longer_there_is_unknown(tmp_path):
    result = stored_result(planned()[0], "20260101T000000-ysb-0000", tmp_path)
    assert result.combined is Verdict.UNKNOWN
    assert 'unknown run "20260101T000000-ysb-0000"' in result.reasons[0]


@pytest.mark.parametrize(
    ("outcomes", "thresholds", "verdict"),
    [
        ([], "[batches > 10]", "pass"),
        ([], "[batches > 1000]", "fail"),
        ([], "[generator.share_of_cores < 1]", "unknown"),
        ([], "[generator.share_of_cores < 1, batches > 1000]", "fail"),
        ([{"verdict": "fail"}], "[batches > 10]", "fail"),
        ([None, {"verdict": "unknown"}], "[batches > 10]", "unknown"),
        ([RunFailedError("boom"), {"verdict": "fail"}], "[batches > 10]", "fail"),
        ([RunFailedError("boom")], "[batches > 10]", "unknown"),
    ],
)
def test_the_verdict_is_the_worst_over_runs_and_thresholds(measure, write, outcomes, thresholds, verdict):
    measure(*outcomes)
    found = run_suite(write(HEAD + f"runs: [{{workload: [ysb, nexmark-q1]}}]\nthresholds: {thresholds}\n"))
    assert found.verdict == verdict


def test_the_document_is_stored_in_the_set(measure, write, tmp_path):
    measure(None, {"verdict": "fail", "reasons": ["overloaded"]})
    path = write()
    found = run_suite(path, runs=tmp_path / "runs")
    stored = open_set(tmp_path / "runs", found.set_id)
    assert (stored.kind, stored.document["status"]) == ("suite", "finished")
    assert (stored.document["suite"], stored.document["path"]) == ("some", str(path))
    assert stored.document["result"] == found.document()
    document = found.document()
    assert (document["suite"], document["verdict"], document["baseline"]) == ("some", "fail", None)
    row = document["runs"][1]
    assert (row["name"], row["workload"], row["verdict"]) == ("nexmark-q1#1", "nexmark-q1", "fail")
    assert row["run_id"] == stored.run_ids[1]
    assert row["reasons"] == ["overloaded"]
    assert row["thresholds"][0]["text"] == "batches > 10"
    assert row["thresholds"][0]["verdict"] == "pass"
    assert row["thresholds"][0]["limit"] == 10


def test_a_suite_goes_on_where_it_was_broken_off_and_judges_everything_again(measure, write, tmp_path):
    measure(None, KeyboardInterrupt())
    path = write()
    with pytest.raises(KeyboardInterrupt):
        run_suite(path)
    (set_file,) = (tmp_path / "runs" / "sets").glob("*.json")
    write(TWO.replace("batches > 10", "batches > 1000"))
    fake = measure()
    found = run_suite(path, resume=set_file.stem)
    assert fake.workloads == ["nexmark-q1", "ysb", "nexmark-q1"]
    assert found.set_id == set_file.stem
    assert found.dropped == ()
    assert [result.combined for result in found.results] == [Verdict.FAIL] * 4
    again = measure()
    assert run_suite(path, resume=found.set_id).document() == found.document()
    assert again.calls == []


def test_runs_that_the_file_lost_are_named_and_new_ones_are_run(measure, write):
    measure()
    path = write()
    first = run_suite(path)
    write(TWO.replace("[ysb, nexmark-q1]", "[ysb, nexmark-q2]"))
    fake = measure()
    found = run_suite(path, resume=first.set_id)
    assert fake.workloads == ["nexmark-q2", "nexmark-q2"]
    assert planned_names(found) == ["ysb#1", "nexmark-q2#1", "ysb#2", "nexmark-q2#2"]
    assert found.dropped == ("nexmark-q1#1", "nexmark-q1#2")
    assert found.document()["dropped"] == list(found.dropped)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        (("name: some", "name: other"), "is a set of suite some"),
        (("[ysb, nexmark-q1]", "[ysb, nexmark-q1], rate: 1k"), "none of the 4 runs"),
    ],
)
def test_a_set_of_another_suite_is_refused(measure, write, change, what):
    measure()
    first = run_suite(write())
    fake = measure()
    with pytest.raises(UsageError, match=what) as caught:
        run_suite(write(TWO.replace(*change)), resume=first.set_id)
    assert caught.value.where == "--resume"
    assert fake.calls == []


def test_a_suite_with_nothing_done_yet_can_go_on(measure, write, tmp_path):
    measure(KeyboardInterrupt())
    with pytest.raises(KeyboardInterrupt):
        run_suite(write())
    (set_file,) = (tmp_path / "runs" / "sets").glob("*.json")
    measure()
    assert len(run_suite(write(), resume=set_file.stem).results) == 4


def test_mistakes_that_only_a_run_would_find_are_found_before_the_first(measure, write):
    fake = measure()
    text = HEAD + "runs:\n  - {workload: ysb}\n  - {workload: ysb, conf: {spark.master: yarn}}\n"
    with pytest.raises(InvalidExperimentError, match=r"spark\.master cannot be set") as caught:
        run_suite(write(text))
    assert ":5:" in str(caught.value)
    assert fake.calls == []


def outcomes(path: Path) -> list[tuple[str, str, list[str]]]:
    cases = ElementTree.parse(path).getroot().iter("testcase")
    return [(c.get("classname"), c.get("name"), [e.tag for e in c if e.tag != "system-out"]) for c in cases]


def test_the_junit_report_tells_of_runs_and_thresholds_also_of_broken_ones(measure, write, tmp_path):
    measure(None, RunFailedError("boom"))
    report = tmp_path / "junit.xml"
    run_suite(write(HEAD + "runs: [{workload: [ysb, nexmark-q1]}]\nthresholds: [batches > 1000]\n"), junit=report)
    assert outcomes(report) == [
        ("some.ysb", "the run itself", []),
        ("some.ysb", "batches > 1000", ["failure"]),
        ("some.nexmark-q1", "the run itself", ["error"]),
        ("some.nexmark-q1", "batches > 1000", ["error"]),
    ]
    assert list(tmp_path.glob(".new*")) == []


@pytest.mark.parametrize("end", [KeyboardInterrupt(), EnvironmentNotReadyError("no Java")])
def test_a_suite_that_ends_early_leaves_a_report_with_what_there_is(measure, write, tmp_path, end):
    measure(None, end)
    report = tmp_path / "junit.xml"
    with pytest.raises((KeyboardInterrupt, StreamgaugeError)):
        run_suite(write(), junit=report)
    own = [tags for _, name, tags in outcomes(report) if name == "the run itself"]
    assert own == [[], ["skipped"], ["skipped"], ["skipped"]]


def test_a_report_that_cannot_be_written_is_refused_before_anything_runs(measure, write, tmp_path):
    fake = measure()
    with pytest.raises(UsageError, match="cannot be written"):
        run_suite(write(), junit=tmp_path / "absent" / "junit.xml")
    assert fake.calls == []
    assert list_runs(tmp_path / "runs") == []


def test_a_workload_is_repeated_through_the_same_code(measure, write, tmp_path):
    write()
    fake = measure(None, {"verdict": "unknown", "reasons": ["starved"]})
    found = repeat("ysb", 3, rate="10k", duration="5s", parameters={"campaigns": "7"}, cores=None)
    assert found.verdict is Verdict.UNKNOWN
    assert planned_names(found) == ["ysb#1", "ysb#2", "ysb#3"]
    assert all(call["rate"] == 10_000.0 and call["parameters"] == {"campaigns": "7"} for call in fake.calls)
    stored = open_set(tmp_path / "runs", found.set_id)
    assert (stored.kind, stored.document["workload"], stored.document["repetitions"]) == ("repeat", "ysb", 3)
    assert stored.document["result"]["runs"][1]["reasons"] == ["starved"]


def test_repetitions_can_be_added_and_spelling_does_not_matter(measure, write):
    write()
    measure()
    first = repeat("ysb", 2, rate="10k", duration="5s")
    fake = measure()
    found = repeat("ysb", 4, rate=10_000, duration="5000ms", resume=first.set_id)
    assert len(fake.calls) == 2
    assert planned_names(found) == ["ysb#1", "ysb#2", "ysb#3", "ysb#4"]
    with pytest.raises(UsageError, match="none of the 4 runs"):
        repeat("ysb", 4, rate="11k", duration="5s", resume=first.set_id)


@pytest.mark.parametrize("times", [0, -1, 1001])
def test_impossible_numbers_of_repetitions_are_refused(times):
    with pytest.raises(UsageError, match="cannot repeat a run"):
        plan_repetitions("ysb", times)


def test_repetitions_of_what_cannot_run_are_refused():
    with pytest.raises(UsageError, match="ybs"):
        plan_repetitions("ybs", 3)


def test_a_plan_has_the_runs_in_order_with_their_time(write):
    suite = plan_suite(write())
    plan = suite_plan(suite)
    assert [row["name"] for row in plan["runs"]] == ["ysb#1", "nexmark-q1#1", "ysb#2", "nexmark-q1#2"]
    assert [(row["repetition"], row["repetitions"]) for row in plan["runs"]] == [(1, 2), (1, 2), (2, 2), (2, 2)]
    assert plan["size"] == 4
    assert plan["expected_duration_s"] == sum(row["expected_duration_s"] for row in plan["runs"]) == suite.expected_s
    assert plan["runs"][0]["settings"]["rate_per_s"] == 50_000.0
    assert plan["runs"][0]["parameters"]["campaigns"] == 100
    assert plan["runs"][0]["thresholds"] == ["batches > 10"]


def test_a_plan_shows_no_secrets(write, monkeypatch):
    monkeypatch.setenv("MY_SECRET", "tiger")
    text = HEAD + "runs: [{workload: ysb, conf: {spark.hadoop.fs.s3a.secret.key: 'env:MY_SECRET'}}]\n"
    assert "tiger" not in str(suite_plan(plan_suite(write(text)))["runs"][0]["settings"])


def test_a_secret_in_a_suite_file_is_refused_with_its_place(write):
    text = HEAD + "runs: [{workload: ysb, conf: {spark.hadoop.fs.s3a.secret.key: tiger}}]\n"
    with pytest.raises(InvalidExperimentError, match=r":3:63: spark\.hadoop\.fs\.s3a\.secret\.key is a secret"):
        plan_suite(write(text))


BASELINE = "runs: [{workload: [ysb, nexmark-q1]}]\n"


@pytest.fixture
def compared(monkeypatch):
    """Let comparisons say what a test wants, and keep who was compared with whom."""
    from streamgauge.conclude import comparison as compare

    pairs = []

    def use(**verdicts):
        def compare_groups(a, b, *, labels, drift):
            pairs.append((a.name, [r.run_id for r in a.runs], b.name, [r.run_id for r in b.runs]))
            verdict = verdicts[b.name.replace("-", "_")]
            if isinstance(verdict, StreamgaugeError):
                raise verdict
            words = (f"{labels[1]} is {verdict} than {labels[0]}",)
            return SimpleNamespace(verdict=verdict, words=words, document=lambda: {"verdict": verdict})

        monkeypatch.setattr(compare, "compare_groups", compare_groups)
        return pairs

    return use


@pytest.mark.parametrize(
    ("change", "verdict"),
    [("better", "pass"), ("no change", "pass"), ("worse", "fail"), ("mixed", "fail"), ("undecided", "unknown")],
)
def test_a_baseline_decides_with_the_rest(measure, write, compared, change, verdict):
    measure()
    before = run_suite(write(HEAD + BASELINE))
    pairs = compared(ysb="no change", nexmark_q1=change)
    found = run_suite(write(HEAD + f"baseline: {before.set_id}\n" + BASELINE))
    assert found.verdict == verdict
    old, new = ([result.run_id for result in results] for results in (before.results, found.results))
    assert pairs == [("ysb", old[:1], "ysb", new[:1]), ("nexmark-q1", old[1:], "nexmark-q1", new[1:])]
    document = found.document()["baseline"]
    assert (document["reference"], document["verdict"]) == (before.set_id, verdict)
    assert document["configurations"][1] == {
        "name": "nexmark-q1",
        "verdict": verdict,
        "reason": f"nexmark-q1 is {change} than the baseline",
        "comparison": {"verdict": change},
    }


def test_a_baseline_may_be_the_path_of_a_set_elsewhere(measure, write, compared, tmp_path):
    measure()
    before = run_suite(write(HEAD + BASELINE), runs=tmp_path / "before")
    pairs = compared(ysb="no change", nexmark_q1="no change")
    text = HEAD + f"baseline: before/sets/{before.set_id}.json\n" + BASELINE
    assert run_suite(write(text)).verdict is Verdict.PASS
    assert len(pairs) == 2


def test_a_baseline_of_one_run_is_compared_with_the_only_configuration(measure, write, compared):
    measure()
    before = run_suite(write(HEAD + "runs: [{workload: ysb}]\n"))
    pairs = compared(ysb="worse")
    text = HEAD + "baseline: latest\nruns: [{workload: ysb, repetitions: 2}]\n"
    found = run_suite(write(text))
    assert found.verdict is Verdict.FAIL
    assert pairs[0][1] == [before.results[0].run_id], "the latest run is the one from before the suite"
    assert len(pairs[0][3]) == 2


def test_what_the_baseline_lacks_or_cannot_be_compared_is_unknown(measure, write, compared, tmp_path):
    measure()
    before = run_suite(write(HEAD + "runs: [{workload: [ysb, nexmark-q2]}]\n"))
    compared(ysb=InvalidExperimentError("they have different parameters", remedy="use the same"))
    report = tmp_path / "junit.xml"
    found = run_suite(write(HEAD + f"baseline: {before.set_id}\n" + BASELINE), junit=report)
    assert found.verdict is Verdict.UNKNOWN
    assert [b.reason for b in found.baseline] == [
        "they have different parameters use the same",
        "the baseline has no runs of nexmark-q1",
    ]
    assert outcomes(report)[-2:] == [
        ("some.ysb", "the baseline", ["error"]),
        ("some.nexmark-q1", "the baseline", ["error"]),
    ]


@pytest.mark.parametrize("reference", ["nothing", "runs/never", "x" * 5000, "sets/x.json", "a:b", ","])
def test_a_baseline_that_is_not_there_is_a_mistake_of_the_file(measure, write, reference):
    fake = measure()
    with pytest.raises(InvalidExperimentError, match=r"some\.yaml:3:11: there is no baseline"):
        run_suite(write(HEAD + f"baseline: '{reference}'\n" + BASELINE))
    assert fake.calls == []
