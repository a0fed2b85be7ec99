"""A JSON Schema of prototype files, for editors that complete and check while one writes."""

from typing import Any

from streamgauge.prototype.file.vocabulary import (
    DATA,
    DATASTREAM,
    FLOW,
    NAME,
    ROOTS,
    SOURCE,
    TASK,
    WINDOWING,
    WORKFLOW,
    Group,
    Key,
)

# Groups that are there more than once are written down once.
_SHARED = {group.name: group for group in (DATA, FLOW, WINDOWING)}


def _note(key: Key) -> str:
    """Return what a key means, and whether NAMB knows it."""
    if key.is_ours:
        return f"{key.meaning} (extension of streamgauge)"
    ours = ", ".join(key.our_choices)
    return f"{key.meaning} ({ours}: extension of streamgauge)" if ours else key.meaning


def _number(key: Key) -> dict[str, Any]:
    # Bounds that are excluded above are left to the reader; there is one of them.
    kind = "integer" if key.kind == "whole" else "number"
    return {"type": kind, "exclusiveMinimum" if key.is_above else "minimum": key.low, "maximum": key.high}


def _value(key: Key) -> dict[str, Any]:
    if key.kind in ("whole", "number"):
        return _number(key)
    if key.kind == "choice":
        return {"enum": list(key.choices)}
    if key.kind == "flag":
        return {"type": "boolean"}
    if key.kind == "names":
        return {"type": "array", "minItems": 1, "items": {"type": "string", "pattern": f"^{NAME}$"}}
    return {"type": "string", "pattern": f"^{key.form}$"}


def _member(member: Key | Group) -> dict[str, Any]:
    if isinstance(member, Group):
        shared = member.name in _SHARED
        schema = {"$ref": f"#/$defs/{member.name}"} if shared else _group(member)
        return schema | {"description": member.meaning}
    default = {} if member.default is None else {"default": member.default}
    return _value(member) | {"description": _note(member)} | default


def _group(group: Group) -> dict[str, Any]:
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {member.name: _member(member) for member in group.members},
    }


def _tasks() -> dict[str, Any]:
    entry = {"anyOf": [{"$ref": "#/$defs/source"}, {"$ref": "#/$defs/task"}]}
    tasks = {"type": "array", "minItems": 1, "items": entry}
    return {
        "type": "object",
        "required": ["tasks"],
        "additionalProperties": False,
        "properties": {"tasks": tasks | {"description": "sources and tasks, parents before their children"}},
    }


def prototype_schema() -> dict[str, Any]:
    """Return the schema (draft 2020-12); what it accepts may still be refused, e.g. a parent that is not there."""
    roots = {"pipeline": _tasks(), "workflow": _group(WORKFLOW), "datastream": _group(DATASTREAM)}
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "streamgauge prototype",
        "type": "object",
        "additionalProperties": False,
        "anyOf": [{"required": [name]} for name in roots],
        "properties": {name: schema | {"description": ROOTS[name]} for name, schema in roots.items()},
        "$defs": {
            **{name: _group(group) for name, group in _SHARED.items()},
            "source": _group(SOURCE) | {"required": ["name"]},
            "task": _group(TASK) | {"required": ["name", "parents"]},
        },
    }
