"""How many rows each partition gets, and how many different keys a number of rows has.

A hash exchange sends a row to the partition pmod(hash(key), P), with Spark's own Murmur3. So keys can be sent again on
paper, and rows per partition that were measured once fold exactly to every divisor of the measured number.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from streamgauge.arrivals.law import Floats

Words = npt.NDArray[np.uint32]
Longs = npt.NDArray[np.int64]

_SPARK_SEED = 42


def _rotate_left(x: Words, bits: int) -> Words:
    return (x << np.uint32(bits)) | (x >> np.uint32(32 - bits))


def _mix(h: Words, word: Words) -> Words:
    k = _rotate_left(word * np.uint32(0xCC9E2D51), 15) * np.uint32(0x1B873593)
    return _rotate_left(h ^ k, 13) * np.uint32(5) + np.uint32(0xE6546B64)


def _finish(h: Words, length: int) -> Words:
    h = h ^ np.uint32(length)
    h = (h ^ (h >> np.uint32(16))) * np.uint32(0x85EBCA6B)
    h = (h ^ (h >> np.uint32(13))) * np.uint32(0xC2B2AE35)
    return h ^ (h >> np.uint32(16))


def _hash_int(values: npt.NDArray[np.int32], h: Words) -> Words:
    return _finish(_mix(h, values.view(np.uint32)), 4)


def _hash_long(values: Longs, h: Words) -> Words:
    bits = values.view(np.uint64)
    low, high = bits.astype(np.uint32), (bits >> np.uint64(32)).astype(np.uint32)
    return _finish(_mix(_mix(h, low), high), 8)


def _hash_text(values: Sequence[str], h: Words) -> Words:
    """Hash texts of one length after the other; Spark mixes the bytes of a last, incomplete word one by one."""
    encoded = [text.encode() for text in values]
    lengths = np.array([len(text) for text in encoded])
    hashed = np.empty(len(encoded), dtype=np.uint32)
    for length in np.unique(lengths).tolist():
        chosen = np.flatnonzero(lengths == length)
        joined = b"".join(encoded[k] for k in chosen)
        characters = np.frombuffer(joined, dtype=np.uint8).reshape(len(chosen), length)
        whole = length // 4 * 4
        part = h[chosen]
        for word in np.ascontiguousarray(characters[:, :whole]).view("<u4").T:
            part = _mix(part, word)
        for last in characters[:, whole:].T:
            part = _mix(part, last.astype(np.int8).astype(np.int32).view(np.uint32))
        hashed[chosen] = _finish(part, length)
    return hashed


def spark_hash(*columns: npt.ArrayLike) -> npt.NDArray[np.int32]:
    """Return what Spark's `hash` returns for columns of texts, whole numbers, doubles, booleans or timestamps.

    The columns of a struct, such as start and end of a window, are given one by one. 64-bit numbers are BIGINT, shorter
    ones INT, and `datetime64` is TIMESTAMP.

    >>> spark_hash(["ABC"], ["DEF"]).tolist()
    [599895104]
    """
    arrays = [np.atleast_1d(np.asarray(column)) for column in columns]
    h = np.full(max(len(array) for array in arrays), _SPARK_SEED, dtype=np.uint32)
    for array in arrays:
        values = np.broadcast_to(array, h.shape)
        if values.dtype.kind in "UO":
            h = _hash_text([str(value) for value in values], h)
        elif values.dtype.kind == "M":
            h = _hash_long(values.astype("datetime64[us]").astype(np.int64), h)
        elif values.dtype.kind == "f":
            # Minus zero hashes as zero.
            h = _hash_long((values.astype(np.float64) + 0.0).view(np.int64), h)
        elif values.dtype.itemsize == 8:
            h = _hash_long(np.ascontiguousarray(values, dtype=np.int64), h)
        else:
            h = _hash_int(np.ascontiguousarray(values, dtype=np.int32), h)
    return h.view(np.int32)


def partition_of(partitions: int, *columns: npt.ArrayLike) -> Longs:
    """Return the partition to which a hash exchange sends each key.

    >>> partition_of(4, [10, 11, 12]).tolist()
    [1, 1, 0]
    """
    return spark_hash(*columns).astype(np.int64) % partitions


@dataclass(frozen=True, eq=False)
class Keys:
    """The keys of an exchange: its columns in their order, and how often each key comes."""

    columns: tuple[npt.NDArray[Any], ...]
    weights: Floats

    @cached_property
    def _hashes(self) -> npt.NDArray[np.int32]:
        return spark_hash(*self.columns)

    def shares(self, partitions: int) -> Floats:
        """Return the share of the rows that each partition gets."""
        held = np.bincount(self._hashes.astype(np.int64) % partitions, self.weights, partitions)
        return np.asarray(held / held.sum())


def fold(shares: npt.ArrayLike, partitions: int) -> Floats:
    """Return the shares for another number of partitions.

    Exact when that number divides the measured one: pmod(h, P) = pmod(pmod(h, P0), P), so partition p takes those of
    p, p + P, p + 2 P, … Otherwise each measured partition is first cut evenly into as many as both numbers divide;
    keys are not cut, so this is an assumption.

    >>> fold([0.4, 0.3, 0.2, 0.1], 2).tolist(), fold([0.75, 0.25], 4).tolist()
    ([0.6000000000000001, 0.4], [0.375, 0.125, 0.375, 0.125])
    """
    measured = np.asarray(shares, dtype=np.float64)
    common = math.lcm(len(measured), partitions)
    cut = np.tile(measured, common // len(measured)) * len(measured) / common
    return np.asarray(cut.reshape(-1, partitions).sum(axis=0))


def is_exact_fold(measured: int, partitions: int) -> bool:
    """Return whether measured shares determine those of another number of partitions."""
    return measured % partitions == 0


@dataclass(frozen=True)
class OutputCurve:
    """Rows that come out of a task by the rows that go in: `per_row` each at first, never more than `most`.

    Between the two it is the number of different keys among equally likely ones, most (1 - exp(-per_row n / most)).
    Without an end it is a straight line, as for a filter or an explode.
    """

    per_row: float
    most: float = math.inf

    def __call__(self, rows: npt.ArrayLike, *, parts: float = 1.0) -> Floats:
        """Return the rows out; each of several `parts` of the keys holds as many of them as the others."""
        return rows_out(self.per_row, self.most / parts, rows)


def rows_out(per_row: npt.ArrayLike, most: npt.ArrayLike, rows: npt.ArrayLike) -> Floats:
    """Return the rows out of `OutputCurve`, for many curves at once."""
    slope, number = np.asarray(per_row, dtype=np.float64), np.asarray(rows, dtype=np.float64)
    if np.all(np.isinf(most)):
        return slope * number
    # A number that no rows come near stands for infinity, whose product with 0 is no number.
    end = np.minimum(most, 1e300)
    return np.asarray(-end * np.expm1(-slope * number / end))
