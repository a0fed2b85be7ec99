"""What a search for the sustainable rate found: the interval in words, then its probes."""

from collections.abc import Iterator, Sequence
from statistics import mean, stdev

from rich.console import Console
from rich.text import Text

from streamgauge.experiment.search import Bracket
from streamgauge.experiment.sustain import Sustained
from streamgauge.report.console import COLOURS, console, key_values, plain_table
from streamgauge.report.html.command import command_lines
from streamgauge.store import open_run
from streamgauge.units import format_duration, format_rate

# A probe need not have enough micro-batches for a steady state, but a run has, and in a longer one slow moments of the
# machine weigh less.
AGAIN_TIMES = 3.0


def in_words(bracket: Bracket) -> str:
    """Say what is known about the sustainable rate.

    >>> in_words(Bracket(80_000.0, 84_000.0))
    'between 80k/s, which is sustained, and 84k/s, which is not'
    >>> in_words(Bracket(80_000.0, None))
    'at least 80k/s; no rate failed'
    """
    low, high = bracket.low_per_s, bracket.high_per_s
    if low is not None and high is not None:
        return f"between {format_rate(low)}, which is sustained, and {format_rate(high)}, which is not"
    if low is not None:
        return f"at least {format_rate(low)}; no rate failed"
    if high is not None:
        return f"below {format_rate(high)}; no rate passed"
    return "unknown: no probe passed or failed"


def scatter_in_words(capacities_per_s: Sequence[float]) -> str:
    """Say what single probes tell of the capacity, and how far they differ; nothing if fewer than two tell it.

    >>> scatter_in_words([8e6, 9e6, 10e6])
    '8M/s to 10M/s by the micro-batches of 3 probes, which scatter by 11 %'
    """
    if len(capacities_per_s) < 2:
        return ""
    low, high = (format_rate(end) for end in (min(capacities_per_s), max(capacities_per_s)))
    scatter = 100 * stdev(capacities_per_s) / mean(capacities_per_s)
    count = len(capacities_per_s)
    return f"{low} to {high} by the micro-batches of {count} probes, which scatter by {scatter:.2g} %"


def print_search(found: Sustained, out: Console | None = None) -> None:
    """Print the interval, why the search ended, and the probes in their order."""
    out = out or console()
    verdict = found.verdict.value
    out.print()
    out.print(Text.assemble((verdict.upper(), f"bold {COLOURS[verdict]}"), f"  {found.workload}"))
    facts = [
        ("sustained", in_words(found.search.bracket)),
        ("search", found.search.reason or "goes on"),
        ("capacity", scatter_in_words(found.search.capacities_per_s)),
        ("took", f"{len(found.search.probes)} probes, {format_duration(found.search.spent_s)}"),
    ]
    out.print(key_values((name, text) for name, text in facts if text))
    out.print()
    table = plain_table()
    for name in ("probe", "rate", "verdict", "why", "run"):
        table.add_column(name, justify="right" if name in ("probe", "rate") else "left", overflow="fold")
    for number, probe in enumerate(found.search.probes, 1):
        why = probe.reasons[0] if probe.reasons else ""
        table.add_row(
            str(number),
            format_rate(probe.rate_per_s),
            Text(probe.verdict.value, style=COLOURS[probe.verdict.value]),
            why,
            probe.run_id or "",
        )
    out.print(table)
    out.print()
    rows = [("stored as", found.set_id), ("see it", f"streamgauge report {found.set_id}")]
    rows += _again(found)
    out.print(key_values(rows))


def _again(found: Sustained) -> Iterator[tuple[str, str]]:
    """Yield the commands that repeat the probes at both ends of the interval, for longer."""
    bracket = found.search.bracket
    for name, rate_per_s in (("low again", bracket.low_per_s), ("high again", bracket.high_per_s)):
        run_ids = [probe.run_id for probe in found.search.probes if probe.rate_per_s == rate_per_s and probe.run_id]
        if run_ids:
            # The first probe of all may have verified the answer as well; the last one of a rate has not.
            yield name, " ".join(command_lines(open_run(found.root, run_ids[-1]), times=AGAIN_TIMES))
