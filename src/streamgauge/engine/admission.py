"""How many events a micro-batch may hold."""

from collections.abc import Mapping
from dataclasses import dataclass

from streamgauge.arrivals.admission import FIRST_ADMITTED, MIN_ADMITTED


@dataclass
class FixedAdmission:
    """The user's own limit on the events of a micro-batch."""

    limit: int

    def allow(self, _start: int, _now_s: float) -> int:
        """Return how many events the next micro-batch may hold."""
        return self.limit


@dataclass
class AdaptiveAdmission:
    """A limit that finds by itself how many events a micro-batch can hold and still end in about `target_s`.

    It matters only under overload: the limit is renewed when a batch had reached it, by the rate at which that
    batch went through, and at most doubled or halved. So a slow query is not given an endless batch, and a
    fast one is not held back.
    """

    target_s: float
    limit: int
    before: tuple[int, float] | None = None

    def allow(self, start: int, now_s: float) -> int:
        """Return how many events the next micro-batch may hold."""
        if self.before is not None and start > self.before[0]:
            events, elapsed_s = start - self.before[0], max(1e-3, now_s - self.before[1])
            if events >= self.limit:
                wanted = round(events / elapsed_s * self.target_s)
                self.limit = max(self.limit // 2, min(wanted, self.limit * 2), MIN_ADMITTED)
        self.before = (start, now_s)
        return self.limit


def admission_of(options: Mapping[str, str]) -> FixedAdmission | AdaptiveAdmission:
    """Read the admission limit: the user's, or one that adapts."""
    if "max_rows_per_batch" in options:
        return FixedAdmission(int(options["max_rows_per_batch"]))
    return AdaptiveAdmission(float(options["admission_target_s"]), FIRST_ADMITTED)
