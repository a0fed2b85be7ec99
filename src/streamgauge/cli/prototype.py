"""`prototype calibrate|export|fit`: what belongs to applications described in YAML."""

from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.answer import print_answer
from streamgauge.cli.options import EXIT_BY_VERDICT, Json, Quiet, Runs, print_json
from streamgauge.printable import echo

app = typer.Typer(help="Applications described in YAML.", no_args_is_help=True, rich_markup_mode=None)


@app.command("calibrate")
def calibrate(quiet: Quiet = False, json_: Json = False) -> None:
    """Measure what a cycle of CPU work costs on this machine, so that work can be given in microseconds."""
    from streamgauge.prototyping.calibrate import calibrate as measure
    from streamgauge.report.terminal.calibration import print_calibration
    from streamgauge.report.terminal.progress import step_progress

    found = measure(report_progress=step_progress("calibrate", quiet=quiet))
    path = found.write()
    print_answer(
        found,
        lambda calibration: print_calibration(calibration, path),
        lambda calibration: calibration.document() | {"file": str(path)},
        as_json=json_,
    )
    raise typer.Exit(EXIT_BY_VERDICT[found.verdict])


@app.command("export")
def export(file: Annotated[Path, typer.Argument(help="A prototype file (*.yaml).")]) -> None:
    """Print the application as a PySpark program that needs nothing but PySpark."""
    from streamgauge.prototype.export import export_program
    from streamgauge.prototype.file.document import load_application

    echo(export_program(load_application(file)), nl=False)


@app.command("fit")
def fit(
    run: Annotated[str, typer.Argument(help="A run, or several of one query with commas between them.")],
    probes: Annotated[
        int, typer.Option("--probes", min=0, max=10, help="How often to run the prototype; 0 does not start Spark.")
    ] = 3,
    runs: Runs = None,
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Print a prototype that behaves as a measured query, without its code and data."""
    from streamgauge.prototyping.fit import fit as fit_prototype
    from streamgauge.report.terminal.fit import print_fit
    from streamgauge.report.terminal.progress import progress_display

    with progress_display(quiet=quiet) as monitor:
        found = fit_prototype(run, runs=runs, probes=probes, monitor=monitor)
    if json_:
        print_json(found.document())
        return
    echo(found.text, nl=False)
    if not quiet:
        print_fit(found)
