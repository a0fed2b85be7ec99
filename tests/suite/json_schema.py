"""As much of JSON Schema as the schema of suites uses; a keyword that it does not know is an error."""

import re
from typing import Any

TYPES: dict[str, tuple[type, ...]] = {
    "object": (dict,),
    "array": (list,),
    "string": (str,),
    "integer": (int,),
    "number": (int, float),
    "boolean": (bool,),
}
NOTES = {"$schema", "$defs", "title", "description", "default"}


def is_type(value: Any, name: str) -> bool:
    return isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool))


def _properties(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> bool:
    if not isinstance(value, dict):
        return True
    for name, inner in value.items():
        matching = [s for pattern, s in schema.get("patternProperties", {}).items() if re.search(pattern, name)]
        matching += [schema["properties"][name]] if name in schema.get("properties", {}) else []
        if not matching:
            additional = schema.get("additionalProperties", True)
            if additional is False or (isinstance(additional, dict) and not is_valid(inner, additional, root)):
                return False
        if not all(is_valid(inner, s, root) for s in matching):
            return False
    return True


def _holds(keyword: str, wanted: Any, value: Any, root: dict[str, Any]) -> bool:
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    checks = {
        "$ref": lambda: is_valid(value, root["$defs"][wanted.removeprefix("#/$defs/")], root),
        "type": lambda: any(is_type(value, name) for name in ([wanted] if isinstance(wanted, str) else wanted)),
        "const": lambda: value == wanted and type(value) is type(wanted),
        "enum": lambda: value in wanted,
        "anyOf": lambda: any(is_valid(value, s, root) for s in wanted),
        "required": lambda: not isinstance(value, dict) or all(name in value for name in wanted),
        "items": lambda: not isinstance(value, list) or all(is_valid(item, wanted, root) for item in value),
        "minItems": lambda: not isinstance(value, list) or len(value) >= wanted,
        "minProperties": lambda: not isinstance(value, dict) or len(value) >= wanted,
        "minLength": lambda: not isinstance(value, str) or len(value) >= wanted,
        "pattern": lambda: not isinstance(value, str) or re.search(wanted, value) is not None,
        "minimum": lambda: not is_number or value >= wanted,
        "maximum": lambda: not is_number or value <= wanted,
        "exclusiveMinimum": lambda: not is_number or value > wanted,
    }
    return checks[keyword]()


def is_valid(value: Any, schema: dict[str, Any], root: dict[str, Any]) -> bool:
    """Return whether a value is as the schema says."""
    together = {"properties", "patternProperties", "additionalProperties"}
    keywords = [name for name in schema if name not in NOTES | together]
    return all(_holds(name, schema[name], value, root) for name in keywords) and _properties(value, schema, root)
