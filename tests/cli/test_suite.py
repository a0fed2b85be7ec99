"""Suite files and repetitions on the command line: exit codes, reports, refusals, and a whole suite with Spark."""

import json
import subprocess
import sys
from xml.etree import ElementTree

import pytest

from made_runs.stored_runs import FakeRun
from streamgauge.bundle import FOLDER
from streamgauge.errors import EnvironmentNotReadyError, RunFailedError
from streamgauge.experiments import suite as module
from streamgauge.suite import suite_schema

SUITES = FOLDER / "suites"
HEAD = "streamgauge: 1\nname: some\n"
TWO = HEAD + "runs: [{workload: [ysb, nexmark-q1]}]\nthresholds: [batches > 10, end_to_end_latency_s.p95 < 2 s]\n"
BROKEN = HEAD + "runs:\n  - {workload: ybs, rate: 5 sek}\nthresholds: [batchez > 10]\nbaseline: nowhere\n"


@pytest.fixture
def measure(monkeypatch):
    """Let the command line run something that takes no time."""

    def use(*outcomes) -> FakeRun:
        fake = FakeRun(*outcomes)
        monkeypatch.setattr(module, "run", fake)
        return fake

    return use


@pytest.fixture
def file(tmp_path):
    def write(text: str = TWO) -> str:
        (tmp_path / "some.yaml").write_text(text)
        return "some.yaml"

    return write


@pytest.mark.parametrize(
    ("outcomes", "thresholds", "code"),
    [
        ([], "[batches > 10]", 0),
        ([], "[batches > 1000]", 6),
        ([], "[generator.share_of_cores < 1]", 7),
        ([{"verdict": "fail"}], "[batches > 10]", 6),
        ([RunFailedError("boom")], "[batches > 10]", 7),
    ],
)
def test_a_suite_leaves_with_the_exit_code_of_its_verdict(call, measure, file, outcomes, thresholds, code):
    measure(*outcomes)
    text = HEAD + f"runs: [{{workload: [ysb, nexmark-q1]}}]\nthresholds: {thresholds}\n"
    result = call("run", file(text), "--json", "--quiet")
    assert result.code == code
    assert [row["workload"] for row in result.document["runs"]] == ["ysb", "nexmark-q1"]
    assert result.document["verdict"] == {0: "pass", 6: "fail", 7: "unknown"}[code]


def test_the_results_are_a_table_with_verdict_values_reasons_and_ids(call, measure, file):
    measure(None, {"verdict": "fail", "reasons": ["the backlog grows"]})
    result = call("run", file(TWO.replace("2 s", "500 ms")), "--quiet")
    assert result.code == 6
    text = " ".join(result.out.split())
    assert "FAIL some: 0 of 2 runs pass" in text
    assert "threshold 2 end_to_end_latency_s.p95 < 500 ms" in text
    assert "nexmark-q1: the backlog grows" in text
    assert "ysb: end_to_end_latency_s.p95 is" in text
    document = call("runs", "list", "--json").document
    assert all(row["run_id"] in text for row in document["runs"])
    assert "streamgauge report 2" in text
    assert "✗" in text


def test_long_names_stay_readable_and_ids_make_room_for_them(call, measure, file):
    measure()
    text = TWO.replace("workload:", "arrivals: 'steps(1k, 2k, each=10s)', duration: 30s, workload:")
    words = call("run", file(text), "--quiet").out
    assert "nexmark-q1[arrivals=steps(1k, 2k, each=10s),duration=30s]" in words
    assert "run ids" in words
    assert "streamgauge report 2" in words


def test_thresholds_on_one_metric_share_a_column_that_is_marked_when_one_of_them_fails(call, measure, file):
    measure()
    asked = "[batches > 1, end_to_end_latency_s.p95 < 1 h, batches > 1000, batches < 1000]"
    lines = call("run", file(HEAD + f"runs: [{{workload: ysb}}]\nthresholds: {asked}\n"), "--quiet").out.splitlines()
    told = [" ".join(line.split()) for line in lines]
    assert "threshold 2 batches > 1000" in told
    assert "threshold 4 end_to_end_latency_s.p95 < 1 h" in told
    head = next(line for line in told if line.startswith("run verdict"))
    assert head == "run verdict 1 to 3 4 run id"
    row = next(line for line in told if line.startswith("ysb fail"))
    assert row.count("✗") == 1


