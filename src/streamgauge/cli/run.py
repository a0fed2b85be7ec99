"""`run`: measure a workload at a load, once or several times, or all that a suite file asks for."""

import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streamgauge.cli.answer import measure_and_conclude, print_answer
from streamgauge.cli.load_options import refuse_options_beside_file, takes_options
from streamgauge.cli.options import EXIT_BY_VERDICT, Json, Quiet, Resume
from streamgauge.errors import EXIT_INTERRUPTED, UsageError
from streamgauge.lookup import is_suite
from streamgauge.printable import printable

if TYPE_CHECKING:
    from streamgauge.suite import Suite

BESIDE_FILE = ("workload", "runs", "quiet", "json_", "junit", "yes", "resume")

Repeat = Annotated[int | None, typer.Option("--repeat", metavar="N", help="Run it N times, as a set.")]
Junit = Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="Write the results of a set as JUnit XML.")]
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask before more than 200 runs.")]


@takes_options("run")
def run(
    context: typer.Context,
    workload: Annotated[
        str, typer.Argument(help="A name from `list`, file.py:function, a prototype or a suite file (*.yaml).")
    ],
    settings: dict[str, Any],
    repeat: Repeat = None,
    junit: Junit = None,
    resume: Resume = None,
    yes: Yes = False,
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Measure how fast and how late a workload is at a given load, or run a suite file."""
    of_set = {"junit": junit, "resume": resume}
    if is_suite(workload):
        refuse_options_beside_file(context, BESIDE_FILE)
        _run_file(workload, settings.get("runs"), of_set, yes=yes, quiet=quiet, as_json=json_)
    elif repeat is not None:
        _run_repeatedly(workload, repeat, settings, of_set, yes=yes, quiet=quiet, as_json=json_)
    else:
        _refuse_options_of_sets({"--junit": junit, "--resume": resume})
        _run_once(workload, settings, quiet=quiet, json_=json_)


def _refuse_options_of_sets(options: Mapping[str, object]) -> None:
    for option, value in options.items():
        if value is not None:
            remedy = "add --repeat N, or name a suite file instead of a workload"
            raise UsageError("one run is not a set of runs", where=option, remedy=remedy)


def _run_file(path: str, runs: Path | None, of_set: dict[str, Any], *, yes: bool, quiet: bool, as_json: bool) -> None:
    from streamgauge.experiments.suite import plan_suite, run_suite
    from streamgauge.report.terminal.suite import print_suite

    _confirm(plan_suite(path, runs=runs), yes=yes)
    measure_and_conclude(run_suite, print_suite, path, quiet=quiet, as_json=as_json, runs=runs, **of_set)


def _run_repeatedly(
    workload: str, times: int, given: dict[str, Any], of_set: dict[str, Any], *, yes: bool, quiet: bool, as_json: bool
) -> None:
    from streamgauge.experiments.suite import plan_repetitions, repeat
    from streamgauge.report.terminal.suite import print_suite

    settings = {name: value for name, value in given.items() if name != "explore"}
    _confirm(plan_repetitions(workload, times, **{k: v for k, v in settings.items() if k != "runs"}), yes=yes)
    measure_and_conclude(repeat, print_suite, workload, times=times, quiet=quiet, as_json=as_json, **settings, **of_set)


def _confirm(suite: "Suite", *, yes: bool) -> None:
    """Ask before many runs; without a terminal, `--yes` is required."""
    from streamgauge.units import format_duration

    if yes or not suite.needs_confirmation:
        return
    size = f"{suite.name} has {suite.size:,} runs and takes about {format_duration(suite.expected_s)}"
    can_ask = sys.stdin.isatty() and sys.stderr.isatty()
    if not can_ask or not typer.confirm(printable(f"{size}. Start?"), err=True):
        remedy = "add --yes to start it, or look at it with `streamgauge plan`"
        raise UsageError(size if not can_ask else f"{suite.name} was not started", remedy=remedy)


def _run_once(workload: str, settings: dict[str, Any], *, quiet: bool, json_: bool) -> None:
    from streamgauge.report.terminal.progress import progress_display
    from streamgauge.report.terminal.run import print_summary
    from streamgauge.running.lifecycle import run as measure

    with progress_display(quiet=quiet) as monitor:
        result = measure(workload, monitor=monitor, **settings)
    stored = result.stored()
    print_answer(stored, print_summary, lambda _: result.summary, as_json=json_)
    interrupted = stored.status == "interrupted"
    raise typer.Exit(EXIT_INTERRUPTED if interrupted else EXIT_BY_VERDICT[result.verdict])
