"""Random draws that are pure functions of (seed, field, event number), in Spark and in NumPy.

Both sides use XXH64 of 64-bit integers, which Spark compiles natively (`xxhash64`), so a draw costs a few
nanoseconds, needs no state, and any event can be made on its own.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
import numpy.typing as npt

from streamgauge.events import columns
from streamgauge.events.columns import SLOTS
from streamgauge.events.dataframe import Column, F

Longs = npt.NDArray[np.int64]

_PRIME_1 = np.uint64(0x9E3779B185EBCA87)
_PRIME_2 = np.uint64(0xC2B2AE3D27D4EB4F)
_PRIME_3 = np.uint64(0x165667B19E3779F9)
_PRIME_4 = np.uint64(0x85EBCA77C2B2AE63)
_PRIME_5 = np.uint64(0x27D4EB2F165667C5)
_SPARK_SEED = np.uint64(42)


def _rotate_left(x: npt.NDArray[np.uint64], bits: int) -> npt.NDArray[np.uint64]:
    return (x << np.uint64(bits)) | (x >> np.uint64(64 - bits))


def _hash_long(value: npt.NDArray[np.uint64], seed: npt.NDArray[np.uint64]) -> npt.NDArray[np.uint64]:
    h = seed + _PRIME_5 + np.uint64(8)
    h = h ^ (_rotate_left(value * _PRIME_2, 31) * _PRIME_1)
    h = _rotate_left(h, 27) * _PRIME_1 + _PRIME_4
    h = (h ^ (h >> np.uint64(33))) * _PRIME_2
    h = (h ^ (h >> np.uint64(29))) * _PRIME_3
    return h ^ (h >> np.uint64(32))


def hash_longs(*values: npt.ArrayLike) -> Longs:
    """Return what Spark's `xxhash64` returns for the same BIGINT columns.

    >>> hash_longs([0, 1]).tolist()
    [-5252525462095825812, -7001672635703045582]
    """
    h = np.array([_SPARK_SEED])
    for value in values:
        h = _hash_long(np.atleast_1d(np.asarray(value, dtype=np.int64)).astype(np.uint64), h)
    return h.astype(np.int64)


def stream_key(seed: int, field: int) -> int:
    """Return the constant that separates the draws of one seed and field from all others."""
    return int(hash_longs(seed, field)[0])


def draw(n: Longs, *, seed: int, field: int, below: int) -> Longs:
    """Draw whole numbers 0..below-1, one per event number."""
    return hash_longs(stream_key(seed, field), n) % below


def draw_column(n: Column, *, seed: int, field: int, below: int) -> Column:
    """Draw as `draw` does, as a Spark column over the event number."""
    return columns.draw(n, _key_column(seed, field), below)


def _key_column(seed: int, field: int) -> Column:
    return F.lit(stream_key(seed, field)).cast("long")


@dataclass(frozen=True, eq=False)
class SlottedLaw:
    """A discrete distribution over 0..size-1, cut into slots of equal probability.

    A draw picks one of 4,096 slots, then a value inside it. The cumulative probabilities at the
    slot borders are exact to 1/4,096; inside a slot values are equally likely. This needs one array
    look-up per draw, whatever the size and the law, and no floating-point number in the engine.
    """

    borders: Sequence[int]

    @cached_property
    def low(self) -> Longs:
        """The first value of each slot."""
        return np.array(self.borders[:-1], dtype=np.int64)

    @cached_property
    def width(self) -> Longs:
        """How many values each slot has."""
        return np.array(columns.slot_widths(self.borders), dtype=np.int64)

    def weights(self, size: int) -> npt.NDArray[np.float64]:
        """Return how often each of the values is drawn.

        >>> SlottedLaw(columns.zipf_borders(2, 1.0)).weights(2).round(3).tolist()
        [0.667, 0.333]
        """
        each = 1.0 / (SLOTS * self.width)
        steps = np.bincount(self.low, each, size + 1) - np.bincount(self.low + self.width, each, size + 1)
        return np.asarray(np.cumsum(steps)[:size])

    def draw(self, n: Longs, *, seed: int, field: int) -> Longs:
        """Draw one value per event number."""
        h = hash_longs(stream_key(seed, field), n)
        slot = h & (SLOTS - 1)
        return np.asarray(self.low[slot] + (h >> 16) % self.width[slot])

    def draw_column(self, n: Column, *, seed: int, field: int) -> Column:
        """Draw as `draw` does, as a Spark column."""
        return columns.draw_in_slots(n, _key_column(seed, field), self.borders)


@lru_cache(maxsize=8)
def zipf_law(size: int, exponent: float) -> SlottedLaw:
    """Return Zipf's law over 0..size-1: value k has a weight of 1 / (k + 1) ** exponent."""
    return SlottedLaw(columns.zipf_borders(size, exponent))