ORDERED = HEAD + (
    "runs:\n  - {name: none, workload: ysb, repetitions: 4}\n  - {name: hash, workload: nexmark-q1, repetitions: 4}\n"
    "orders: [{processed_rate_per_s: none > hash}]\n"
)


@pytest.mark.parametrize(("rates", "code"), [((2000.0, 1000.0), 0), ((1000.0, 2000.0), 6), ((1000.1, 1000.0), 7)])
def test_an_order_is_part_of_the_exit_code_and_has_a_row_with_its_reason(call, measure, file, rates, code):
    scatter = (1.0, 1.001, 0.998, 1.002)
    measure(*({"processed_rate_per_s": rate * factor} for factor in scatter for rate in rates))
    result = call("run", file(ORDERED), "--quiet")
    assert result.code == code
    text = " ".join(result.out.split())
    assert f"{ {0: 'PASS', 6: 'FAIL', 7: 'UNKNOWN'}[code] } some: 8 of 8 runs pass" in text
    assert text.index("order verdict why") < text.index("none > hash")
    assert "none#4" in text


def test_a_suite_in_another_place_says_where_its_report_finds_it(call, measure, file):
    measure()
    out = call("run", file(), "--quiet", "--runs", "elsewhere").out
    assert out.rstrip().endswith("--runs elsewhere")


def test_a_junit_report_is_written(call, measure, file, tmp_path):
    measure(None, RunFailedError("boom"))
    assert call("run", file(), "--quiet", "--junit", "out.xml").code == 7
    root = ElementTree.parse(tmp_path / "out.xml").getroot()
    assert (root.get("name"), root.get("tests"), root.get("errors")) == ("some", "6", "3")


@pytest.mark.parametrize("place", ["absent/out.xml", "."])
def test_a_junit_report_that_cannot_be_written_is_refused_first(call, measure, file, place, tmp_path):
    fake = measure()
    result = call("run", file(), "--junit", place)
    assert result.code == 2
    assert result.err.startswith(f"error: --junit: {place} cannot be written")
    assert fake.calls == []
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize("command", ["run", "plan"])
def test_all_mistakes_of_a_file_are_shown_with_line_and_caret(call, measure, file, command, tmp_path):
    fake = measure()
    result = call(command, file(BROKEN))
    assert result.code == 3
    assert result.out == ""
    heads = [line for line in result.err.splitlines() if "some.yaml:" in line]
    assert len(heads) == 4
    assert "did you mean `ysb`?" in result.err
    assert "^^^" in result.err
    assert "Traceback" not in result.err
    assert fake.calls == []
    assert not (tmp_path / "runs").exists()


def test_a_broken_file_is_one_document_with_json(call, file):
    result = call("run", file(BROKEN), "--json")
    assert result.document["error"]["exit_code"] == 3


@pytest.mark.parametrize("command", ["run", "plan"])
def test_a_file_that_is_not_there_ends_with_2(call, command):
    result = call(command, "absent.yaml")
    assert result.code == 2
    assert "absent.yaml cannot be read: No such file or directory" in result.err


@pytest.mark.parametrize(
    "arguments",
    [["--rate", "50k"], ["--duration=30s"], ["--set", "a=1"], ["--no-verify"], ["--seed", "1"], ["--repeat", "3"]],
)
def test_options_that_the_file_decides_are_refused_and_named(call, measure, file, arguments):
    fake = measure()
    result = call("run", file(), *arguments)
    assert result.code == 2
    named = arguments[0].partition("=")[0].replace("--no-verify", "--verify")
    assert result.err.startswith(f"error: {named} cannot be used with a suite file")
    assert "under `defaults`" in result.err
    assert fake.calls == []


def test_several_refused_options_are_named_at_once(call, file):
    assert "--rate, --cores cannot be used" in call("plan", file(), "--cores", "2", "--rate", "1k").err


