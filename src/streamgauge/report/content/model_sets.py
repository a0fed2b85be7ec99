"""Sets of the model in a report: the runs of a calibration, and the errors of an evaluation."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from statistics import fmean
from typing import Any

from streamgauge.report.content.set_tables import (
    Cell,
    ReportedSet,
    SetTable,
    items,
    mapping,
    number,
    strings,
    verdict_of,
)
from streamgauge.units import format_duration, format_rate


def percent(value: Any) -> str:
    """Write a share; one that grows without end has no number.

    >>> percent(0.0423), percent(float("inf")), percent(None)
    ('4.2 %', 'no end', 'unknown')
    """
    if not isinstance(value, int | float):
        return "unknown"
    return f"{100 * value:.1f} %" if math.isfinite(value) else "no end"


def _signed_percent(value: float) -> str:
    return f"{100 * value:+.1f} %" if math.isfinite(value) else "no end"


def aim(line: Mapping[str, Any]) -> str:
    """Say what was aimed at."""
    limit, p90_limit = number(line.get("limit")), number(line.get("p90_limit"))
    if limit is None:
        return ""
    return f"{100 * limit:.3g} %" + (f", p90 {100 * p90_limit:.0f} %" if p90_limit is not None else "")


def noise_text(name: str) -> str:
    """Name the metric of a noise floor."""
    return name.removesuffix("_s").replace("_", " ")


ERROR_COLUMNS = ("pairs", "median", "p90", "most")


def error_cells(line: Mapping[str, Any]) -> list[str]:
    """Return the name of a line of errors and the cells of `ERROR_COLUMNS`."""
    p90, most = line.get("p90"), line.get("most")
    # JSON has no infinity: an error that grows without end has a p90 but no largest value.
    most = math.inf if most is None and p90 is not None else most
    of_size = ["" if value is None else percent(value) for value in (p90, most)]
    return [str(line.get("name")), str(line.get("pairs", "")), percent(line.get("median")), *of_size]


def matrix(errors: Sequence[tuple[str, str, float | None]]) -> tuple[list[str], list[list[str]]]:
    """Return steps, and for each as the source a row of mean signed errors to all of them; None is an unknown error."""
    steps = list(dict.fromkeys(source for source, _, _ in errors))
    rows = []
    for source in steps:
        found = [[e for s, t, e in errors if (s, t) == (source, target) and e is not None] for target in steps]
        rows.append([source, *(_signed_percent(fmean(own)) if own else "" for own in found)])
    return steps, rows


def _error_table(title: str, rows: Sequence[Mapping[str, Any]], explanation: str) -> SetTable:
    with_aims = any(row.get("verdict") for row in rows)
    head = ("error", *ERROR_COLUMNS, *(("aim", "verdict", "why") if with_aims else ()))
    cells = []
    for row in rows:
        line = [Cell(text) for text in error_cells(row)]
        if with_aims:
            judged = row.get("verdict")
            verdict = Cell(verdict_of(judged), is_verdict=True) if judged else Cell("")
            line += [Cell(aim(row)), verdict, Cell(str(row.get("text") or ""))]
        cells.append(tuple(line))
    return SetTable(title, head, tuple(cells), explanation, words_at_end=2 if with_aims else 0)


def _matrix(pairs: Sequence[Mapping[str, Any]], workload: str) -> SetTable:
    steps, rows = matrix(
        [
            (
                str(pair.get("source")),
                str(pair.get("target")),
                number(mapping(pair.get("errors")).get("latency_mean_s")),
            )
            for pair in pairs
            if pair.get("workload") == workload
        ]
    )
    return SetTable(
        f"{workload}: from the step of a row to that of a column",
        ("from", *steps),
        tuple(tuple(map(Cell, row)) for row in rows),
        "Signed relative errors of mean latency, averaged over repetitions of the source; below 0 is too low. On the "
        "diagonal a run is predicted from itself.",
    )


def _limits(rows: Sequence[Mapping[str, Any]]) -> SetTable:
    cells = []
    for row in rows:
        predicted, measured = number(row.get("predicted")), number(row.get("measured"))
        if predicted is not None and measured:
            texts = [format_rate(predicted), format_rate(measured), _signed_percent(predicted / measured - 1)]
            cells.append((Cell(str(row.get("run_id"))), *map(Cell, texts)))
    return SetTable("Sustainable rate", ("from", "predicted", "offline maximum", "error"), tuple(cells))


def describe_evaluation(set_: ReportedSet) -> ReportedSet:
    """Describe an evaluation: errors against aims, noise floor, simpler models, ablations, matrices."""
    result = set_.result
    pairs = items(result.get("pairs"))
    noise = mapping(result.get("noise"))
    facts = [(f"noise floor of {noise_text(name)}", percent(share)) for name, share in noise.items()]
    tables = [
        _error_table(
            "Errors of predictions", items(result.get("errors")), "Absolute relative errors over pairs of steps."
        ),
        _error_table("Simpler models", items(result.get("baselines")), "Mean latency, all pairs of different steps."),
        _error_table("Without parts of the model", items(result.get("ablations")), "Mean latency, all pairs."),
        *(_matrix(pairs, workload) for workload in strings(result.get("workloads"))),
        _limits(items(result.get("limits"))),
    ]
    return replace(set_, facts=tuple(facts), tables=tuple(table for table in tables if table.rows))


def describe_calibration(set_: ReportedSet) -> ReportedSet:
    """Describe a calibration: its runs, and what they changed."""
    result = set_.result
    facts = []
    for name, word in (("before", "from the first run"), ("after", "from all runs")):
        latency = mapping(mapping(result.get(name)).get("end_to_end_latency_s"))
        ends = [number(latency.get(end)) for end in ("mean", "low", "high")]
        if None not in ends:
            mean, low, high = (format_duration(end or 0.0) for end in ends)
            facts.append((f"latency {word}", f"{mean} ({low} to {high})"))
    rows = tuple(
        (
            Cell(str(row.get("name"))),
            Cell(verdict_of(row.get("verdict")), is_verdict=True),
            Cell(str(row.get("run_id")), run_id=str(row.get("run_id"))),
        )
        for row in items(result.get("runs"))
    )
    table = SetTable("Runs", ("configuration", "verdict", "run"), rows, words=3)
    return replace(set_, facts=tuple(facts), tables=(table,) if rows else ())
