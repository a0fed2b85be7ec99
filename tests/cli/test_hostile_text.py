"""Names and messages of foreign runs reach the terminal as text."""

import json

import pytest

from made_runs.samples import evidence
from streamgauge.conclude.summary import summarise

PAINTED = "\x1b[32mPASS\x1b[0m \x9b1m [green]PASS[/] \u202eSSAP\r\x1b]0;owned\x07"
CONTROLS = ("\x1b]", "\x9b", "\u202e", "\r", "\x07")
FALSE_LINE = "ysb\nPASS  ysb"


@pytest.fixture
def foreign(store):
    """Store a run whose name and messages paint."""
    summary = json.loads(json.dumps(summarise(evidence()))) | {"verdict": "unknown", "reasons": [PAINTED]}
    path = store(summary | {"warnings": [PAINTED]})
    document = json.loads((path / "run.json").read_text()) | {"workload": PAINTED}
    (path / "run.json").write_text(json.dumps(document))
    return path


@pytest.mark.parametrize("colour", [True, False])
@pytest.mark.parametrize("command", [["runs", "list"], ["runs", "show"], ["report", "-o", "-"], ["compare"]])
def test_a_foreign_run_paints_nothing(call, foreign, monkeypatch, colour, command):
    monkeypatch.setenv("FORCE_COLOR", "1") if colour else monkeypatch.delenv("FORCE_COLOR", raising=False)
    monkeypatch.setenv("COLUMNS", "200")
    found = call(*command, *([foreign.name] * 2 if command == ["compare"] else []))
    assert found.code in (0, 2, 3, 7)
    assert not [mark for mark in CONTROLS if mark in found.out + found.err]
    # The word is there as text; our own colours stay.
    assert "\x1b[32mPASS" not in found.out
    assert ("\x1b[" in found.out) <= colour
    if command != ["compare"]:
        assert "[32mPASS" in found.out.replace("\\", "")


def test_mark_up_in_a_name_is_text(call, foreign):
    assert "[green]PASS[/]" in call("runs", "show").out


def test_a_name_of_two_lines_makes_no_second_verdict(call, foreign):
    document = json.loads((foreign / "run.json").read_text()) | {"workload": FALSE_LINE}
    (foreign / "run.json").write_text(json.dumps(document))
    assert [line for line in call("runs", "show").out.splitlines() if line.startswith("PASS")] == []


def test_messages_of_errors_paint_nothing(call, foreign):
    (foreign / "run.json").write_text(json.dumps({"schema_version": 1, "status": PAINTED}))
    found = call("runs", "show", foreign.name)
    assert found.code == 3
    assert not [mark for mark in CONTROLS if mark in found.err]
    named = call("runs", "show", f"x{PAINTED}")
    assert named.code == 2
    assert not [mark for mark in CONTROLS if mark in named.err]


def test_json_keeps_every_character(call, foreign):
    found = call("runs", "show", "--json")
    assert found.document["workload"] == PAINTED
    assert not [mark for mark in CONTROLS if mark in found.out]


@pytest.mark.parametrize("name", ["report.html", "report.md"])
def test_reports_hold_no_controls(call, foreign, tmp_path, name):
    assert call("report", "-o", name).code == 0
    text = (tmp_path / name).read_text()
    assert not [mark for mark in (*CONTROLS, "\x1b") if mark in text]
