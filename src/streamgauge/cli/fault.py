"""`fault`: what faults do to the results, and how long it takes to get over them."""

from typing import Annotated, Any

import typer

from streamgauge.cli.answer import measure_and_conclude
from streamgauge.cli.load_options import takes_options
from streamgauge.cli.options import Json, Quiet

Kind = Annotated[str, typer.Option("--fault", help="driver, executor, worker, broker, sink-stall, disk-full or pause.")]
Sink = Annotated[
    str, typer.Option("--sink", help="Where results go: foreach-batch, parquet, foreach, append, kafka or redis.")
]
At = Annotated[
    str | None,
    typer.Option(
        "--at",
        help=(
            "When: a time of the load, default a third of it; a point (before-batch, in-batch, after-batch, "
            "offset-commit: between sink and commit); or both. Default for a driver: a third and offset-commit."
        ),
    ),
]
Down = Annotated[str, typer.Option("--down", help="How long to wait before a restart.")]
Pause = Annotated[str, typer.Option("--pause", help="How long processes or the sink stall.")]
Faults = Annotated[str | None, typer.Option("--faults", help='Several faults, e.g. "8s driver in-batch; 20s pause".')]
Sequence = Annotated[int | None, typer.Option("--sequence", metavar="SEED", help="Draw a sequence of faults by seed.")]
Length = Annotated[int, typer.Option("--length", min=1, max=20, help="How many faults a sequence has.")]


@takes_options("fault")
def fault(
    workload: Annotated[str, typer.Argument(help="A name from `list`, or a prototype file (*.yaml).")],
    settings: dict[str, Any],
    kind: Kind = "driver",
    sink: Sink = "foreach-batch",
    at: At = None,
    down: Down = "0s",
    pause: Pause = "2s",
    faults: Faults = None,
    sequence: Sequence = None,
    length: Length = 3,
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Make a fault in mid-run, such as a killed driver, and count lost and doubled results."""
    from streamgauge.faults.fault import fault as measure
    from streamgauge.report.terminal.fault import print_fault

    one = {"fault": kind, "sink": sink, "at": at, "down": down, "pause": pause}
    several = {"faults": faults, "sequence": sequence, "length": length}
    measure_and_conclude(measure, print_fault, workload, quiet=quiet, as_json=json_, **one, **several, **settings)
