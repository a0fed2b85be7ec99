"""The load of a task: work that takes a known time per tuple, and that no optimizer removes.

A *cycle* is a word of eight bytes that is hashed. Each form of load takes a column with a number that is not negative,
hashes `cycles` words for every row, each step on the result of the one before, and returns a number that depends on
all of them. Who reads that number pays for it. The name of the task is part of the load: it marks the task in Spark's
plan, and keeps two tasks with the same load apart.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from streamgauge.prototype.calibration import LoadForm

if TYPE_CHECKING:
    from pyspark.sql import Column

WORD_BYTES = 8
# A block stays in the nearest cache of the processor, and what goes on around its hash takes less than 1 % of it.
NATIVE_BLOCK_CYCLES = 512
# Python needs a larger one: a turn of its loop takes as long as some hundred words.
ARROW_BLOCK_CYCLES = 8192


def mark(task: str) -> str:
    """Return the text that marks a task in Spark's plan."""
    return f"task {task}"


def _text(cycles: int) -> str:
    return "x" * (WORD_BYTES * cycles)


def native_load(value: "Column", task: str, cycles: int) -> "Column":
    """Hash `cycles` words with `xxhash64`, in compiled code: whole blocks as a list, then the rest."""
    from pyspark.sql import functions as F

    blocks, rest = divmod(cycles, NATIVE_BLOCK_CYCLES)
    parts = [value, F.lit(mark(task))]
    if blocks:
        # A list of constants would become part of the plan, written out; its length depends on the row in no way that
        # an optimizer knows.
        length = (F.shiftright(value, 63) + F.lit(blocks).cast("long")).cast("int")
        parts.append(F.array_repeat(F.lit(_text(NATIVE_BLOCK_CYCLES)), length))
    if rest:
        parts.append(F.lit(_text(rest)))
    return F.xxhash64(*parts)


def arrow_load(value: "Column", task: str, cycles: int) -> "Column":
    """Hash `cycles` words with CRC-32 in a Python worker, which gets and returns the numbers in Arrow's format."""
    from pyspark.sql.functions import arrow_udf

    spin = _spin(cycles)
    spin.__name__ = mark(task)
    column: Column = arrow_udf(spin, "bigint").asNondeterministic()(value)
    return column


def _spin(cycles: int) -> "Callable[[Any], Any]":
    """Return the function that runs in Python workers."""
    blocks, rest = divmod(cycles, ARROW_BLOCK_CYCLES)
    block, tail = bytes(WORD_BYTES * ARROW_BLOCK_CYCLES), bytes(WORD_BYTES * rest)

    def spin(values: Any) -> Any:
        import zlib

        import pyarrow as pa

        sums = []
        for value in values.to_pylist():
            checksum = zlib.crc32(tail, value & 0xFFFFFFFF)
            for _ in range(blocks):
                checksum = zlib.crc32(block, checksum)
            sums.append(checksum)
        return pa.array(sums, pa.int64())

    spin.__annotations__ = {"values": _array_type(), "return": _array_type()}
    return spin


def _array_type() -> Any:
    import pyarrow as pa

    return pa.Array


LOADS: "Mapping[LoadForm, Callable[[Column, str, int], Column]]" = {"native": native_load, "arrow": arrow_load}


def is_first() -> "Column":
    """Tell the first row of each partition, with which its part of a micro-batch begins.

    Numbers of rows begin anew in every micro-batch, so Spark refuses them in streams unless it is told not to check;
    see `conf_of`. Here that is just what is needed. Random numbers have another seed in each.
    """
    from pyspark.sql import functions as F

    # Rows of a partition are numbered in the lower 33 bits.
    return F.monotonically_increasing_id().bitwiseAND(F.lit(2**33 - 1)) == 0


def sojourn(wait_ms: float) -> "Column":
    """Let the thread of the task sleep, once per row; the result is a text that is never null.

    It is a call of Java's own method, so that no row goes to Python; Spark takes it for random and leaves it in place.
    """
    from pyspark.sql import functions as F

    nanoseconds = F.lit(round(wait_ms * 1e6)).cast("long")
    return F.reflect(F.lit("java.util.concurrent.locks.LockSupport"), F.lit("parkNanos"), nanoseconds)


def pause(wait_ms: float) -> "Column":
    """Let the thread of the task sleep for whole milliseconds, as `sojourn` does.

    Parking would end at once where the thread was woken for something else before, which matters for a single wait.
    """
    from pyspark.sql import functions as F

    milliseconds = F.lit(max(1, round(wait_ms))).cast("long")
    return F.reflect(F.lit("java.lang.Thread"), F.lit("sleep"), milliseconds)
