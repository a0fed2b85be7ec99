import json

import pytest

from made_runs.samples import evidence
from streamgauge import __version__
from streamgauge.conclude.summary import summarise
from streamgauge.events import event_streams
from streamgauge.experiments import doctor
from streamgauge.running.lifecycle import Run
from streamgauge.store import open_run
from streamgauge.workloads import catalogue


@pytest.fixture
def summary():
    return json.loads(json.dumps(summarise(evidence())))


def test_the_version_is_printed(call):
    assert call("--version").out == f"streamgauge {__version__}\n"


def test_help_names_every_command(call):
    result = call("--help")
    assert result.code == 0
    for command in ("list", "describe", "plan", "run", "verify", "generate", "doctor", "runs"):
        assert command in result.out


@pytest.mark.parametrize("command", ["list", "describe", "plan", "run", "verify", "generate", "doctor"])
def test_every_command_explains_itself(call, command):
    result = call(command, "-h")
    assert result.code == 0
    assert "--json" in result.out


def test_the_list_is_one_document_with_json(call):
    document = call("list", "--json").document
    assert [w["name"] for w in document["workloads"]] == list(catalogue())
    assert all(w["question"] for w in document["workloads"])
    assert {s["name"] for s in document["event_streams"]} == set(event_streams())
    assert {"suite:smoke", "suite:routing"} <= {s["name"] for s in document["suites"] if s["summary"]}
    assert "prototype:windowed" in {p["name"] for p in document["prototypes"] if p["summary"]}


@pytest.mark.parametrize("command", ["run", "plan"])
def test_a_suite_that_the_package_does_not_have_is_refused_with_the_closest_name(call, command):
    result = call(command, "suite:smok")
    assert result.code == 2
    assert 'no suite "smok"' in result.err
    assert "did you mean `smoke`?" in result.err


def test_the_list_is_a_table_without(call):
    assert "How many times was each campaign viewed" in call("list").out


@pytest.mark.parametrize("name", [*catalogue(), "hibench"])
def test_everything_can_be_described(call, name):
    document = call("describe", name, "--json").document
    assert document["name"] == name
    assert document["parameters"]
    assert name in call("describe", name).out


def test_a_plan_is_one_document_with_json_and_starts_nothing(call, tmp_path):
    document = call("plan", "ysb", "--rate", "10k", "--duration", "20s", "--warmup", "5s", "--json").document
    assert (document["events"], document["events_measured"]) == (250_000, 200_000)
    assert list(tmp_path.iterdir()) == []


def test_a_plan_is_a_table_without(call):
    assert "10k/s" in call("plan", "ysb", "--rate", "10k", "--set", "campaigns=5", "--conf", "a=b").out


def test_the_plan_of_an_offline_load_counts_the_events_that_are_there_at_once(call):
    document = call("plan", "ysb", "--load", "offline", "--json").document
    assert (document["settings"]["load"], document["events"]) == ("offline", 20_000_000)
    assert "offline, 20,000,000 events at once" in call("plan", "ysb", "--load", "offline").out


def test_an_empty_place_has_no_runs(call):
    assert call("runs", "list", "--json").document == {"runs": [], "root": "runs"}
    assert "no runs in runs" in call("runs", "list").out


def test_runs_are_listed_newest_first(call, store, summary):
    paths = [store(summary), store(summary)]
    document = call("runs", "list", "--json").document
    assert [row["run_id"] for row in document["runs"]] == [path.name for path in reversed(paths)]
    assert {row["verdict"] for row in document["runs"]} == {"pass"}
    assert all(path.name in call("runs", "list").out for path in paths)


def test_a_run_is_shown_by_id_by_its_beginning_as_latest_and_by_path(call, store, summary):
    store(summary)
    path = store(summary)
    for reference in ([], ["latest"], [path.name], [path.name[:15]], [str(path)]):
        document = call("runs", "show", *reference, "--json").document
        assert document["run_id"] == path.name
        assert document["status"] == "finished"
        assert document["processed_rate_per_s"] == 1000.0
    assert "PASS  ysb" in call("runs", "show").out


