"""`sustain`: the highest rate that a workload sustains."""

from typing import Annotated, Any

import typer

from streamgauge.cli.load_options import Duration, Warmup, runs_workload
from streamgauge.cli.options import EXIT_BY_VERDICT, Json, Quiet, print_json

Within = Annotated[str, typer.Option("--within", help="How far apart the ends of the interval may be.")]
Budget = Annotated[
    str | None, typer.Option("--budget", help="How long the search may take, e.g. 10min; default no limit.")
]
Latency = Annotated[str | None, typer.Option("--latency", help="A limit that a sustained rate must keep, e.g. p95<2s.")]
Resume = Annotated[str | None, typer.Option("--resume", metavar="SET", help="Go on with an interrupted search.")]


@runs_workload(without=("load", "arrivals", "duration", "warmup", "explore"))
def sustain(
    workload: Annotated[
        str, typer.Argument(help="A name from `list`, file.py:function, or a prototype file (*.yaml).")
    ],
    settings: dict[str, Any],
    within: Within = "5%",
    budget: Budget = None,
    latency: Latency = None,
    duration: Duration = "50s",
    warmup: Warmup = "15s",
    resume: Resume = None,
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Search for the highest rate that is sustained; --rate is where to begin, --duration the length of a probe."""
    from streamgauge.experiment.sustain import sustain as search
    from streamgauge.report.progress import progress_display

    with progress_display(quiet=quiet) as monitor:
        found = search(
            workload,
            within=within,
            budget=budget,
            latency=latency,
            duration=duration,
            warmup=warmup,
            resume=resume,
            monitor=monitor,
            **settings,
        )
    if json_:
        print_json(found.document())
    else:
        from streamgauge.report.search import print_search

        print_search(found)
    raise typer.Exit(EXIT_BY_VERDICT[found.verdict.value])
