"""`scale`: how capacity grows with cores."""

from typing import Annotated, Any

import typer

from streamgauge.cli.answer import measure_and_conclude
from streamgauge.cli.load_options import takes_options
from streamgauge.cli.options import Json, Quiet, Resume, Workload

CoresList = Annotated[str | None, typer.Option("--cores", help="Core counts, e.g. 1,2,4; default powers of two.")]
PartitionsList = Annotated[
    str | None, typer.Option("--shuffle-partitions", help="Partition counts, e.g. 2,8; default one per core.")
]
WorkersList = Annotated[
    str | None, typer.Option("--workers", help="Numbers of workers of the cluster --master, e.g. 1,2.")
]
Repeat = Annotated[int, typer.Option("--repeat", help="How often to run every setting.")]


@takes_options("scale")
def scale(
    workload: Workload,
    settings: dict[str, Any],
    cores: CoresList = None,
    workers: WorkersList = None,
    shuffle_partitions: PartitionsList = None,
    repeat: Repeat = 3,
    resume: Resume = None,
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Measure capacity, speed-up and efficiency over numbers of cores, and fit the universal scalability law."""
    from streamgauge.experiments.scale import scale as measure
    from streamgauge.report.terminal.scale import print_scale

    own = {"cores": cores, "workers": workers, "shuffle_partitions": shuffle_partitions, "repeat": repeat}
    measure_and_conclude(measure, print_scale, workload, quiet=quiet, as_json=json_, resume=resume, **own, **settings)
