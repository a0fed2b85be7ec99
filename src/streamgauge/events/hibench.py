"""Records of HiBench's streaming micro-benchmarks: a creation time and a web-log line.

The workloads read only the line's second field, the IP address. HiBench cycles through a seed file of a
million lines with nearly as many addresses; here a line is computed: a page, one of `keys` distinct
addresses, and one of 64 fillers with the original's spread of lengths, cut or padded with zero characters
to the record length. Numbers in a line have leading zeros, so that every part has a fixed width and no string
is ever measured, cut or padded by the engine: that alone would cost four times as much as the rest.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pydantic import Field as Parameter

from streamgauge.events.columns import divide, modulo, pick
from streamgauge.events.dataframe import DataFrame, F
from streamgauge.events.stream import EventStream, Field, Parameters

if TYPE_CHECKING:
    from streamgauge.arrivals import Arrivals

PAGES = 120_000
KEY_BYTES = 13
# Addresses a.b.c.d with a, d in 1..254 and b, c in 0..254, visited in an order that looks random:
# a step without a common factor with their number meets each of them once.
ADDRESSES = 254 * 255 * 255 * 254
ADDRESS_STEP = 2_654_435_761
FRONT_CHARACTERS = len("012345\t001.002.003.004,")
# With page and address, fillers of these lengths make lines of 113 to 241 characters.
FILLERS = 64
SHORTEST, LONGEST = 113 - FRONT_CHARACTERS, 241 - FRONT_CHARACTERS

_KEY, _FILLER = range(1, 3)


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
def _fillers(seed: int, length: int) -> tuple[str, ...]:
    """Return lower-case words between commas, the same for a seed, cut or padded to `length`."""
    import numpy as np

    from streamgauge.events.draw import draw

    numbers = np.arange(FILLERS * LONGEST)
    letters = draw(numbers, seed=seed, field=99, below=26)
    breaks = draw(numbers, seed=seed, field=98, below=12)
    text = "".join("," if b == 0 else chr(97 + c) for c, b in zip(letters, breaks, strict=True))
    pieces = (text[k * LONGEST :][: SHORTEST + (LONGEST - SHORTEST) * k // (FILLERS - 1)] for k in range(FILLERS))
    return tuple(piece[:length].ljust(length, "\0") for piece in pieces)


def _numbers(count: int, form: str) -> tuple[str, ...]:
    return tuple(form.format(number) for number in range(count))


def _frame(rows: DataFrame, p: HibenchEvents, seed: int, wanted: Sequence[str]) -> DataFrame:
    from streamgauge.events.draw import draw_column, zipf_law

    n = F.col("n")
    key = zipf_law(p.keys, p.zipf).draw_column(n, seed=seed, field=_KEY) if p.zipf else modulo(n, p.keys)
    address = modulo(key * F.lit(ADDRESS_STEP).cast("long"), ADDRESSES)
    page = modulo(n, PAGES)
    line = F.concat(
        pick(divide(page, 1000), _numbers(PAGES // 1000, "{:03}")),
        pick(modulo(page, 1000), _numbers(1000, "{:03}\t")),
        pick(divide(address, 255 * 255 * 254) + F.lit(1), _numbers(256, "{:03}.")),
        pick(modulo(divide(address, 255 * 254), 255), _numbers(256, "{:03}.")),
        pick(modulo(divide(address, 254), 255), _numbers(256, "{:03}.")),
        pick(modulo(address, 254) + F.lit(1), _numbers(256, "{:03},")),
        pick(draw_column(n, seed=seed, field=_FILLER, below=FILLERS), _fillers(seed, p.line_length - FRONT_CHARACTERS)),
    )
    fields = {"created": F.timestamp_millis(divide(F.col("time_us"), 1000)), "line": line}
    return rows.select(*(fields[name].alias(name) for name in wanted))


def _arrays(p: HibenchEvents, seed: int, arrivals: "Arrivals") -> Mapping[str, Any]:
    from streamgauge.events.draw import draw, zipf_law

    n = arrivals.n
    key = zipf_law(p.keys, p.zipf).draw(n, seed=seed, field=_KEY) if p.zipf else n % p.keys
    address = key * ADDRESS_STEP % ADDRESSES
    octets = (
        address // (255 * 255 * 254) + 1,
        address // (255 * 254) % 255,
        address // 254 % 255,
        address % 254 + 1,
    )
    fillers = _fillers(seed, p.line_length - FRONT_CHARACTERS)
    lines = [
        f"{page:06}\t{a:03}.{b:03}.{c:03}.{d:03},{fillers[k]}"
        for page, a, b, c, d, k in zip(
            n % PAGES, *octets, draw(n, seed=seed, field=_FILLER, below=FILLERS), strict=True
        )
    ]
    return {"created": arrivals.time_us // 1000 * 1000, "line": lines}


EVENTS = EventStream(
    name="hibench",
    summary="web-log records: a creation time and a line of text with an IP address",
    fields=(
        Field("created", "timestamp", "when the record was created, in whole milliseconds"),
        Field("line", "string", "page, tab, IP address, comma, filler; 187 characters unless record_length is changed"),
    ),
    parameters=HibenchEvents,
    frame=_frame,
    arrays=_arrays,
)
