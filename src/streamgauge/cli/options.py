"""Options that several commands share, spelled the same everywhere."""

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any

import typer

from streamgauge.errors import EXIT_FAIL, EXIT_OK, EXIT_UNKNOWN, UsageError

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document on standard output and nothing else.")]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Show no progress.")]
Runs = Annotated[
    Path | None,
    typer.Option("--runs", help="Where runs are stored; default ./runs or STREAMGAUGE_RUNS.", show_default=False),
]
Set = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="NAME=VALUE", help="A parameter of the workload; repeatable."),
]
Conf = Annotated[list[str] | None, typer.Option("--conf", metavar="KEY=VALUE", help="A Spark setting; repeatable.")]
Cores = Annotated[int | None, typer.Option("--cores", help="Cores to use on this machine; default all.")]
Master = Annotated[str | None, typer.Option("--master", help="Spark master URL, instead of --cores.")]
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
    """Print one JSON document."""
    typer.echo(json.dumps(document, indent=2, allow_nan=False, default=str))
