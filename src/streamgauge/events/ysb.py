"""Advertisement events of the Yahoo Streaming Benchmark.

The deterministic form gives every field by the event number alone: over 3,000 events every ad is viewed
exactly once. The random form draws each field independently and uniformly, seeded. Constants of the skew
and of late events are those of Yahoo's generator.
"""

import math
import operator
from collections.abc import Mapping, Sequence
from functools import cache, reduce
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field as Parameter

from streamgauge.events.columns import divide, modulo, pick
from streamgauge.events.dataframe import Column, DataFrame, F
from streamgauge.events.identifiers import identifier, identifier_array, identifier_column
from streamgauge.events.stream import EventStream, Field, Parameters

if TYPE_CHECKING:
    from streamgauge.arrivals import Arrivals
    from streamgauge.events.draw import Longs

AD_TYPES = ("banner", "modal", "sponsored-search", "mail", "mobile")
EVENT_TYPES = ("view", "click", "purchase")
IP_ADDRESS = "1.2.3.4"
USERS = 100
PAGES = 100
SKEW_MS = 50
LATE_ONE_IN = 100_000
LATE_MS = 60_000
# As many beginnings of texts are kept in memory, of 220 bytes each.
MAX_HEADS = 300_000


class YsbEvents(Parameters):
    """Parameters of the advertisement events."""

    campaigns: int = Parameter(100, ge=1, le=1_000_000, description="number of campaigns, the keys of the result")
    ads_per_campaign: int = Parameter(10, ge=1, le=100, description="ads of each campaign, the keys of the join")
    draws: Literal["deterministic", "random"] = Parameter(
        "deterministic",
        description="fields by the event number alone, or drawn uniformly and independently by seed",
    )
    skew: bool = Parameter(False, description="shift each event time by +50..-49 ms, as Yahoo's generator can")
    late: bool = Parameter(False, description="make one event in 100,000 up to 60 s older, as Yahoo's generator can")

    @property
    def ads(self) -> int:
        """Number of ads in all."""
        return self.campaigns * self.ads_per_campaign

    @property
    def max_lateness_s(self) -> float:
        """How much older than an earlier event an event can be."""
        return (2 * SKEW_MS if self.skew else 0) / 1e3 + (LATE_MS / 1e3 if self.late else 0)


# The numbers name the independent streams of random draws: changing one changes the events.
_AD, _AD_TYPE, _EVENT_TYPE, _USER, _PAGE, _SKEW, _IS_LATE, _LATENESS = range(1, 9)


def _frame(rows: DataFrame, p: YsbEvents, seed: int, wanted: Sequence[str]) -> DataFrame:
    from streamgauge.events.draw import draw_column

    n = F.col("n")

    def drawn(field: int, below: int) -> Column:
        return draw_column(n, seed=seed, field=field, below=below)

    random = p.draws == "random"
    time_ms = divide(F.col("time_us"), 1000)
    if p.skew:
        time_ms = time_ms + F.lit(SKEW_MS) - drawn(_SKEW, 2 * SKEW_MS)
    if p.late:
        time_ms = time_ms - F.when(drawn(_IS_LATE, LATE_ONE_IN) == 0, drawn(_LATENESS, LATE_MS)).otherwise(F.lit(0))
    fields = {
        "user_id": identifier_column("user", drawn(_USER, USERS) if random else modulo(n, USERS), USERS),
        "page_id": identifier_column("page", drawn(_PAGE, PAGES) if random else modulo(divide(n, USERS), PAGES), PAGES),
        "ad_id": identifier_column("ad", drawn(_AD, p.ads) if random else modulo(n, p.ads), p.ads),
        "ad_type": pick(drawn(_AD_TYPE, 5) if random else modulo(n, 5), AD_TYPES),
        "event_type": pick(drawn(_EVENT_TYPE, 3) if random else modulo(n, 3), EVENT_TYPES),
        "event_time": F.timestamp_millis(time_ms),
        "ip_address": F.lit(IP_ADDRESS),
    }
    texts = fields | {"event_time": time_ms.cast("string")}
    fields["value"] = F.concat(*_json_parts(texts, F.lit))
    return rows.select(*(fields[name].alias(name) for name in wanted))


def _json_parts(texts: Mapping[str, Any], literal: Any) -> list[Any]:
    """Spell the JSON object as Yahoo's generator does: all values strings, a space after colon and comma."""
    parts: list[Any] = []
    opening = '{"'
    for name, text in texts.items():
        parts += [literal(f'{opening}{name}": "'), text]
        opening = '", "'
    return [*parts, literal('"}')]


def _arrays(p: YsbEvents, seed: int, arrivals: "Arrivals") -> Mapping[str, Any]:
    import numpy as np

    time_ms = _time_ms(p, seed, arrivals)
    users, pages, ads, ad_types, event_types = _indices(p, seed, arrivals.n)
    fields: dict[str, Any] = {
        "user_id": identifier_array("user", users),
        "page_id": identifier_array("page", pages),
        "ad_id": identifier_array("ad", ads),
        "ad_type": np.array(AD_TYPES, dtype=object)[ad_types],
        "event_type": np.array(EVENT_TYPES, dtype=object)[event_types],
        "event_time": time_ms * 1000,
        "ip_address": np.full(len(arrivals.n), IP_ADDRESS, dtype=object),
    }
    texts = fields | {"event_time": time_ms.astype(str).astype(object)}
    return fields | {"value": reduce(operator.add, _json_parts(texts, str))}


