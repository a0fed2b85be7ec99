"""The options of run-like commands."""

from typing import Annotated

import typer

Load = Annotated[
    str,
    typer.Option(
        "--load",
        help="open: events arrive at --rate; offline: all exist at once; online: open at half of the offline maximum.",
    ),
]
Rate = Annotated[
    str | None,
    typer.Option(
        "--rate",
        help="Events per second, e.g. 200k or 1.5M; default 50k, or 500k where it says how many exist at once.",
    ),
]
Arrivals = Annotated[str, typer.Option("--arrivals", help="Arrival law.")]
Duration = Annotated[str, typer.Option("--duration", help="How long to measure, after the warm-up.")]
Warmup = Annotated[str, typer.Option("--warmup", help="Load before the measurement, not counted.")]
Drain = Annotated[str, typer.Option("--drain", help="How long to wait for the backlog after the load.")]
Trigger = Annotated[str, typer.Option("--trigger", help="Trigger interval; 0s starts batches back to back.")]
ShufflePartitions = Annotated[int | None, typer.Option("--shuffle-partitions", help="Default: one per core.")]
SourcePartitions = Annotated[int | None, typer.Option("--source-partitions", help="Default: one per core.")]
MaxRows = Annotated[
    str | None,
    typer.Option(
        "--max-rows-per-batch", help="Admission limit in events; by default it adapts: batches end in about 3 s."
    ),
]
Events = Annotated[str | None, typer.Option("--events", help="Event stream for a function of your own; default ysb.")]
Source = Annotated[str, typer.Option("--source", help="Where events come from.")]
Sink = Annotated[str, typer.Option("--sink", help="Where results go.")]
Mode = Annotated[str, typer.Option("--mode", help="Execution mode.")]
Verify = Annotated[bool, typer.Option("--verify/--no-verify", help="Check answer and generator before the load.")]
