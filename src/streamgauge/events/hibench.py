"""Records of HiBench's streaming micro-benchmarks: a creation time and a web-log line.

The workloads read only the line's second field, the IP address. HiBench cycles through a seed file of a
million lines with nearly as many addresses; here line i is computed: a page, one of `keys` distinct
addresses, and filler of the original's length, cut or padded with zero characters to the record length.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pydantic import Field as Parameter

from streamgauge.events.columns import divide, modulo
from streamgauge.events.stream import EventStream, Field, Parameters

if TYPE_CHECKING:
    from pyspark.sql import Column

    from streamgauge.events.draw import Longs, SlottedLaw

PAGES = 120_000
KEY_BYTES = 13
# Addresses a.b.c.d with a, d in 1..254 and b, c in 0..254, visited in an order that looks random:
# a step without a common factor with their number meets each of them once.
ADDRESSES = 254 * 255 * 255 * 254
ADDRESS_STEP = 2_654_435_761
SHORTEST, LONGEST = 113, 241
FILLER_CHARACTERS = 1024

_KEY, _LENGTH, _START = range(1, 4)


class HibenchEvents(Parameters):
    """Parameters of the web-log records."""

    keys: int = Parameter(1_000_000, ge=1, le=10_000_000, description="number of distinct IP addresses")
    zipf: float = Parameter(
        0.0, ge=0.0, le=3.0, description="exponent of Zipf's law over the addresses; 0 visits them in turn"
    )
    record_length: int = Parameter(200, ge=50, le=400, description="length of key (13) and line together, in bytes")

    @property
    def line_length(self) -> int:
        """Length of the line alone."""
        return self.record_length - KEY_BYTES


@lru_cache(maxsize=4)
def _zipf(keys: int, exponent: float) -> "SlottedLaw":
    from streamgauge.events.draw import SlottedLaw

    return SlottedLaw.zipf(keys, exponent)


@lru_cache(maxsize=4)
def _filler(seed: int) -> str:
    """Lower-case words between commas, the same for a seed."""
    import numpy as np

    from streamgauge.events.draw import draw

    letters = draw(np.arange(FILLER_CHARACTERS), seed=seed, field=99, below=26)
    breaks = draw(np.arange(FILLER_CHARACTERS), seed=seed, field=98, below=12)
    return "".join("," if b == 0 else chr(97 + int(c)) for c, b in zip(letters, breaks, strict=True))


def _columns(p: HibenchEvents, seed: int, n: "Column", time_us: "Column") -> Mapping[str, "Column"]:
    from pyspark.sql import functions as F

    from streamgauge.events.draw import draw_column

    key = _zipf(p.keys, p.zipf).draw_column(n, seed=seed, field=_KEY) if p.zipf else modulo(n, p.keys)
    address = modulo(key * F.lit(ADDRESS_STEP).cast("long"), ADDRESSES)
    ip = F.concat_ws(
        ".",
        divide(address, 255 * 255 * 254) + F.lit(1),
        modulo(divide(address, 255 * 254), 255),
        modulo(divide(address, 254), 255),
        modulo(address, 254) + F.lit(1),
    )
    length = draw_column(n, seed=seed, field=_LENGTH, below=LONGEST - SHORTEST + 1) + F.lit(SHORTEST)
    start = draw_column(n, seed=seed, field=_START, below=FILLER_CHARACTERS - LONGEST) + F.lit(1)
    filler = F.substring(F.lit(_filler(seed)), start.cast("int"), F.lit(LONGEST))
    whole = F.concat(modulo(n, PAGES).cast("string"), F.lit("\t"), ip, F.lit(","), filler)
    cut = F.substring(whole, F.lit(1), length.cast("int"))
    return {
        "created": F.timestamp_millis(divide(time_us, 1000)),
        "line": F.rpad(cut, F.lit(p.line_length), F.lit("\0")),
    }


def _arrays(p: HibenchEvents, seed: int, n: "Longs", time_us: "Longs") -> Mapping[str, Any]:
    from streamgauge.events.draw import draw

    key = _zipf(p.keys, p.zipf).draw(n, seed=seed, field=_KEY) if p.zipf else n % p.keys
    address = key * ADDRESS_STEP % ADDRESSES
    bytes_ = (
        address // (255 * 255 * 254) + 1,
        address // (255 * 254) % 255,
        address // 254 % 255,
        address % 254 + 1,
    )
    lengths = draw(n, seed=seed, field=_LENGTH, below=LONGEST - SHORTEST + 1) + SHORTEST
    starts = draw(n, seed=seed, field=_START, below=FILLER_CHARACTERS - LONGEST)
    filler = _filler(seed)
    lines = [
        f"{page}\t{a}.{b}.{c}.{d},{filler[start : start + LONGEST]}"[:length].ljust(p.line_length, "\0")[
            : p.line_length
        ]
        for page, a, b, c, d, start, length in zip(n % PAGES, *bytes_, starts, lengths, strict=True)
    ]
    return {"created": time_us // 1000 * 1000, "line": lines}


EVENTS = EventStream(
    name="hibench",
    summary="web-log records: a creation time and a line of text with an IP address",
    fields=(
        Field("created", "timestamp", "when the record was created, in whole milliseconds"),
        Field("line", "string", "page, tab, IP address, comma, filler; 187 characters"),
    ),
    parameters=HibenchEvents,
    columns=_columns,
    arrays=_arrays,
)
