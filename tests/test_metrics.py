"""The metrics are the numbers of a summary: none is missing, none is made up, and the reference lists them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any, get_args

import pytest
from typing_extensions import get_type_hints, is_typeddict

from made_runs import samples
from streamgauge.conclude.evidence import GeneratorCost
from streamgauge.conclude.summary import summarise
from streamgauge.machine.process import ROLES
from streamgauge.measure.batch import Phases
from streamgauge.metrics import METRIC, METRICS, PERCENTILES, PHASES, Metric
from streamgauge.summary import Summary

DOCS = Path(__file__).parents[1] / "docs/reference"


def numbers(kind: type, before: str = "") -> Iterator[str]:
    """Yield the paths of the numbers that a type of the summary has."""
    for name, hint in get_type_hints(kind).items():
        path = f"{before}{name}"
        for one in get_args(hint) or (hint,):
            if is_typeddict(one):
                yield from numbers(one, f"{path}.")
            elif one in (int, float):
                yield path


def test_every_number_of_a_summary_is_a_metric_and_every_metric_is_in_a_summary():
    by_name = {
        "phases_s": PHASES,
        "resources.cores_used": ROLES,
        "resources.peak_memory_bytes": ROLES,
    }
    found = {path for path in numbers(Summary) if path not in (*by_name, "schema_version")}
    assert found | {f"{path}.{name}" for path, names in by_name.items() for name in names} == set(METRIC)


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


def unnamed(document: Mapping[str, Any], kind: type, before: str = "") -> Iterator[str]:
    """Yield the keys of a document that its type does not have."""
    hints = get_type_hints(kind)
    for name, value in document.items():
        if name not in hints:
            yield f"{before}{name}"
        for one in get_args(hints.get(name)) or (hints.get(name),):
            if is_typeddict(one) and isinstance(value, Mapping):
                yield from unnamed(value, one, f"{before}{name}.")


def test_the_types_have_every_key_of_a_summary():
    assert list(unnamed(summarise(full_evidence()), Summary)) == []
    assert list(unnamed({"state": {"rows_max": 1, "planted": 2}, "other": 3}, Summary)) == ["state.planted", "other"]


def test_paths_and_titles_are_unique():
    assert len(METRIC) == len(METRICS)
    titles = [metric.title for metric in METRICS]
    assert {title for title in titles if titles.count(title) > 1} == set()


def test_a_metric_is_the_number_at_its_path():
    summary = summarise(full_evidence())
    assert METRIC["end_to_end_latency_s.p95"].value(summary) == summary["end_to_end_latency_s"]["p95"]
    assert METRIC["resources.cores_used.java"].value(summary) == summary["resources"]["cores_used"]["java"]


@pytest.mark.parametrize("value", [None, True, "7", {"a": 1}])
def test_what_is_not_a_number_is_unknown(value):
    assert METRIC["batches"].value({"batches": value}) is None
    assert METRIC["batches"].text({"batches": value}) == "unknown"
    assert METRIC["state.rows_max"].text({"state": value}, missing="-") == "-"


def test_the_unit_of_a_metric_fits_its_name():
    for path, metric in METRIC.items():
        if "bytes" in path:
            assert metric.unit == "bytes"
        elif path.endswith(("rate_per_s", "slope_per_s", "_per_core")):
            assert metric.unit == "per second"
        elif path.endswith((".count", "_share", "rows_max", "events")):
            assert metric.unit is None


def test_every_metric_writes_its_numbers():
    for metric in METRICS:
        assert all(metric.form(value) for value in (0, 0.25, -1.5, 1_234_567))


def test_what_a_comparison_decides_has_a_direction():
    assert all(metric.better for metric in METRICS if metric.change)


def test_the_phases_are_those_of_a_micro_batch_with_the_execution_split():
    assert set(PHASES) == {*Phases.names, "tasks", "scheduling"}


def listed(metrics: list[Metric]) -> str:
    """Return names as the reference writes them: of those with the same parent, the parent once."""
    cells = []
    for parent, members in groupby((metric.path for metric in metrics), key=lambda path: path.rpartition(".")[0]):
        first, *others = members
        cells += [f"`{first}`", *(f"`{name.removeprefix(parent)}`" if parent else f"`{name}`" for name in others)]
    return ", ".join(cells)


def documented() -> str:
    """Return the table of the reference: a row for metrics that mean the same."""

    def shared(metric: Metric) -> tuple[str, ...]:
        unit = {"per second": "events per second"}.get(metric.unit or "", metric.unit or "")
        return unit, metric.better or "", "yes" if metric.is_timed else "", metric.meaning

    rows = [f"| {listed(list(group))} | {' | '.join(key)} |" for key, group in groupby(METRICS, key=shared)]
    return "\n".join(["| metric | unit | better | timed | meaning |", "|---|---|---|---|---|", *rows])


def test_the_reference_has_the_table_of_metrics():
    assert documented() in (DOCS / "suite-file.md").read_text()


def test_the_reference_lists_what_a_comparison_decides():
    page = (DOCS / "compare.md").read_text()
    table = page[page.index("| metric | better |") :].partition("\n\n")[0]
    found: dict[str, str] = {}
    for names, better in re.findall(r"^\| (`.*`).*? \| (\w+) \|$", table, re.MULTILINE):
        first, *others = re.findall(r"`([\w.]+)`", names)
        found |= dict.fromkeys([first, *(first.rpartition(".")[0] + name for name in others)], better)
    assert found == {metric.path: metric.better for metric in METRICS if metric.change}


def test_percentiles_are_those_of_the_histogram():
    assert tuple(summarise(samples.evidence())["end_to_end_latency_s"]) == ("count", *PERCENTILES)
