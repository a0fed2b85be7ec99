"""How good predictions are: the table of errors, simpler models and ablations beside it, and the matrix of pairs."""

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table

from streamgauge.predicting.evaluation import ErrorLine, Evaluation
from streamgauge.predicting.protocol import EvaluationProtocol
from streamgauge.report.content.model_sets import ERROR_COLUMNS, aim, error_cells, matrix, noise_text, percent
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


def _table(lines: Iterable[ErrorLine], first: str, *, with_aims: bool) -> Table:
    numbers = (*ERROR_COLUMNS, *(["aim"] if with_aims else []))
    rows = []
    for line in lines:
        judged = (aim(vars(line)), verdict_text(line.verdict.value if line.verdict else "")) if with_aims else ()
        rows.append((*error_cells(vars(line)), *judged))
    return plain_table((first, *numbers, *([""] if with_aims else [])), rows, numbers=numbers, padding=1)


def print_evaluation(found: Evaluation, out: Console | None = None) -> None:
    """Print errors, noise floor, baselines, ablations and the matrix of each workload."""
    out = out or console()
    print_verdict(out, found.verdict, ", ".join(found.workloads))
    out.print(_table(found.lines, "absolute relative error", with_aims=True))
    out.print(bullets([f"{line.name}: {line.text}" for line in found.lines if line.text], "  -"))
    noise = ", ".join(f"{noise_text(name)} {percent(share)}" for name, share in found.noise.items())
    out.print(key_values([("noise floor", f"a run against its repetitions: {noise}")]))
    out.print()
    out.print(_table(found.baselines, "mean latency, all pairs, by", with_aims=False))
    out.print()
    out.print(_table(found.ablations, "and by this model", with_aims=False))
    for workload in found.workloads:
        steps, rows = matrix(
            [(p.source, p.target, p.error("latency_mean_s")) for p in found.pairs if p.workload == workload]
        )
        if rows:
            out.print()
            out.print(plain_table((f"{workload}, from", *steps), rows, numbers=steps, padding=1))
    out.print()
    out.print(key_values([("stored as", found.set_id), ("see it", f"streamgauge report {found.set_id}")]))
    out.print(bullets(found.notes, "note:", style="yellow"))
