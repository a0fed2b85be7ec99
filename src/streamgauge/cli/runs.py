"""`runs list|show|export|import|remove`: what has been measured so far."""

from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.answer import print_answer
from streamgauge.cli.options import Json, Runs, print_json
from streamgauge.printable import echo

app = typer.Typer(help="Stored runs.", no_args_is_help=True, rich_markup_mode=None)
LISTED = ("run_id", "status", "workload", "verdict", "created", "reason", "rehearsal")
Reference = Annotated[str, typer.Argument(help="A run id, the start of one, `latest`, or a path.")]


@app.command("list")
def list_(runs: Runs = None, json_: Json = False) -> None:
    """List the stored runs, newest first."""
    from streamgauge.report.terminal.run import print_runs
    from streamgauge.store import list_runs, runs_root

    root = runs_root(runs)
    listings = list_runs(root)
    rows = [{name: getattr(one, name) for name in LISTED} for one in listings]
    print_answer(
        listings, lambda found: print_runs(found, root), lambda _: {"runs": rows, "root": str(root)}, as_json=json_
    )


@app.command("show")
def show(run: Reference = "latest", runs: Runs = None, json_: Json = False) -> None:
    """Show one run; of a killed run, its partial results."""
    from streamgauge.conclude.stored_run import summary_of
    from streamgauge.report.terminal.run import print_summary
    from streamgauge.store import open_run, runs_root

    stored = open_run(runs_root(runs), run)
    print_answer(stored, print_summary, lambda found: {"status": found.status, **summary_of(found)}, as_json=json_)


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
    from streamgauge.experiments.export import export_run
    from streamgauge.store import open_run, runs_root

    written = export_run(open_run(runs_root(runs), run), format=format_, output=output, overwrite=overwrite)
    if json_:
        files = [str(path) for path in written.files]
        print_json({"run_id": written.run_id, "format": format_, "files": files, "missing": list(written.missing)})
        return
    for path in written.files:
        echo(f"wrote {path}")
    if written.missing:
        echo(f"not written, because the run has none: {', '.join(written.missing)}", err=True)


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
    from streamgauge.clock import SystemClock
    from streamgauge.observe.import_log import import_event_log
    from streamgauge.report.terminal.import_log import ReadingProgress, print_imported

    imported = import_event_log(log, query=query, runs=runs, report_progress=ReadingProgress(SystemClock()))
    print_answer(imported, print_imported, lambda found: found.document(), as_json=json_)


@app.command("remove")
def remove(run: Reference, runs: Runs = None, json_: Json = False) -> None:
    """Delete a stored run."""
    from streamgauge.store import remove_run, runs_root

    path = remove_run(runs_root(runs), run)
    print_answer(
        path, lambda removed: echo(f"removed {removed}"), lambda removed: {"removed": str(removed)}, as_json=json_
    )
