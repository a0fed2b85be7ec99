"""The catalogue as people and programs read it."""

from collections.abc import Iterable, Sequence
from typing import Any

from rich.console import Console
from rich.text import Text

from streamgauge.events import EventStream, Field, Parameters
from streamgauge.report.console import console, plain_table
from streamgauge.workloads import Workload
from streamgauge.workloads.parameters import describe_parameters


def print_list(workloads: Sequence[Workload], streams: Sequence[EventStream], out: Console | None = None) -> None:
    """Print the names and questions of all workloads, and the event streams."""
    out = out or console()
    table = plain_table()
    table.add_column("workload", no_wrap=True)
    table.add_column("question")
    for workload in workloads:
        table.add_row(workload.name, workload.question)
    out.print(table)
    out.print()
    table = plain_table()
    table.add_column("event stream", no_wrap=True)
    table.add_column("what it holds")
    for stream in streams:
        table.add_row(stream.name, stream.summary)
    out.print(table)
    out.print(Text("\n`streamgauge describe NAME` tells more; your own query runs as `file.py:function`."))


def _fields(fields: Iterable[Field]) -> list[dict[str, str]]:
    return [{"name": f.name, "type": f.type, "meaning": f.meaning} for f in fields]


def _parameters(model: type[Parameters]) -> list[dict[str, Any]]:
    return [
        {"name": p.name, "domain": p.domain, "default": p.default, "effect": p.effect}
        for p in describe_parameters(model)
    ]


def describe_events(stream: EventStream) -> dict[str, Any]:
    """Return an event stream as a document."""
    return {
        "name": stream.name,
        "summary": stream.summary,
        "schema": _fields(stream.fields),
        "parameters": _parameters(stream.parameters),
    }


def describe_workload(workload: Workload) -> dict[str, Any]:
    """Return a workload as a document."""
    defaults = workload.parameters()
    return {
        "name": workload.name,
        "suite": workload.suite,
        "question": workload.question,
        "operators": workload.operators,
        "state": workload.state,
        "differences": workload.differences,
        "events": workload.events.name,
        "input": _fields(workload.events.fields),
        "output": _fields(workload.output),
        "output_mode": workload.output_mode(defaults),
        "parameters": _parameters(workload.parameters),
        "reference": workload.reference_sql,
    }


def _print_fields(title: str, fields: Iterable[Field], out: Console) -> None:
    table = plain_table()
    for column in (title, "type", "meaning"):
        table.add_column(column)
    for f in fields:
        table.add_row(f.name, f.type, f.meaning)
    out.print(table)
    out.print()


def _print_parameters(model: type[Parameters], out: Console) -> None:
    table = plain_table()
    for column in ("parameter", "default", "domain", "effect"):
        table.add_column(column)
    for p in describe_parameters(model):
        default = str(p.default).lower() if isinstance(p.default, bool) else str(p.default)
        table.add_row(p.name, default, p.domain, p.effect)
    out.print(table)
    out.print()


def print_events(stream: EventStream, out: Console | None = None) -> None:
    """Print schema and parameters of an event stream."""
    out = out or console()
    out.print(Text(f"{stream.name}: {stream.summary}\n", style="bold"))
    _print_fields("column", stream.fields, out)
    _print_parameters(stream.parameters, out)


def print_workload(workload: Workload, out: Console | None = None) -> None:
    """Print everything that defines a workload."""
    out = out or console()
    out.print(Text(workload.name, style="bold"))
    out.print(Text(f"{workload.question}\n"))
    out.print(Text(f"operators: {workload.operators}"))
    out.print(Text(f"state: {workload.state}"))
    out.print(Text(f"output mode: {workload.output_mode(workload.parameters())}"))
    if workload.differences:
        out.print(Text(f"differs from other variants: {workload.differences}"))
    out.print()
    _print_fields(f"input ({workload.events.name})", workload.events.fields, out)
    _print_fields("output", workload.output, out)
    _print_parameters(workload.parameters, out)
    out.print(Text("reference (DuckDB, over the table of all events)", style="bold"))
    out.print(Text(workload.reference_sql or "none"))
