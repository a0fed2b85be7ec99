"""`load`: publish an event stream to Kafka, open loop."""

from typing import Annotated

import typer

from streamgauge.cli.load_options import Arrivals, Format, Kafka, KafkaOption, Topic
from streamgauge.cli.options import EXIT_BY_VERDICT, Json, Quiet, Seed, Set, pairs, print_json
from streamgauge.errors import EXIT_INTERRUPTED


def load(
    workload: Annotated[str, typer.Argument(help="A name from `list`, or a prototype file (*.yaml).")],
    rate: Annotated[str | None, typer.Option("--rate", help="Events per second; default 50k.")] = None,
    arrivals: Arrivals = None,
    duration: Annotated[str, typer.Option("--duration", help="How long to send.")] = "30s",
    kafka: Kafka = None,
    topic: Topic = None,
    partitions: Annotated[
        int | None, typer.Option("--partitions", help="Partitions of a new topic; default 2, or one per process.")
    ] = None,
    format_: Format = "json",
    kafka_option: KafkaOption = None,
    processes: Annotated[int, typer.Option("--processes", help="Processes that send.")] = 1,
    set_: Set = None,
    seed: Seed = 1,
    quiet: Quiet = False,
    json_: Json = False,
) -> None:
    """Publish the events of a workload to a topic: each at its time, whoever reads them."""
    from streamgauge.experiment.load import load as send
    from streamgauge.report.load import load_progress, print_load

    with load_progress(quiet=quiet) as tell:
        found = send(
            workload,
            rate=rate,
            arrivals=arrivals,
            duration=duration,
            kafka=kafka,
            topic=topic,
            partitions=partitions,
            format=format_,
            kafka_options=pairs(kafka_option, "--kafka-option"),
            processes=processes,
            parameters=pairs(set_, "--set"),
            seed=seed,
            tell=tell,
        )
    if json_:
        print_json(found.document())
    else:
        print_load(found)
    raise typer.Exit(EXIT_INTERRUPTED if found.is_interrupted else EXIT_BY_VERDICT[found.verdict.value])
