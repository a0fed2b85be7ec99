"""The flows of the sources as one arrival law, and which source an event of that law belongs to.

One stream feeds all sources. Its law is the sum of their flows, and the rate of each flow at the time of an event says
how likely the event is one of that source. Sources with equal flows take turns.
"""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from streamgauge.arrivals.notation import write_duration, write_factor, write_rate
from streamgauge.prototype.graph.application import Flow, Source

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from streamgauge.events.draw import Longs

    Doubles = npt.NDArray[np.float64]

# As in NAMB, no wave falls below one tuple per second, and the laws of waves keep to that too.
LEAST_PER_S = 1.0
# Without a rate of their own, bursts have ten times the rate between them, as the law has.
BURST_FACTOR = 10.0
# A number below this is written exactly by a double.
SOURCE_DRAWS = 2**53

_LAWS = {"uniform": "constant", "sin": "sine", "sawtooth": "sawtooth", "revsawtooth": "reverse-sawtooth"}


def peak_rate_per_s(source: Source) -> float:
    """Return the rate that the flow of a source names, over all its instances."""
    return source.flow.rate_per_s * (source.parallelism if source.flow.rate_scope == "instance" else 1)


def mean_rate_per_s(source: Source) -> float | None:
    """Return the mean rate of a source; None for one that has none of its own."""
    flow, rate_per_s = source.flow, peak_rate_per_s(source)
    if source.topic is not None or not rate_per_s:
        return None
    if flow.distribution == "burst":
        tuples = rate_per_s * flow.interval_s + burst_rate_per_s(source) * flow.duration_s
        return tuples / (flow.interval_s + flow.duration_s)
    return rate_per_s if flow.distribution == "uniform" else rate_per_s / 2


def total_rate_per_s(sources: Sequence[Source]) -> float:
    """Return the rate of all sources together; 0 is as fast as possible."""
    return math.fsum(peak_rate_per_s(source) for source in sources)


def burst_rate_per_s(source: Source) -> float:
    """Return the rate of a source in a burst, over all its instances."""
    given, rate_per_s = source.flow.burst_rate_per_s, peak_rate_per_s(source)
    if given is None:
        return BURST_FACTOR * rate_per_s
    return given * (source.parallelism if source.flow.rate_scope == "instance" else 1)


def arrivals_of(sources: Sequence[Source]) -> str:
    """Write the arrival law of all sources; each part takes its share of whatever the rate of the run is.

    >>> from streamgauge.prototype.graph.application import Data
    >>> steady = Source("a", 1, Data(), Flow(rate_per_s=3000))
    >>> arrivals_of([steady]), arrivals_of([steady, Source("b", 1, Data(), Flow("sin", 1000, phase_s=60))])
    ('constant', 'constant * 0.75 + sine(phase=60s, offset=0s) * 0.25')
    """
    total_per_s = total_rate_per_s(sources)
    if not total_per_s:
        return "constant"
    if have_equal_shapes(sources):
        return _law(sources[0].flow, math.fsum(burst_rate_per_s(source) for source in sources))
    shares = [peak_rate_per_s(source) / total_per_s for source in sources]
    laws = [_law(s.flow, burst_rate_per_s(s) / share) for s, share in zip(sources, shares, strict=True)]
    return " + ".join(f"{law} * {write_factor(share)}" for law, share in zip(laws, shares, strict=True))


def _law(flow: Flow, bursts_per_s: float) -> str:
    if flow.distribution == "uniform":
        return "constant"
    offset = f"offset={write_duration(flow.offset_s)}"
    if flow.distribution != "burst":
        return f"{_LAWS[flow.distribution]}(phase={write_duration(flow.phase_s)}, {offset})"
    rate = "" if flow.burst_rate_per_s is None else f"burst_rate={write_rate(bursts_per_s)}, "
    times = f"interval={write_duration(flow.interval_s)}, duration={write_duration(flow.duration_s)}"
    return f"burst({rate}{times}, {offset})"


def have_equal_shapes(sources: Sequence[Source]) -> bool:
    """Return whether the flows differ by a factor at most, so that the shares of the sources never change."""
    return len({_shape(source) for source in sources}) == 1


def take_turns(sources: Sequence[Source]) -> bool:
    """Return whether the flows are equal, so that the sources take turns."""
    return have_equal_shapes(sources) and len({peak_rate_per_s(source) for source in sources}) == 1


def _shape(source: Source) -> tuple[object, ...]:
    flow = source.flow
    if flow.distribution == "uniform":
        return ("uniform",)
    if flow.distribution != "burst":
        return (flow.distribution, flow.phase_s, flow.offset_s)
    bursts = burst_rate_per_s(source) / peak_rate_per_s(source)
    return ("burst", flow.interval_s, flow.duration_s, flow.offset_s, bursts, flow.burst_rate_per_s is None)


def rate_at(source: Source, t_us: "Longs") -> "Doubles":
    """Return the rate of a source at times in microseconds since the start of the load."""
    import numpy as np

    flow, rate_per_s = source.flow, peak_rate_per_s(source)
    since_us = t_us + to_us(flow.offset_s)
    if flow.distribution == "uniform":
        return np.full(len(t_us), rate_per_s)
    if flow.distribution == "burst":
        calm_us = to_us(flow.interval_s)
        is_calm = since_us % (calm_us + to_us(flow.duration_s)) < calm_us
        return np.where(is_calm, rate_per_s, burst_rate_per_s(source))
    period_us = to_us(flow.phase_s)
    turn = (since_us % period_us).astype(float) / float(period_us)
    shares = {"sin": (1.0 + np.sin(2 * math.pi * turn)) / 2.0, "sawtooth": turn, "revsawtooth": 1.0 - turn}
    return np.maximum(LEAST_PER_S, rate_per_s * shares[flow.distribution])


def to_us(seconds: float) -> int:
    """Return whole microseconds."""
    return round(seconds * 1e6)


def source_of(sources: Sequence[Source], drawn: "Longs", t_us: "Longs") -> "Longs":
    """Return the index of the source of each event, from a number below `SOURCE_DRAWS` drawn for it, and its time."""
    import numpy as np

    until = np.cumsum([rate_at(source, t_us) for source in sources], axis=0)
    place = drawn.astype(float) / float(SOURCE_DRAWS) * until[-1]
    return np.asarray((place >= until[:-1]).sum(axis=0), dtype=np.int64)
