"""`runs list|show|export|import|remove`: what has been measured so far."""

import os
from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.options import Json, Runs, print_json

app = typer.Typer(help="Stored runs.", no_args_is_help=True, rich_markup_mode=None)
Reference = Annotated[str, typer.Argument(help="A run id, the start of one, `latest`, or a path.")]


def runs_root(runs: Path | None) -> Path:
    """Return where runs are kept: as said, or by default."""
    from streamgauge.store import default_root

    return runs if runs is not None else default_root(os.environ)


@app.command("list")
def list_(runs: Runs = None, json_: Json = False) -> None:
    """List the stored runs, newest first."""
    from streamgauge.store import list_runs

    listings = list_runs(runs_root(runs))
    if json_:
        rows = [
            {
                "run_id": r.run_id,
                "status": r.status,
                "workload": r.workload,
                "verdict": r.verdict,
                "created": r.created,
                "reason": r.reason,
            }
            for r in listings
        ]
        print_json({"runs": rows, "root": str(runs_root(runs))})
        return
    from streamgauge.report.terminal import print_runs

    print_runs(listings, runs_root(runs))


@app.command("show")
def show(run: Reference = "latest", runs: Runs = None, json_: Json = False) -> None:
    """Show one run; of a run that was killed, what can be told from what it had stored."""
    from streamgauge.experiment.stored import summary_of
    from streamgauge.store import open_run

    stored = open_run(runs_root(runs), run)
    if json_:
        print_json({"status": stored.status, **summary_of(stored)})
        return
    from streamgauge.report.terminal import print_summary

    print_summary(stored)


@app.command("export")
def export(
    run: Reference = "latest",
    format_: Annotated[str, typer.Option("--format", help="parquet, csv or json.")] = "parquet",
    output: Annotated[
        Path | None,
        typer.Option(
            "--output", "-o", help="A folder, or for json a file; default export-ID here.", show_default=False
        ),
    ] = None,
    overwrite: Annotated[bool, typer.Option("--overwrite", help="Replace files that are there already.")] = False,
    runs: Runs = None,
    json_: Json = False,
) -> None:
    """Write the tables and the summary of a run as files for other tools."""
    from streamgauge.experiment.export import export_run
    from streamgauge.store import open_run

    written = export_run(open_run(runs_root(runs), run), format=format_, output=output, overwrite=overwrite)
    if json_:
        files = [str(path) for path in written.files]
        print_json({"run_id": written.run_id, "format": format_, "files": files, "missing": list(written.missing)})
        return
    for path in written.files:
        typer.echo(f"wrote {path}")
    if written.missing:
        typer.echo(f"not written, because the run has none: {', '.join(written.missing)}", err=True)


@app.command("import")
def import_(
    log: Annotated[
        Path, typer.Argument(metavar="EVENTLOG", help="An event log of Spark, a file or the folder of a rolled one.")
    ],
    query: Annotated[
        str | None,
        typer.Option("--query", metavar="ID|NAME", help="Only this query; default all.", show_default=False),
    ] = None,
    runs: Runs = None,
    json_: Json = False,
) -> None:
    """Store the streaming queries of any Spark application as runs, from its event log."""
    from streamgauge.experiment.imported import import_event_log

    imported = import_event_log(log, query=query, runs=runs_root(runs))
    if json_:
        print_json(imported.document())
        return
    from streamgauge.report.imported import print_imported

    print_imported(imported)


@app.command("remove")
def remove(run: Reference, runs: Runs = None, json_: Json = False) -> None:
    """Delete a stored run."""
    from streamgauge.store import remove_run

    path = remove_run(runs_root(runs), run)
    if json_:
        print_json({"removed": str(path)})
    else:
        typer.echo(f"removed {path}")
