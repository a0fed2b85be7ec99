"""Wrong usage, invalid experiments and machines that are not ready: the right exit code, three parts, no traceback."""

import json

import pytest

USAGE = [
    (["run", "ybs"], "ybs", "did you mean `ysb`?"),
    (["plan", "ybs"], "ybs", "did you mean `ysb`?"),
    (["describe", "hibench-wordcoun"], "hibench-wordcoun", "did you mean `hibench-wordcount`?"),
    (["verify", "ybs"], "ybs", "did you mean `ysb`?"),
    (["generate", "hibensh"], "hibensh", "did you mean `hibench`?"),
    (["run", "ysb", "--rate=-5"], '--rate: rate "-5"', "use more than 0"),
    (["run", "ysb", "--rate", "abc"], '--rate: rate "abc"', "200k"),
    (["run", "ysb", "--duration", "5 sek"], '--duration: "5 sek" is not a duration', "ms, s, min or h"),
    (["run", "ysb", "--warmup", "10"], '--warmup: "10"', "ms, s, min or h"),
    (["run", "ysb", "--set", "capaigns=3"], '--set: ysb has no parameter "capaigns"', "did you mean `campaigns`?"),
    (["run", "ysb", "--set", "campaigns"], '--set: "campaigns" is not NAME=VALUE', "--set name=value"),
    (["run", "ysb", "--conf", "=x"], '--conf: "=x" is not NAME=VALUE', "--conf name=value"),
    (["run", "ysb", "--cores", "0"], '--cores: "0" cannot', "use a whole number from 1 to 1024"),
    (["run", "ysb", "--cores", "2", "--master", "local[2]"], "exclude each other", "--cores N alone"),
    (["run", "ysb", "--arrivals", "foo"], '--arrivals: unknown arrival law "foo"', "constant"),
    (["run", "ysb", "--sink", "foo"], '--sink: "foo"', "noop"),
    (["run", "ysb", "--source", "kafak"], '--source: "kafak"', "did you mean `kafka`?"),
    (["run", "ysb", "--topic", "t"], "--topic: nothing in this run uses it", "--source kafka"),
    (
        ["run", "ysb", "--source", "kafka", "--kafka-option", "sasl.password=x"],
        "--kafka-option: sasl.password is",
        "@FILE",
    ),
    (["load", "ysb", "--record-format", "avro"], '--record-format: "avro"', "binary, json"),
    (["run", "ysb", "--mode", "x"], '--mode: "x"', "micro-batch"),
    (["run", "ysb", "--load", "ofline"], '--load: "ofline"', "did you mean `offline`?"),
    (["run", "ysb", "--trigger", "xx"], '--trigger: "xx" is not a duration', "ms, s, min or h"),
    (["run", "ysb", "--seed", "99999999999999999999"], '--seed: "99999999999999999999"', "from -9223372036854775807"),
    (["run", "ysb", "--events", "hibench"], "--events: ysb has its own events", "file.py:function"),
    (["run", "absent.py:build"], "absent.py", "path of a Python file"),
    (["run", "absent.py"], "does not name a function", ":build"),
    (["runs", "show", "nothing"], 'unknown run "nothing"', "streamgauge run"),
    (["runs", "remove", "nothing"], 'unknown run "nothing"', "streamgauge run"),
    (["generate", "ysb", "--format", "xml"], '--format: the ysb events have no format "xml"', "known names"),
    (["run", "ysb", "--latency", "record"], "--latency: renamed to --timing", "use --timing"),
    (["plan", "ysb", "--latency=record"], "--latency: renamed to --timing", "use --timing"),
    (["run", "ysb", "--format", "binary"], "--format: renamed to --record-format", "use --record-format"),
    (["load", "ysb", "--format", "binary"], "--format: renamed to --record-format", "use --record-format"),
    (["model", "calibrate", "ysb", "--latency", "record"], "--latency: renamed to --timing", "use --timing"),
    (["sustain", "ysb", "--latency", "p95<2s"], "--latency: renamed to --limit", "use --limit"),
    (["generate", "ysb", "--events", "5k"], "--events: renamed to --count", "use --count"),
    (["verify", "ysb", "--events", "5k"], "--events: renamed to --count", "use --count"),
    (["fault", "ysb", "--sequence", "7", "--count", "4"], "--count: renamed to --length", "use --length"),
]


@pytest.mark.parametrize(("arguments", "what", "remedy"), USAGE, ids=[" ".join(a) for a, _, _ in USAGE])
def test_k2_wrong_usage_ends_with_2_and_says_what_where_and_what_to_do(call, arguments, what, remedy, tmp_path):
    result = call(*arguments)
    assert result.code == 2
    assert result.out == ""
    assert result.err.startswith("error: ")
    first, *rest = result.err.splitlines()
    assert what in first
    assert remedy in "\n".join(rest)
    assert "Traceback" not in result.err
    assert not (tmp_path / "runs").exists(), "a mistake leaves no run behind"


