"""The tuples of an application's sources: tuple n as a pure function of the seed and n, in NumPy.

`runtime` has the same in Spark.

A value is a text over a to z, the first of them `aa…a`, and the last letter changes fastest. Letters are looked up in
pairs in a constant list, and letters that never change are constant text.
"""

import math
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from statistics import NormalDist
from string import ascii_lowercase
from typing import TYPE_CHECKING, Any

from streamgauge.events.columns import SLOTS, zipf_borders
from streamgauge.prototype.graph.application import Application, Data, Source
from streamgauge.prototype.graph.costs import Costs
from streamgauge.prototype.graph.flow import (
    SOURCE_DRAWS,
    source_of,
    take_turns,
)

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from streamgauge.arrivals import Arrivals
    from streamgauge.events.draw import Longs, SlottedLaw

PAIRS = [one + other for one in ascii_lowercase for other in ascii_lowercase]
# What sources and tasks draw numbers for.
INDEX, SOURCE, ARRIVAL = 1, 2, 3
FILTER, COPIES, INSTANCE = 0, 1, 2
# Shares are compared with numbers drawn below this.
DRAWS = 2**40

TYPES = {"value": "string", "id": "bigint", "num": "bigint", "timestamp": "timestamp"}
COLUMNS = tuple(TYPES)
# What the results of windows have besides.
OF_WINDOWS = {"count": "bigint", "earliest": "timestamp"}


def columns_of_windows(application: Application) -> tuple[str, ...]:
    """Return what the tuples that leave the application have besides, when some of them come out of windows."""
    windowed = application.results_of_windows
    return tuple(OF_WINDOWS) if any(sink.name in windowed for sink in application.sinks) else ()


def draw_field(task: str, purpose: int) -> int:
    """Return the number of the draws of a task for one purpose: by its name alone."""
    return 4 * zlib.crc32(task.encode()) + purpose


def text_parts(size: int, values: int) -> tuple[str, list[tuple[int, Sequence[str]]]]:
    """Return the letters that never change, and the parts behind them.

    A part is a divisor of the index and the texts that it chooses from.
    """
    width = 1
    while len(ascii_lowercase) ** width < values:
        width += 1
    width += width % 2 if width < size else 0
    parts: list[tuple[int, Sequence[str]]] = []
    if width % 2:
        parts.append((len(PAIRS) ** (width // 2), ascii_lowercase))
    parts += [(len(PAIRS) ** k, PAIRS) for k in reversed(range(width // 2))]
    return "a" * (size - width), parts


def value_array(index: "Longs", data: Data) -> "npt.NDArray[np.object_]":
    """Return the values with these indices."""
    import numpy as np

    constant, parts = text_parts(data.size, data.values)
    text = np.full(len(index), constant, dtype=object)
    for divisor, choices in parts:
        text = text + np.array(tuple(choices), dtype=object)[index // divisor % len(choices)]
    return text


@lru_cache(maxsize=16)
def index_law(data: Data) -> "SlottedLaw | None":
    """Return the law of the indices; None where all are alike."""
    from streamgauge.events.draw import SlottedLaw

    if data.distribution == "zipf":
        return SlottedLaw(zipf_borders(data.values, data.exponent))
    return SlottedLaw(bell_borders(data.values)) if data.distribution == "nonuniform" else None


def bell_borders(values: int) -> list[int]:
    """Cut the normal law, rounded to indices that exist, into slots of equal probability."""
    normal = NormalDist(values / 2, values / 5)
    low, high = normal.cdf(-0.5), normal.cdf(values - 0.5)
    shares = [max(slot / SLOTS - 1e-12, 0.0) for slot in range(SLOTS + 1)]
    last = [normal.inv_cdf(low + (high - low) * share) for share in shares]
    return [min(max(math.ceil(index - 0.5), 0), values - 1) for index in last]


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


def takers(sources: Sequence[Source]) -> int:
    """Return how many sources take turns; without turns every event counts, and `num` has gaps."""
    return len(sources) if take_turns(sources) else 1


def source_arrays(sources: Sequence[Source], seed: int, arrivals: "Arrivals") -> Mapping[str, Any]:
    """Return the tuples of all sources, by column."""
    import numpy as np

    from streamgauge.events.draw import draw

    n = arrivals.n
    if len(sources) == 1:
        index = np.zeros(len(n), dtype=np.int64)
    elif take_turns(sources):
        index = n % len(sources)
    else:
        drawn = draw(n, seed=seed, field=SOURCE, below=SOURCE_DRAWS)
        index = source_of(sources, drawn, arrivals.time_us - arrivals.load_us)
    value = np.full(len(n), "", dtype=object)
    num = np.zeros(len(n), dtype=np.int64)
    for k, source in enumerate(sources):
        mine = index == k
        value[mine] = value_array(_drawn(n[mine], source.data, seed), source.data)
        num[mine] = n[mine] // (takers(sources) * source.parallelism) + 1
    return {"value": value, "id": n, "num": num, "timestamp": arrivals.time_us, "source": index}


def _drawn(n: "Longs", data: Data, seed: int) -> "Longs":
    from streamgauge.events.draw import draw

    law = index_law(data)
    return draw(n, seed=seed, field=INDEX, below=data.values) if law is None else law.draw(n, seed=seed, field=INDEX)
