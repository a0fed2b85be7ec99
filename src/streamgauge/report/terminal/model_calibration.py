"""What the calibration of the model for a query found: its runs, and how much surer it is."""

from rich.console import Console

from streamgauge.predicting.calibrate import Calibration
from streamgauge.report.content.prediction import settings_text
from streamgauge.report.terminal.console import bullets, console, key_values, plain_table, print_verdict, verdict_text
from streamgauge.units import format_duration, format_rate


def print_model_calibration(found: Calibration, out: Console | None = None) -> None:
    """Print the runs, and the first settings predicted from the first run and from all of them."""
    out = out or console()
    print_verdict(out, found.verdict, found.workload, found.reasons)
    rows = [
        (result.name, verdict_text(result.verdict.value if result.verdict else "unknown"), result.run_id or "none")
        for result in found.results
    ]
    out.print(plain_table(("run", "verdict", "id"), rows))
    out.print()
    before, after = found.before, found.after
    facts = [
        ("predicted", settings_text(after.settings)),
        ("latency", f"{after.latency_mean_s.text(format_duration)}; "
                    f"from the first run {before.latency_mean_s.text(format_duration)}"),
        ("limit", f"{after.sustainable_rate_per_s.text(format_rate)}; "
                  f"from the first run {before.sustainable_rate_per_s.text(format_rate)}"),
        ("stored as", found.set_id),
        ("use it", f"streamgauge predict {found.set_id} --rate …"),
    ]  # fmt: skip
    out.print(key_values(facts))
    out.print(bullets(after.notes, "note:", style="yellow"))
