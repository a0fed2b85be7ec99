"""How good predictions are: the table of errors, simpler models and ablations beside it, and the matrix of pairs."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from streamgauge.predicting.evaluation import ErrorLine, Evaluation, Pair
from streamgauge.predicting.protocol import EvaluationProtocol
from streamgauge.report.terminal.console import bullets, console, key_values, plain_table, print_verdict, verdict_text
from streamgauge.units import format_duration


def plan_document(workloads: Sequence[str], protocol: EvaluationProtocol) -> dict[str, Any]:
    """Return what would run; the keys are those of `model evaluate --plan --json`."""
    own = [protocol.of(workload) for workload in workloads]
    return {
        "workloads": list(workloads),
        "steps": [step.name for step in protocol.steps],
        "repetitions": protocol.repetitions,
        "runs": sum(each.runs for each in own),
        "expected_duration_s": sum(each.takes_s for each in own),
    }


def plan_text(workloads: Sequence[str], protocol: EvaluationProtocol) -> str:
    """Say what would run, and how long that takes."""
    plan = plan_document(workloads, protocol)
    steps = f"{len(protocol.steps)} steps, up to {protocol.repetitions} times each"
    takes = format_duration(plan["expected_duration_s"])
    return f"{', '.join(workloads)}: {steps}, {plan['runs']} runs, about {takes}"


def percent(value: float | None) -> str:
    """Write a share; one that grows without end has no number.

    >>> percent(0.0423), percent(float("inf")), percent(None)
    ('4.2 %', 'no end', 'unknown')
    """
    if value is None:
        return "unknown"
    return f"{100 * value:.1f} %" if np.isfinite(value) else "no end"


def signed_percent(value: float) -> str:
    """Write a signed error.

    >>> signed_percent(-0.0423)
    '-4.2 %'
    """
    return f"{100 * value:+.1f} %" if np.isfinite(value) else "no end"


def aim(line: ErrorLine) -> str:
    """Say what was aimed at."""
    if line.limit is None:
        return ""
    of_p90 = f", p90 {100 * line.p90_limit:.0f} %" if line.p90_limit is not None else ""
    return f"{100 * line.limit:.3g} %{of_p90}"


def _table(lines: Iterable[ErrorLine], first: str, *, with_aims: bool) -> Table:
    numbers = ("pairs", "median", "p90", "most", *(["aim"] if with_aims else []))
    rows = []
    for line in lines:
        cells = [line.name, str(line.pairs), percent(line.median)]
        cells += ["" if value is None else percent(value) for value in (line.p90, line.most)]
        judged = (aim(line), verdict_text(line.verdict.value if line.verdict else "")) if with_aims else ()
        rows.append((*cells, *judged))
    return plain_table((first, *numbers, *([""] if with_aims else [])), rows, numbers=numbers, padding=1)


def matrix(pairs: Sequence[Pair], workload: str) -> tuple[list[str], list[list[str]]]:
    """Return the steps of a workload, and a row of signed errors of mean latency for each source."""
    own = [pair for pair in pairs if pair.workload == workload]
    steps = list(dict.fromkeys(pair.source for pair in own))
    rows = []
    for source in steps:
        errors = [[p.error("latency_mean_s") for p in own if (p.source, p.target) == (source, t)] for t in steps]
        rows.append([source, *(signed_percent(float(np.mean(found))) if found else "" for found in errors)])
    return steps, rows


def print_evaluation(found: Evaluation, out: Console | None = None) -> None:
    """Print errors, noise floor, baselines, ablations and the matrix of each workload."""
    out = out or console()
    print_verdict(out, found.verdict, ", ".join(found.workloads))
    out.print(_table(found.lines, "absolute relative error", with_aims=True))
    out.print(bullets([f"{line.name}: {line.text}" for line in found.lines if line.text], "  -"))
    noise = ", ".join(f"{name.removesuffix('_s').replace('_', ' ')} {percent(v)}" for name, v in found.noise.items())
    out.print(key_values([("noise floor", f"a run against its repetitions: {noise}")]))
    out.print()
    out.print(_table(found.baselines, "mean latency, all pairs, by", with_aims=False))
    out.print()
    out.print(_table(found.ablations, "and by this model", with_aims=False))
    for workload in found.workloads:
        steps, rows = matrix(found.pairs, workload)
        if rows:
            out.print()
            out.print(plain_table((f"{workload}, from", *steps), rows, numbers=steps, padding=1))
    out.print()
    out.print(key_values([("stored as", found.set_id), ("see it", f"streamgauge report {found.set_id}")]))
    out.print(bullets(found.notes, "note:", style="yellow"))
