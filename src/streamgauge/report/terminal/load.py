"""A load on the terminal."""

from collections.abc import Callable

from rich.console import Console

from streamgauge.connectors.kafka.delivery import LATE_S, Delivery
from streamgauge.experiments.load import Loaded
from streamgauge.printable import echo
from streamgauge.report.terminal.console import console, key_values
from streamgauge.units import format_count, format_duration, format_rate

TELL_S = 5.0


def load_progress(*, quiet: bool) -> Callable[[float, float, Delivery], None]:
    """Return what shows every few seconds, on standard error, what was sent."""
    told_s = 0.0

    def report_progress(elapsed_s: float, load_s: float, delivery: Delivery) -> None:
        nonlocal told_s
        if quiet or elapsed_s - told_s < TELL_S:
            return
        told_s = elapsed_s
        behind = f", {delivery.late:,} of them late" if delivery.late else ""
        echo(f"load: {elapsed_s:.0f} of {load_s:.0f} s, {delivery.sent:,} events sent{behind}", err=True)

    return report_progress


def print_load(found: Loaded, out: Console | None = None) -> None:
    """Print what was sent, and how well the law was kept."""
    out = out or console()
    delivery, order = found.delivery, found.order
    rate = "" if found.sent_rate_per_s is None else f", {format_rate(found.sent_rate_per_s)}"
    mean = "nothing sent" if delivery.mean_late_s is None else f"mean {format_duration(delivery.mean_late_s)}"
    rows = [
        ("topic", f"{order.topic} with {order.partitions} partitions at {order.address}"),
        ("events", f"{format_count(delivery.sent)} of {order.stream}{rate}"),
        ("lateness", f"{mean}, max {format_duration(delivery.max_late_s)}"),
        ("late events", f"{format_count(delivery.late)}, by more than {format_duration(LATE_S)}"),
        ("not taken", format_count(delivery.failed) + (f": {delivery.failure}" if delivery.failure else "")),
        ("verdict", found.verdict.value),
    ]
    out.print(key_values(rows))
    if delivery.is_behind:
        out.print("the generator fell behind the law: a run that reads this load gets the verdict unknown")
