"""`run`: measure a workload at a load."""

from typing import Annotated, Any

import typer

from streamgauge.cli.load_options import runs_workload
from streamgauge.cli.options import EXIT_BY_VERDICT, Json, Quiet, print_json
from streamgauge.errors import EXIT_INTERRUPTED


@runs_workload()
def run(
    workload: Annotated[str, typer.Argument(help="A name from `list`, or file.py:function.")],
    settings: dict[str, Any],
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Measure how fast and how late a workload is at a given load."""
    from streamgauge.experiment.run import run as measure
    from streamgauge.report.progress import progress_display

    with progress_display(quiet=quiet) as monitor:
        result = measure(workload, monitor=monitor, **settings)
    stored = result.stored()
    if json_:
        print_json(result.summary)
    else:
        from streamgauge.report.terminal import print_summary

        print_summary(stored)
    interrupted = stored.status == "interrupted"
    raise typer.Exit(EXIT_INTERRUPTED if interrupted else EXIT_BY_VERDICT[result.verdict])
