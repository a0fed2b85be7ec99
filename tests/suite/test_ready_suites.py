"""The suites that come with the package can be run as they are."""

from pathlib import Path

import pytest

from streamgauge.bundle import bundled, summary
from streamgauge.lookup import find_workloads
from streamgauge.running.lifecycle import prepare
from streamgauge.suite import load_suite

SUITES = bundled("suite")
EXPERIMENTS = bundled("suite", "prototypes")
PAGE = Path(__file__).parents[2] / "docs/prototype-experiments.md"


def test_there_is_a_suite_for_every_purpose():
    assert set(SUITES) >= {"smoke", "nexmark", "streambench", "operators", "scalability", "surge"}


@pytest.mark.parametrize("name", SUITES)
def test_a_ready_suite_describes_runs_that_can_be_started(name):
    suite = load_suite(f"suite:{name}")
    assert suite.name == name
    assert suite.description.endswith((".", "?"))
    assert suite.description == summary(SUITES[name])
    assert not suite.needs_confirmation
    for configuration in suite.configurations:
        prepare(configuration.workload, {**configuration.settings, "parameters": configuration.parameters})
        assert configuration.thresholds


def test_there_is_a_suite_for_every_experiment_of_the_thesis():
    assert set(EXPERIMENTS) == {
        *("routing", "parallelism", "load-balancing", "data-size", "ysb", "load-sweep", "back-pressure", "bottleneck"),
        *("arrival-shapes", "reliability"),
    }


@pytest.mark.parametrize("name", EXPERIMENTS)
def test_an_experiment_of_the_thesis_checks_its_trend_and_explains_itself(name):
    suite = load_suite(f"suite:{name}")
    bounds = [set(configuration.thresholds) for configuration in suite.configurations]
    assert suite.orders or all(own - set.intersection(*bounds) for own in bounds), "orders, or bounds for each run"
    assert suite.expected_s <= 900
    assert f"`{name}`" in PAGE.read_text()


def test_every_prototype_of_the_experiments_is_used():
    used = {c.workload for name in EXPERIMENTS for c in load_suite(f"suite:{name}").configurations}
    assert {f"prototype:{name}" for name in bundled("prototype", "experiments")} <= used


def test_the_smoke_suite_takes_at_most_three_minutes():
    assert load_suite("suite:smoke").expected_s <= 180


@pytest.mark.parametrize("name", ["nexmark", "streambench", "operators"])
def test_a_suite_of_workloads_holds_all_of_them(name):
    known = {workload.name for workload in find_workloads(name)}
    assert {c.workload for c in load_suite(f"suite:{name}").configurations} == known
