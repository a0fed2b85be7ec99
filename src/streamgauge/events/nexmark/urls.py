"""Channels of bids and their addresses, as the NEXMark suite for Flink has them.

That suite draws the addresses anew in every process; here the generator of `java.util.Random` with seed 0 draws
them, so they are the same everywhere.
"""

from functools import lru_cache
from typing import TYPE_CHECKING

from streamgauge.events.nexmark.names import CHANNELS, HOT_CHANNELS, MIN_STRING_LENGTH

if TYPE_CHECKING:
    from streamgauge.events.nexmark.random import JavaRandom

DIRECTORY_LENGTH = 5
PREFIX = "https://www.nexmark.com/"
SUFFIX = "/item.htm?query=1"
CHANNEL_ID = "&channel_id="


def _directory(random: "JavaRandom") -> str:
    length = MIN_STRING_LENGTH + random.below(DIRECTORY_LENGTH - MIN_STRING_LENGTH)
    return "".join("_" if random.below(13) == 0 else chr(97 + random.below(26)) for _ in range(length))


def _base_url(random: "JavaRandom") -> str:
    directories = "/".join(_directory(random) for _ in range(3))
    return f"{PREFIX}{directories}{SUFFIX}"


def channel_id(channel: int) -> int:
    """Return the id in the address of a channel: its 32 bits reversed, without the sign.

    Java's absolute value of the smallest number stays negative, and reversing makes some ids equal.

    >>> [channel_id(c) for c in range(4)]
    [0, -2147483648, 1073741824, 1073741824]
    """
    reversed_bits = int(f"{channel:032b}"[::-1], 2)
    signed = reversed_bits - 2**32 if reversed_bits >= 2**31 else reversed_bits
    return signed if signed == -(2**31) else abs(signed)


@lru_cache(maxsize=1)
def urls() -> tuple[str, ...]:
    """Return the addresses of the 4 hot channels, then of the 10,000 others; one in ten of these has no channel id."""
    from streamgauge.events.nexmark.random import JavaRandom

    random = JavaRandom(0)
    hot = [_base_url(random) for _ in HOT_CHANNELS]
    others = []
    for channel in range(CHANNELS):
        url = _base_url(random)
        others.append(f"{url}{CHANNEL_ID}{channel_id(channel)}" if random.below(10) > 0 else url)
    return (*hot, *others)


@lru_cache(maxsize=1)
def channels() -> tuple[str, ...]:
    """Return the names of the 4 hot channels, then of the 10,000 others, in the order of `urls`."""
    return (*HOT_CHANNELS, *(f"channel-{channel}" for channel in range(CHANNELS)))
