"""The metrics of thresholds are the numbers of a summary: none is missing, none is made up."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from experiment import samples
from streamgauge.experiment.evidence import GeneratorCost
from streamgauge.experiment.summary import summarise
from streamgauge.suite.metrics import METRICS, metric_value

# Missing or true here, but never numbers.
NOT_NUMBERS = {"offline_run_id", "steady_state.settled"}


def numbers(document: dict[str, Any], before: str = "") -> Iterator[str]:
    for name, value in document.items():
        path = f"{before}{name}"
        if isinstance(value, dict):
            yield from numbers(value, f"{path}.")
        elif (value is None or isinstance(value, int | float)) and path not in NOT_NUMBERS:
            yield path


def full_evidence(**changes):
    run = samples.evidence()
    return replace(
        run,
        tasks=samples.tasks(run.batches),
        resources=samples.resources(),
        answer=samples.answer(),
        generator=GeneratorCost(core_s_per_event=1e-6, columns=("a",)),
        **changes,
    )


def test_every_number_of_a_summary_is_a_metric_and_every_metric_is_in_a_summary():
    full = summarise(full_evidence())
    bare = summarise(samples.evidence())
    # Without tasks there is one phase instead of two; windows are those of workloads that have some.
    found = {*numbers(full), *numbers({"phases_s": bare["phases_s"]})} - {"window_latency_s", "convergence"}
    windows = {f"window_latency_s.{name}" for name in full["end_to_end_latency_s"]}
    assert found | windows == set(METRICS)


def test_a_metric_is_the_number_at_its_path():
    summary = summarise(full_evidence())
    assert metric_value(summary, "end_to_end_latency_s.p95") == summary["end_to_end_latency_s"]["p95"]
    assert metric_value(summary, "resources.cores_used.java") == summary["resources"]["cores_used"]["java"]
    assert metric_value(summary, "steady_state.settled") is None


def test_the_unit_of_a_metric_fits_its_name():
    for path, unit in METRICS.items():
        if "bytes" in path:
            assert unit == "bytes"
        elif path.endswith(("rate_per_s", "slope_per_s", "_per_core")):
            assert unit == "per second"
        elif path.endswith((".count", "_share", "rows_max", "events")):
            assert unit is None
