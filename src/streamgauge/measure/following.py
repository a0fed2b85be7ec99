"""Does a query follow a load that varies? Its backlog has no slope to speak of, so other signs decide.

A micro-batch that takes all there is need not have followed: below the admission limit every one does, and under
overload each is longer than the one before. Three signs speak against a query.

- Back-pressure is persistent.
- The oldest waiting event has become older: the lower quartile of its age over the last third of the time is more than
  1.5 times that over the first. Between the peaks of a load the age of a query that follows falls back, and that of one
  that does not stays high.
- The capacity that micro-batches show by their length is below the rate that the last third offers.

Micro-batches that grow with a rate that rises are no sign: as long as the capacity is clearly above what is offered,
ages are excused up to the length that micro-batches may have. Where it is known and not clearly above, nothing shows
that the load is followed: by chance a query above its capacity keeps up for a minute.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from streamgauge.measure.backlog import MIN_BEHIND_SHARE, MIN_LEFT_POINTS, MIN_POINTS, BacklogTrend
from streamgauge.measure.capacity import Capacity
from streamgauge.measure.trend import Floats
from streamgauge.units import format_count, format_duration, format_rate
from streamgauge.verdict import Verdict

MAX_AGE_GROWTH = 1.5


@dataclass(frozen=True)
class LoadSigns:
    """What besides the events that were left behind shows whether a load was followed.

    `ages_s` are the ages of the oldest waiting event at `times_s`, the starts of micro-batches and the end of the load.
    `offered_per_s` is the mean rate over the last third of the time, and `longest_s` the length that micro-batches may
    have. `is_persistent` is None where the state of back-pressure is unknown.
    """

    times_s: Sequence[float]
    ages_s: Sequence[float]
    offered_per_s: float
    capacity: Capacity | None
    is_persistent: bool | None
    longest_s: float

    @property
    def is_clear(self) -> bool:
        """The capacity is above what is offered by more than it is uncertain."""
        return self.capacity is not None and self.capacity.is_above(self.offered_per_s)

    @property
    def is_overload_clear(self) -> bool:
        """The capacity is below what is offered by more than it is uncertain."""
        return self.capacity is not None and self.capacity.is_below(self.offered_per_s)


def _age_growth(signs: LoadSigns) -> tuple[float, float]:
    """Return the lower quartile of ages in the last third of the time, and by what factor it has risen."""
    t, ages = np.asarray(signs.times_s, dtype=float), np.asarray(signs.ages_s, dtype=float)
    third_s = (t[-1] - t[0]) / 3
    first, last = (float(np.quantile(ages[part], 0.25)) for part in (t <= t[0] + third_s, t >= t[-1] - third_s))
    return last, last / first if first > 0 else float("inf")


def _against(signs: LoadSigns) -> list[str]:
    """Return the signs that speak against the query, in words."""
    found = ["back-pressure is persistent"] if signs.is_persistent else []
    age_s, growth = _age_growth(signs)
    if growth > MAX_AGE_GROWTH and not (signs.is_clear and age_s <= signs.longest_s):
        waits = f"the oldest event waits {format_duration(age_s)} in the last third of the time"
        found.append(f"{waits}, {growth:.2g} times as long as in the first")
    capacity = signs.capacity
    if capacity is not None and capacity.per_s is not None and capacity.per_s < signs.offered_per_s:
        found.append(_compared(signs.offered_per_s, capacity))
    return found


def _compared(offered_per_s: float, capacity: Capacity) -> str:
    return (
        f"by their length micro-batches can process {capacity.text()}, and the last third of the time offers "
        f"{format_rate(offered_per_s)}"
    )


def _said(verdict: Verdict, reason: str) -> BacklogTrend:
    return BacklogTrend(None, None, None, verdict, reason)


def judge_following(
    starts_s: Sequence[float] | Floats, left: Sequence[float] | Floats, *, until_s: float, signs: LoadSigns
) -> BacklogTrend:
    """Judge whether a query follows a load that varies.

    Fail when no micro-batch has taken all there was since at least half of the time, when all three signs speak against
    the query, or when the last two do, clearly, and back-pressure is unknown. Unknown when one or two do, when the last
    micro-batch left events behind, and when the capacity is not clearly above what is offered or, where it is unknown,
    ten micro-batches have not been seen. Else pass.
    """
    t, rest = np.asarray(starts_s, dtype=float), np.asarray(left, dtype=float)
    if len(t) < MIN_LEFT_POINTS:
        return _said(
            Verdict.UNKNOWN, f"{len(t)} micro-batches started under load, and a verdict needs {MIN_LEFT_POINTS}"
        )
    against = _against(signs)
    if len(against) == 3 or (len(against) == 2 and signs.is_persistent is None and signs.is_overload_clear):
        return _said(Verdict.FAIL, f"the load is not followed: {'; '.join(against)}")
    if rest[-1]:
        return _judge_behind(t, rest, until_s)
    if against:
        return _said(
            Verdict.UNKNOWN,
            f"not clear whether the load is followed: {'; '.join(against)}; a longer --duration may show it",
        )
    return _judge_taken(rest, signs)


def _judge_behind(t: Floats, rest: Floats, until_s: float) -> BacklogTrend:
    """Judge a query whose last micro-batch left events behind."""
    followed = np.flatnonzero(rest == 0)
    since_s = float(t[followed[-1] + 1]) if len(followed) else float(t[0])
    behind_s = until_s - since_s
    what = f"the query was behind for the last {format_duration(behind_s)} of the load, {format_count(rest[-1])} events"
    if behind_s >= MIN_BEHIND_SHARE * (until_s - float(t[0])):
        return _said(Verdict.FAIL, what)
    return _said(Verdict.UNKNOWN, f"{what}; a longer --duration would show whether it catches up")


def _judge_taken(rest: Floats, signs: LoadSigns) -> BacklogTrend:
    """Judge a query against which nothing speaks."""
    shown = "" if signs.capacity is None else f"; {_compared(signs.offered_per_s, signs.capacity)}"
    if signs.capacity is None and len(rest) < MIN_POINTS:
        few = f"{len(rest)} micro-batches are too few to show that the load is followed; raise --duration"
        return _said(Verdict.UNKNOWN, few)
    if signs.capacity is not None and not signs.is_clear:
        return _said(Verdict.UNKNOWN, f"not clear whether the load is followed{shown}; a longer --duration may show it")
    times = int(np.sum(np.diff(np.append(0, rest > 0)) == 1))
    many = "once" if times == 1 else f"{times} times"
    what = f"the query fell behind {many} and caught up again" if times else "every micro-batch took all there was"
    return _said(Verdict.PASS, f"{what}: the load is followed{shown}")
