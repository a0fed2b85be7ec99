"""The CPU work of a task: work that takes a known time per tuple and that no optimizer removes, and its waiting times.

A *cycle* is a word of eight bytes that is hashed. Each form of CPU work takes a column with a number that is not
negative, hashes `cycles` words for every row, each step on the result of the one before, and returns a number that
depends on all of them. Whoever reads that number pays for it. The name of the task is part of the work: it marks the
task in Spark's plan, and separates two tasks with the same work.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pyarrow as pa
from pyspark.sql import Column
from pyspark.sql import functions as F

from streamgauge.prototype.calibration import WorkForm
from streamgauge.prototype.executed_plan import mark

WORD_BYTES = 8
# A block stays in the nearest cache, and what is around its hash takes under 1 % of it.
BLOCK_CYCLES = 512
# Python needs a larger one: a turn of its loop takes as long as some hundred words.
ARROW_BLOCK_CYCLES = 8192


def cpu_work(number: Column, task: str, cycles: int) -> Column:
    """Hash that many words in compiled code: whole blocks as a list, then the rest."""
    blocks, rest = divmod(cycles, BLOCK_CYCLES)
    parts = [number, F.lit(mark(task))]
    if blocks:
        # A list of constants would become part of the plan, written out. The length
        # of this one depends on the row in no way that an optimizer knows.
        length = F.shiftright(number, 63) + F.lit(blocks).cast("long")
        block = F.lit("x" * (WORD_BYTES * BLOCK_CYCLES))
        parts.append(F.array_repeat(block, length.cast("int")))
    if rest:
        parts.append(F.lit("x" * (WORD_BYTES * rest)))
    return F.xxhash64(*parts)


def cpu_work_in_python(number: Column, task: str, cycles: int) -> Column:
    """Hash that many words with CRC-32 in a Python worker, which gets and returns the numbers in Arrow's format."""
    spin = spinning(cycles)
    spin.__name__ = mark(task)
    column: Column = F.arrow_udf(spin, "bigint").asNondeterministic()(number)
    return column


def spinning(cycles: int) -> Callable[[Any], Any]:
    """Return the function that runs in Python workers."""
    blocks, rest = divmod(cycles, ARROW_BLOCK_CYCLES)
    block, tail = bytes(WORD_BYTES * ARROW_BLOCK_CYCLES), bytes(WORD_BYTES * rest)

    def spin(values: pa.Array) -> pa.Array:
        import zlib

        import pyarrow

        sums = []
        for value in values.to_pylist():
            checksum = zlib.crc32(tail, value & 0xFFFFFFFF)
            for _ in range(blocks):
                checksum = zlib.crc32(block, checksum)
            sums.append(checksum)
        return pyarrow.array(sums, pyarrow.int64())

    return spin


FORMS: Mapping[WorkForm, Callable[[Column, str, int], Column]] = {"native": cpu_work, "arrow": cpu_work_in_python}


def is_first_row() -> Column:
    """Return whether a row is the first of its partition, with which its part of a micro-batch begins.

    Numbers of rows begin again in every micro-batch, so Spark refuses them in streams unless that check is switched
    off. Here that is just what is needed: random numbers have another seed in each.
    """
    # Rows of a partition are numbered in the lower 33 bits.
    return F.monotonically_increasing_id().bitwiseAND(F.lit(2**33 - 1)) == 0


def sleep(wait_ms: float) -> Column:
    """Let the thread of the task sleep, once per row; the result is never null.

    It is a call of Java's own method, so no row goes to Python, and Spark takes it for random and leaves it in place.
    """
    java = ("java.util.concurrent.locks.LockSupport", "parkNanos")
    return F.reflect(*map(F.lit, java), F.lit(round(wait_ms * 1e6)).cast("long"))


def pause(wait_ms: float) -> Column:
    """Let the thread of the task sleep for whole milliseconds; the result is never null.

    Parking would end at once if something else had woken the thread before, which matters for a single wait.
    """
    milliseconds = F.lit(max(1, round(wait_ms))).cast("long")
    return F.reflect(F.lit("java.lang.Thread"), F.lit("sleep"), milliseconds)
