"""Options that several commands share, spelled the same everywhere."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import typer

from streamgauge.errors import EXIT_FAIL, EXIT_OK, EXIT_UNKNOWN, UsageError


@dataclass
class Asked:
    """What a command line asks for, whatever the command; it is the object of the parser's context."""

    json: bool = False


def _note_json(context: typer.Context, wanted: bool) -> bool:
    if isinstance(context.obj, Asked):
        context.obj.json = wanted
    return wanted


Json = Annotated[
    bool,
    typer.Option(
        "--json",
        # Before other options, whose mistakes are then reported as JSON too.
        callback=_note_json,
        is_eager=True,
        help="Print one JSON document on standard output and nothing else.",
    ),
]
Workload = Annotated[str, typer.Argument(help="A name from `list`, file.py:function, or a prototype file (*.yaml).")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
Runs = Annotated[
    Path | None,
    typer.Option("--runs", help="Where runs are stored; default ./runs or STREAMGAUGE_RUNS.", show_default=False),
]
Resume = Annotated[str | None, typer.Option("--resume", metavar="SET", help="Resume an interrupted set of runs.")]
Seed = Annotated[int, typer.Option("--seed", help="Seed of everything random.")]

EXIT_BY_VERDICT = {"pass": EXIT_OK, "fail": EXIT_FAIL, "unknown": EXIT_UNKNOWN}


def pairs(values: Iterable[str] | None, where: str) -> dict[str, str]:
    """Read repeated NAME=VALUE options."""
    found = {}
    for value in values or ():
        name, equals, text = value.partition("=")
        if not equals or not name:
            raise UsageError(f'"{value}" is not NAME=VALUE', where=where, remedy=f"write {where} name=value")
        found[name.strip()] = text
    return found


def print_json(document: Any) -> None:
    """Print one JSON document; JSON has its own way to write what a terminal would obey."""
    typer.echo(json.dumps(document, indent=2, allow_nan=False, default=str))
