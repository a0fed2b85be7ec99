"""The flows of the sources as one arrival law, and which source an event of that law belongs to.

One stream feeds all sources. Its law is the sum of their flows, and the rate of each flow at the time of an event says
how likely the event is one of that source. Sources with equal flows take turns.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol

from streamgauge.arrivals.notation import write_duration, write_factor, write_rate
from streamgauge.prototype.application import Flow, Source
from streamgauge.prototype.costs import peak_rate_per_s

if TYPE_CHECKING:
    from pyspark.sql import Column

    from streamgauge.events.draw import Longs

# As in NAMB, no wave falls below one tuple per second, and the laws of waves keep to that too.
LEAST_PER_S = 1.0
# Without a rate of their own, bursts have ten times the rate between them, as the law has.
BURST_FACTOR = 10.0
# A number below this is written exactly by a double.
DRAWS = 2**53

_LAWS = {"uniform": "constant", "sin": "sine", "sawtooth": "sawtooth", "revsawtooth": "reverse-sawtooth"}


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

    >>> from streamgauge.prototype.application import Data
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
    """Tell whether the flows differ by a factor at most, so that the shares of the sources never change."""
    return len({_shape(source) for source in sources}) == 1


def take_turns(sources: Sequence[Source]) -> bool:
    """Tell whether the flows are equal, so that the sources take turns."""
    return have_equal_shapes(sources) and len({peak_rate_per_s(source) for source in sources}) == 1


def _shape(source: Source) -> tuple[object, ...]:
    flow = source.flow
    if flow.distribution == "uniform":
        return ("uniform",)
    if flow.distribution != "burst":
        return (flow.distribution, flow.phase_s, flow.offset_s)
    bursts = burst_rate_per_s(source) / peak_rate_per_s(source)
    return ("burst", flow.interval_s, flow.duration_s, flow.offset_s, bursts, flow.burst_rate_per_s is None)


class Arithmetic(Protocol):
    """What Spark's columns and NumPy's arrays do by different names; plain operators do the same in both."""

    def real(self, x: Any) -> Any:
        """Make whole numbers doubles."""

    def sine(self, x: Any) -> Any:
        """Return the sine."""

    def at_least(self, least: float, x: Any) -> Any:
        """Return the numbers, none below the least."""

    def choose(self, condition: Any, one: Any, other: Any) -> Any:
        """Return the one number where the condition holds, else the other."""


@dataclass(frozen=True)
class ColumnArithmetic:
    """Spark's."""

    def real(self, x: "Column") -> "Column":
        """Make whole numbers doubles."""
        return x.cast("double")

    def sine(self, x: "Column") -> "Column":
        """Return the sine."""
        from pyspark.sql import functions as F

        return F.sin(x)

    def at_least(self, least: float, x: "Column") -> "Column":
        """Return the numbers, none below the least."""
        from pyspark.sql import functions as F

        return F.greatest(F.lit(least), x)

    def choose(self, condition: "Column", one: Any, other: Any) -> "Column":
        """Return the one number where the condition holds, else the other."""
        from pyspark.sql import functions as F

        return F.when(condition, one).otherwise(other)


@dataclass(frozen=True)
class ArrayArithmetic:
    """NumPy's."""

    def real(self, x: Any) -> Any:
        """Make whole numbers doubles."""
        return x.astype(float)

    def sine(self, x: Any) -> Any:
        """Return the sine."""
        import numpy as np

        return np.sin(x)

    def at_least(self, least: float, x: Any) -> Any:
        """Return the numbers, none below the least."""
        import numpy as np

        return np.maximum(least, x)

    def choose(self, condition: Any, one: Any, other: Any) -> Any:
        """Return the one number where the condition holds, else the other."""
        import numpy as np

        return np.where(condition, one, other)


def rate_at(source: Source, t_us: Any, arithmetic: Arithmetic) -> Any:
    """Return the rate of a source at times in microseconds since the start of the load."""
    flow, rate_per_s = source.flow, peak_rate_per_s(source)
    if flow.distribution == "uniform":
        return rate_per_s
    offset_us = round(flow.offset_s * 1e6)
    if flow.distribution == "burst":
        calm_us, burst_us = round(flow.interval_s * 1e6), round(flow.duration_s * 1e6)
        is_calm = (t_us + offset_us) % (calm_us + burst_us) < calm_us
        return arithmetic.choose(is_calm, rate_per_s, burst_rate_per_s(source))
    period_us = round(flow.phase_s * 1e6)
    turn = arithmetic.real((t_us + offset_us) % period_us) / float(period_us)
    if flow.distribution == "sin":
        share = (1.0 + arithmetic.sine(2 * math.pi * turn)) / 2.0
    else:
        share = turn if flow.distribution == "sawtooth" else 1.0 - turn
    return arithmetic.at_least(LEAST_PER_S, rate_per_s * share)


def source_of(sources: Sequence[Source], drawn: Any, t_us: Any, arithmetic: Arithmetic) -> Any:
    """Return the index of the source of each event, from a number below `DRAWS` drawn for it, and its time."""
    reached, until = 0.0, []
    for source in sources:
        reached = reached + rate_at(source, t_us, arithmetic)
        until.append(reached)
    place = arithmetic.real(drawn) / float(DRAWS) * reached
    index: Any = len(sources) - 1
    for k in reversed(range(len(sources) - 1)):
        index = arithmetic.choose(place < until[k], k, index)
    return index


def turn_of(sources: Sequence[Source], n: "Longs | Column") -> Any:
    """Return the index of the source of each event, when the sources take turns."""
    return n % len(sources)
