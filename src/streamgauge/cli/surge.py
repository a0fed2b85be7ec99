"""`surge`: what a spike above capacity does, and how long it takes to get over it."""

from typing import Annotated, Any

import typer

from streamgauge.cli.load_options import Duration, runs_workload
from streamgauge.cli.options import EXIT_BY_VERDICT, Json, Quiet, print_json

Rate = Annotated[
    str | None, typer.Option("--rate", help="Events per second before and after the spike; default 30% of capacity.")
]
Spike = Annotated[str | None, typer.Option("--spike", help="Events per second in it; default 150% of capacity.")]
SpikeDuration = Annotated[str, typer.Option("--spike-duration", help="How long the spike lasts.")]


@runs_workload(without=("load", "arrivals", "explore"))
def surge(
    workload: Annotated[
        str, typer.Argument(help="A name from `list`, file.py:function, or a prototype file (*.yaml).")
    ],
    settings: dict[str, Any],
    rate: Rate = None,
    spike: Spike = None,
    spike_duration: SpikeDuration = "5s",
    duration: Duration = "60s",
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Offer a spike above capacity, and tell the peaks of latency and backlog and the time to recover."""
    from streamgauge.experiment.surge import surge as measure
    from streamgauge.report.progress import progress_display

    with progress_display(quiet=quiet) as monitor:
        found = measure(
            workload,
            rate=rate,
            spike=spike,
            spike_duration=spike_duration,
            duration=duration,
            monitor=monitor,
            **settings,
        )
    if json_:
        print_json(found.document())
    else:
        from streamgauge.report.surge import print_surge

        print_surge(found)
    raise typer.Exit(EXIT_BY_VERDICT[found.verdict.value])
