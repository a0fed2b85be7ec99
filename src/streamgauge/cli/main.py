"""`streamgauge`: the verbs, and what happens when one of them goes wrong."""

import logging
import os
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
from streamgauge.cli.load_options import refuse_old_spelling
from streamgauge.cli.options import Asked, print_json
from streamgauge.errors import EXIT_BROKEN_PIPE, EXIT_INTERRUPTED, EXIT_OK, StreamgaugeError, UsageError
from streamgauge.extras import explain
from streamgauge.printable import echo

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
        echo(f"streamgauge {__version__}")
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
    echo(f"error: {error}", err=True)
    _show_notes(error)


def _show_notes(error: BaseException) -> None:
    for note in getattr(error, "__notes__", ()):
        echo(f"  {note}", err=True)


def _call(asked: Asked) -> int:
    """Run a command; mistakes that the parser finds and packages that are missing become errors of ours."""
    try:
        return int(app(standalone_mode=False, obj=asked) or EXIT_OK)
    except SystemExit as end:
        # The parser's own way out when nobody reads the output any more.
        raise end.__context__ if isinstance(end.__context__, BrokenPipeError) else end from None
    except ModuleNotFoundError as error:
        raise explain(error) or error from error
    except Exception as error:
        # Known by what it can do: its class has no public name in all versions of the parser.
        if not hasattr(error, "format_message"):
            raise
        refuse_old_spelling(error)
        if not asked.json:
            error.show()  # type: ignore[attr-defined]
            return UsageError.exit_code
        command = getattr(getattr(error, "ctx", None), "command_path", "streamgauge")
        raise UsageError(error.format_message(), remedy=f"see `{command} --help`") from error


def _exit_code() -> int:
    """Run the command line, report what goes wrong, and return the exit code."""
    asked = Asked()
    try:
        return _call(asked)
    except StreamgaugeError as error:
        _report(error, as_json=asked.json)
        return error.exit_code
    except KeyboardInterrupt as interrupt:
        _show_notes(interrupt)
        return EXIT_INTERRUPTED
    except typer.Abort:
        echo("aborted", err=True)
        return EXIT_INTERRUPTED


def main() -> None:
    """Run the command line and leave with the right exit code."""
    # What the bridge to Java has to say about a process that is gone is said after the session, too; nobody listens.
    logging.getLogger().addHandler(logging.NullHandler())
    try:
        code = _exit_code()
        # A reader that has gone, such as `head`, is noticed here and not by the interpreter at its end.
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        code = EXIT_BROKEN_PIPE
    sys.exit(code)
