"""The Markdown report: the words and tables of the HTML report."""

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from made_runs.samples import answer, evidence, offline, resources
from report.rendered import render_markdown
from report.test_html_report import asked, healthy_evidence, on_terminal
from streamgauge.conclude.summary import summarise
from streamgauge.report.content import facts
from streamgauge.store import StoredRun
from streamgauge.verdict import Verdict


def stored(run, *, run_id="20260102T030405-ysb-1a2b", **changes):
    """Return a run as it is read from its directory, without the directory."""
    summary = json.loads(json.dumps(summarise(run))) | changes
    document = asked().document | {"summary": summary, "verdict": summary["verdict"], "reasons": summary["reasons"]}
    return StoredRun(run_id, Path("runs") / run_id, "finished", document)


@pytest.fixture(scope="module")
def healthy():
    return stored(healthy_evidence())


@pytest.fixture(scope="module")
def overloaded():
    wrong = answer(Verdict.FAIL, missing=3, extra=1, reasons=["3 rows missing and 1 extra of 600 expected"])
    return stored(evidence(limit=400, answer=wrong), run_id="20260103T030405-ysb-3c4d")


def cells(text):
    """Return the cells of all rows of tables by their first one."""
    rows = [re.split(r"(?<!\\)\|", line)[1:-1] for line in text.splitlines() if line.startswith("|")]
    return {row[0].strip(): [cell.strip() for cell in row[1:]] for row in rows}


def test_the_verdict_comes_first_and_its_reasons_next(overloaded):
    lines = [line for line in render_markdown([overloaded]).splitlines() if line]
    assert lines[:3] == [
        "# ysb",
        f"**FAIL** {overloaded.run_id}",
        "- backlog grows by 200 events/s (20 % of the offered rate)",
    ]


def test_numbers_are_those_of_the_terminal(healthy, overloaded):
    at_once = stored(offline(answer=answer(), resources=resources(60.0)))
    for run in (healthy, overloaded, at_once):
        printed, found = on_terminal(run), cells(render_markdown([run]).partition("## What was run")[0])
        for name, text in facts.key_facts(run.document["summary"]):
            assert found[name] == [text]
            assert f"{name} {text}" in printed
        for row in facts.latency_rows(run.document["summary"]):
            assert found[row.name] == list(row.texts)
            assert f"{row.name} {' '.join(row.texts)}" in printed
        for name, mean, share in facts.phase_rows(run.document["summary"]):
            assert found[name.replace("_", " ")] == [mean, share]


def test_notes_questions_and_the_command_are_there(overloaded):
    text = render_markdown([overloaded])
    summary = overloaded.document["summary"]
    for note in summary["warnings"]:
        assert f"- {note}" in text
    for finding in summary["findings"]:
        assert cells(text)[finding["question"]] == [finding["verdict"], finding["reason"]]
    assert "```\nstreamgauge run ysb \\\n  --rate 1000 \\\n" in text
    assert "spark.master local[2]" in text


def test_several_runs_are_compared(healthy, overloaded):
    text = render_markdown([healthy, overloaded])
    assert text.startswith("# Comparison of 2 runs\n")
    found = cells(text.partition("## What differs")[0])
    assert found["verdict"] == ["pass", "fail"]
    assert found["processed rate"] == ["1k/s", "800/s (-20.0%)"]
    assert found["cores used by Spark"] == ["1.30", "unknown"]
    assert found["backlog slope"] == ["0 events/s", "200 events/s"]
    assert len([line for line in text.splitlines() if line == "## ysb"]) == 2


def test_every_table_has_rows_of_the_same_width(healthy, overloaded):
    for block in re.findall(r"(?:^\|.*\n)+", render_markdown([healthy, overloaded]), re.MULTILINE):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(widths) == 1


def test_a_run_without_numbers_says_why():
    run = StoredRun("x", Path("runs/x"), "failed", {"workload": "ysb", "reasons": ["no Java 17 or newer was found"]})
    text = render_markdown([run])
    assert "# ysb (failed)" in text
    assert "- no Java 17 or newer was found" in text
    assert "This run has no numbers." in text
    assert "The settings of this run are not stored." in text


def test_names_of_others_are_no_mark_up():
    hostile = "<script>|*a*|\n# `x`"
    run = replace(stored(evidence(), reasons=[hostile]), run_id=hostile)
    run = replace(run, document=asked(hostile, conf={"spark.x": "```\n<b>"}).document | {
        "summary": run.document["summary"]
    })  # fmt: skip
    text = render_markdown([run, run])
    outside = re.sub(r"^(`{3,})\n.*?^\1$", "", text, flags=re.MULTILINE | re.DOTALL)
    assert not re.search(r"(?<!\\)<", outside)
    assert "\n# `x`" not in outside
    assert r"\<script\>\|\*a\*\| \# \`x\`" in outside
