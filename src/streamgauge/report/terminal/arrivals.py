"""An arrival law on the terminal: its rate over time, and how many events that is."""

from typing import Any

from rich.console import Console
from rich.text import Text

from streamgauge.arrivals import Law, draw_law
from streamgauge.report.terminal.console import console, key_values
from streamgauge.units import format_duration, format_rate

MAX_WIDTH = 100
SAMPLES = 100


def describe_arrivals(law: Law, duration_s: float) -> dict[str, Any]:
    """Return the law in numbers; the keys are those of `describe --arrivals --json`."""
    times_s = [duration_s * k / SAMPLES for k in range(SAMPLES + 1)]
    return {
        "arrivals": law.describe(),
        "duration_s": duration_s,
        "events": law.schedule(duration_s).total,
        "mean_rate_per_s": law.mean_rate_per_s(duration_s),
        "max_rate_per_s": law.max_rate_per_s(duration_s),
        "rate_per_s": [[t_s, float(rate_per_s)] for t_s, rate_per_s in zip(times_s, law.rate_at(times_s), strict=True)],
    }


def print_arrivals(law: Law, duration_s: float, out: Console | None = None) -> None:
    """Draw the law over its first seconds."""
    out = out or console()
    found = describe_arrivals(law, duration_s)
    out.print(Text(found["arrivals"], style="bold"))
    out.print()
    out.print(Text(draw_law(law, duration_s, width=min(out.width, MAX_WIDTH))))
    out.print()
    rates = f"{format_rate(found['mean_rate_per_s'])} on average, {format_rate(found['max_rate_per_s'])} at most"
    out.print(key_values([("rate", rates), ("events", f"{found['events']:,} in {format_duration(duration_s)}")]))
