"""The options of commands that run a workload, said once: `runs_workload` adds them to a command."""

import inspect
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated, Any, get_type_hints

import typer

from streamgauge.cli.options import Conf, Cores, Master, Runs, Seed, Set, pairs
from streamgauge.errors import EXIT_INTERRUPTED, UsageError

Load = Annotated[
    str | None,
    typer.Option(
        "--load",
        help=(
            "open: events arrive at --rate; offline: all exist at once; online: open at half of the offline maximum; "
            "default open, or as a prototype file says."
        ),
    ),
]
Rate = Annotated[
    str | None,
    typer.Option(
        "--rate",
        help=(
            "Events per second, e.g. 200k or 1.5M; default 50k, 500k where it says how many exist at once, "
            "10k without micro-batches, or as a prototype file says."
        ),
    ),
]
Arrivals = Annotated[
    str | None, typer.Option("--arrivals", help="Arrival law; default constant, or as a prototype file says.")
]
Duration = Annotated[str, typer.Option("--duration", help="How long to measure, after the warm-up.")]
Warmup = Annotated[str, typer.Option("--warmup", help="Load before the measurement, not counted.")]
Drain = Annotated[str, typer.Option("--drain", help="How long to wait for the backlog after the load.")]
Trigger = Annotated[str, typer.Option("--trigger", help="Trigger interval; 0s starts batches back to back.")]
ShufflePartitions = Annotated[
    int | None,
    typer.Option("--shuffle-partitions", help="Default: one per core, or as a prototype file says."),
]
SourcePartitions = Annotated[
    int | None,
    typer.Option("--source-partitions", help="Default: one per core, or as a prototype file says."),
]
MaxRows = Annotated[
    str | None,
    typer.Option(
        "--max-rows-per-batch", help="Admission limit in events; by default it adapts: batches end in about 3 s."
    ),
]
Events = Annotated[str | None, typer.Option("--events", help="Event stream for a function of your own; default ysb.")]
Source = Annotated[
    str | None,
    typer.Option("--source", help="Where events come from: embedded or kafka; default embedded, or as a file says."),
]
Sink = Annotated[
    str | None,
    typer.Option(
        "--sink", help="Where results go: noop, kafka or redis; default noop, or kafka outside of micro-batches."
    ),
]
Mode = Annotated[
    str, typer.Option("--mode", help="Execution mode: micro-batch, micro-batch-async, real-time or continuous.")
]
Latency = Annotated[
    str | None,
    typer.Option(
        "--latency",
        help="What ends a latency: the commit of a micro-batch, or a record in Kafka; default record without batches.",
    ),
]
Kafka = Annotated[
    str | None, typer.Option("--kafka", metavar="HOST:PORT", help="Brokers; default those of `services up kafka`.")
]
Topic = Annotated[str | None, typer.Option("--topic", help="Topic of the events; default the workload's name.")]
Format = Annotated[str, typer.Option("--format", help="Form of the records in the topic: json or binary.")]
KafkaOption = Annotated[
    list[str] | None,
    typer.Option(
        "--kafka-option",
        metavar="KEY=VALUE",
        help="A setting of the Kafka client; @FILE and env:NAME give secrets; repeatable.",
    ),
]
ExternalLoad = Annotated[
    bool, typer.Option("--external-load", help="Wait for a `streamgauge load` that fills the topic; start none.")
]
Redis = Annotated[
    str | None,
    typer.Option("--redis", metavar="HOST:PORT", help="Redis of the sink; default that of `services up redis`."),
]
Explore = Annotated[
    bool,
    typer.Option(
        "--explore/--no-explore",
        help="After a load of 30 s or more, run a few micro-batches of other sizes, for `predict`; not in sets.",
    ),
]
Verify = Annotated[bool, typer.Option("--verify/--no-verify", help="Check answer and generator before the load.")]


