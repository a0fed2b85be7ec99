"""Prototype files: one YAML file that describes an application, by either of NAMB's two schemas."""

import re
from difflib import get_close_matches
from pathlib import Path
from typing import Literal

from streamgauge.bundle import locate
from streamgauge.errors import closest
from streamgauge.prototype.file.pipeline import read_pipeline, tasks_of
from streamgauge.prototype.file.reading import PrototypeReader, PrototypeSection
from streamgauge.prototype.file.vocabulary import DATASTREAM, ROOTS, WORKFLOW
from streamgauge.prototype.file.workflow import Components, read_workflow
from streamgauge.prototype.graph.application import Application, RoutingScope
from streamgauge.yaml_nodes import Limits, Mapping, Mistakes, Node, Place, Scalar, compose, is_empty, read_text

Schema = Literal["workflow", "pipeline"]
NOTHING: Components = ((), ())
BEGINNING = "begin with `workflow:` or `pipeline:`"

LIMITS = Limits("prototype", size_bytes=200_000, lines=10_000, values=5_000)
OLDER_ROOTS = dict.fromkeys(WORKFLOW.older, "workflow")
_SUITE_ROOTS = ("streamgauge", "runs")
_ROOT_KEY = re.compile(r"""^["']?([A-Za-z_]\w*)["']?[ \t]*:(?=\s|$)""", re.MULTILINE)
# The first key of a file that is written like JSON.
_FLOW_KEY = re.compile(r"""\A(?:\s|\#[^\n]*\n|---)*\{\s*["']?([A-Za-z_]\w*)["']?\s*:""")

# Keys of the file by their names of today, with their values.
_Roots = dict[str, tuple[Scalar, Node]]


def is_prototype_file(reference: str | Path) -> bool:
    """Return whether a file, or `prototype:NAME`, describes an application, and not a suite; also one with mistakes.

    Files that cannot be read are not prototypes, so that others say what is wrong with them.
    """
    keys, known = _root_keys(reference), [*ROOTS, *OLDER_ROOTS]
    if keys.intersection(known):
        return True
    return keys.isdisjoint(_SUITE_ROOTS) and any(get_close_matches(key, known, n=1, cutoff=0.75) for key in keys)


def is_suite_file(reference: str | Path) -> bool:
    """Return whether a file has keys that only suites have."""
    return not is_prototype_file(reference) and not _root_keys(reference).isdisjoint(_SUITE_ROOTS)


def _root_keys(reference: str | Path) -> set[str]:
    try:
        with locate(reference).open("rb") as file:
            text = file.read(LIMITS.size_bytes).decode("utf-8-sig", errors="replace")
    except (OSError, ValueError):
        return set()
    return {*_ROOT_KEY.findall(text), *_FLOW_KEY.findall(text)}


def _read_roots(reader: PrototypeReader, node: Mapping) -> _Roots:
    roots: _Roots = {}
    for key, value in node.entries:
        name = OLDER_ROOTS.get(key.text, key.text)
        if name not in ROOTS:
            reader.mistakes.add(key.place, f'a prototype file has no key "{key.text}"', closest(key.text, ROOTS))
            continue
        if name in roots:
            other = roots[name][0]
            what = f'"{key.text}" is the same as "{other.text}" in line {other.place.line}'
            reader.mistakes.add(key.place, what, f"keep one of them, as {name}")
            continue
        if name != key.text:
            reader.warn(key.place, f"{key.text} is an obsolete name; write {name}")
        roots[name] = (key, value)
    return roots


def _read_sections(reader: PrototypeReader, roots: _Roots, place: Place) -> tuple[PrototypeSection, PrototypeSection]:
    """Return what sources of a workflow emit, and what the workflow is; defaults where the file has nothing."""
    found = []
    for group in (DATASTREAM, WORKFLOW):
        key, node = roots.get(group.name, (None, None))
        found.append(reader.section(node, group, key=key) if node else PrototypeSection(group, place))
    return found[0], found[1]


def _read_components(reader: PrototypeReader, node: Node) -> tuple[Components, Schema, RoutingScope]:
    """Read what can be read; no components where there is nothing."""
    if is_empty(node) or (isinstance(node, Mapping) and not node.entries):
        reader.mistakes.add(Place(1, 1), "the file is empty", BEGINNING)
        return NOTHING, "workflow", "all"
    if not isinstance(node, Mapping):
        reader.mistakes.add(node.place, "a prototype file needs keys with values", BEGINNING)
        return NOTHING, "workflow", "all"
    roots = _read_roots(reader, node)
    pipeline = roots.pop("pipeline", None)
    items = tasks_of(reader, *pipeline) if pipeline else None
    if items:
        for key, _ in roots.values():
            reader.warn(key.place, f"{key.text} is not read: pipeline has tasks")
        return read_pipeline(reader, items), "pipeline", "all"
    if pipeline and roots:
        reader.warn(pipeline[0].place, "pipeline is not read: it has no tasks")
    elif pipeline and items is not None:
        reader.mistakes.add(pipeline[0].place, "pipeline has no tasks", "write `- name: NAME` below `tasks:`")
    if not roots:
        return NOTHING, "workflow", "all"
    datastream, workflow = _read_sections(reader, roots, node.place)
    scope = workflow.part("connection")["routing_scope"]
    return read_workflow(reader, datastream, workflow), "workflow", scope


def read_application(text: str, *, name: str) -> Application:
    """Read the text of a prototype file; all mistakes are raised at once, as one `InvalidExperimentError`.

    `name` is how messages call the file, and the last part of it without its ending is the name of the application.
    """
    mistakes = Mistakes(name, text)
    reader = PrototypeReader(mistakes)
    node = compose(mistakes, LIMITS)
    if node is None and not mistakes.found:
        mistakes.add(Place(1, 1), "the file is empty", BEGINNING)
    (sources, tasks), schema, scope = _read_components(reader, node) if node else (NOTHING, "workflow", "all")
    if mistakes.found:
        raise mistakes.error()
    return Application(
        name=Path(name).stem,
        schema=schema,
        sources=sources,
        tasks=tasks,
        routing_scope=scope,
        text=text,
        warnings=reader.sorted_warnings(),
    )


def load_application(reference: str | Path) -> Application:
    """Read a prototype file, or `prototype:NAME`, as `read_application` does."""
    path = locate(reference)
    return read_application(read_text(path, LIMITS), name=str(path))
