"""The catalogue as people and programs read it."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

from streamgauge.events import EventStream, Field, Parameters
from streamgauge.report.terminal.console import console, plain_table
from streamgauge.workloads import Workload
from streamgauge.workloads.modes import possible_modes
from streamgauge.workloads.parameters import describe_parameters

ARROW = "─▶"


def print_list(
    workloads: Sequence[Workload],
    streams: Sequence[EventStream],
    files: Mapping[str, Mapping[str, str]],
    out: Console | None = None,
) -> None:
    """Print what can be run and what each is: workloads, event streams, and `files` of the package by their kind."""
    out = out or console()
    tables = {
        ("workload", "question"): {workload.name: workload.question for workload in workloads},
        ("event stream", "what it holds"): {stream.name: stream.summary for stream in streams},
        **{(kind, "what it is"): rows for kind, rows in files.items()},
    }
    for number, (heads, rows) in enumerate(tables.items()):
        table = plain_table()
        table.add_column(heads[0], no_wrap=True)
        table.add_column(heads[1])
        for row in rows.items():
            table.add_row(*row)
        out.print(*([Text()] if number else []), table)
    out.print(Text("\n`streamgauge describe NAME` shows more; your own query runs as `file.py:function`."))


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


def dataflow_steps(workload: Workload) -> list[str]:
    """Return what the events pass on their way to the sink, both ends included."""
    return [f"{workload.events.name} events", *(step.text for step in workload.traits.steps), "sink"]


def _semantics(workload: Workload) -> str | None:
    return getattr(workload.parameters(), "semantics", None)


def _other_defaults(variant: Workload, workload: Workload) -> dict[str, Any]:
    """Return the defaults of a variant that differ from those of the workload."""
    known = workload.parameters().model_dump()
    made = variant.parameters().model_dump()
    return {name: value for name, value in made.items() if name != "semantics" and value != known.get(name)}


def _describe_variant(semantics: str, variant: Workload, workload: Workload) -> dict[str, Any]:
    return {
        "semantics": semantics,
        "dataflow": dataflow_steps(variant),
        "state": variant.traits.state.text,
        "output": _fields(variant.output),
        "defaults": _other_defaults(variant, workload),
        "reference": variant.answer.text,
    }


def describe_workload(workload: Workload) -> dict[str, Any]:
    """Return a workload as a document."""
    defaults = workload.parameters()
    return {
        "name": workload.name,
        "family": workload.family,
        "question": workload.question,
        "operators": workload.traits.operators,
        "dataflow": dataflow_steps(workload),
        "semantics": _semantics(workload),
        "variants": [_describe_variant(name, variant, workload) for name, variant in workload.variants.items()],
        "state": workload.traits.state.text,
        "differences": workload.differences,
        "events": workload.events.name,
        "input": _fields(workload.events.fields),
        "output": _fields(workload.output),
        "output_mode": workload.output_mode(defaults),
        "modes": possible_modes(workload),
        "parameters": _parameters(workload.parameters),
        "reference": workload.answer.text,
    }


def _print_fields(title: str, fields: Iterable[Field], out: Console) -> None:
    out.print(plain_table((title, "type", "meaning"), [(f.name, f.type, f.meaning) for f in fields]))
    out.print()


def _print_parameters(model: type[Parameters], out: Console) -> None:
    rows = []
    for p in describe_parameters(model):
        default = str(p.default).lower() if isinstance(p.default, bool) else str(p.default)
        rows.append((p.name, default, p.domain, p.effect))
    out.print(plain_table(("parameter", "default", "domain", "effect"), rows))
    out.print()


def print_events(stream: EventStream, out: Console | None = None) -> None:
    """Print schema and parameters of an event stream."""
    out = out or console()
    out.print(Text(f"{stream.name}: {stream.summary}\n", style="bold"))
    _print_fields("column", stream.fields, out)
    _print_parameters(stream.parameters, out)


def _graph(steps: Sequence[str], width: int) -> str:
    """Draw the steps as a chain; a line that would be too long ends before an arrow."""
    lines = [f"dataflow: {steps[0]}"]
    for step in steps[1:]:
        if cell_len(longer := f"{lines[-1]} {ARROW} {step}") <= width:
            lines[-1] = longer
        else:
            lines.append(f"  {ARROW} {step}")
    return "\n".join(lines)


def _print_variants(workload: Workload, out: Console) -> None:
    """Print whose definition runs, and how the others differ."""
    semantics = _semantics(workload)
    if semantics:
        out.print(Text(f"semantics: {semantics}"))
    for name, variant in workload.variants.items():
        columns = ", ".join(f"{f.name} {f.type}" for f in variant.output)
        parts = ["the same columns" if variant.output == workload.output else f"columns {columns}"]
        parts += [f"{key}={value} by default" for key, value in _other_defaults(variant, workload).items()]
        out.print(Text(f"with --set semantics={name}: {'; '.join(parts)}"))


def _print_modes(workload: Workload, out: Console) -> None:
    """Print in which execution modes the workload can run, and why not in the others."""
    modes = possible_modes(workload)
    out.print(Text(f"execution modes: {', '.join(mode for mode, reason in modes.items() if reason is None)}"))
    for mode, reason in modes.items():
        if reason is not None:
            out.print(Text(f"not {mode}: {reason}"))


def _print_references(workload: Workload, out: Console) -> None:
    """Print the SQL as it is, so that it can be copied."""
    how = "NumPy" if workload.answer.function else "DuckDB"
    out.print(Text(f"reference ({how}, over the table of all events)", style="bold"))
    out.print(Text(workload.answer.text or "none"), soft_wrap=True)
    for name, variant in workload.variants.items():
        if variant.answer.text != workload.answer.text:
            out.print(Text(f"reference with semantics={name}", style="bold"))
            out.print(Text(variant.answer.text or "none"), soft_wrap=True)


def print_workload(workload: Workload, out: Console | None = None) -> None:
    """Print everything that defines a workload."""
    out = out or console()
    out.print(Text(workload.name, style="bold"))
    out.print(Text(f"{workload.question}\n"))
    out.print(Text(_graph(dataflow_steps(workload), out.width)))
    out.print(Text(f"state: {workload.traits.state.text}"))
    out.print(Text(f"output mode: {workload.output_mode(workload.parameters())}"))
    _print_modes(workload, out)
    _print_variants(workload, out)
    if workload.differences:
        out.print(Text(f"differs from other variants: {workload.differences}"))
    out.print()
    _print_fields(f"input ({workload.events.name})", workload.events.fields, out)
    _print_fields("output", workload.output, out)
    _print_parameters(workload.parameters, out)
    _print_references(workload, out)
