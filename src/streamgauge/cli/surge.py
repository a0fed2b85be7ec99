"""`surge`: what a spike above capacity does, and how long it takes to get over it."""

from typing import Annotated, Any

import typer

from streamgauge.cli.answer import measure_and_conclude
from streamgauge.cli.load_options import takes_options
from streamgauge.cli.options import Json, Quiet, Workload

Spike = Annotated[str | None, typer.Option("--spike", help="Events per second in it; default 150% of capacity.")]
SpikeDuration = Annotated[str, typer.Option("--spike-duration", help="How long the spike lasts.")]


@takes_options("surge")
def surge(
    workload: Workload,
    settings: dict[str, Any],
    spike: Spike = None,
    spike_duration: SpikeDuration = "5s",
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Offer a spike above capacity, and report the peaks of latency and backlog and the time to recover."""
    from streamgauge.experiments.surge import surge as measure
    from streamgauge.report.terminal.surge import print_surge

    own = {"spike": spike, "spike_duration": spike_duration}
    measure_and_conclude(measure, print_surge, workload, quiet=quiet, as_json=json_, **own, **settings)
