"""`sustain`: the highest rate that a workload sustains."""

from typing import Annotated, Any

import typer

from streamgauge.cli.answer import measure_and_conclude
from streamgauge.cli.load_options import takes_options
from streamgauge.cli.options import Json, Quiet, Resume, Workload

Within = Annotated[str, typer.Option("--within", help="How far apart the ends of the interval may be.")]
Budget = Annotated[
    str | None, typer.Option("--budget", help="How long the search may take, e.g. 10min; default no limit.")
]
Limit = Annotated[
    str | None, typer.Option("--limit", help="A limit of the latency that a sustained rate must keep, e.g. p95<2s.")
]


@takes_options("sustain")
def sustain(
    workload: Workload,
    settings: dict[str, Any],
    within: Within = "5%",
    budget: Budget = None,
    limit: Limit = None,
    resume: Resume = None,
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Search for the highest rate that is sustained; --rate is where to begin, --duration the length of a probe."""
    from streamgauge.experiments.sustain import sustain as search
    from streamgauge.report.terminal.search import print_search

    own = {"within": within, "budget": budget, "limit": limit, "resume": resume}
    measure_and_conclude(search, print_search, workload, quiet=quiet, as_json=json_, **own, **settings)
