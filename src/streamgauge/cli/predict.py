"""`predict`: what a query would do with other settings, from runs that were measured."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from streamgauge.cli.answer import print_answer
from streamgauge.cli.load_options import takes_options
from streamgauge.cli.options import EXIT_BY_VERDICT, Json, Runs, print_json
from streamgauge.errors import EXIT_UNKNOWN, UnknownVerdictError, UsageError
from streamgauge.printable import echo

if TYPE_CHECKING:
    from streamgauge.predicting.predict import Predictions

References = Annotated[
    list[str],
    typer.Argument(
        metavar="RUN…", help="Runs or sets of one query; options replace settings of the first, also by lists: 1,2,4."
    ),
]
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


@takes_options("predict")
def predict(
    references: References,
    settings: dict[str, Any],
    slowdown: Slowdown = None,
    keys: Keys = None,
    sweep: Sweep = None,
    output: Output = None,
    runs: Runs = None,
    json_: Json = False,
) -> None:
    """Predict latency, throughput and the sustainable rate for other settings; ends with 7 when that is unknown."""
    from streamgauge.predicting.predict import predict_all
    from streamgauge.report.terminal.prediction import print_predictions

    if output is not None and output.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f'"{output}" is not an HTML file', where="--output", remedy="name it FILE.html")
    try:
        found = predict_all(references, slowdown=slowdown, keys=keys, sweep=sweep, runs=runs, **settings)
    except UnknownVerdictError as error:
        if not json_:
            raise
        document = {"predicted": None, "verdict": "unknown", "reasons": [error.what], "remedy": error.remedy}
        print_json(document | {"calibrated_from": [], "settings": None})
        raise typer.Exit(EXIT_UNKNOWN) from error
    if output is not None:
        from streamgauge.report.html.prediction import render_predictions
        from streamgauge.report.output import write_document

        write_document(render_predictions(found), output)
    print_answer(found, print_predictions, _document, as_json=json_)
    if output is not None and not json_:
        echo(f"wrote {output}")
    # A load that is not sustained is an answer, not a failure.
    raise typer.Exit(EXIT_BY_VERDICT[found.verdict])


def _document(found: "Predictions") -> dict[str, Any]:
    """Return one prediction in full, several with what they have in common."""
    return found.predictions[0].document() if len(found.predictions) == 1 else found.document()
