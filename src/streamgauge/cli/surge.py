"""`surge`: what a spike above capacity does, and how long it takes to get over it."""

from typing import Annotated, Any

import typer

from streamgauge.cli.answer import conclude
from streamgauge.cli.load_options import takes_options
from streamgauge.cli.options import Json, Quiet

Spike = Annotated[str | None, typer.Option("--spike", help="Events per second in it; default 150% of capacity.")]
SpikeDuration = Annotated[str, typer.Option("--spike-duration", help="How long the spike lasts.")]


@takes_options("surge")
def surge(
    workload: Annotated[
        str, typer.Argument(help="A name from `list`, file.py:function, or a prototype file (*.yaml).")
    ],
    settings: dict[str, Any],
    spike: Spike = None,
    spike_duration: SpikeDuration = "5s",
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Offer a spike above capacity, and report the peaks of latency and backlog and the time to recover."""
    from streamgauge.experiments.surge import surge as measure
    from streamgauge.report.terminal.progress import progress_display
    from streamgauge.report.terminal.surge import print_surge

    with progress_display(quiet=quiet) as monitor:
        found = measure(workload, spike=spike, spike_duration=spike_duration, monitor=monitor, **settings)
    conclude(found, print_surge, as_json=json_, runs=settings.get("runs"))
