"""`list` and `describe`: what can be run, what exactly it computes, and what an arrival law offers."""

from pathlib import Path
from typing import Annotated

import typer

from streamgauge.cli.load_options import refuse_wrong_prototype
from streamgauge.cli.options import Json, Seed, print_json
from streamgauge.errors import EnvironmentNotReadyError, UsageError, closest


def list_workloads(json_: Json = False) -> None:
    """List the workloads of the catalogue."""
    from streamgauge.events import event_streams
    from streamgauge.workloads import catalogue

    workloads = list(catalogue().values())
    if json_:
        rows = [{"name": w.name, "suite": w.suite, "question": w.question, "operators": w.operators} for w in workloads]
        streams = [{"name": s.name, "summary": s.summary} for s in event_streams().values()]
        print_json({"workloads": rows, "event_streams": streams})
        return
    from streamgauge.report.catalogue import print_list

    print_list(workloads, list(event_streams().values()))


def describe(
    name: Annotated[
        str | None, typer.Argument(help="A workload, an event stream, or a prototype file (*.yaml).")
    ] = None,
    arrivals: Annotated[str | None, typer.Option("--arrivals", help="Draw this arrival law instead.")] = None,
    rate: Annotated[str, typer.Option("--rate", help="The rate of a law that names none.")] = "50k",
    duration: Annotated[str, typer.Option("--duration", help="How much of the law to draw.")] = "60s",
    seed: Seed = 1,
    json_: Json = False,
) -> None:
    """Show what a workload computes (schemas, parameters, reference, state), draw a prototype or an arrival law."""
    if (name is None) == (arrivals is None):
        raise UsageError(
            "nothing to describe" if name is None else "a name and --arrivals exclude each other",
            remedy="name a workload, an event stream (see `streamgauge list`) or a prototype file, or use --arrivals",
        )
    if arrivals is not None:
        _describe_arrivals(arrivals, rate, duration, seed, as_json=json_)
    else:
        _describe_named(str(name), as_json=json_)


def _describe_arrivals(text: str, rate: str, duration: str, seed: int, *, as_json: bool) -> None:
    from streamgauge.arrivals import parse_law
    from streamgauge.experiment.settings import parse_seed
    from streamgauge.report.arrivals import describe_arrivals, print_arrivals
    from streamgauge.units import parse_duration, parse_rate

    law = parse_law(text, rate_per_s=parse_rate(rate), seed=parse_seed(seed))
    duration_s = parse_duration(duration, minimum_s=1.0)
    if as_json:
        print_json(describe_arrivals(law, duration_s))
    else:
        print_arrivals(law, duration_s)


def _describe_named(name: str, *, as_json: bool) -> None:
    refuse_wrong_prototype(name)
    from streamgauge.events import event_streams
    from streamgauge.report.catalogue import describe_events, describe_workload, print_events, print_workload
    from streamgauge.workloads import catalogue, is_prototype

    if is_prototype(name):
        _describe_prototype(Path(name), as_json=as_json)
    elif name in catalogue():
        workload = catalogue()[name]
        if as_json:
            print_json(describe_workload(workload))
        else:
            print_workload(workload)
    elif name in event_streams():
        stream = event_streams()[name]
        if as_json:
            print_json(describe_events(stream))
        else:
            print_events(stream)
    else:
        known = [*catalogue(), *event_streams()]
        raise UsageError(f'unknown workload "{name}"', remedy=closest(name, known))


def _describe_prototype(path: Path, *, as_json: bool) -> None:
    from streamgauge.prototype import load_application
    from streamgauge.report.application import describe_application, print_application

    application = load_application(path)
    ns_per_cycle, notes = _cycle_cost()
    if as_json:
        print_json(describe_application(application, ns_per_cycle, notes))
    else:
        print_application(application, ns_per_cycle, notes)


def _cycle_cost() -> tuple[float | None, list[str]]:
    """Return the nanoseconds of a cycle on this machine, None before they are measured, and what is wrong with them."""
    from streamgauge.prototype.calibration import read_calibration

    try:
        known = read_calibration()
        if known is None:
            return None, []
        from streamgauge.experiment.calibrate import this_machine

        known.refuse_other(this_machine())
    except EnvironmentNotReadyError as error:
        return None, [f"loads are not shown as time: {error.what}"]
    return known.ns_per_cycle("native"), []
