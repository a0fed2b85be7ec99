"""`compare`: is the difference between runs real?"""

from typing import Annotated

import typer

from streamgauge.cli.answer import print_answer
from streamgauge.cli.options import Json, Runs
from streamgauge.errors import UsageError, closest
from streamgauge.printable import echo

References = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="A B …",
        help="Runs, lists of runs with commas, sets, or SET:NAME; each is compared with the first.",
        show_default=False,
    ),
]
Confidence = Annotated[str, typer.Option("--confidence", help="How sure a change must be, over all metrics together.")]
Relevant = Annotated[str, typer.Option("--relevant", help="Smaller changes count neither as better nor as worse.")]
Margin = Annotated[str, typer.Option("--margin", help="A change that, if ruled out, is called no change.")]
Drift = Annotated[
    str | None,
    typer.Option(
        "--drift",
        help="By how much the machine may have changed between sides that did not take turns.",
        show_default="unknown",
    ),
]
Format = Annotated[str, typer.Option("--format", help="text, or md for Markdown.")]
FORMATS = ("text", "md")


def compare(
    references: References = None,
    confidence: Confidence = "95%",
    relevant: Relevant = "1%",
    margin: Margin = "10%",
    drift: Drift = None,
    form: Format = "text",
    runs: Runs = None,
    json_: Json = False,
) -> None:
    """Compare runs, or sets of repeated runs, with the first; ends with 6 when one is worse, 7 when undecided."""
    from streamgauge.conclude.comparison import compare as compare_runs
    from streamgauge.report.markdown import comparison_markdown
    from streamgauge.report.terminal.comparison import print_comparisons

    if form not in FORMATS:
        raise UsageError(f'"{form}" is not a format', where="--format", remedy=closest(form, FORMATS))
    found = compare_runs(
        references or [], runs=runs, confidence=confidence, relevant=relevant, margin=margin, drift=drift
    )
    print_text = print_comparisons if form == "text" else lambda answer: echo(comparison_markdown(answer), nl=False)
    print_answer(found, print_text, lambda answer: answer.document(), as_json=json_)
    raise typer.Exit(found.exit_code)
