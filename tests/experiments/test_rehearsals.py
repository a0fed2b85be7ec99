"""Whole commands on the fake engine, whose capacity is known; what they make is marked, and is evidence of nothing."""

import json

import pytest
from typer.testing import CliRunner

from streamgauge.cli.main import app
from streamgauge.conclude.comparison import compare
from streamgauge.conclude.sample import sample_of
from streamgauge.errors import InvalidExperimentError, UnknownVerdictError
from streamgauge.experiments.scale import scale
from streamgauge.experiments.suite import repeat, run_suite
from streamgauge.experiments.surge import surge
from streamgauge.experiments.sustain import sustain
from streamgauge.predicting.predict import predict
from streamgauge.prototyping.fit import fit
from streamgauge.running.lifecycle import run
from streamgauge.store import list_runs, list_sets, open_run

SHORT = {"engine": "fake(capacity=100k)", "duration": "30s", "warmup": "2s", "cores": 2, "explore": False}
SUITE = """
streamgauge: 1
name: rehearsed
defaults: {engine: fake, duration: 10s, warmup: 1s, cores: 2}
runs:
  - workload: ysb
    repetitions: 2
    matrix: {rate: [1k, 2k]}
"""


@pytest.fixture(scope="module")
def rehearsed(tmp_path_factory):
    root = tmp_path_factory.mktemp("runs")
    return root, [run("ysb", runs=root, rate="20k", **SHORT) for _ in range(2)]


def sets(root):
    return [(one.kind, one.document["status"], one.document.get("rehearsal")) for one in list_sets(root)]


def test_sustain_finds_the_known_capacity(tmp_path):
    asked = {name: value for name, value in SHORT.items() if name not in ("explore", "duration", "warmup")}
    found = sustain("ysb", runs=tmp_path, **asked)
    bracket = found.search.bracket
    for end_per_s in (bracket.low_per_s, bracket.high_per_s):
        assert end_per_s == pytest.approx(100_000, rel=0.1)
    assert sets(tmp_path) == [("sustain", "finished", True)]


def test_scale_and_surge_can_be_rehearsed(tmp_path):
    asked = {name: value for name, value in SHORT.items() if name not in ("explore", "cores")}
    assert scale("ysb", cores="1,2", repeat=2, runs=tmp_path, **asked).verdict == "pass"
    found = surge("ysb", runs=tmp_path, **asked)
    assert found.capacity_per_s == pytest.approx(100_000, rel=0.05)
    assert sets(tmp_path) == [("surge", "finished", True), ("scale", "finished", True)]


def test_repetitions_and_suites_can_be_rehearsed(tmp_path):
    (tmp_path / "suite.yaml").write_text(SUITE)
    assert run_suite(tmp_path / "suite.yaml", runs=tmp_path / "runs").verdict == "pass"
    assert repeat("ysb", 2, runs=tmp_path / "runs", rate="2k", **SHORT).verdict == "pass"
    assert sets(tmp_path / "runs") == [("repeat", "finished", True), ("suite", "finished", True)]


def test_rehearsals_are_refused_as_evidence(rehearsed):
    root, (first, second) = rehearsed
    for refused in (
        lambda: compare([first.run_id, second.run_id], runs=root),
        lambda: sample_of(open_run(root, first.run_id)),
        lambda: predict([first.run_id], runs=root),
        lambda: fit(first.run_id, runs=root),
    ):
        with pytest.raises((InvalidExperimentError, UnknownVerdictError), match="rehearsal"):
            refused()


def test_runs_list_reports_and_summaries_have_the_mark(rehearsed, tmp_path):
    root, (first, _) = rehearsed
    assert {one.rehearsal for one in list_runs(root)} == {True}

    def shown(*arguments):
        return CliRunner().invoke(app, [*arguments, "--runs", str(root)]).stdout

    assert "pass (rehearsal)" in shown("runs", "list")
    assert json.loads(shown("runs", "list", "--json"))["runs"][0]["rehearsal"] is True
    assert "PASS  ysb (rehearsal)" in shown("runs", "show", first.run_id)
    assert json.loads(shown("runs", "show", first.run_id, "--json"))["rehearsal"] is True
    for file in ("page.html", "page.md"):
        shown("report", first.run_id, "--output", str(tmp_path / file))
        assert "ysb (rehearsal)" in (tmp_path / file).read_text()
        assert "evidence of nothing" in (tmp_path / file).read_text()


def test_commands_that_make_sets_say_that_it_was_a_rehearsal(tmp_path):
    asked = ["run", "ysb", "--engine", "fake", "--rate", "2k", "--repeat", "2", "--runs", str(tmp_path), "-q"]
    text, document = (CliRunner().invoke(app, [*asked, *more]).stdout for more in ((), ("--json",)))
    assert text.startswith("note: this is a rehearsal")
    assert json.loads(document)["rehearsal"] is True
    page = tmp_path / "page.md"
    set_id = json.loads(document)["set_id"]
    CliRunner().invoke(app, ["report", set_id, "--output", str(page), "--runs", str(tmp_path)])
    assert "(rehearsal)" in page.read_text().splitlines()[0]
