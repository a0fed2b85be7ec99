"""What a suite would run, and what came out of it."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.measure import Measurement
from rich.table import Table
from rich.text import Text

from streamgauge.experiments.suite_result import SuiteResult
from streamgauge.metrics import METRIC
from streamgauge.report.terminal.console import (
    COLOURS,
    bullets,
    console,
    key_values,
    plain_table,
    print_verdict,
    verdict_text,
)
from streamgauge.store import runs_root
from streamgauge.suite import Judgement, RunResult, Threshold
from streamgauge.units import format_duration
from streamgauge.verdict import Verdict

MAX_REASONS = 30
# Of a terminal in which any table fits.
UNLIMITED = 10_000
MARKS = {Verdict.PASS: "", Verdict.FAIL: " ✗", Verdict.UNKNOWN: " ?"}


def print_suite_plan(plan: Mapping[str, Any], out: Console | None = None) -> None:
    """Print the runs of a suite in their order, and how long they take."""
    out = out or console()
    heading = f"{plan['suite']}: {plan['description']}" if plan["description"] else plan["suite"]
    out.print(Text(heading, style="bold"))
    out.print()
    numbers = ("", "repetition", "takes about", "thresholds")
    planned_runs = [
        (
            str(number),
            planned["name"],
            f"{planned['repetition']} of {planned['repetitions']}",
            format_duration(planned["expected_duration_s"]),
            str(len(planned["thresholds"])),
        )
        for number, planned in enumerate(plan["runs"], 1)
    ]
    out.print(plain_table(("", "run", *numbers[1:]), planned_runs, numbers=numbers))
    out.print()
    runs = "1 run" if plan["size"] == 1 else f"{plan['size']:,} runs"
    rows = [("in all", f"{runs}, about {format_duration(plan['expected_duration_s'])}")]
    if plan["needs_confirmation"]:
        rows.append(("start", "asks first; with --yes it does not"))
    rows += [("order", text) for text in plan["orders"]]
    if plan["baseline"] is not None:
        rows.append(("baseline", plan["baseline"]))
    out.print(key_values(rows))


def print_suite(found: SuiteResult, out: Console | None = None) -> None:
    """Print the verdict, the runs with the numbers that thresholds are about, and why runs do not pass."""
    out = out or console()
    passed = sum(result.combined is Verdict.PASS for result in found.results)
    print_verdict(out, found.verdict, f"{found.suite.name}: {passed} of {len(found.results)} runs pass")
    out.print()
    thresholds = _thresholds(found.results)
    if thresholds:
        out.print(key_values((f"threshold {number}", t.text) for number, t in enumerate(thresholds, 1)))
        out.print()
    table = _runs_table(found.results, thresholds, with_ids=True)
    has_ids = Measurement.get(out, out.options.update_width(UNLIMITED), table).maximum <= out.width
    out.print(table if has_ids else _runs_table(found.results, thresholds, with_ids=False))
    reasons = [f"{result.name}: {reason}" for result in found.results for reason in result.all_reasons]
    _print_reasons(reasons, out)
    if found.orders:
        out.print()
        orders = [(order.text, _coloured(judgement.verdict), judgement.text) for order, judgement in found.orders]
        out.print(plain_table(("order", "verdict", "why"), orders))
    if found.baseline:
        out.print()
        out.print(Text(f"compared with the baseline {found.suite.baseline}", style="bold"))
        changes = [(compared.name, _coloured(compared.verdict), compared.reason) for compared in found.baseline]
        out.print(plain_table(("runs", "verdict", "change"), changes))
    out.print()
    out.print(key_values(_endings(found, has_ids=has_ids)))


def _thresholds(results: Sequence[RunResult]) -> list[Threshold]:
    """Return all thresholds, those on the same metric one after the other."""
    found = list(dict.fromkeys(threshold for result in results for threshold, _ in result.judgements))
    metrics = list(dict.fromkeys(threshold.metric for threshold in found))
    return sorted(found, key=lambda threshold: metrics.index(threshold.metric))


def _runs_table(results: Sequence[RunResult], thresholds: Sequence[Threshold], *, with_ids: bool) -> Table:
    """Return a row for each run, with one column for all thresholds on the same metric."""
    numbers: dict[str, list[int]] = {}
    for number, threshold in enumerate(thresholds, 1):
        numbers.setdefault(threshold.metric, []).append(number)
    table = plain_table()
    table.add_column("run", overflow="fold")
    table.add_column("verdict", no_wrap=True)
    for first, *others in numbers.values():
        table.add_column(f"{first} to {others[-1]}" if others else str(first), justify="right", no_wrap=True)
    if with_ids:
        # Whole, so that it can be copied.
        table.add_column("run id", no_wrap=True)
    for result in results:
        cells = [_value(metric, [j for t, j in result.judgements if t.metric == metric]) for metric in numbers]
        ids = [Text(result.run_id or "not stored")] if with_ids else []
        table.add_row(Text(result.name), _coloured(result.combined), *cells, *ids)
    return table


def _coloured(verdict: Verdict | None) -> Text:
    return verdict_text((verdict or Verdict.UNKNOWN).value)


def _value(metric: str, judgements: Sequence[Judgement]) -> Text:
    """Return the number that thresholds are about, marked where it is not as they require."""
    if not judgements:
        return Text("")
    left, verdict = judgements[0].left, Verdict.combine(judgement.verdict for judgement in judgements)
    value = "" if left is None else METRIC[metric].form(left)
    return Text((value + MARKS[verdict]).strip(), style="" if verdict is Verdict.PASS else COLOURS[verdict.value])


def _print_reasons(reasons: Sequence[str], out: Console) -> None:
    if not reasons:
        return
    shown = list(reasons[:MAX_REASONS])
    if len(reasons) > MAX_REASONS:
        shown.append(f"and {len(reasons) - MAX_REASONS} more; --json has them all")
    out.print()
    out.print(bullets(shown, "•"))


def _endings(found: SuiteResult, *, has_ids: bool) -> Iterator[tuple[str, str]]:
    took_s = sum(result.took_s for result in found.results)
    yield "took", format_duration(took_s)
    if found.contended:
        yield "re-run", f"{', '.join(found.contended)}: contended, so quieter runs count instead"
    if found.dropped:
        yield "left out", f"{', '.join(found.dropped)}: in the set, but not planned any more"
    if not has_ids:
        yield "run ids", "in the report, and with --json"
    yield "stored as", found.set_id
    place = "" if found.root == runs_root() else f" --runs {found.root}"
    yield "report", f"streamgauge report {found.set_id}{place}"
