"""`doctor`: is this machine ready?"""

from typing import Annotated

import typer

from streamgauge.cli.answer import print_answer
from streamgauge.cli.options import Json, Runs
from streamgauge.errors import EXIT_OK, EnvironmentNotReadyError
from streamgauge.verdict import Verdict


def doctor(
    deep: Annotated[bool, typer.Option("--deep", help="Also start Spark and run a short stream.")] = False,
    runs: Runs = None,
    json_: Json = False,
) -> None:
    """Check Java, packages, memory, disk, loopback and whether the machine is quiet; say how to fix what is not."""
    from streamgauge.experiments.doctor import examine
    from streamgauge.report.terminal.doctor import print_checks

    result = examine(deep=deep, runs=runs)
    print_answer(result, print_checks, lambda found: found.document(), as_json=json_)
    raise typer.Exit(EXIT_OK if result.verdict is Verdict.PASS else EnvironmentNotReadyError.exit_code)
