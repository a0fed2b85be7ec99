"""`scale`: how capacity grows with cores."""

from typing import Annotated, Any

import typer

from streamgauge.cli.load_options import runs_workload
from streamgauge.cli.options import EXIT_BY_VERDICT, Json, Quiet, print_json

CoresList = Annotated[str | None, typer.Option("--cores", help="Core counts, e.g. 1,2,4; default powers of two.")]
PartitionsList = Annotated[
    str | None, typer.Option("--shuffle-partitions", help="Partition counts, e.g. 2,8; default one per core.")
]
WorkersList = Annotated[
    str | None, typer.Option("--workers", help="Numbers of workers of the cluster --master, e.g. 1,2.")
]
Repeat = Annotated[int, typer.Option("--repeat", help="How often to run every setting.")]
Resume = Annotated[str | None, typer.Option("--resume", metavar="SET", help="Go on with an interrupted experiment.")]
Rate = Annotated[
    str | None,
    typer.Option(
        "--rate", help="Events per second of --duration; all exist at once. Default: what a first run processes."
    ),
]


@runs_workload(without=("load", "arrivals", "explore"))
def scale(
    workload: Annotated[
        str, typer.Argument(help="A name from `list`, file.py:function, or a prototype file (*.yaml).")
    ],
    settings: dict[str, Any],
    cores: CoresList = None,
    workers: WorkersList = None,
    shuffle_partitions: PartitionsList = None,
    repeat: Repeat = 3,
    rate: Rate = None,
    resume: Resume = None,
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Measure capacity, speed-up and efficiency over numbers of cores, and fit the universal scalability law."""
    from streamgauge.experiment.scale import scale as measure
    from streamgauge.report.progress import progress_display

    with progress_display(quiet=quiet) as monitor:
        found = measure(
            workload,
            cores=cores,
            workers=workers,
            shuffle_partitions=shuffle_partitions,
            repeat=repeat,
            rate=rate,
            resume=resume,
            monitor=monitor,
            **settings,
        )
    if json_:
        print_json(found.document())
    else:
        from streamgauge.report.scale import print_scale

        print_scale(found)
    raise typer.Exit(EXIT_BY_VERDICT[found.verdict.value])
