"""`run`: measure a workload at a load."""

from typing import Annotated

import typer

from streamgauge.cli import load_options as load
from streamgauge.cli.options import (
    EXIT_BY_VERDICT,
    Conf,
    Cores,
    Json,
    Master,
    Quiet,
    Runs,
    Seed,
    Set,
    pairs,
    print_json,
)
from streamgauge.errors import EXIT_INTERRUPTED


def run(
    workload: Annotated[str, typer.Argument(help="A name from `list`, or file.py:function.")],
    load_: load.Load = "open",
    rate: load.Rate = None,
    arrivals: load.Arrivals = "constant",
    duration: load.Duration = "30s",
    warmup: load.Warmup = "10s",
    drain: load.Drain = "30s",
    trigger: load.Trigger = "0s",
    cores: Cores = None,
    master: Master = None,
    shuffle_partitions: load.ShufflePartitions = None,
    source_partitions: load.SourcePartitions = None,
    max_rows_per_batch: load.MaxRows = None,
    set_: Set = None,
    conf: Conf = None,
    events: load.Events = None,
    source: load.Source = "embedded",
    sink: load.Sink = "noop",
    mode: load.Mode = "micro-batch",
    verify: load.Verify = True,
    seed: Seed = 1,
    runs: Runs = None,
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Measure how fast and how late a workload is at a given load."""
    from streamgauge.experiment.run import run as measure
    from streamgauge.report.progress import progress_display

    with progress_display(quiet=quiet) as monitor:
        result = measure(
            workload,
            events=events,
            parameters=pairs(set_, "--set"),
            runs=runs,
            monitor=monitor,
            load=load_,
            rate=rate,
            arrivals=arrivals,
            duration=duration,
            warmup=warmup,
            drain=drain,
            trigger=trigger,
            cores=cores,
            master=master,
            shuffle_partitions=shuffle_partitions,
            source_partitions=source_partitions,
            max_rows_per_batch=max_rows_per_batch,
            conf=pairs(conf, "--conf"),
            source=source,
            sink=sink,
            mode=mode,
            verify=verify,
            seed=seed,
        )
    stored = result.stored()
    if json_:
        print_json(result.summary)
    else:
        from streamgauge.report.terminal import print_summary

        print_summary(stored)
    interrupted = stored.status == "interrupted"
    raise typer.Exit(EXIT_INTERRUPTED if interrupted else EXIT_BY_VERDICT[result.verdict])
