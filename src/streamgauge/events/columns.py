"""Arithmetic and draws that PySpark's functions do not spell out, as Spark columns."""

from array import array
from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column

SEPARATOR = "\x1f"
# Laws are cut into this many slots of equal probability; a power of two.
SLOTS = 4096


def divide(dividend: "Column", divisor: "int | Column") -> "Column":
    """Divide whole numbers and drop the fraction; exact, unlike a division of doubles."""
    from pyspark.sql import functions as F

    by = F.lit(divisor).cast("long") if isinstance(divisor, int) else divisor
    return F.call_function("div", dividend, by)


def modulo(dividend: "Column", divisor: int) -> "Column":
    """Return the remainder of whole numbers that are not negative."""
    from pyspark.sql import functions as F

    return dividend % F.lit(divisor).cast("long")


def pick(index: "Column", values: Sequence[str] | Sequence[int]) -> "Column":
    """Look a value up in a constant list; `index` counts from 0.

    The list is written as one text that Spark's optimizer splits once: a literal list would cost a call to Java
    for every element. The result cannot be null, which spares Spark computing it once more to see whether it is.
    """
    from pyspark.sql import functions as F

    texts = F.split(F.lit(SEPARATOR.join(map(str, values))), SEPARATOR)
    constant = texts if isinstance(values[0], str) else texts.cast("array<bigint>")
    return F.coalesce(F.get(constant, index.cast("int")), F.lit(values[0]))


def draw_key(seed: int, field: int) -> "Column":
    """Return the number that separates the draws of one seed and field from all others."""
    from pyspark.sql import functions as F

    return F.xxhash64(F.lit(seed).cast("long"), F.lit(field).cast("long"))


def draw(number: "Column", key: "Column", below: int) -> "Column":
    """Draw a whole number below a limit for each number: the same one in every run."""
    from pyspark.sql import functions as F

    return F.pmod(F.xxhash64(key, number), F.lit(below).cast("long"))


def draw_in_slots(number: "Column", key: "Column", borders: Sequence[int]) -> "Column":
    """Draw a slot between two borders, then one of the values in it."""
    from pyspark.sql import functions as F

    drawn, widths = F.xxhash64(key, number), slot_widths(borders)
    slot = drawn.bitwiseAND(F.lit(len(widths) - 1).cast("long")).cast("int")
    low, width = (pick(slot, values) for values in (borders[:-1], widths))
    return low + F.pmod(F.shiftright(drawn, 16), width)


def slot_widths(borders: Sequence[int]) -> list[int]:
    """Return how many values each slot has: those from its border to the next, and one where these are equal.

    >>> slot_widths([0, 0, 3])
    [1, 3]
    """
    return [max(high - low, 1) for low, high in pairwise(borders)]


def zipf_borders(size: int, exponent: float) -> list[int]:
    """Cut Zipf's law, by which value k has a weight of 1 / (k + 1) ** exponent, into slots of equal probability."""
    reached = array("d", accumulate(1.0 / (k + 1.0) ** exponent for k in range(size)))
    limits = [(slot / SLOTS - 1e-12) * reached[-1] for slot in range(SLOTS + 1)]
    return [min(bisect_left(reached, limit), size - 1) for limit in limits]
