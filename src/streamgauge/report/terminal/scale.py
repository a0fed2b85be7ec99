"""Capacity over cores, on the terminal."""

from rich.console import Console
from rich.table import Table

from streamgauge.experiments.scale import Scale
from streamgauge.measure import Scalability
from streamgauge.report.content.sets import capacity_interval
from streamgauge.report.terminal.console import bullets, console, key_values, plain_table, print_verdict
from streamgauge.units import format_count, format_rate


def law_in_words(law: Scalability) -> str:
    """Say what the fitted law means.

    >>> from streamgauge.measure import fit_universal_scalability
    >>> law_in_words(fit_universal_scalability([1, 2, 4, 8], [100, 180, 300, 420]))
    '99.31/s per core, contention 0.0895, coherence 0.00473'
    """
    if law.contention is None:
        return f"not known: {law.reason}"
    per_core = "unknown" if law.per_core is None else f"{format_count(law.per_core)}/s"
    coherence = "unknown" if law.coherence is None else f"{law.coherence:.3g}"
    peak = "" if law.peak_cores is None else f"; most at {law.peak_cores:.3g} cores"
    return f"{per_core} per core, contention {law.contention:.3g}, coherence {coherence}{peak}"


def _table(found: Scale) -> Table:
    with_partitions = any(capacity.shuffle_partitions is not None for capacity in found.capacities)
    partitions = ("partitions",) if with_partitions else ()
    names = ("cores", *partitions, "capacity", "95 % interval", "speed-up", "efficiency")
    rows = []
    for c in found.capacities:
        settings = (str(c.cores), *([str(c.shuffle_partitions)] if with_partitions else []))
        rate, interval = format_rate(c.rate_per_s), capacity_interval(vars(c))
        rows.append((*settings, rate, interval, f"{c.speed_up:.2f}", f"{c.efficiency:.0%}"))
    return plain_table(names, rows, numbers=names)


def print_scale(found: Scale, out: Console | None = None) -> None:
    """Print verdict, the table over cores, and the law."""
    out = out or console()
    print_verdict(out, found.verdict, found.workload, found.reasons)
    out.print(_table(found))
    out.print()
    rows = [("law", law_in_words(found.law))] if found.law else []
    rows += [("stored as", found.set_id), ("see it", f"streamgauge report {found.set_id}")]
    out.print(key_values(rows))
    out.print(bullets(found.warnings, "note:", style="yellow"))
