"""`streamgauge`: the verbs, and what happens when one of them goes wrong."""

import logging
import sys
from typing import Annotated

import typer

from streamgauge._version import __version__
from streamgauge.cli import (
    catalogue,
    compare,
    doctor,
    fault,
    generate,
    load,
    model,
    plan,
    predict,
    prototype,
    report,
    run,
    runs,
    scale,
    services,
    surge,
    sustain,
    verify,
)
from streamgauge.cli.options import print_json
from streamgauge.errors import EXIT_BUG, EXIT_INTERRUPTED, EXIT_OK, StreamgaugeError, UsageError

app = typer.Typer(
    name="streamgauge",
    help="Measures stream-processing applications on Apache Spark Structured Streaming.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"streamgauge {__version__}")
        raise typer.Exit


@app.callback()
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


app.command("list")(catalogue.list_workloads)
app.command("describe")(catalogue.describe)
app.command("plan")(plan.plan)
app.command("run")(run.run)
app.command("sustain")(sustain.sustain)
app.command("compare")(compare.compare)
app.command("predict")(predict.predict)
app.command("scale")(scale.scale)
app.command("surge")(surge.surge)
app.command("fault")(fault.fault)
app.command("report")(report.report)
app.command("verify")(verify.verify)
app.command("generate")(generate.generate)
app.command("load")(load.load)
app.command("doctor")(doctor.doctor)
app.add_typer(runs.app, name="runs")
app.add_typer(prototype.app, name="prototype")
app.add_typer(model.app, name="model")
app.add_typer(services.app, name="services")


def _report(error: StreamgaugeError, *, as_json: bool) -> None:
    if as_json:
        document = {
            "what": error.what,
            "where": error.where,
            "remedy": error.remedy,
            "exit_code": error.exit_code,
        }
        print_json({"error": document})
    typer.echo(f"error: {error}", err=True)
    _tell_notes(error)


def _tell_notes(error: BaseException) -> None:
    for note in getattr(error, "__notes__", ()):
        typer.echo(f"  {note}", err=True)


def _run(*, as_json: bool) -> None:
    """Run the command line; with --json the parser's own complaints become documents too."""
    try:
        sys.exit(app(standalone_mode=not as_json) or EXIT_OK)
    except Exception as error:
        # Known by what it can do: its class has no public name in all versions of the parser.
        if not hasattr(error, "format_message"):
            raise
        command = getattr(getattr(error, "ctx", None), "command_path", "streamgauge")
        raise UsageError(error.format_message(), remedy=f"see `{command} --help`") from error


def main() -> None:
    """Run the command line and leave with the right exit code."""
    as_json = "--json" in sys.argv
    # What the bridge to Java has to say about a process that is gone is said after the session, too; nobody listens.
    logging.getLogger().addHandler(logging.NullHandler())
    try:
        _run(as_json=as_json)
    except StreamgaugeError as error:
        _report(error, as_json=as_json)
        sys.exit(error.exit_code)
    except KeyboardInterrupt as interrupt:
        _tell_notes(interrupt)
        sys.exit(EXIT_INTERRUPTED)
    except BrokenPipeError:
        sys.stderr.close()
        sys.exit(EXIT_BUG)
