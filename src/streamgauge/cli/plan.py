"""`plan`: what a run would do, without doing it."""

from typing import Annotated

import typer

from streamgauge.cli import load_options as load
from streamgauge.cli.options import Conf, Cores, Json, Master, Runs, Seed, Set, pairs, print_json


def plan(
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
    json_: Json = False,
) -> None:
    """Show what `run` with the same options would do; starts nothing."""
    from streamgauge.experiment.plan import make_plan

    document = make_plan(
        workload,
        events=events,
        parameters=pairs(set_, "--set"),
        runs=runs,
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
    if json_:
        print_json(document)
        return
    from streamgauge.report.plan import print_plan

    print_plan(document)
