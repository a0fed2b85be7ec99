"""Arrival laws: how many events exist at time t, and when event n is created."""

from typing import Protocol

from streamgauge.arrivals.constant import Constant
from streamgauge.arrivals.schedule import Arrivals, Chunks, Schedule
from streamgauge.errors import UsageError, closest

__all__ = ["Arrivals", "Chunks", "Constant", "Law", "Schedule", "parse_law"]


class Law(Protocol):
    """What every arrival law can do."""

    def describe(self) -> str:
        """Return the law as a user would write it."""
        ...

    def mean_rate_per_s(self) -> float:
        """Return the long-run mean rate."""
        ...

    def schedule(self, duration_s: float) -> Schedule:
        """Compile the events of the first `duration_s` seconds."""
        ...


def parse_law(text: str, *, rate_per_s: float) -> Law:
    """Read an arrival law; `rate_per_s` is the rate of laws that have one.

    >>> parse_law("constant", rate_per_s=5.0)
    Constant(rate_per_s=5.0)
    """
    if text.strip() != "constant":
        raise UsageError(f'unknown arrival law "{text}"', where="--arrivals", remedy=closest(text, ["constant"]))
    return Constant(rate_per_s)
