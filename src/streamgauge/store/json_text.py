"""JSON that others wrote: parsed, or refused with its place. What comes through can be walked, printed and written."""

import json
import math
import re
import reprlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from streamgauge.errors import InvalidExperimentError
from streamgauge.store.layout import SCHEMA_VERSION

REMEDY = "restore the file from a copy, or remove the run with `streamgauge runs remove`"
# No document is nested deeper; code that walks a document must not run out of stack.
MAX_DEPTH = 64
# What a foreign or damaged document does to code that expects one of ours.
FOREIGN = (ArithmeticError, AttributeError, LookupError, TypeError, ValueError)
_BRACKET = re.compile(rb"[\[{]")
_HALF_CHARACTER = re.compile(rb"\\u[dD][89a-fA-F]")


def damaged(what: str, where: object, remedy: str = REMEDY) -> InvalidExperimentError:
    """Return the error for a file that is not as streamgauge writes it."""
    return InvalidExperimentError(what, where=str(where), remedy=remedy)


def problems_of_version(document: Mapping[str, Any], path: Path, what: str) -> list[str]:
    """Refuse a run or a set of a newer schema, and return what is wrong with the version of another."""
    version = document.get("schema_version")
    if type(version) is int and version > SCHEMA_VERSION:
        raise damaged(
            f"schema version {version} is newer than {SCHEMA_VERSION}, the newest known here",
            path,
            f"update streamgauge, or read the {what} with the version that wrote it",
        )
    return [] if type(version) is int and version >= 1 else ['"schema_version" must be a whole number from 1']


def foreign(what: str, where: object, error: Exception) -> InvalidExperimentError:
    """Return the error for `what`, which `error` showed to be written by others or damaged."""
    return damaged(f"{what} not one of ours ({type(error).__name__}: {error})", where)


def parse_object(
    text: bytes, path: Path, line: int = 1, *, is_finite: bool = True, remedy: str = REMEDY
) -> dict[str, Any]:
    """Parse a JSON object that begins on a line of a file; with `is_finite`, NaN and infinite numbers are refused."""
    place = f"{path}:{line}:1"
    hooks: dict[str, Any] = {"parse_constant": _refuse_number, "parse_float": _finite_float} if is_finite else {}
    try:
        value = json.loads(text, **hooks)
    except json.JSONDecodeError as error:
        raise damaged(f"not JSON: {error.msg}", f"{path}:{line + error.lineno - 1}:{error.colno}", remedy) from error
    except (ValueError, RecursionError) as error:
        raise damaged(f"not JSON: {error}", place, remedy) from error
    if not isinstance(value, dict):
        raise damaged(f"expected a JSON object, found {reprlib.repr(value)}", place, remedy)
    problem = _unwalkable(text, value)
    if problem:
        raise damaged(problem, place, remedy)
    return value


def _refuse_number(text: str) -> float:
    raise ValueError(f"{text} is not a number")


def _finite_float(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is not a finite number")
    return number


def _unwalkable(text: bytes, value: Any) -> str | None:
    """Say why a document cannot be walked or written; most texts show at once that they can."""
    halves = bool(_HALF_CHARACTER.search(text))
    if not halves and len(_BRACKET.findall(text)) <= MAX_DEPTH:
        return None
    level = [value]
    for _ in range(MAX_DEPTH):
        level = [inner for one in level for inner in _inside(one)]
        if halves and any(isinstance(one, str) and not _is_whole(one) for one in level):
            return "a text holds half of a character"
        if not level:
            return None
    return f"nested deeper than {MAX_DEPTH} levels"


def _inside(value: Any) -> list[Any]:
    if isinstance(value, dict):
        return [*value, *value.values()]
    return value if isinstance(value, list) else []


def _is_whole(text: str) -> bool:
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