def test_the_printed_numbers_are_those_of_the_document(call, store, summary):
    store(summary)
    text = call("runs", "show").out
    assert f"{summary['events']:,} offered" in text
    assert f"{summary['batches']} measured" in text


def test_a_run_can_be_removed(call, store, summary):
    kept, gone = store(summary), store(summary)
    assert call("runs", "remove", gone.name, "--json").document == {"removed": f"runs/{gone.name}"}
    assert not gone.exists()
    assert kept.exists()
    assert call("runs", "remove", "latest").out == f"removed runs/{kept.name}\n"


def test_runs_are_looked_for_where_the_user_says(call, store, summary, tmp_path, monkeypatch):
    path = store(summary)
    (tmp_path / "runs").rename(tmp_path / "elsewhere")
    assert call("runs", "show", "--runs", "elsewhere", "--json").document["run_id"] == path.name
    monkeypatch.setenv("STREAMGAUGE_RUNS", "elsewhere")
    assert call("runs", "show", "--json").document["run_id"] == path.name


def test_the_doctor_s_findings_are_one_document(call, monkeypatch):
    monkeypatch.setattr(doctor, "MINIMUM_DISK_BYTES", 1)
    monkeypatch.setattr(doctor, "WATCH_S", 0.01)
    document = call("doctor", "--json").document
    assert document["verdict"] in ("pass", "fail")
    for check in document["checks"]:
        assert set(check) == {"name", "verdict", "detail", "remedy"}
        assert (check["remedy"] == "") == (check["verdict"] == "pass")


def test_k2_the_doctor_leaves_with_4_when_something_is_missing(call, without_java):
    result = call("doctor", "--json")
    assert result.code == 4
    assert result.document["verdict"] == "fail"
    java = next(check for check in result.document["checks"] if check["name"] == "Java")
    assert "apt-get install" in java["remedy"]
    text = call("doctor")
    assert text.code == 4
    assert "this machine is not ready" in text.out


@pytest.mark.parametrize(
    ("changes", "status", "code"),
    [
        ({}, "finished", 0),
        ({"verdict": "fail"}, "finished", 6),
        ({"verdict": "unknown"}, "finished", 7),
        ({"verdict": "unknown"}, "interrupted", 130),
    ],
)
def test_k2_a_run_leaves_with_the_exit_code_of_its_verdict(call, store, summary, monkeypatch, changes, status, code):
    asked = {}

    def measure(workload, **options):
        asked.update(options, workload=workload)
        path = store(summary | changes, status=status)
        stored = open_run(path.parent, path.name)
        return Run(stored.run_id, path, {"run_id": stored.run_id, **stored.document["summary"]})

    monkeypatch.setattr("streamgauge.running.lifecycle.run", measure)
    result = call("run", "ysb", "--rate", "5k", "--set", "campaigns=7", "--conf", "spark.a=b=c", "--json")
    assert result.code == code
    assert result.document["verdict"] == changes.get("verdict", "pass")
    assert (asked["workload"], asked["rate"]) == ("ysb", "5k")
    assert {"load", "arrivals", "duration"}.isdisjoint(asked), "the workload or the table decides the rest"
    assert asked["parameters"] == {"campaigns": "7"}
    assert asked["conf"] == {"spark.a": "b=c"}
    assert call("run", "ysb", "--load", "offline").code == code
    assert asked["load"] == "offline"


def test_f6_a_killed_run_is_shown_as_interrupted(call, store, tmp_path):
    path = store(None)
    document = json.loads((path / "run.json").read_text())
    document |= {"status": "running", "process": {"pid": 2**22 + 1, "started_s": 0.0}}
    (path / "run.json").write_text(json.dumps(document))
    shown = call("runs", "show", "--json").document
    assert (shown["status"], shown["verdict"]) == ("interrupted", "unknown")
    assert call("runs", "list", "--json").document["runs"][0]["status"] == "interrupted"
    assert "UNKNOWN  ysb (interrupted)" in call("runs", "show").out
