"""`runs import`: what it prints, and how it ends when the log is wrong."""

import pytest

from made_runs.event_logs import FOLDER, NEWEST, batches, golden, head, steady, tail, without, write


def test_an_import_names_its_runs_and_they_can_be_shown(call):
    found = call("runs", "import", str(NEWEST), "--json")
    assert found.code == 0
    document = found.document
    assert document["application"] == "clickstream"
    assert [run["workload"] for run in document["runs"]] == ["clicks", "clickstream"]
    assert document["runs"][0]["batches"] > 5 < document["runs"][0]["tasks"]
    shown = call("runs", "show", document["runs"][0]["run_id"], "--json")
    assert (shown.code, shown.document["verdict"]) == (0, "unknown")
    assert {run["workload"] for run in call("runs", "list", "--json").document["runs"]} == {"clicks", "clickstream"}


def test_an_import_prints_a_line_for_each_query(call):
    found = call("runs", "import", str(FOLDER / "eventlog_v2_local-1"), "--query", "clicks")
    assert found.code == 0
    assert "clickstream of Spark 4.3.0" in found.out
    assert found.out.count("unknown") == 1
    assert "streamgauge runs show" in found.out


def test_imported_runs_are_reported_exported_and_compared(call):
    first, second = (call("runs", "import", str(NEWEST), "--query", "clicks", "--json") for _ in range(2))
    ids = [found.document["runs"][0]["run_id"] for found in (first, second)]
    assert call("report", *ids).code == 0
    assert call("runs", "export", ids[0], "--format", "csv").code == 0
    # One run on each side cannot show a change.
    assert call("compare", *ids).code == 7


@pytest.mark.parametrize(
    ("documents", "code", "words"),
    [
        (list(without(golden(), lambda d: "treaming" in str(d))), 3, "no streaming query"),
        ([{"Event": "SparkListenerLogStart", "Spark Version": "2.4.8"}], 3, "Spark 2.4.8"),
        ([{"no": "event"}], 3, "no event log of Spark"),
        ([*head(), *batches(steady(12)), *tail()], 0, "clicks"),
    ],
    ids=["batch", "old", "foreign", "good"],
)
def test_the_exit_code_tells_what_is_wrong_with_a_log(call, tmp_path, documents, code, words):
    found = call("runs", "import", str(write(tmp_path / "log", documents)))
    assert found.code == code
    assert words in (found.err if code else found.out)
    assert "Traceback" not in found.err


def test_a_log_that_is_not_there_and_a_query_that_is_not_in_it_are_wrong_usage(call):
    assert call("runs", "import", "absent").code == 2
    found = call("runs", "import", str(NEWEST), "--query", "clikcs", "--json")
    assert (found.code, found.document["error"]["remedy"]) == (2, "did you mean `clicks`?")