@pytest.mark.parametrize("arguments", [["--junit", "out.xml"], ["--resume", "some"]])
def test_options_of_sets_are_refused_for_a_single_run(call, arguments):
    result = call("run", "ysb", *arguments)
    assert result.code == 2
    assert result.err.startswith(f"error: {arguments[0]}: one run is not a set of runs")
    assert "--repeat N" in result.err


def test_a_workload_is_repeated(call, measure, tmp_path):
    fake = measure()
    result = call("run", "ysb", "--repeat", "3", "--rate", "5k", "--json", "--quiet", "--junit", "out.xml")
    assert result.code == 0
    assert [row["name"] for row in result.document["runs"]] == ["ysb#1", "ysb#2", "ysb#3"]
    assert {call["rate"] for call in fake.calls} == {5000.0}
    assert ElementTree.parse(tmp_path / "out.xml").getroot().get("tests") == "3"
    assert "PASS  ysb: 3 of 3 runs pass" in call("run", "ysb", "--repeat", "3", "--quiet").out


def test_impossible_repetitions_end_with_2(call):
    result = call("run", "ysb", "--repeat", "0")
    assert result.code == 2
    assert result.err.startswith("error: --repeat: cannot repeat a run 0 times")


MANY = HEAD + "runs: [{workload: ysb, matrix: {rate: [1k, 2k, 3k], cores: [1, 2]}, repetitions: 50}]\n"


def test_an_exploding_matrix_needs_a_yes_where_nobody_can_be_asked(call, measure, file):
    fake = measure()
    result = call("run", file(MANY), "--quiet")
    assert result.code == 2
    assert result.err.startswith("error: some has 300 runs and takes about 6.25 h")
    assert "--yes" in result.err
    assert fake.calls == []
    assert call("run", "ysb", "--repeat", "201", "--quiet").code == 2
    assert fake.calls == []


def test_an_exploding_matrix_is_asked_about_on_a_terminal(call, measure, file, monkeypatch):
    fake = measure()
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("sys.stderr.isatty", lambda: True)
    asked = []
    monkeypatch.setattr("typer.confirm", lambda text, **_: asked.append(text))
    result = call("run", file(MANY), "--quiet")
    assert result.code == 2
    assert "was not started" in result.err
    assert asked == ["some has 300 runs and takes about 6.25 h. Start?"]
    assert fake.calls == []


def test_with_yes_an_exploding_matrix_starts(call, measure, file):
    fake = measure(KeyboardInterrupt())
    assert call("run", file(MANY), "--quiet", "--yes").code == 130
    assert len(fake.calls) == 1


@pytest.mark.parametrize("json_", [[], ["--json"]])
def test_an_interrupted_suite_ends_with_130_and_says_how_to_resume(call, measure, file, tmp_path, json_):
    measure(None, KeyboardInterrupt())
    result = call("run", file(), "--quiet", "--junit", "out.xml", *json_)
    assert result.code == 130
    (set_file,) = (tmp_path / "runs" / "sets").glob("*.json")
    told = f"interrupted: 1 of 2 runs are done; to resume, repeat the command with --resume {set_file.stem}\n"
    assert result.err == told
    assert ElementTree.parse(tmp_path / "out.xml").getroot().get("skipped") == "1"
    fake = measure()
    again = call("run", file(), "--quiet", "--resume", set_file.stem, "--json")
    assert again.code == 0
    assert fake.workloads == ["nexmark-q1"]
    assert again.document["set_id"] == set_file.stem


def test_a_machine_that_is_not_ready_ends_with_4_and_says_how_to_resume(call, measure, file):
    measure(None, EnvironmentNotReadyError("no Java 17 or newer was found", remedy="install it"))
    result = call("run", file(), "--quiet")
    assert result.code == 4
    assert result.err.startswith("error: no Java 17 or newer was found\n  install it\n")
    assert "1 of 2 runs are done; to resume, repeat the command with --resume" in result.err


def test_runs_that_are_no_longer_planned_are_named(call, measure, file):
    measure()
    set_id = call("run", file(), "--quiet", "--json").document["set_id"]
    out = call("run", file(TWO.replace("[ysb, nexmark-q1]", "ysb")), "--quiet", "--resume", set_id).out
    assert "nexmark-q1#1: in the set, but not planned any more" in " ".join(out.split())


