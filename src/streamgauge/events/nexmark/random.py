"""The generator of `java.util.Random`, one at a time in plain Python and many at a time in NumPy.

Both follow the linear congruential generator that the Java library documents: 48 bits of state, of which a draw
uses the top ones. All arithmetic is on whole numbers, so every draw is the same as Java's.
"""

import numpy as np
import numpy.typing as npt

from streamgauge.events.draw import Longs, hash_longs

MULTIPLIER = 0x5DEECE66D
INCREMENT = 0xB
MASK = 2**48 - 1
GOLDEN = 0x9E3779B97F4A7C15

Masks = npt.NDArray[np.bool_]


class JavaRandom:
    """One generator, as `new Random(seed)` makes it; only what tables of texts need.

    >>> random = JavaRandom(0)
    >>> [random.below(n) for n in (2, 4, 13, 26, 10_000)]
    [1, 3, 10, 21, 3515]
    """

    def __init__(self, seed: int) -> None:
        self.state = (seed ^ MULTIPLIER) & MASK

    def bits(self, count: int) -> int:
        """Return the next `count` bits as a number that is not negative."""
        self.state = (self.state * MULTIPLIER + INCREMENT) & MASK
        return self.state >> (48 - count)

    def below(self, n: int) -> int:
        """Return `nextInt(n)`."""
        drawn = self.bits(31)
        if n & (n - 1) == 0:
            return n * drawn >> 31
        while drawn - drawn % n + n - 1 >= 2**31:
            drawn = self.bits(31)
        return drawn % n


def salt(seed: int) -> int:
    """Return what is mixed into the seeds of all events: 0 for seed 1, so that it gives Beam's own data."""
    return (seed - 1) * GOLDEN & MASK


def event_seeds(ids: Longs, *, seed: int, scrambled: bool) -> Longs:
    """Return the seed of each event's generator.

    Beam takes the event id itself, so the first draws of consecutive events hardly differ;
    `scrambled` takes its hash.
    """
    return (hash_longs(ids) if scrambled else ids) ^ salt(seed)


class JavaRandoms:
    """Many generators that draw side by side.

    Every method draws from the generators in `where` and leaves the others as they are; what it returns for these
    has no meaning. Bounds can be one number or one for each generator.
    """

    def __init__(self, seeds: Longs) -> None:
        self.state = (seeds.astype(np.uint64) ^ np.uint64(MULTIPLIER)) & np.uint64(MASK)

    def _bits(self, count: int, where: Masks | None) -> npt.NDArray[np.uint64]:
        # The product wraps at 64 bits, of which only the low 48 are kept.
        drawn = (self.state * np.uint64(MULTIPLIER) + np.uint64(INCREMENT)) & np.uint64(MASK)
        self.state = drawn if where is None else np.where(where, drawn, self.state)
        return drawn >> np.uint64(48 - count)

    def bits(self, count: int, where: Masks | None = None) -> Longs:
        """Return `next(count)` as numbers that are not negative."""
        return self._bits(count, where).astype(np.int64)

    def int32(self, where: Masks | None = None) -> Longs:
        """Return `nextInt()`: any signed 32-bit number."""
        return self._bits(32, where).astype(np.uint32).view(np.int32).astype(np.int64)

    def below(self, n: int | Longs, where: Masks | None = None) -> Longs:
        """Return `nextInt(n)`: 0 to n - 1."""
        bound = np.asarray(n, dtype=np.int64)
        drawn = self.bits(31, where)
        is_power = bound & (bound - 1) == 0
        if is_power.all():
            return bound * drawn >> 31
        rest = drawn % bound
        # Java draws again where the last, incomplete run of 0..n-1 before 2**31 would favour small numbers.
        again = ~is_power & (drawn - rest + bound > 2**31)
        if where is not None:
            again &= where
        while again.any():
            drawn = np.where(again, self.bits(31, again), drawn)
            rest = drawn % bound
            again &= drawn - rest + bound > 2**31
        return np.where(is_power, bound * drawn >> 31, rest) if is_power.any() else rest

    def double(self, where: Masks | None = None) -> npt.NDArray[np.float64]:
        """Return `nextDouble()`: 0 to 1, in steps of 2**-53."""
        return ((self.bits(26, where) << 27) + self.bits(27, where)).astype(np.float64) * 2.0**-53

    def int64(self, where: Masks | None = None) -> Longs:
        """Return `nextLong()`: signed, and wrapping where the second half is negative."""
        return (self.int32(where) << 32) + self.int32(where)

    def long_below(self, n: Longs) -> Longs:
        """Return Beam's `nextLong(random, n)`: as `below` while n fits in 31 bits."""
        is_small = n < 2**31 - 1
        small = self.below(np.where(is_small, n, 1), is_small)
        if is_small.all():
            return small
        return np.where(is_small, small, np.abs(np.fmod(self.int64(~is_small), n)))
