"""`compare`: is the difference between runs real?"""

from typing import Annotated

import typer

from streamgauge.cli.options import Json, Runs, print_json
from streamgauge.errors import UsageError, closest

References = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="A B …",
        help="Runs, lists of runs with commas, sets, or SET:NAME; each is compared with the first.",
        show_default=False,
    ),
]
Confidence = Annotated[str, typer.Option("--confidence", help="How sure a change must be, over all metrics together.")]
Relevant = Annotated[str, typer.Option("--relevant", help="A change that, if ruled out, is called no change.")]
Format = Annotated[str, typer.Option("--format", help="text, or md for Markdown.")]
FORMATS = ("text", "md")


def compare(
    references: References = None,
    confidence: Confidence = "95%",
    relevant: Relevant = "10%",
    form: Format = "text",
    runs: Runs = None,
    json_: Json = False,
) -> None:
    """Compare runs, or sets of repeated runs, with the first; ends with 6 when one is worse, 7 when undecided."""
    from streamgauge.experiment.compare import compare as compare_runs

    if form not in FORMATS:
        raise UsageError(f'"{form}" is no format', where="--format", remedy=closest(form, FORMATS))
    found = compare_runs(references or [], runs=runs, confidence=confidence, relevant=relevant)
    if json_:
        print_json(found.document())
    elif form == "md":
        from streamgauge.report.comparison import comparison_markdown

        typer.echo(comparison_markdown(found), nl=False)
    else:
        from streamgauge.report.comparison import print_comparisons

        print_comparisons(found)
    raise typer.Exit(found.exit_code)