@pytest.mark.parametrize(
    ("arguments", "code"),
    [(["run", "ybs"], 2), (["run", "ysb", "--rate", "abc"], 2), (["run", "ysb", "--set", "campaigns=0"], 3)],
)
def test_with_json_a_mistake_is_one_document_too(call, arguments, code):
    result = call(*arguments, "--json")
    assert result.code == code
    error = result.document["error"]
    assert set(error) == {"what", "where", "remedy", "exit_code"}
    assert error["exit_code"] == code
    assert error["what"]
    assert error["remedy"]
    assert result.err.startswith("error: ")


@pytest.mark.parametrize(
    "arguments",
    [["run"], ["run", "ysb", "--rte", "5"], ["run", "ysb", "--cores", "two"], ["frobnicate"], ["runs", "x"]],
)
def test_what_the_parser_refuses_ends_with_2(call, arguments):
    result = call(*arguments)
    assert result.code == 2
    assert result.out == ""
    assert result.err
    assert "Traceback" not in result.err


@pytest.mark.parametrize("arguments", [["run", "--json"], ["run", "ysb", "--cores", "two", "--json"]])
def test_what_the_parser_refuses_is_a_document_with_json(call, arguments):
    result = call(*arguments)
    assert result.code == 2
    assert result.document["error"]["exit_code"] == 2
    assert result.document["error"]["what"]


def test_k2_a_parameter_outside_its_domain_ends_with_3_and_names_the_domain(call):
    result = call("run", "ysb", "--set", "campaigns=0")
    assert result.code == 3
    assert result.err.splitlines() == [
        'error: --set: campaigns="0" is outside its domain',
        "  campaigns: whole number 1 to 1,000,000",
    ]


def test_a_function_that_cannot_be_imported_ends_with_3_and_its_line(call, tmp_path):
    (tmp_path / "broken.py").write_text("x = 1\n1 / 0\n")
    result = call("run", "broken.py:build")
    assert result.code == 3
    assert f"{tmp_path}/broken.py:2: the file cannot be imported: ZeroDivisionError" in result.err
    assert "Traceback" not in result.err


def test_without_java_a_run_ends_with_4_and_is_stored_as_failed(call, without_java):
    result = call("run", "ysb", "--duration", "1s", "--quiet")
    assert result.code == 4
    assert "no Java 17 or newer was found" in result.err
    assert "apt-get install openjdk-17-jre-headless" in result.err
    assert "partial results are in runs/" in result.err
    assert "Traceback" not in result.err
    (row,) = call("runs", "list", "--json").document["runs"]
    assert (row["status"], row["verdict"]) == ("failed", "unknown")
    shown = call("runs", "show", "--json").document
    assert "no Java 17 or newer was found" in shown["reasons"][0]


@pytest.mark.parametrize("command", [["verify", "ysb", "--quiet"], ["generate", "ysb", "--quiet"]])
def test_without_java_other_commands_end_with_4_and_leave_nothing(call, without_java, tmp_path, command):
    result = call(*command)
    assert result.code == 4
    assert "no Java 17 or newer was found" in result.err
    assert [path.name for path in tmp_path.iterdir()] == ["no-java-here"]


@pytest.mark.parametrize("arguments", [["run", "ysb"], ["runs", "list"], ["runs", "show"]])
def test_a_place_for_runs_that_is_no_folder_ends_with_4(call, tmp_path, arguments):
    (tmp_path / "file").write_text("")
    result = call(*arguments, "--runs", "file")
    assert result.code == 4
    assert "file" in result.err.splitlines()[0]
    assert "--runs" in result.err
    assert "Traceback" not in result.err


def test_a_place_for_runs_that_cannot_be_made_ends_with_4(call, tmp_path):
    (tmp_path / "file").write_text("")
    result = call("run", "ysb", "--runs", "file/runs")
    assert result.code == 4
    assert "--runs" in result.err


@pytest.mark.parametrize("text", ["", "{", "[]", '{"schema_version": 1}', "\x00\xff"])
def test_a_damaged_run_ends_with_3_and_says_where(call, store, text):
    path = store(None)
    (path / "run.json").write_text(text, encoding="latin-1")
    for arguments in (["runs", "show"], ["runs", "show", "--json"]):
        result = call(*arguments)
        assert result.code == 3
        assert f"runs/{path.name}/run.json" in result.err.splitlines()[0]
        assert "runs remove" in result.err
        assert "Traceback" not in result.err
    (row,) = call("runs", "list", "--json").document["runs"]
    assert row["status"] == "unreadable"
    assert row["reason"]
    assert call("runs", "list").code == 0
    assert call("runs", "remove", path.name).code == 0


def test_a_run_of_a_newer_version_ends_with_3(call, store):
    path = store(None)
    document = json.loads((path / "run.json").read_text()) | {"schema_version": 99}
    (path / "run.json").write_text(json.dumps(document))
    result = call("runs", "show")
    assert result.code == 3
    assert "update streamgauge" in result.err


def test_a_bug_of_ours_keeps_its_traceback(call, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("our bug")

    monkeypatch.setattr("streamgauge.report.terminal.catalogue.print_list", broken)
    with pytest.raises(ZeroDivisionError, match="our bug"):
        call("list")


def test_k2_ctrl_c_ends_with_130(call, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("streamgauge.report.terminal.catalogue.print_list", interrupted)
    assert call("list").code == 130
