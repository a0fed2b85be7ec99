"""`doctor`: is this machine ready?"""

from dataclasses import asdict
from typing import Annotated

import typer

from streamgauge.cli.options import Json, Runs, print_json
from streamgauge.errors import EnvironmentNotReadyError


def doctor(
    deep: Annotated[bool, typer.Option("--deep", help="Also start Spark and run a short stream.")] = False,
    runs: Runs = None,
    json_: Json = False,
) -> None:
    """Check Java, packages, memory, disk and loopback; say how to mend what is missing."""
    from streamgauge.experiment.doctor import examine

    result = examine(deep=deep, runs=runs)
    if json_:
        print_json({"verdict": result.verdict.value, "checks": [asdict(c) for c in result.checks]})
    else:
        from streamgauge.report.doctor import print_checks

        print_checks(result)
    raise typer.Exit(0 if result.verdict.value == "pass" else EnvironmentNotReadyError.exit_code)