def _options(
    load: Load = None,
    rate: Rate = None,
    arrivals: Arrivals = None,
    duration: Duration = "30s",
    warmup: Warmup = "10s",
    drain: Drain = "30s",
    trigger: Trigger = "0s",
    cores: Cores = None,
    master: Master = None,
    shuffle_partitions: ShufflePartitions = None,
    source_partitions: SourcePartitions = None,
    max_rows_per_batch: MaxRows = None,
    set_: Set = None,
    conf: Conf = None,
    events: Events = None,
    source: Source = None,
    sink: Sink = None,
    mode: Mode = "micro-batch",
    latency: Latency = None,
    kafka: Kafka = None,
    topic: Topic = None,
    format_: Format = "json",
    kafka_option: KafkaOption = None,
    external_load: ExternalLoad = False,
    redis: Redis = None,
    verify: Verify = True,
    explore: Explore = True,
    seed: Seed = 1,
    runs: Runs = None,
) -> None:
    """Declare the options; never called."""


def _settings(given: dict[str, Any]) -> dict[str, Any]:
    """Turn what the parser read into the arguments of `streamgauge.run`."""
    settings = dict(given)
    settings["parameters"] = pairs(settings.pop("set_", None), "--set")
    settings["conf"] = pairs(settings.pop("conf", None), "--conf")
    if "format_" in settings:
        settings["format"] = settings.pop("format_")
        settings["kafka_options"] = pairs(settings.pop("kafka_option"), "--kafka-option")
    return settings


def runs_workload(*, without: tuple[str, ...] = ()) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Give a command the options of a run; it gets them as the dictionary `settings`.

    The command's own parameter `settings` stands where the options belong; those named in `without` are left out.
    """

    def decorate(command: Callable[..., None]) -> Callable[..., None]:
        own = inspect.signature(command).parameters
        added = {n: p for n, p in inspect.signature(_options).parameters.items() if n not in without and n not in own}
        parameters: list[inspect.Parameter] = []
        for name, parameter in own.items():
            parameters += added.values() if name == "settings" else [parameter]

        def whole(**given: Any) -> None:
            refuse_wrong_prototype(given.get("workload"))
            settings = _settings({name: given.pop(name) for name in added})
            try:
                command(**given, settings=settings)
            except KeyboardInterrupt as interrupt:
                # Told here, because the parser makes an exit code of an interrupt and forgets its notes.
                for note in getattr(interrupt, "__notes__", ()):
                    typer.echo(f"interrupted: {note}", err=True)
                raise typer.Exit(EXIT_INTERRUPTED) from None

        hints = {**get_type_hints(_options, include_extras=True), **get_type_hints(command, include_extras=True)}
        named = [p.replace(kind=inspect.Parameter.KEYWORD_ONLY, annotation=hints[p.name]) for p in parameters]
        whole.__signature__ = inspect.Signature(named)  # type: ignore[attr-defined]
        whole.__annotations__ = {p.name: hints[p.name] for p in named}
        whole.__name__, whole.__doc__ = command.__name__, command.__doc__
        return whole

    return decorate


def refuse_wrong_prototype(reference: str | None) -> None:
    """Tell the mistakes of a prototype file at once, before all that is needed to run one is imported."""
    if reference is None or not reference.endswith((".yaml", ".yml")):
        return
    from streamgauge.prototype.document import is_prototype_file, load_application

    if is_prototype_file(Path(reference)):
        load_application(Path(reference))


def is_suite_file(reference: str) -> bool:
    """Tell a suite file from a workload, which may be a prototype file."""
    from streamgauge.workloads import is_prototype

    if not is_prototype(reference):
        return False
    from streamgauge.prototype.document import is_prototype_file

    return not is_prototype_file(Path(reference))


def refuse_options_beside_file(context: typer.Context, allowed: Collection[str]) -> None:
    """Refuse options that a suite file decides; `allowed` are the parameters that it does not."""
    given = [
        parameter.opts[0]
        for parameter in context.command.params
        if parameter.name not in allowed and _is_given(context, parameter.name or "")
    ]
    if given:
        what = f"{', '.join(given)} cannot be used with a suite file, which decides it"
        raise UsageError(what, remedy="write it in the file, under `defaults` or at a run")


def _is_given(context: typer.Context, name: str) -> bool:
    source = context.get_parameter_source(name)
    return source is not None and source.name == "COMMANDLINE"
