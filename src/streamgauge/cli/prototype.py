"""`prototype calibrate|export|fit`: what belongs to applications described in YAML."""

from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.options import EXIT_BY_VERDICT, Json, Quiet, Runs, print_json

app = typer.Typer(help="Applications described in YAML.", no_args_is_help=True, rich_markup_mode=None)


@app.command("calibrate")
def calibrate(quiet: Quiet = False, json_: Json = False) -> None:
    """Measure what a cycle of load costs on this machine, and keep it for loads in microseconds."""
    from streamgauge.experiment.calibrate import calibrate as measure
    from streamgauge.report.calibration import calibration_progress, print_calibration

    with calibration_progress(quiet=quiet) as tell:
        found = measure(tell=tell)
    path = found.write()
    if json_:
        print_json(found.document() | {"file": str(path)})
    else:
        print_calibration(found, path)
    raise typer.Exit(EXIT_BY_VERDICT[found.verdict.value])


@app.command("export")
def export(file: Annotated[Path, typer.Argument(help="A prototype file (*.yaml).")]) -> None:
    """Print the application as a PySpark program that needs nothing but PySpark."""
    from streamgauge.prototype.document import load_application
    from streamgauge.prototype.export import export_program

    typer.echo(export_program(load_application(file)), nl=False)


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
    """Print a prototype that behaves as a measured query, and tells nothing of its code and data."""
    from streamgauge.experiment.fit import fit as fit_prototype
    from streamgauge.report.fit import print_fit
    from streamgauge.report.progress import progress_display

    with progress_display(quiet=quiet) as monitor:
        found = fit_prototype(run, runs=runs, probes=probes, monitor=monitor)
    if json_:
        print_json(found.document())
        return
    typer.echo(found.text, nl=False)
    if not quiet:
        print_fit(found)
