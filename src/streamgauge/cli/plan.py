"""`plan`: what a run or a suite would do, without doing it."""

from typing import Annotated, Any

import typer

from streamgauge.cli.load_options import is_suite_file, refuse_options_beside_file, runs_workload
from streamgauge.cli.options import Json, print_json
from streamgauge.errors import UsageError

Schema = Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of suite files, for editors.")]


@runs_workload()
def plan(
    context: typer.Context,
    settings: dict[str, Any],
    workload: Annotated[
        str | None, typer.Argument(help="A name from `list`, file.py:function, a prototype or a suite file (*.yaml).")
    ] = None,
    schema: Schema = False,
    json_: Json = False,
) -> None:
    """Show what `run` with the same options would do; starts nothing."""
    if schema:
        from streamgauge.suite import suite_schema

        print_json(suite_schema())
    elif workload is None:
        raise UsageError("there is nothing to plan", remedy="name a workload or a suite file")
    elif is_suite_file(workload):
        refuse_options_beside_file(context, ("workload", "runs", "json_"))
        _plan_file(workload, settings["runs"], json_=json_)
    else:
        _plan_run(workload, settings, json_=json_)


def _plan_file(path: str, runs: Any, *, json_: bool) -> None:
    from streamgauge.experiment.suite import plan_suite, suite_plan

    document = suite_plan(plan_suite(path, runs=runs))
    if json_:
        print_json(document)
        return
    from streamgauge.report.suite import print_suite_plan

    print_suite_plan(document)


def _plan_run(workload: str, settings: dict[str, Any], *, json_: bool) -> None:
    from streamgauge.experiment.plan import make_plan

    document = make_plan(workload, **settings)
    if json_:
        print_json(document)
        return
    from streamgauge.report.plan import print_plan

    print_plan(document)
