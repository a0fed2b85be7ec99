"""Sets of the model in a report: the runs of a calibration, and the errors of an evaluation."""

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


def _percent(value: Any) -> str:
    known = number(value)
    return "" if known is None else f"{100 * known:.1f} %"


def _signed(value: float) -> str:
    return f"{100 * value:+.1f} %"


def _aim(row: Mapping[str, Any]) -> str:
    of_p90 = _percent(row.get("p90_limit"))
    return _percent(row.get("limit")) + (f", p90 {of_p90}" if of_p90 else "")


def _error_table(title: str, rows: Sequence[Mapping[str, Any]], explanation: str) -> SetTable:
    with_aims = any(row.get("verdict") for row in rows)
    head = ("error", "pairs", "median", "p90", "most", *(("aim", "verdict", "why") if with_aims else ()))
    cells = []
    for row in rows:
        line = [Cell(str(row.get("name"))), Cell(str(row.get("pairs", "")))]
        line += [Cell(_percent(row.get(name))) for name in ("median", "p90")]
        # JSON has no infinity: an error that grows without end has a p90 but no largest value.
        is_endless = number(row.get("p90")) is not None and number(row.get("most")) is None
        line.append(Cell("no end" if is_endless else _percent(row.get("most"))))
        if with_aims:
            judged = row.get("verdict")
            verdict = Cell(verdict_of(judged), is_verdict=True) if judged else Cell("")
            line += [Cell(_aim(row)), verdict, Cell(str(row.get("text") or ""))]
        cells.append(tuple(line))
    return SetTable(title, head, tuple(cells), explanation, words_at_end=2 if with_aims else 0)


def _errors_of(pairs: Sequence[Mapping[str, Any]], source: str, target: str) -> list[float]:
    own = [pair for pair in pairs if (str(pair.get("source")), str(pair.get("target"))) == (source, target)]
    found = [number(mapping(pair.get("errors")).get("latency_mean_s")) for pair in own]
    return [error for error in found if error is not None]


def _matrix(pairs: Sequence[Mapping[str, Any]], workload: str) -> SetTable:
    own = [pair for pair in pairs if pair.get("workload") == workload]
    steps = list(dict.fromkeys(str(pair.get("source")) for pair in own))
    rows = []
    for source in steps:
        errors = [_errors_of(own, source, target) for target in steps]
        rows.append((Cell(source), *(Cell(_signed(fmean(found)) if found else "") for found in errors)))
    return SetTable(
        f"{workload}: from the step of a row to that of a column",
        ("from", *steps),
        tuple(rows),
        "Signed relative errors of mean latency, averaged over repetitions of the source; below 0 is too low. On the "
        "diagonal a run is predicted from itself.",
    )


def _limits(rows: Sequence[Mapping[str, Any]]) -> SetTable:
    cells = []
    for row in rows:
        predicted, measured = number(row.get("predicted")), number(row.get("measured"))
        if predicted is not None and measured:
            texts = [format_rate(predicted), format_rate(measured), _signed(predicted / measured - 1)]
            cells.append((Cell(str(row.get("run_id"))), *map(Cell, texts)))
    return SetTable("Sustainable rate", ("from", "predicted", "offline maximum", "error"), tuple(cells))


def describe_evaluation(set_: ReportedSet) -> ReportedSet:
    """Describe an evaluation: errors against aims, noise floor, simpler models, ablations, matrices."""
    result = set_.result
    pairs = items(result.get("pairs"))
    noise = mapping(result.get("noise"))
    facts = [("noise floor of " + name.removesuffix("_s").replace("_", " "), _percent(v)) for name, v in noise.items()]
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
