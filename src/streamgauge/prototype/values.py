"""The tuples of an application's sources: tuple n as a pure function of the seed and n, in Spark and in NumPy.

A value is a text over a to z, the first of them `aa…a`, and the last letter changes fastest. Letters are looked up in
pairs in a constant list, and letters that never change are constant text.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from statistics import NormalDist
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

from streamgauge.events.columns import divide, modulo, pick
from streamgauge.events.stream import EventStream, Field
from streamgauge.prototype.application import Application, Data, Source
from streamgauge.prototype.costs import Costs
from streamgauge.prototype.flow import (
    DRAWS,
    ArrayArithmetic,
    ColumnArithmetic,
    source_of,
    take_turns,
    turn_of,
)
from streamgauge.prototype.parameters import PrototypeParameters

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    from pyspark.sql import Column, DataFrame

    from streamgauge.arrivals import Arrivals
    from streamgauge.events.draw import Longs, SlottedLaw

LETTERS = len(ascii_lowercase)
PAIRS = tuple(first + second for first in ascii_lowercase for second in ascii_lowercase)
# Of the number of values: where the middle of the bell is, and its standard deviation.
BELL_MIDDLE, BELL_DEVIATION = 1 / 2, 1 / 5

_INDEX, _SOURCE = range(1, 3)

TUPLE = (
    Field("value", "string", "payload, a text over a to z"),
    Field("id", "bigint", "number of the event that the tuple comes from, from 0"),
    Field("num", "bigint", "number of the tuple among those of its source instance, from 1"),
    Field("timestamp", "timestamp", "when the tuple was due, in whole microseconds"),
)
SOURCE = Field("source", "bigint", "index of the source, from 0")


def _parts(data: Data) -> tuple[str, list[tuple[int, Sequence[str]]]]:
    """Return the letters that never change, and for each part behind them its divisor of the index and its texts."""
    width = 1
    while LETTERS**width < data.values:
        width += 1
    width += width % 2 if width < data.size else 0
    parts: list[tuple[int, Sequence[str]]] = [(len(PAIRS) ** k, PAIRS) for k in range(width // 2)]
    if width % 2:
        parts.append((len(PAIRS) ** (width // 2), ascii_lowercase))
    return ascii_lowercase[0] * (data.size - width), parts[::-1]


def value_column(index: "Column", data: Data) -> "Column":
    """Return the values with these indices as a Spark column."""
    from pyspark.sql import functions as F

    constant, parts = _parts(data)
    texts = [pick(modulo(divide(index, divisor), len(choices)), choices) for divisor, choices in parts]
    whole = [F.lit(constant), *texts] if constant else texts
    return whole[0] if len(whole) == 1 else F.concat(*whole)


def value_array(index: "Longs", data: Data) -> "npt.NDArray[np.object_]":
    """Return the values with these indices."""
    import numpy as np

    constant, parts = _parts(data)
    text = np.full(len(index), constant, dtype=object)
    for divisor, choices in parts:
        text = text + np.array(tuple(choices), dtype=object)[index // divisor % len(choices)]
    return text


@lru_cache(maxsize=16)
def index_law(data: Data) -> "SlottedLaw | None":
    """Return the law of the indices; None where all are alike."""
    from streamgauge.events.draw import SlottedLaw

    if data.distribution == "zipf":
        return SlottedLaw.zipf(data.values, data.exponent)
    return _bell(data.values) if data.distribution == "nonuniform" else None


def _bell(values: int) -> "SlottedLaw":
    """Cut the normal law, rounded to whole indices and without those that do not exist, into slots."""
    import numpy as np

    from streamgauge.events.draw import SlottedLaw

    normal = NormalDist(BELL_MIDDLE * values, BELL_DEVIATION * values)
    low, high = normal.cdf(-0.5), normal.cdf(values - 0.5)
    shares = [low + (high - low) * max(slot / SlottedLaw.SLOTS - 1e-12, 0.0) for slot in range(SlottedLaw.SLOTS + 1)]
    last = [math.ceil(normal.inv_cdf(share) - 0.5) for share in shares]
    borders = np.clip(np.array(last, dtype=np.int64), 0, values - 1)
    return SlottedLaw(borders[:-1], np.maximum(np.diff(borders), 1))


def application_events(application: Application, parameters: type[PrototypeParameters]) -> EventStream:
    """Return the stream that feeds all sources of an application."""
    sources = application.sources
    return EventStream(
        name=f"tuples of {application.name}",
        summary=f"tuples of {', '.join(source.name for source in sources)}",
        fields=TUPLE if len(sources) == 1 else (*TUPLE, SOURCE),
        parameters=parameters,
        frame=lambda rows, p, seed, wanted: _frame(rows, skewed(sources, p.zipf), seed, wanted),
        arrays=lambda p, seed, arrivals: _arrays(skewed(sources, p.zipf), seed, arrivals),
    )


def skewed(sources: Sequence[Source], zipf: float | None) -> tuple[Source, ...]:
    """Return the sources with another law of their values, if there is one: Zipf's, or 0 for all alike."""
    if zipf is None:
        return tuple(sources)
    law: Mapping[str, Any] = {"distribution": "zipf", "exponent": zipf} if zipf else {"distribution": "uniform"}
    return tuple(replace(source, data=replace(source.data, **law)) for source in sources)


