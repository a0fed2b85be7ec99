"""What came of an event log: a line for each of its queries."""

from rich.console import Console
from rich.text import Text

from streamgauge.experiment.imported import Imported
from streamgauge.report.console import bullets, console, plain_table


def print_imported(imported: Imported, out: Console | None = None) -> None:
    """Print the runs that were stored, and what is to be said about the log."""
    out = out or console()
    spark = f" of Spark {imported.spark_version}" if imported.spark_version else ""
    out.print(Text(f"{imported.application or 'an application without a name'}{spark}"))
    table = plain_table()
    for name in ("run", "query", "verdict"):
        table.add_column(name, overflow="fold")
    for name in ("micro-batches", "tasks"):
        table.add_column(name, justify="right")
    for run in imported.document()["runs"]:
        table.add_row(run["run_id"], run["workload"], run["verdict"], f"{run['batches']:,}", f"{run['tasks']:,}")
    out.print(table)
    out.print(bullets(imported.notes, "note:", style="yellow"))
    if imported.runs:
        out.print(Text(f"see `streamgauge runs show {imported.runs[0].run_id}`"))
