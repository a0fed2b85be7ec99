"""`list` and `describe`: what can be run, what exactly it computes, and what an arrival law offers."""

from pathlib import Path
from typing import Annotated

import typer

from streamgauge.bundle import bundled, summary
from streamgauge.cli.answer import print_answer
from streamgauge.cli.load_options import refuse_wrong_prototype
from streamgauge.cli.options import Json, Seed, print_json
from streamgauge.errors import EnvironmentNotReadyError, UsageError, closest


def list_workloads(json_: Json = False) -> None:
    """List what can be run: workloads, suites and prototypes."""
    from streamgauge.events import event_streams
    from streamgauge.workloads import catalogue

    workloads, streams = list(catalogue().values()), list(event_streams().values())
    suites = {f"suite:{name}": summary(path) for name, path in bundled("suite").items()}
    prototypes = {f"prototype:{name}": summary(path) for name, path in _example_prototypes().items()}
    if json_:
        rows = [
            {"name": w.name, "family": w.family, "question": w.question, "operators": w.traits.operators}
            for w in workloads
        ]
        others = {"event_streams": {s.name: s.summary for s in streams}, "suites": suites, "prototypes": prototypes}
        named = {kind: [{"name": n, "summary": s} for n, s in known.items()] for kind, known in others.items()}
        print_json({"workloads": rows, **named})
        return
    from streamgauge.report.terminal.catalogue import print_list

    print_list(workloads, streams, {"suite": suites, "prototype": prototypes})


def _example_prototypes() -> dict[str, Path]:
    """Return the prototypes that are of use by themselves, without those that only suites need."""
    return {**bundled("prototype", "."), **bundled("prototype", "topologies")}


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
    from streamgauge.report.terminal.arrivals import describe_arrivals, print_arrivals
    from streamgauge.settings.table import SETTINGS
    from streamgauge.units import parse_duration, parse_rate

    law = parse_law(text, rate_per_s=parse_rate(rate), seed=SETTINGS["seed"].read(seed))
    duration_s = parse_duration(duration, minimum_s=1.0)
    if as_json:
        print_json(describe_arrivals(law, duration_s))
    else:
        print_arrivals(law, duration_s)


def _describe_named(name: str, *, as_json: bool) -> None:
    refuse_wrong_prototype(name)
    from streamgauge.events import event_streams
    from streamgauge.lookup import is_prototype
    from streamgauge.report.terminal.catalogue import describe_events, describe_workload, print_events, print_workload
    from streamgauge.workloads import catalogue

    if is_prototype(name):
        _describe_prototype(name, as_json=as_json)
    elif name in catalogue():
        print_answer(catalogue()[name], print_workload, describe_workload, as_json=as_json)
    elif name in event_streams():
        print_answer(event_streams()[name], print_events, describe_events, as_json=as_json)
    else:
        known = [*catalogue(), *event_streams()]
        raise UsageError(f'unknown workload "{name}"', remedy=closest(name, known))


def _describe_prototype(reference: str, *, as_json: bool) -> None:
    from streamgauge.prototype import load_application
    from streamgauge.report.content.application import describe_application
    from streamgauge.report.terminal.application import print_application

    application = load_application(reference)
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
        from streamgauge.prototyping.calibrate import this_machine

        known.refuse_other(this_machine())
    except EnvironmentNotReadyError as error:
        return None, [f"loads are not shown as time: {error.what}"]
    return known.ns_per_cycle("native"), []
