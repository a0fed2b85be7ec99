"""`list` and `describe`: what can be run, and what exactly it computes."""

from typing import Annotated

import typer

from streamgauge.cli.options import Json, print_json
from streamgauge.errors import UsageError, closest


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
    name: Annotated[str, typer.Argument(help="A workload or an event stream.")],
    json_: Json = False,
) -> None:
    """Show what a workload computes: schemas, parameters, reference, state."""
    from streamgauge.events import event_streams
    from streamgauge.report.catalogue import describe_events, describe_workload, print_events, print_workload
    from streamgauge.workloads import catalogue

    if name in catalogue():
        workload = catalogue()[name]
        if json_:
            print_json(describe_workload(workload))
        else:
            print_workload(workload)
    elif name in event_streams():
        stream = event_streams()[name]
        if json_:
            print_json(describe_events(stream))
        else:
            print_events(stream)
    else:
        known = [*catalogue(), *event_streams()]
        raise UsageError(f'unknown workload "{name}"', remedy=closest(name, known))
