"""Which stored runs may be compared, and what is said about their differences."""

import json
from dataclasses import replace

import pytest

from made_runs.samples import evidence
from made_runs.shelf import slower
from streamgauge.errors import InvalidExperimentError, UsageError
from streamgauge.metrics import METRICS
from streamgauge.store.layout import RUN_FILE

OPEN_METRICS = [metric.path for metric in METRICS if metric.change and metric.path != "offline_rate_per_s"]


def named(found):
    """Return the metrics of the only pair by their names."""
    (comparison,) = found.comparisons
    return {metric.name: metric for metric in comparison.metrics}


def test_different_workloads_are_refused(shelf):
    with pytest.raises(InvalidExperimentError, match="workload is ysb in A and nexmark-q1 in B") as caught:
        shelf.compare(shelf.one(), shelf.one(workload="nexmark-q1", parameters={"other": 1}))
    assert "other is" not in str(caught.value)


def test_different_parameters_are_refused_and_each_is_named(shelf):
    a = shelf.one(parameters={"window_s": 10, "skew": False, "late": False})
    b = shelf.one(parameters={"window_s": 20, "skew": True, "late": False})
    with pytest.raises(InvalidExperimentError) as caught:
        shelf.compare(a, b)
    assert "window_s is 10 in A and 20 in B; skew is False in A and True in B" in str(caught.value)
    assert "late" not in str(caught.value)


def test_an_open_load_is_not_compared_with_an_offline_one(shelf):
    with pytest.raises(InvalidExperimentError, match="load is open in A and offline in B"):
        shelf.compare(shelf.one(), shelf.offline(1))


def test_runs_of_different_settings_are_no_repetitions_but_seeds_may_differ(shelf):
    mixed = f"{shelf.one(trigger_s=1.0)},{shelf.one(trigger_s=2.0, max_rows_per_batch=7)}"
    with pytest.raises(InvalidExperimentError) as caught:
        shelf.compare(shelf.one(), mixed)
    assert "trigger_s (1.0, 2.0), max_rows_per_batch (not set, 7) differ" in str(caught.value)
    seeds = f"{shelf.one(seed=1)},{shelf.one(seed=2)}"
    (comparison,) = shelf.compare(seeds, f"{shelf.one(seed=2)},{shelf.one(seed=1)}").comparisons
    assert comparison.differences == ()
    # What comes after the load is no part of a run.
    explored = f"{shelf.one(explore=True)},{shelf.one(explore=False)}"
    assert shelf.compare(explored, f"{shelf.one(explore=False)},{shelf.one(explore=True)}").comparisons


def test_e6_every_difference_of_machine_versions_and_settings_is_named_with_both_values(shelf):
    changed = {
        "streamgauge": "0.2.0",
        "python": "3.12.1",
        "java": "21",
        "packages": {"numpy": "2.4.6", "pyspark": "4.2.0"},
        "system": "Linux-7",
        "processor": "Other",
        "cores": 8,
        "memory_bytes": 2**35,
    }
    b = shelf.one(environment=changed, master="local[1]", conf={"spark.x": "1"})
    (comparison,) = shelf.compare(shelf.one(), b).comparisons
    assert {(d.kind, d.name, d.a, d.b) for d in comparison.differences} == {
        ("setting", "master", "local[2]", "local[1]"),
        ("setting", "conf.spark.x", "not set", "1"),
        ("environment", "streamgauge", "0.1.0", "0.2.0"),
        ("environment", "python", "3.11.7", "3.12.1"),
        ("environment", "java", "17", "21"),
        ("environment", "packages.pyspark", "4.3.0", "4.2.0"),
        ("environment", "system", "Linux-6", "Linux-7"),
        ("environment", "processor", "AMD EPYC", "Other"),
        ("environment", "cores", "2", "8"),
        ("environment", "memory_bytes", str(2**34), str(2**35)),
    }
    assert "Spark: 4.3.0 against 4.2.0" in map(str, comparison.differences)
    assert any(text.startswith("machine or versions differ (streamgauge, ") for text in comparison.warnings)
    assert any(text.startswith("2 settings differ (master, conf.spark.x)") for text in comparison.warnings)


def test_e6_one_setting_that_differs_is_what_is_compared_and_no_warning(shelf):
    (comparison,) = shelf.compare(shelf.one(), shelf.one(master="local[1]")).comparisons
    assert [str(d) for d in comparison.differences] == ["master: local[2] against local[1]"]
    assert not any("differ" in text for text in comparison.warnings)


def test_e6_repetitions_on_several_machines_are_a_warning(shelf):
    mixed = f"{shelf.one()},{shelf.one(environment={'processor': 'Other'})}"
    (comparison,) = shelf.compare(shelf.one(), mixed).comparisons
    assert "B: its runs differ in machine" in comparison.warnings
    assert [(d.a, d.b) for d in comparison.differences] == [("AMD EPYC", "AMD EPYC, Other")]


