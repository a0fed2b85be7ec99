"""`plan`: what a run would do, without doing it."""

from typing import Annotated, Any

import typer

from streamgauge.cli.load_options import runs_workload
from streamgauge.cli.options import Json, print_json


@runs_workload()
def plan(
    workload: Annotated[str, typer.Argument(help="A name from `list`, or file.py:function.")],
    settings: dict[str, Any],
    json_: Json = False,
) -> None:
    """Show what `run` with the same options would do; starts nothing."""
    from streamgauge.experiment.plan import make_plan

    document = make_plan(workload, **settings)
    if json_:
        print_json(document)
        return
    from streamgauge.report.plan import print_plan

    print_plan(document)
