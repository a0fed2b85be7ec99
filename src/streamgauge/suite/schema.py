"""A JSON Schema of suite files, for editors that complete and check while one writes."""

import re
from typing import Any

from streamgauge.metrics import METRIC
from streamgauge.settings.table import GROUPS, KEYS, Setting
from streamgauge.suite.document import FORMAT_VERSION, REQUIRED_KEYS
from streamgauge.suite.reading import FILE_KEYS, IGNORABLE, MAX_REPETITIONS, NAME, RUN_KEYS
from streamgauge.suite.thresholds import COMPARISONS
from streamgauge.workloads import catalogue

_NUMBER = r"[+]?(\d+(_\d{3})*(\.\d*)?|\.\d+)([eE][+-]?\d+)?"
_QUANTITIES: dict[str, dict[str, Any]] = {
    "rate": {
        "anyOf": [
            {"type": "number", "exclusiveMinimum": 0},
            {"type": "string", "pattern": rf"^\s*{_NUMBER}\s*[kKMG]?(/s)?\s*$"},
        ]
    },
    "duration": {
        "anyOf": [{"const": 0}, {"type": "string", "pattern": rf"^\s*({_NUMBER}\s*(us|µs|ms|s|min|h)|0)\s*$"}]
    },
    "count": {
        "anyOf": [{"type": "integer", "minimum": 1}, {"type": "string", "pattern": rf"^\s*{_NUMBER}\s*[kKMG]?\s*$"}]
    },
    "value": {"type": ["string", "number", "boolean"]},
}


def _value_schema(setting: Setting) -> dict[str, Any]:
    """Return the schema of one value of a setting."""
    if setting.kind in _QUANTITIES:
        return {"$ref": f"#/$defs/{setting.kind}"}
    if setting.kind == "whole":
        return {"type": "integer", "minimum": setting.low, "maximum": setting.high}
    if setting.kind == "choice":
        return {"enum": list(setting.choices)}
    return {"type": "boolean"} if setting.kind == "flag" else {"type": "string", "minLength": 1}


def _described(setting: Setting) -> dict[str, Any]:
    default = {} if setting.default is None else {"default": setting.default}
    description = setting.help_in_file + f"; default {setting.otherwise}" * bool(setting.otherwise)
    return _value_schema(setting) | {"description": description} | default


def _settings() -> dict[str, Any]:
    groups = {
        name: {"type": "object", "additionalProperties": {"$ref": "#/$defs/value"}, "description": setting.help_in_file}
        for name, setting in GROUPS.items()
    }
    return {name: _described(setting) for name, setting in KEYS.items()} | groups


def _list_of(item: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "minItems": 1, "items": item}


def _matrix() -> dict[str, Any]:
    return {
        "type": "object",
        "minProperties": 1,
        "additionalProperties": False,
        "properties": {name: _list_of(_value_schema(setting)) for name, setting in KEYS.items()},
        "patternProperties": {rf"^{name}\..+$": _list_of({"$ref": "#/$defs/value"}) for name in GROUPS},
    }


def _run() -> dict[str, Any]:
    workload = {"$ref": "#/$defs/workload"}
    properties: dict[str, dict[str, Any]] = {
        "workload": {"anyOf": [workload, _list_of(workload)]},
        "matrix": {"$ref": "#/$defs/matrix"},
        "repetitions": {"type": "integer", "minimum": 1, "maximum": MAX_REPETITIONS, "default": 1},
        "thresholds": {"$ref": "#/$defs/thresholds"},
        "name": {"type": "string", "pattern": f"^{NAME}$"},
        "ignore": {"$ref": "#/$defs/questions"},
    }
    described = {name: schema | {"description": RUN_KEYS[name]} for name, schema in properties.items()}
    return {
        "type": "object",
        "required": ["workload"],
        "additionalProperties": False,
        "properties": described | _settings(),
    }


def _threshold() -> dict[str, Any]:
    metrics = "|".join(re.escape(path) for path in METRIC)
    return {"type": "string", "pattern": rf"^\s*({metrics})\s*({'|'.join(COMPARISONS)})\s*[^\s<>=]"}


def _order() -> dict[str, Any]:
    metrics = "|".join(re.escape(path) for path in METRIC)
    names = {"type": "string", "pattern": r"[^\s<>~]\s*([<>]|~\s*\d+(\.\d+)?\s*%)\s*[^\s<>~=]"}
    return {
        "type": "object",
        "minProperties": 1,
        "additionalProperties": False,
        "patternProperties": {f"^({metrics})$": names},
    }


def suite_schema() -> dict[str, Any]:
    """Return the schema (draft 2020-12); what it accepts may still be refused, e.g. an unknown parameter."""
    properties: dict[str, dict[str, Any]] = {
        "streamgauge": {"const": FORMAT_VERSION},
        "name": {"type": "string", "pattern": f"^{NAME}$"},
        "description": {"type": "string"},
        "defaults": {"type": "object", "additionalProperties": False, "properties": _settings()},
        "runs": _list_of(_run()),
        "thresholds": {"$ref": "#/$defs/thresholds"},
        "orders": _list_of(_order()),
        "ignore": {"$ref": "#/$defs/questions"},
        "baseline": {"type": "string", "minLength": 1},
        "drift": {"type": "string", "pattern": r"^\s*\d+(\.\d+)?\s*%\s*$"},
    }
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "streamgauge suite",
        "type": "object",
        "required": list(REQUIRED_KEYS),
        "additionalProperties": False,
        "properties": {name: schema | {"description": FILE_KEYS[name]} for name, schema in properties.items()},
        "$defs": {
            **_QUANTITIES,
            "workload": {
                "anyOf": [{"enum": list(catalogue())}, {"type": "string", "pattern": r"^prototype:|\.(py:\w+|ya?ml)$"}]
            },
            "matrix": _matrix(),
            "thresholds": _list_of(_threshold()),
            "questions": _list_of({"enum": list(IGNORABLE)}),
        },
    }
