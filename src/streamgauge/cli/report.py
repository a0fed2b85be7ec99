"""`report`: runs and sets as one file to show."""

from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.answer import print_answer
from streamgauge.cli.options import Json, Runs
from streamgauge.errors import UsageError, closest
from streamgauge.printable import echo

FORMATS = {"html": ".html", "md": ".md"}
STANDARD_OUTPUT = "-"

References = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="REF…",
        help="Runs or sets; default `latest`. Several sets, or lists RUN1,RUN2, are compared with statistics.",
        show_default=False,
    ),
]
Output = Annotated[
    str | None,
    typer.Option("--output", "-o", metavar="FILE", help="Default report-ID.html here; - is standard output."),
]
Format = Annotated[
    str | None, typer.Option("--format", help="html or md; default by the file's name, or md for standard output.")
]


def _format(format_: str | None, output: str | None) -> str:
    if format_ is None:
        is_text = output == STANDARD_OUTPUT or (output or "").lower().endswith((".md", ".markdown"))
        return "md" if is_text else "html"
    if format_ not in FORMATS:
        raise UsageError(f'"{format_}" is not a format', where="--format", remedy=closest(format_, FORMATS))
    return format_


def _file(output: str | None, name: str, format_: str) -> Path:
    path = Path(output or f"report-{name}{FORMATS[format_]}")
    if path.is_dir():
        raise UsageError(f'"{path}" is a folder', where="--output", remedy="name a file in it, e.g. report.html")
    return path


def report(
    references: References = None,
    output: Output = None,
    format_: Format = None,
    runs: Runs = None,
    json_: Json = False,
) -> None:
    """Write a report that needs no other file: charts, numbers, notes, settings to copy."""
    chosen = _format(format_, output)
    if output == STANDARD_OUTPUT and json_:
        raise UsageError("--json and --output - exclude each other", remedy="name a file with --output")
    from streamgauge.report.content.subject import find_subject
    from streamgauge.report.output import write_document
    from streamgauge.store import runs_root

    subject = find_subject(runs_root(runs), references or [])
    path = None if output == STANDARD_OUTPUT else _file(output, subject.name, chosen)
    if chosen == "html":
        from streamgauge.report.html.page import render_subject as render
    else:
        from streamgauge.report.markdown import render_subject_markdown as render
    text = render(subject)
    if path is None:
        echo(text, nl=False)
        return
    write_document(text, path)
    sets = [one.stored.set_id for one in subject.sets]
    written = {"file": str(path), "format": chosen, "title": subject.title, "runs": subject.run_ids, "sets": sets}
    print_answer(written, lambda _: echo(f"wrote {path}"), dict, as_json=json_)