def _lines(p: YsbEvents, seed: int, arrivals: "Arrivals") -> list[bytes]:
    """Make the texts of `value`: everything before the time comes from a table, or from five short ones."""
    import numpy as np

    time_ms = _time_ms(p, seed, arrivals)
    spelled = {ms: b'%d", "ip_address": "%b"}' % (ms, IP_ADDRESS.encode()) for ms in np.unique(time_ms).tolist()}
    times = [spelled[ms] for ms in time_ms.tolist()]
    if p.draws == "random":
        heads = _heads(p, seed, arrivals.n)
    else:
        period = math.lcm(USERS * PAGES, p.ads, len(AD_TYPES) * len(EVENT_TYPES))
        table = _periodic_heads(p) if period <= MAX_HEADS else None
        numbers = (arrivals.n % period).tolist() if table is not None else []
        heads = [table[n] for n in numbers] if table is not None else _heads(p, seed, arrivals.n)
    return [head + time for head, time in zip(heads, times, strict=True)]


@cache
def _periodic_heads(p: YsbEvents) -> list[bytes]:
    import numpy as np

    return _heads(p, 0, np.arange(math.lcm(USERS * PAGES, p.ads, len(AD_TYPES) * len(EVENT_TYPES))))


def _heads(p: YsbEvents, seed: int, n: "Longs") -> list[bytes]:
    """Return the texts of events up to their time."""
    tables = [[part.encode() for part in parts] for parts in _head_parts(p)]
    columns = [index.tolist() for index in _indices(p, seed, n)]
    users, pages, ads, ad_types, event_types = tables
    return [users[u] + pages[g] + ads[a] + ad_types[t] + event_types[e] for u, g, a, t, e in zip(*columns, strict=True)]


@cache
def _head_parts(p: YsbEvents) -> tuple[list[str], ...]:
    """Return, for each field before the time, the text of every value with the names around it."""
    values = {
        "user_id": [identifier("user", i) for i in range(USERS)],
        "page_id": [identifier("page", i) for i in range(PAGES)],
        "ad_id": [identifier("ad", i) for i in range(p.ads)],
        "ad_type": AD_TYPES,
        "event_type": EVENT_TYPES,
    }
    names = [*values, "event_time"]
    opening = f'{{"{names[0]}": "'
    found = []
    for name, following in zip(values, names[1:], strict=True):
        found.append([f'{opening}{value}", "{following}": "' for value in values[name]])
        opening = ""
    return tuple(found)


def _indices(p: YsbEvents, seed: int, n: "Longs") -> "list[Longs]":
    """Return which user, page, ad, ad type and event type each event has."""
    from streamgauge.events.draw import draw

    if p.draws == "random":
        sizes = {_USER: USERS, _PAGE: PAGES, _AD: p.ads, _AD_TYPE: len(AD_TYPES), _EVENT_TYPE: len(EVENT_TYPES)}
        return [draw(n, seed=seed, field=field, below=below) for field, below in sizes.items()]
    return [n % USERS, n // USERS % PAGES, n % p.ads, n % len(AD_TYPES), n % len(EVENT_TYPES)]


def _time_ms(p: YsbEvents, seed: int, arrivals: "Arrivals") -> "Longs":
    import numpy as np

    from streamgauge.events.draw import draw

    n, time_ms = arrivals.n, arrivals.time_us // 1000
    if p.skew:
        time_ms = time_ms + SKEW_MS - draw(n, seed=seed, field=_SKEW, below=2 * SKEW_MS)
    if p.late:
        is_late = draw(n, seed=seed, field=_IS_LATE, below=LATE_ONE_IN) == 0
        time_ms = time_ms - np.where(is_late, draw(n, seed=seed, field=_LATENESS, below=LATE_MS), 0)
    return time_ms


EVENTS = EventStream(
    name="ysb",
    summary="advertisement events: 7 fields, a third of them views",
    fields=(
        Field("user_id", "string", "UUID of one of 100 users"),
        Field("page_id", "string", "UUID of one of 100 pages"),
        Field("ad_id", "string", "identifier of the ad; the ads of a campaign have consecutive numbers"),
        Field("ad_type", "string", "banner, modal, sponsored-search, mail or mobile"),
        Field("event_type", "string", "view, click or purchase"),
        Field("event_time", "timestamp", "when the event was due, in whole milliseconds"),
        Field("ip_address", "string", "always 1.2.3.4"),
        Field("value", "string", "the seven fields above as JSON text, about 253 bytes"),
    ),
    parameters=YsbEvents,
    frame=_frame,
    arrays=_arrays,
    text="value",
    lines=_lines,
)
