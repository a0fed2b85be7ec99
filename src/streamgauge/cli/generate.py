"""`generate`: write an event stream to files."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.options import Cores, Json, Quiet, Seed, Set, pairs, print_json


def generate(
    stream: Annotated[str, typer.Argument(help="An event stream from `list`, or a workload that reads one.")],
    events: Annotated[str, typer.Option("--events", help="How many events.")] = "10k",
    rate: Annotated[str, typer.Option("--rate", help="Rate at which event times advance.")] = "1000",
    format_: Annotated[
        str, typer.Option("--format", help="parquet, json, csv; nexmark: canonical, canonical-with-channel.")
    ] = "parquet",
    output: Annotated[Path, typer.Option("--output", "-o", help="Folder to write to; must not exist yet.")] = Path(
        "events"
    ),
    source_partitions: Annotated[int, typer.Option("--source-partitions", help="Number of files.")] = 1,
    set_: Set = None,
    seed: Seed = 1,
    cores: Cores = None,
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Write the events of a stream, made by the same expressions that a run measures, with a SHA-256."""
    from streamgauge.experiment.generate import generate as write
    from streamgauge.report.generation import generation_progress, print_generation

    with generation_progress(quiet=quiet) as tell:
        result = write(
            stream,
            events=events,
            rate=rate,
            format=format_,
            output=output,
            source_partitions=source_partitions,
            parameters=pairs(set_, "--set"),
            seed=seed,
            cores=cores,
            tell=tell,
        )
    if json_:
        print_json(asdict(result))
    else:
        print_generation(result)