def test_an_unknown_set_cannot_be_resumed(call, measure, file):
    fake = measure()
    result = call("run", file(), "--resume", "nothing")
    assert result.code == 2
    assert 'unknown set "nothing"' in result.err
    assert fake.calls == []


def test_a_plan_shows_the_runs_of_a_suite_and_starts_nothing(call, file, tmp_path):
    text = HEAD + "description: Is it so?\nruns: [{workload: [ysb, nexmark-q1], repetitions: 2, duration: 15 s}]\n"
    result = call("plan", file(text))
    assert result.code == 0
    lines = [line.split() for line in result.out.splitlines()]
    assert lines[0] == ["some:", "Is", "it", "so?"]
    assert ["1", "ysb[duration=15", "s]#1", "1", "of", "2", "60", "s", "0"] in lines
    assert ["in", "all", "4", "runs,", "about", "240", "s"] in lines
    document = call("plan", file(text), "--json").document
    assert (document["size"], document["expected_duration_s"]) == (4, 240.0)
    assert [row["repetition"] for row in document["runs"]] == [1, 1, 2, 2]
    assert {path.name for path in tmp_path.iterdir()} == {"some.yaml"}


def test_a_plan_names_the_orders(call, file):
    assert "order processed_rate_per_s: none > hash" in " ".join(call("plan", file(ORDERED)).out.split())


def test_a_plan_of_many_runs_says_that_they_are_asked_about(call, file):
    out = call("plan", file(MANY)).out
    assert "300 runs, about 6.25 h" in out
    assert "--yes" in out


@pytest.mark.parametrize("path", sorted(SUITES.glob("*.yaml")), ids=lambda path: path.stem)
def test_ready_suites_can_be_planned(call, path):
    assert call("plan", str(path), "--json").document["suite"] == path.stem


def test_the_schema_is_printed_for_editors(call):
    assert call("plan", "--schema").document == suite_schema()


def test_a_plan_of_nothing_ends_with_2(call):
    result = call("plan")
    assert result.code == 2
    assert "name a workload or a suite file" in result.err


def test_a_plan_executes_no_code_of_the_user(call, file, tmp_path):
    (tmp_path / "mine.py").write_text("open('executed', 'w')\ndef build(df):\n    return df\n")
    result = call("plan", file(HEAD + "runs: [{workload: 'mine.py:build'}]\n"), "--json")
    assert (result.code, result.document["size"]) == (0, 1)
    assert call("plan", "mine.py:build").code == 0
    assert not (tmp_path / "executed").exists()


def test_a_file_that_cannot_be_imported_is_a_mistake_before_the_first_run_of_a_suite(call, measure, file, tmp_path):
    (tmp_path / "mine.py").write_text("import absent_module\ndef build(df):\n    return df\n")
    fake = measure()
    result = call("run", file(HEAD + "runs: [{workload: [ysb, 'mine.py:build']}]\n"), "--quiet")
    assert (result.code, fake.calls) == (3, [])
    assert "absent_module" in result.err


@pytest.mark.spark
def test_a_suite_of_two_runs_is_measured_stored_and_reported(tmp_path):
    text = (
        HEAD
        + "defaults: {rate: 1k, duration: 3 s, warmup: 1 s, verify: false, cores: 1}\n"
        + "runs: [{workload: [hibench-identity, operator-map]}]\n"
        + "thresholds: [events_unprocessed == 0, events == 4000]\n"
    )
    (tmp_path / "some.yaml").write_text(text)
    command = [sys.executable, "-m", "streamgauge", "run", "some.yaml", "--json", "--junit", "out.xml"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, timeout=400)
    assert done.returncode in (0, 7), done.stderr
    document = json.loads(done.stdout)
    assert [row["name"] for row in document["runs"]] == ["hibench-identity", "operator-map"]
    assert all(t["verdict"] == "pass" for row in document["runs"] for t in row["thresholds"])
    assert "2 of 2, operator-map: measure" in done.stderr
    stored = json.loads((tmp_path / "runs" / "sets" / f"{document['set_id']}.json").read_text())
    assert (stored["status"], len(stored["members"]), stored["result"]) == ("finished", 2, document)
    assert ElementTree.parse(tmp_path / "out.xml").getroot().get("tests") == "6"
