"""A few damaged inputs of every kind, always the same; `make fuzz` tries others for minutes."""

from pathlib import Path

import pytest

from .campaign import call, run_case
from .mutators import damage, mutators_for
from .targets import TARGETS, Case, Target, build_template

SEEDS = range(6)


@pytest.fixture(scope="module")
def template(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("fuzz")
    build_template(folder)
    return folder


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TARGETS)
def test_damaged_inputs_end_in_a_message(template, name):
    failures = [failure for seed in SEEDS if (failure := run_case(template, TARGETS[name], seed))]
    assert [(failure.case, failure.what, failure.command, failure.problem) for failure in failures] == []


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", TARGETS)
def test_inputs_are_read_before_they_are_damaged(template, tmp_path, monkeypatch, name):
    """Without damage the same commands give answers, so that the fuzzer fails for no other reason than damage."""
    monkeypatch.setattr("fuzz.targets.damage", lambda *_: "nothing")
    assert run_case(template, TARGETS[name], 0) is None


def test_a_traceback_is_found_and_its_files_are_kept(template, tmp_path, monkeypatch):
    def broken(*_):
        raise ZeroDivisionError("our bug")

    monkeypatch.setattr("streamgauge.report.terminal.run.print_runs", broken)
    target = Target("planted", lambda *_: Case([("runs", "list")], "nothing"), ("runs",))
    failure = run_case(template, target, 7, keep=tmp_path)
    assert failure is not None
    assert failure.head == "ZeroDivisionError: our bug"
    assert "planted:7" in (tmp_path / "planted-7" / "failure.txt").read_text()
    assert (tmp_path / "planted-7" / "runs").is_dir()


@pytest.mark.parametrize(
    ("planted", "problem"),
    [
        ("import sys; sys.exit(1)", "exit code 1"),
        ("import sys; sys.stdout.write('\\x1b[2J')", "the output holds controls"),
        ("import sys; sys.exit(3)", "exit code 3 without a message"),
    ],
)
def test_other_ways_to_go_wrong_are_found(template, monkeypatch, planted, problem):
    monkeypatch.setattr("streamgauge.report.terminal.run.print_runs", lambda *_: exec(planted))
    target = Target("planted", lambda *_: Case([("runs", "list")], "nothing"), ("runs",))
    failure = run_case(template, target, 0)
    assert failure is not None
    assert problem in failure.problem


def test_an_import_that_fails_and_leaves_a_run_is_found(template, monkeypatch):
    def broken(*_, runs, **__):
        from streamgauge.errors import InvalidExperimentError
        from streamgauge.store import runs_root

        (runs_root(runs) / "half").mkdir(parents=True)
        raise InvalidExperimentError("damaged")

    monkeypatch.setattr("streamgauge.observe.import_log.import_event_log", broken)
    failure = run_case(template, TARGETS["log"], 0)
    assert failure is not None
    assert "a run is left: ['half']" in failure.problem


@pytest.mark.parametrize("pattern", ["runs/*/run.json", "runs/*/events.jsonl", "runs/*/*.parquet", "runs/*/*.npy"])
def test_every_mutator_damages(template, tmp_path, pattern):
    from random import Random

    original = max(template.glob(pattern), key=lambda path: path.stat().st_size)
    path = tmp_path / original.name
    for mutator in set(mutators_for(path)):
        changed = set()
        for seed in range(10):
            path.write_bytes(original.read_bytes())
            assert damage(path, Random(seed), (mutator,)) == mutator.__name__
            changed.add(path.read_bytes() != original.read_bytes())
        assert True in changed, mutator


def test_the_command_line_can_be_called_many_times():
    assert [call(("--version",))[0] for _ in range(3)] == [0, 0, 0]
