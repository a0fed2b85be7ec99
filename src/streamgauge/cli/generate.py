"""`generate`: write an event stream to files."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import typer

from streamgauge.cli.answer import print_answer
from streamgauge.cli.load_options import takes_options
from streamgauge.cli.options import Json, Quiet


@takes_options("generate")
def generate(
    stream: Annotated[str, typer.Argument(help="An event stream from `list`, or a workload that reads one.")],
    settings: dict[str, Any],
    count: Annotated[str, typer.Option("--count", help="How many events.")] = "10k",
    format_: Annotated[
        str, typer.Option("--format", help="parquet, json, csv; nexmark: canonical, canonical-with-channel.")
    ] = "parquet",
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write to; must not exist yet.")] = Path(
        "events"
    ),
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Write the events of a stream, made by the same expressions that a run measures, with a SHA-256."""
    from streamgauge.experiments.generate import generate as write
    from streamgauge.report.terminal.generation import generation_progress, print_generation

    progress = generation_progress(quiet=quiet)
    result = write(stream, count=count, format=format_, output=output, report_progress=progress, **settings)
    print_answer(result, print_generation, asdict, as_json=json_)
