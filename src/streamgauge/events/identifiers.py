"""Identifiers in the form of UUIDs (RFC 9562, version 8), cheap to make from a number in Spark and in NumPy.

The number is split into four digits to the base 100, and each digit names a fragment of the text. So a
column needs a look-up in a short constant list for every digit that varies: a list of whole UUIDs would
travel with every plan, and hashing a name costs ten times as much.
"""

import hashlib
from functools import cache
from typing import TYPE_CHECKING

from streamgauge.events.columns import divide, modulo, pick
from streamgauge.events.dataframe import Column, F

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

BASE = 100
MAX_COUNT = BASE**4
# Which digit (0 is the lowest) makes which part of the text, in the order of the text: the two lowest
# digits, which vary in small sets too, make the two longest parts.
_LAYOUT = (
    (1, lambda digest, _: digest[:8]),
    (2, lambda digest, _: f"-{digest[:4]}-8{digest[4:7]}"),
    (3, lambda _, value: f"-8{value:03x}-"),
    (0, lambda digest, _: digest[:12]),
)


@cache
def _fragments(kind: str) -> tuple[tuple[int, tuple[str, ...]], ...]:
    """Return, in the order of the text, a digit's position and the fragment of each of its values."""

    def digest(position: int, value: int) -> str:
        return hashlib.sha256(f"{kind} {position} {value}".encode()).hexdigest()

    return tuple(
        (position, tuple(form(digest(position, value), value) for value in range(BASE))) for position, form in _LAYOUT
    )


def identifier(kind: str, index: int) -> str:
    """Return the identifier of the thing `kind` number `index`.

    >>> identifier("ad", 0)
    '1c670e4c-3fb1-81e9-8000-3776363a7a2b'
    """
    return "".join(values[index // BASE**position % BASE] for position, values in _fragments(kind))


def identifier_array(kind: str, index: "npt.NDArray[np.int64]") -> "npt.NDArray[np.object_]":
    """Return the identifiers for an array of numbers."""
    import numpy as np

    text = np.full(len(index), "", dtype=object)
    for position, values in _fragments(kind):
        text = text + np.array(values, dtype=object)[index // BASE**position % BASE]
    return text


def identifier_column(kind: str, index: Column, count: int) -> Column:
    """Return the identifiers as a Spark column over numbers below `count`."""
    parts = _varying(kind, count)
    columns = [pick(modulo(divide(index, BASE**position), BASE), values) for position, values in parts]
    return columns[0] if len(columns) == 1 else F.concat(*columns)


def _varying(kind: str, count: int) -> list[tuple[int, tuple[str, ...]]]:
    """Return the digits that vary below `count`, with the constant text before a fragment made part of it.

    The lowest digit is the last one and always varies, so no text is left over.
    """
    parts, before = [], ""
    for position, values in _fragments(kind):
        if position > 0 and count <= BASE**position:
            before += values[0]
        else:
            parts.append((position, tuple(before + value for value in values)))
            before = ""
    return parts
