"""`plan`: what a run or a suite would do, without doing it."""

from typing import Annotated, Any

import typer

from streamgauge.cli.answer import print_answer
from streamgauge.cli.load_options import refuse_options_beside_file, takes_options
from streamgauge.cli.options import Json, print_json
from streamgauge.errors import UsageError
from streamgauge.lookup import is_suite

Schema = Annotated[bool, typer.Option("--schema", help="Print the JSON Schema of suite files, for editors.")]


@takes_options("run")
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
    elif is_suite(workload):
        refuse_options_beside_file(context, ("workload", "runs", "json_"))
        _plan_file(workload, settings.get("runs"), json_=json_)
    else:
        _plan_run(workload, settings, json_=json_)


def _plan_file(path: str, runs: Any, *, json_: bool) -> None:
    from streamgauge.experiments.suite import plan_suite, suite_plan
    from streamgauge.report.terminal.suite import print_suite_plan

    print_answer(suite_plan(plan_suite(path, runs=runs)), print_suite_plan, dict, as_json=json_)


def _plan_run(workload: str, settings: dict[str, Any], *, json_: bool) -> None:
    from streamgauge.experiments.plan import make_plan
    from streamgauge.report.terminal.plan import print_plan

    print_answer(make_plan(workload, **settings), print_plan, dict, as_json=json_)
