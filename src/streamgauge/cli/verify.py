"""`verify`: is the answer right?"""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.load_options import refuse_wrong_prototype
from streamgauge.cli.options import (
    EXIT_BY_VERDICT,
    Conf,
    Cores,
    Json,
    Master,
    Quiet,
    Seed,
    Set,
    pairs,
    print_json,
)


def verify(
    names: Annotated[
        list[str] | None, typer.Argument(help="Workloads, suites or prototype files; default all.")
    ] = None,
    events: Annotated[str | None, typer.Option("--events", help="Length of the finite stream.")] = None,
    rate: Annotated[str | None, typer.Option("--rate", help="Rate at which its event times advance.")] = None,
    set_: Set = None,
    conf: Conf = None,
    cores: Cores = None,
    master: Master = None,
    seed: Seed = 1,
    save: Annotated[
        Path | None,
        typer.Option("--save", help="Keep both answers as DIR/NAME/stream.parquet and reference.parquet."),
    ] = None,
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Compare the answers of streaming queries with their references, row by row."""
    for name in names or ():
        refuse_wrong_prototype(name)
    from streamgauge.experiment.verification import verify as check
    from streamgauge.report.verification import print_verifications, verification_progress

    with verification_progress(quiet=quiet) as tell:
        results = check(
            names or [],
            events=events,
            rate=rate,
            parameters=pairs(set_, "--set"),
            conf=pairs(conf, "--conf"),
            cores=cores,
            master=master,
            seed=seed,
            save=save,
            tell=tell,
        )
    if json_:
        print_json(
            {
                "verdict": results.verdict.value,
                "workloads": [asdict(v) | {"verdict": v.verdict.value} for v in results.workloads],
            }
        )
    else:
        print_verifications(results)
    raise typer.Exit(EXIT_BY_VERDICT[results.verdict.value])
