"""`fault`: what faults do to the results, and how long it takes to get over them."""

from typing import Annotated, Any

import typer

from streamgauge.cli.load_options import runs_workload
from streamgauge.cli.options import EXIT_BY_VERDICT, Json, Quiet, print_json

Kind = Annotated[str, typer.Option("--fault", help="driver, executor, worker, broker, sink-stall, disk-full or pause.")]
Sink = Annotated[
    str, typer.Option("--sink", help="Where results go: foreach-batch, parquet, foreach, append, kafka or redis.")
]
Rate = Annotated[
    str | None, typer.Option("--rate", help="Events per second; default that of a prototype file, or 20k.")
]
Duration = Annotated[str, typer.Option("--duration", help="How long events are offered.")]
At = Annotated[
    str | None,
    typer.Option(
        "--at",
        help=(
            "When: a time of the load, default a third of it; a point (before-batch, in-batch, after-batch, "
            "offset-commit); or both."
        ),
    ),
]
Down = Annotated[str, typer.Option("--down", help="How long to wait before a restart.")]
Pause = Annotated[str, typer.Option("--pause", help="How long processes or the sink stand still.")]
Faults = Annotated[str | None, typer.Option("--faults", help='Several faults, e.g. "8s driver in-batch; 20s pause".')]
Sequence = Annotated[int | None, typer.Option("--sequence", metavar="SEED", help="Draw a sequence of faults by seed.")]
Count = Annotated[int, typer.Option("--count", min=1, max=20, help="How many faults to draw.")]


@runs_workload(without=("load", "warmup", "events", "source", "sink", "mode", "latency", "verify", "explore"))
def fault(
    workload: Annotated[str, typer.Argument(help="A name from `list`, or a prototype file (*.yaml).")],
    settings: dict[str, Any],
    kind: Kind = "driver",
    sink: Sink = "foreach-batch",
    rate: Rate = None,
    duration: Duration = "75s",
    at: At = None,
    down: Down = "0s",
    pause: Pause = "2s",
    faults: Faults = None,
    sequence: Sequence = None,
    count: Count = 3,
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Make a fault in mid-run, such as a killed driver, and count lost and doubled results."""
    from streamgauge.experiment.fault import fault as measure
    from streamgauge.report.progress import progress_display

    with progress_display(quiet=quiet) as monitor:
        found = measure(
            workload,
            fault=kind,
            sink=sink,
            rate=rate,
            duration=duration,
            at=at,
            down=down,
            pause=pause,
            faults=faults,
            sequence=sequence,
            count=count,
            monitor=monitor,
            **settings,
        )
    if json_:
        print_json(found.document())
    else:
        from streamgauge.report.fault import print_fault

        print_fault(found)
    raise typer.Exit(EXIT_BY_VERDICT[found.verdict.value])