def test_runs_that_did_not_finish_are_left_out_and_named(shelf):
    states = ("interrupted", "failed", "running")
    unfinished = [shelf.one(status=status) for status in states]
    finished = [shelf.one() for _ in range(2)]
    set_id = shelf.set_of([("ysb", run_id) for run_id in (*unfinished, *finished, "20200101T000000-ysb-dead")])
    (comparison,) = shelf.compare(set_id, shelf.several(2)).comparisons
    assert comparison.document()["runs"]["a"] == finished
    for run_id, state in zip(unfinished, ("was interrupted", "failed", "is still going on"), strict=True):
        assert f"A: {run_id[16:]} is left out: it {state}" in comparison.warnings
    assert "A: ysb-dead is left out: it is no longer there" in comparison.warnings


def test_a_side_without_any_finished_run_is_refused(shelf):
    with pytest.raises(InvalidExperimentError, match=r"has no run that can be compared: B: .* it was interrupted"):
        shelf.compare(shelf.one(), shelf.one(status="interrupted"))


def test_runs_in_doubt_stay_in_with_a_warning(shelf):
    overloaded = shelf.store(slower(evidence(limit=400), 1.0))
    (comparison,) = shelf.compare(
        overloaded, overloaded + "," + shelf.store(slower(evidence(limit=400), 1.1))
    ).comparisons
    reason = "backlog grows by 200 events/s (20 % of the offered rate)"
    assert f"A: one run with the verdict fail, e.g. {reason}" in comparison.warnings
    assert f"B: 2 of 2 runs with the verdict fail, e.g. {reason}" in comparison.warnings
    assert "one run on both sides, which hides a change" in comparison.warnings


def test_a_run_of_a_newer_version_says_so(shelf):
    a, b = shelf.one(), shelf.one()
    path = shelf.root / b / RUN_FILE
    path.write_text(json.dumps(json.loads(path.read_text()) | {"schema_version": 99}))
    with pytest.raises(InvalidExperimentError, match="schema version 99 is newer"):
        shelf.compare(a, b)


def test_the_rate_of_runs_that_kept_up_is_called_the_load(shelf):
    (comparison,) = shelf.compare(shelf.one(), shelf.one()).comparisons
    assert any(
        text.startswith("A and B were offered the same rate, 1k/s, and kept up: ") for text in comparison.warnings
    )
    more = shelf.store(slower(evidence(rate_per_s=2000.0), 1.0))
    (comparison,) = shelf.compare(shelf.one(), more).comparisons
    assert any(text.startswith("A was offered 1k/s and B 2k/s, and both kept up") for text in comparison.warnings)
    (comparison,) = shelf.compare(
        shelf.one(), shelf.store(slower(evidence(limit=400), 1.0), max_rows_per_batch=None)
    ).comparisons
    assert not any("kept up" in text for text in comparison.warnings)


def test_a_metric_that_not_every_run_has_is_not_compared_and_named(shelf):
    bare = shelf.store(replace(slower(evidence(), 1.0), tasks=[], resources=[]))
    found = shelf.compare(bare, shelf.one())
    assert set(named(found)) == set(OPEN_METRICS) - {"core_use.events_per_s_per_core", "stages.cpu_s_per_event"}
    note = "not compared, because not every run has it: rate per core, CPU time per event"
    assert note in found.comparisons[0].warnings


def test_the_same_run_on_both_sides_and_a_single_side_are_refused_with_a_hint(shelf):
    run_id = shelf.one()
    with pytest.raises(UsageError, match="both sides are the run"):
        shelf.compare(run_id, str(shelf.root / run_id))
    for references in ((), (run_id,)):
        with pytest.raises(UsageError, match="needs two sides") as caught:
            shelf.compare(*references)
        assert "name two runs" in caught.value.remedy
    set_id = shelf.set_of([("x", shelf.one()), ("y", shelf.one())])
    with pytest.raises(UsageError) as caught:
        shelf.compare(set_id)
    assert f"'{set_id}:x' '{set_id}:y'" in caught.value.remedy


@pytest.mark.parametrize(
    "option",
    [
        *({"confidence": text} for text in ("much", "100%", "0")),
        *({"relevant": text} for text in ("-1%", "100%", "nan", 1.5)),
        *({"margin": text} for text in ("-1%", "0")),
        *({"drift": text} for text in ("0%", "much")),
    ],
)
def test_a_share_that_is_none_is_refused(shelf, option):
    with pytest.raises(UsageError) as caught:
        shelf.compare("a", "b", **option)
    assert caught.value.where == f"--{next(iter(option))}"
