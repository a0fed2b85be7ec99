"""`load`: publish an event stream to Kafka, open loop."""

from typing import Annotated, Any

import typer

from streamgauge.cli.answer import conclude
from streamgauge.cli.load_options import takes_options
from streamgauge.cli.options import Json, Quiet


@takes_options("load")
def load(
    workload: Annotated[str, typer.Argument(help="A name from `list`, or a prototype file (*.yaml).")],
    settings: dict[str, Any],
    partitions: Annotated[
        int | None, typer.Option("--partitions", help="Partitions of a new topic; default 2, or one per process.")
    ] = None,
    processes: Annotated[int, typer.Option("--processes", help="Processes that send.")] = 1,
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Publish the events of a workload to a topic: each at its time, whoever reads them."""
    from streamgauge.experiments.load import load as send
    from streamgauge.report.terminal.load import load_progress, print_load

    progress = load_progress(quiet=quiet)
    found = send(workload, partitions=partitions, processes=processes, report_progress=progress, **settings)
    conclude(found, print_load, as_json=json_, is_interrupted=found.is_interrupted)
