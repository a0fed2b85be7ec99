"""`predict`: what a query would do with other settings, from runs that were measured."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from streamgauge.cli.options import EXIT_BY_VERDICT, Json, Runs, print_json
from streamgauge.cli.runs import runs_root
from streamgauge.errors import EXIT_UNKNOWN, UnknownVerdictError, UsageError

if TYPE_CHECKING:
    from streamgauge.experiment.predict import Predictions

References = Annotated[
    list[str],
    typer.Argument(metavar="RUN…", help="Runs or sets of one query; what is not asked for is as in the first."),
]
Rate = Annotated[str | None, typer.Option("--rate", help="Events per second, e.g. 200k, or several: 100k,200k.")]
Arrivals = Annotated[str | None, typer.Option("--arrivals", help="Arrival law.")]
Trigger = Annotated[str | None, typer.Option("--trigger", help="Trigger interval, e.g. 2s; 0s is back to back.")]
Cores = Annotated[str | None, typer.Option("--cores", help="Cores, e.g. 4 or 1,2,4.")]
ShufflePartitions = Annotated[str | None, typer.Option("--shuffle-partitions", help="Partitions after a shuffle.")]
SourcePartitions = Annotated[str | None, typer.Option("--source-partitions", help="Partitions of the source.")]
MaxRows = Annotated[str | None, typer.Option("--max-rows-per-batch", help="Admission limit in events.")]
Duration = Annotated[str | None, typer.Option("--duration", help="How long the run would be measured.")]
Warmup = Annotated[str | None, typer.Option("--warmup", help="Its load before the measurement.")]
Slowdown = Annotated[
    str | None, typer.Option("--slowdown", help="By how much something else slows the processor, e.g. 1.3.")
]
Keys = Annotated[
    Path | None, typer.Option("--keys", metavar="FILE", help="How often keys come: CSV or Parquet of key and weight.")
]
Sweep = Annotated[
    str | None, typer.Option("--sweep", metavar="rate=LOW:HIGH", help="Rates from LOW to HIGH, e.g. rate=50k:1M.")
]
Output = Annotated[
    Path | None, typer.Option("--output", "-o", metavar="FILE.html", help="Write a page with table and charts, too.")
]


def predict(
    references: References,
    rate: Rate = None,
    arrivals: Arrivals = None,
    trigger: Trigger = None,
    cores: Cores = None,
    shuffle_partitions: ShufflePartitions = None,
    source_partitions: SourcePartitions = None,
    max_rows_per_batch: MaxRows = None,
    duration: Duration = None,
    warmup: Warmup = None,
    slowdown: Slowdown = None,
    keys: Keys = None,
    sweep: Sweep = None,
    output: Output = None,
    runs: Runs = None,
    json_: Json = False,
) -> None:
    """Predict latency, throughput and the sustainable rate for other settings; ends with 7 when that cannot be told."""
    from streamgauge.experiment.predict import predict_all

    if output is not None and output.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f'"{output}" is no HTML file', where="--output", remedy="name it FILE.html")
    try:
        found = predict_all(
            references,
            rate=rate,
            arrivals=arrivals,
            trigger=trigger,
            cores=cores,
            shuffle_partitions=shuffle_partitions,
            source_partitions=source_partitions,
            max_rows_per_batch=max_rows_per_batch,
            duration=duration,
            warmup=warmup,
            slowdown=slowdown,
            keys=keys,
            sweep=sweep,
            runs=runs_root(runs),
        )
    except UnknownVerdictError as error:
        if not json_:
            raise
        document = {"predicted": None, "verdict": "unknown", "reasons": [error.what], "remedy": error.remedy}
        print_json(document | {"calibrated_from": [], "settings": None})
        raise typer.Exit(EXIT_UNKNOWN) from error
    if output is not None:
        from streamgauge.report.html.output import write_document
        from streamgauge.report.html.prediction import render_predictions

        write_document(render_predictions(found), output)
    _show(found, json_=json_, output=output)


def _show(found: "Predictions", *, json_: bool, output: Path | None) -> None:
    """Print one prediction in full, several as a table; a load that is not sustained is an answer, not a failure."""
    if json_:
        print_json(found.predictions[0].document() if len(found.predictions) == 1 else found.document())
    else:
        from streamgauge.report.prediction import print_predictions

        print_predictions(found)
        if output is not None:
            typer.echo(f"wrote {output}")
    raise typer.Exit(EXIT_BY_VERDICT[found.verdict.value])
