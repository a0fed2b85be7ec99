"""What people read, compared with files beside this one."""

import io
import json
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from made_runs.samples import answer, evidence, offline, resources, tasks
from streamgauge.conclude.evidence import GeneratorCost, Maximum
from streamgauge.conclude.summary import summarise
from streamgauge.report.terminal.console import console
from streamgauge.report.terminal.run import print_runs, print_summary
from streamgauge.store import RunListing, StoredRun
from streamgauge.verdict import Verdict
from streamgauge.workloads import Window

HERE = Path(__file__).parent
RUN = "20260102T030405-ysb-1a2b"


def stored(run, *, status="finished"):
    """Return a run as it is read from its directory, without the directory."""
    summary = json.loads(json.dumps(summarise(run)))
    document = {"workload": "ysb", "summary": summary, "verdict": summary["verdict"], "reasons": summary["reasons"]}
    return StoredRun(RUN, Path("runs") / RUN, status, document)


def healthy():
    run = evidence(window=Window(5.0, 5.0, "window_start"), output_mode="update", answer=answer())
    cost = GeneratorCost(2.5e-7, ("ad_id", "event_time", "event_type"))
    return stored(replace(run, tasks=tasks(run.batches), resources=resources(), generator=cost))


def overloaded():
    wrong = answer(Verdict.FAIL, missing=3, extra=1, reasons=["3 rows missing and 1 extra of 600 expected"])
    run = evidence(limit=400, answer=wrong)
    return stored(replace(run, batches=run.batches[:-1]))


def all_at_once():
    return stored(offline(answer=answer(), resources=resources(60.0)))


def trimmed(text):
    """Cut the spaces with which tables fill their lines."""
    return "".join(f"{line.rstrip()}\n" for line in text.splitlines())


def printed(run, **options):
    file = io.StringIO()
    print_summary(run, Console(file=file, width=100, **options))
    return trimmed(file.getvalue())


@pytest.mark.parametrize(("name", "run"), [("healthy", healthy), ("overloaded", overloaded), ("offline", all_at_once)])
def test_a_summary_is_printed_as_in_the_file(name, run):
    assert printed(run()) == (HERE / f"{name}.txt").read_text()


def test_the_verdict_comes_first_and_its_reasons_next():
    lines = printed(overloaded()).strip().splitlines()
    assert lines[0] == "FAIL  ysb"
    assert lines[1] == "  - backlog grows by 200 events/s (20 % of the offered rate)"


def test_the_status_is_shown_unless_the_run_finished():
    assert "PASS  ysb (interrupted)" in printed(replace(healthy(), status="interrupted"))
    assert "PASS  ysb\n" in printed(healthy())


def test_a_run_without_numbers_shows_its_reason_and_its_place():
    document = {"workload": "ysb", "summary": None, "reasons": ["no Java 17 or newer was found"]}
    run = StoredRun(RUN, Path("runs") / RUN, "failed", document)
    text = printed(run)
    assert "UNKNOWN  ysb (failed)" in text
    assert "no Java 17 or newer was found" in text
    assert f"runs/{RUN}" in text
    assert "throughput" not in text


def test_what_is_not_known_is_called_unknown_and_never_zero():
    run = evidence()
    text = printed(stored(replace(run, batches=run.batches[:1])))
    assert "processed unknown" in text
    assert "mean unknown" in text
    assert "not checked" in text


def test_an_online_run_names_the_maximum_of_which_its_load_is_half():
    text = printed(stored(evidence(maximum=Maximum(2000.0, "inner", Verdict.PASS))))
    assert "offered 1k/s, ingested 1k/s, processed 1k/s; the offline maximum is 2k/s" in text


def test_a_run_of_an_older_version_is_printed_too():
    run = healthy()
    for key in ("load", "offline_rate_per_s", "offline_run_id", "core_use"):
        del run.document["summary"][key]
    assert "offered 1k/s, ingested 1k/s, processed 1k/s\n" in printed(run)


def test_colours_appear_on_a_terminal_and_nowhere_else():
    assert "\x1b[" in printed(healthy(), force_terminal=True, color_system="standard", _environ={})
    assert "\x1b[" not in printed(healthy())


def test_no_color_is_respected_on_a_terminal():
    text = printed(overloaded(), force_terminal=True, color_system="standard", _environ={"NO_COLOR": "1"})
    assert "\x1b[31m" not in text
    assert "\x1b[1;31m" not in text


def test_standard_output_that_is_no_terminal_gets_plain_text_of_a_fixed_width(capsys, monkeypatch):
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("COLUMNS", "40")
    print_summary(healthy())
    assert trimmed(capsys.readouterr().out) == (HERE / "healthy.txt").read_text()


def test_a_list_of_runs_has_a_line_each_and_reasons_where_they_cannot_be_read(capsys):
    listings = [
        RunListing("20260102T030405-ysb-1a2b", Path("a"), "finished", "ysb", "2026-01-02", "pass"),
        RunListing("20260101T030405-ysb-1a2b", Path("b"), "unreadable", reason="not JSON: Expecting value"),
    ]
    print_runs(listings, Path("runs"))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].split() == ["run", "workload", "status", "verdict"]
    assert lines[1].split() == ["20260102T030405-ysb-1a2b", "ysb", "finished", "pass"]
    assert "not JSON: Expecting value" in lines[2]


def test_an_empty_list_says_how_to_make_a_run(capsys):
    print_runs([], Path("runs"))
    assert capsys.readouterr().out == "no runs in runs; `streamgauge run ysb` makes one\n"


@pytest.mark.parametrize("text", ["[/bold]", "[red]x[/red]", "a:smile:b", "[link=http://x]"])
def test_names_and_messages_of_others_are_printed_as_they_are(capsys, text):
    print_runs([RunListing("one", Path("a"), "unreadable", workload=text, reason=text)], Path("runs"))
    assert capsys.readouterr().out.count(text) == 2
    console().print(text)
    assert capsys.readouterr().out == f"{text}\n"


def test_convergence_is_told_by_its_first_and_last_value():
    series = [{"events": 200, "mean_distance": 1.8213}, {"events": 200_000, "mean_distance": 0.1301}]
    file = io.StringIO()
    print_summary(stored(replace(evidence(), convergence=series)), Console(file=file, width=200))
    expected = "mean distance from true centres 1.82 after 200 points, 0.13 after 200k"
    assert expected in " ".join(file.getvalue().split())
