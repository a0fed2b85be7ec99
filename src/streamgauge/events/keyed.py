"""Plain keyed records, the smallest events on which one operator can be measured.

Key and value are drawn independently, so that a key says nothing about where or when it comes next. The two sides of
a join alternate. With `turns`, keys come and go: in every second only one in `turns` of them is in use, which makes
pauses between the events of a key at any rate.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from pydantic import Field as Parameter

from streamgauge.events.columns import divide, modulo
from streamgauge.events.dataframe import Column, DataFrame, F
from streamgauge.events.stream import EventStream, Field, Parameters

if TYPE_CHECKING:
    from streamgauge.arrivals import Arrivals
    from streamgauge.events.draw import Longs

VALUES = 1_000_000
SIDES = 2

_KEY, _VALUE = range(1, 3)


class KeyedEvents(Parameters):
    """Parameters of the keyed records."""

    keys: int = Parameter(1000, ge=1, le=10_000_000, description="number of distinct keys")
    zipf: float = Parameter(0.0, ge=0.0, le=3.0, description="exponent of Zipf's law over the keys; 0 is uniform")
    turns: int = Parameter(
        1, ge=1, le=60, description="in every second one in this many keys is in use; keys become a multiple of it"
    )


def _frame(rows: DataFrame, p: KeyedEvents, seed: int, wanted: Sequence[str]) -> DataFrame:
    from streamgauge.events.draw import draw_column

    n, time_us = F.col("n"), F.col("time_us")
    fields = {
        "number": n,
        "key": _key_column(n, time_us, p, seed),
        "value": draw_column(n, seed=seed, field=_VALUE, below=VALUES),
        "side": modulo(n, SIDES).cast("int"),
        "created": F.timestamp_millis(divide(time_us, 1000)),
    }
    return rows.select(*(fields[name].alias(name) for name in wanted))


def _key_column(n: Column, time_us: Column, p: KeyedEvents, seed: int) -> Column:
    from streamgauge.events.draw import draw_column, zipf_law

    if p.zipf:
        key = zipf_law(p.keys, p.zipf).draw_column(n, seed=seed, field=_KEY)
    else:
        key = draw_column(n, seed=seed, field=_KEY, below=p.keys)
    return key if p.turns == 1 else key - modulo(key, p.turns) + modulo(divide(time_us, 1_000_000), p.turns)


def _arrays(p: KeyedEvents, seed: int, arrivals: "Arrivals") -> Mapping[str, Any]:
    from streamgauge.events.draw import draw

    n = arrivals.n
    return {
        "number": n,
        "key": _key_array(n, arrivals.time_us, p, seed),
        "value": draw(n, seed=seed, field=_VALUE, below=VALUES),
        "side": n % SIDES,
        "created": arrivals.time_us // 1000 * 1000,
    }


def _key_array(n: "Longs", time_us: "Longs", p: KeyedEvents, seed: int) -> "Longs":
    from streamgauge.events.draw import draw, zipf_law

    if p.zipf:
        key = zipf_law(p.keys, p.zipf).draw(n, seed=seed, field=_KEY)
    else:
        key = draw(n, seed=seed, field=_KEY, below=p.keys)
    return key - key % p.turns + time_us // 1_000_000 % p.turns


EVENTS = EventStream(
    name="keyed",
    summary="plain records: a number, a key, a value, a side and a creation time",
    fields=(
        Field("number", "bigint", "number of the event, from 0 in the order of creation"),
        Field("key", "bigint", "key, from 0"),
        Field("value", "bigint", "value, uniform in 0..999,999"),
        Field("side", "int", "side of a join: 0 for even numbers, 1 for odd ones"),
        Field("created", "timestamp", "when the record was created, in whole milliseconds"),
    ),
    parameters=KeyedEvents,
    frame=_frame,
    arrays=_arrays,
)
