"""The suites that come with the project can be run as they are."""

from pathlib import Path

import pytest

from streamgauge.experiment.run import prepare
from streamgauge.suite import load_suite
from streamgauge.workloads import find_workloads

FOLDER = Path(__file__).parents[2] / "suites"
PROTOTYPES = sorted((FOLDER / "prototypes").glob("*.yaml"))
SUITES = [*sorted(FOLDER.glob("*.yaml")), *PROTOTYPES]


def test_there_is_a_suite_for_every_purpose():
    names = {path.stem for path in SUITES}
    assert names >= {"smoke", "nexmark", "streambench", "operators", "scalability", "surge"}


@pytest.mark.parametrize("path", SUITES, ids=lambda path: path.stem)
def test_a_ready_suite_describes_runs_that_can_be_started(path):
    suite = load_suite(path)
    assert suite.name == path.stem
    assert suite.description.endswith((".", "?"))
    assert not suite.needs_confirmation
    for configuration in suite.configurations:
        prepare(configuration.workload, None, configuration.parameters, configuration.settings)
        assert configuration.thresholds


def test_there_is_a_suite_for_every_experiment_of_the_thesis():
    assert {path.stem for path in PROTOTYPES} == {
        *("routing", "parallelism", "load-balancing", "data-size", "ysb", "load-sweep", "back-pressure", "bottleneck"),
        *("arrival-shapes", "reliability"),
    }


@pytest.mark.parametrize("path", PROTOTYPES, ids=lambda path: path.stem)
def test_an_experiment_of_the_thesis_checks_its_trend_and_explains_itself(path):
    suite = load_suite(path)
    bounds = [set(configuration.thresholds) for configuration in suite.configurations]
    assert suite.orders or all(own - set.intersection(*bounds) for own in bounds), "orders, or bounds for each run"
    assert suite.expected_s <= 900
    assert f"`{path.stem}`" in (FOLDER.parent / "docs/prototype-experiments.md").read_text()


def test_every_prototype_file_is_used():
    used = {Path(c.workload).name for path in PROTOTYPES for c in load_suite(path).configurations}
    assert {path.name for path in (FOLDER / "prototypes/files").glob("*.yaml")} <= used


def test_the_smoke_suite_takes_at_most_three_minutes():
    assert load_suite(FOLDER / "smoke.yaml").expected_s <= 180


@pytest.mark.parametrize("name", ["nexmark", "streambench", "operators"])
def test_a_suite_of_workloads_holds_all_of_them(name):
    known = {workload.name for workload in find_workloads(name)}
    assert {c.workload for c in load_suite(FOLDER / f"{name}.yaml").configurations} == known
