"""`verify`: is the answer right?"""

from pathlib import Path
from typing import Annotated, Any

import typer

from streamgauge.cli.answer import conclude
from streamgauge.cli.load_options import refuse_wrong_prototype, takes_options
from streamgauge.cli.options import Json, Quiet


@takes_options("verify")
def verify(
    settings: dict[str, Any],
    names: Annotated[
        list[str] | None, typer.Argument(help="Workloads, suites or prototype files; default all.")
    ] = None,
    count: Annotated[str | None, typer.Option("--count", help="Number of events of the finite stream.")] = None,
    save: Annotated[
        Path | None,
        typer.Option("--save", help="Keep both answers as DIR/NAME/stream.parquet and reference.parquet."),
    ] = None,
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Compare the answers of streaming queries with their references, row by row."""
    for name in names or ():
        refuse_wrong_prototype(name)
    from streamgauge.experiments.verify_all import verify as check
    from streamgauge.report.terminal.progress import step_progress
    from streamgauge.report.terminal.verification import print_verifications

    progress = step_progress("verify", quiet=quiet)
    results = check(names or [], count=count, save=save, report_progress=progress, **settings)
    conclude(results, print_verifications, as_json=json_)
