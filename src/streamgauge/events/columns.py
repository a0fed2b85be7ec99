"""Column arithmetic that PySpark's functions do not spell out."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import Column

SEPARATOR = "\x1f"


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
