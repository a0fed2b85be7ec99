"""`fault`: what a killed driver does to the results, and how long it takes to get over it."""

from typing import Annotated, Any

import typer

from streamgauge.cli.load_options import runs_workload
from streamgauge.cli.options import EXIT_BY_VERDICT, Json, Quiet, print_json

Rate = Annotated[
    str | None, typer.Option("--rate", help="Events per second; default that of a prototype file, or 20k.")
]
Duration = Annotated[str, typer.Option("--duration", help="How long events are offered.")]
At = Annotated[
    str | None,
    typer.Option("--at", help="When to kill the driver, after the start of the load; default after a third of it."),
]
Down = Annotated[str, typer.Option("--down", help="How long to wait before the restart.")]


@runs_workload(without=("load", "warmup", "master", "events", "source", "sink", "mode", "verify"))
def fault(
    workload: Annotated[str, typer.Argument(help="A name from `list`, or a prototype file (*.yaml).")],
    settings: dict[str, Any],
    rate: Rate = None,
    duration: Duration = "75s",
    at: At = None,
    down: Down = "0s",
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Kill the driver in mid-run, restart it from its checkpoint, and count lost and doubled results."""
    from streamgauge.experiment.fault import fault as measure
    from streamgauge.report.progress import progress_display

    with progress_display(quiet=quiet) as monitor:
        found = measure(workload, rate=rate, duration=duration, at=at, down=down, monitor=monitor, **settings)
    if json_:
        print_json(found.document())
    else:
        from streamgauge.report.fault import print_fault

        print_fault(found)
    raise typer.Exit(EXIT_BY_VERDICT[found.verdict.value])
