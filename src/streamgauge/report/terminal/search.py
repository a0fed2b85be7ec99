"""What a search for the sustainable rate found: the interval in words, then its probes."""

from collections.abc import Iterator

from rich.console import Console

from streamgauge.experiments.sustain import Sustained
from streamgauge.report.content.command import command_lines
from streamgauge.report.content.search import search_facts
from streamgauge.report.terminal.console import console, key_values, plain_table, print_verdict, verdict_text
from streamgauge.store import open_member
from streamgauge.units import format_rate

# A probe need not have enough micro-batches for a steady state, but a run has, and in a longer one slow moments of the
# machine weigh less.
AGAIN_TIMES = 3.0


def print_search(found: Sustained, out: Console | None = None) -> None:
    """Print the interval, why the search ended, and the probes in their order."""
    out = out or console()
    print_verdict(out, found.verdict, found.workload)
    search = found.search
    facts = search_facts(search.bracket, search, len(search.probes), search.spent_s)
    facts.insert(1, ("search", search.reason or "goes on"))
    out.print(key_values(facts))
    out.print()
    rows = [
        (
            str(number),
            format_rate(probe.rate_per_s),
            verdict_text(probe.verdict.value),
            probe.reasons[0] if probe.reasons else "",
            probe.run_id or "",
        )
        for number, probe in enumerate(search.probes, 1)
    ]
    out.print(plain_table(("probe", "rate", "verdict", "why", "run"), rows, numbers=("probe", "rate")))
    out.print()
    stored = [("stored as", found.set_id), ("see it", f"streamgauge report {found.set_id}")]
    out.print(key_values([*stored, *_again(found)]))


def _again(found: Sustained) -> Iterator[tuple[str, str]]:
    """Yield the commands that repeat the probes at both ends of the interval, for longer."""
    bracket = found.search.bracket
    for name, rate_per_s in (("low again", bracket.low_per_s), ("high again", bracket.high_per_s)):
        run_ids = [probe.run_id for probe in found.search.probes if probe.rate_per_s == rate_per_s and probe.run_id]
        if run_ids:
            # The first probe of all may have verified the answer as well; the last one of a rate has not.
            yield name, " ".join(command_lines(open_member(found.root, run_ids[-1]), times=AGAIN_TIMES))