def values_of(application: Application, zipf: float | None) -> dict[str, float]:
    """Return how often each value comes, over all sources."""
    import numpy as np

    found: dict[str, float] = {}
    share = Costs(application, None).tuples
    for source in skewed(application.sources, zipf):
        law, values = index_law(source.data), source.data.values
        weights = np.full(values, 1 / values) if law is None else law.weights(values)
        for text, weight in zip(value_array(np.arange(values), source.data), weights.tolist(), strict=True):
            found[text] = found.get(text, 0.0) + (share[source.name] or 0.0) * weight
    return found


def _frame(rows: "DataFrame", sources: Sequence[Source], seed: int, wanted: Sequence[str]) -> "DataFrame":
    from pyspark.sql import functions as F

    from streamgauge.events.draw import draw_column

    n = F.col("n")
    if len(sources) == 1:
        index = F.lit(0)
    elif take_turns(sources):
        index = turn_of(sources, n)
    else:
        drawn = draw_column(n, seed=seed, field=_SOURCE, below=DRAWS)
        index = source_of(sources, drawn, F.col("time_us") - F.col("load_us"), ColumnArithmetic())
    rows = rows.withColumn("source", index.cast("long"))
    fields = {
        "value": _by_source([_drawn_column(n, source.data, seed) for source in sources]),
        "id": n,
        "num": _by_source([divide(n, _takers(sources) * source.parallelism) + 1 for source in sources]),
        "timestamp": F.timestamp_micros(F.col("time_us")),
        "source": F.col("source"),
    }
    return rows.select(*(fields[name].alias(name) for name in wanted))


def _by_source(columns: "Sequence[Column]") -> "Column":
    """Choose the column of the source to which a row belongs."""
    from pyspark.sql import functions as F

    chosen = columns[-1]
    for index in reversed(range(len(columns) - 1)):
        chosen = F.when(F.col("source") == index, columns[index]).otherwise(chosen)
    return chosen


def _drawn_column(n: "Column", data: Data, seed: int) -> "Column":
    from streamgauge.events.draw import draw_column

    law = index_law(data)
    if law is None:
        return value_column(draw_column(n, seed=seed, field=_INDEX, below=data.values), data)
    return value_column(law.draw_column(n, seed=seed, field=_INDEX), data)


def _takers(sources: Sequence[Source]) -> int:
    """Return how many sources take turns; without turns every event counts, and `num` has gaps."""
    return len(sources) if take_turns(sources) else 1


def _arrays(sources: Sequence[Source], seed: int, arrivals: "Arrivals") -> Mapping[str, Any]:
    import numpy as np

    from streamgauge.events.draw import draw

    n = arrivals.n
    if len(sources) == 1:
        index = np.zeros(len(n), dtype=np.int64)
    elif take_turns(sources):
        index = turn_of(sources, n)
    else:
        drawn = draw(n, seed=seed, field=_SOURCE, below=DRAWS)
        index = source_of(sources, drawn, arrivals.time_us - arrivals.load_us, ArrayArithmetic())
    value = np.full(len(n), "", dtype=object)
    num = np.zeros(len(n), dtype=np.int64)
    for k, source in enumerate(sources):
        mine = index == k
        value[mine] = value_array(_drawn(n[mine], source.data, seed), source.data)
        num[mine] = n[mine] // (_takers(sources) * source.parallelism) + 1
    return {"value": value, "id": n, "num": num, "timestamp": arrivals.time_us, "source": index}


def _drawn(n: "Longs", data: Data, seed: int) -> "Longs":
    from streamgauge.events.draw import draw

    law = index_law(data)
    return draw(n, seed=seed, field=_INDEX, below=data.values) if law is None else law.draw(n, seed=seed, field=_INDEX)
