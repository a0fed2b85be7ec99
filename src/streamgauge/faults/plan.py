"""Which faults are to happen, and when: one, a list, or one drawn by seed; and the smallest list that still fails."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from streamgauge.errors import UsageError, closest
from streamgauge.units import format_duration, parse_duration

BETWEEN_SINK_AND_COMMIT = "offset-commit"
POINTS = ("before-batch", "in-batch", "after-batch", BETWEEN_SINK_AND_COMMIT)
KINDS = ("driver", "executor", "worker", "broker", "sink-stall", "disk-full", "pause")
# Faults of a drawn sequence lie between these shares of the load, and so far apart at least.
EARLIEST, LATEST = 0.15, 0.8
MIN_GAP_S = 3.0
DRAWN = 3


@dataclass(frozen=True)
class PlannedFault:
    """One fault: its kind, when in seconds of the load, and at which point of a micro-batch, if that matters."""

    at_s: float
    kind: str
    point: str | None = None

    def __str__(self) -> str:
        """Return it as `--faults` takes it."""
        return " ".join(filter(None, (format_duration(self.at_s).replace(" ", ""), self.kind, self.point)))


def parse_kind(text: str, *, where: str) -> str:
    """Refuse what is not a fault."""
    if text not in KINDS:
        raise UsageError(f'"{text}" is not a fault', where=where, remedy=closest(text, KINDS))
    return text


def parse_at(text: str | float | None, *, otherwise_s: float) -> tuple[float, str | None]:
    """Read when a fault is to happen: a time of the load, a point of a micro-batch, or both.

    >>> parse_at("10s in-batch", otherwise_s=5.0), parse_at("after-batch", otherwise_s=5.0)
    ((10.0, 'in-batch'), (5.0, 'after-batch'))
    """
    at_s, point = otherwise_s, None
    for word in [] if text is None else re.split(r"[\s,]+", str(text).strip()):
        if word[:1].isdigit():
            at_s = parse_duration(word, where="--at")
        elif word in POINTS:
            point = word
        else:
            raise UsageError(f'"{word}" is neither a time nor a point', where="--at", remedy=closest(word, POINTS))
    return at_s, point


def parse_faults(text: str) -> tuple[PlannedFault, ...]:
    """Read a list of faults, in the order of their times.

    >>> [str(fault) for fault in parse_faults("20s pause; 8s driver in-batch")]
    ['8s driver in-batch', '20s pause']
    """
    found = []
    for part in filter(None, (part.strip() for part in text.split(";"))):
        time, *words = part.split()
        if not 1 <= len(words) <= 2:
            what = f'"{part}" is not a time, a fault and perhaps a point'
            raise UsageError(what, where="--faults", remedy='write e.g. "8s driver in-batch; 20s pause"')
        if words[1:] and words[1] not in POINTS:
            raise UsageError(f'"{words[1]}" is not a point', where="--faults", remedy=closest(words[1], POINTS))
        kind = parse_kind(words[0], where="--faults")
        found.append(PlannedFault(parse_duration(time, where="--faults"), kind, *words[1:]))
    if not found:
        raise UsageError("the list has no fault", where="--faults", remedy='write e.g. "8s driver in-batch; 20s pause"')
    return tuple(sorted(found, key=lambda fault: fault.at_s))


def draw_faults(seed: int, kinds: Sequence[str], *, load_s: float, count: int = DRAWN) -> tuple[PlannedFault, ...]:
    """Draw a sequence of faults; the same seed, kinds and load give the same sequence.

    >>> draw_faults(7, ["driver", "pause"], load_s=60.0) == draw_faults(7, ["driver", "pause"], load_s=60.0)
    True
    """
    rng = np.random.default_rng(seed)
    room_s = (LATEST - EARLIEST) * load_s - (count - 1) * MIN_GAP_S
    if room_s <= 0:
        what = f"{count} faults do not fit into a load of {format_duration(load_s)}"
        raise UsageError(what, where="--sequence", remedy="raise --duration, or lower --count")
    times_s = EARLIEST * load_s + np.sort(rng.uniform(0, room_s, count)) + MIN_GAP_S * np.arange(count)
    found = []
    for at_s in times_s:
        kind = str(rng.choice(list(kinds)))
        point = str(rng.choice(POINTS)) if kind == "driver" else None
        found.append(PlannedFault(round(float(at_s), 1), kind, point))
    return tuple(found)


def shrink(
    faults: Sequence[PlannedFault], fails: Callable[[tuple[PlannedFault, ...]], bool]
) -> tuple[PlannedFault, ...]:
    """Return a part of a failing list that still fails, and of which no fault can be left out.

    Halves are left out first, then quarters and so on (Zeller and Hildebrandt's delta debugging).

    >>> one, two, three, four = (PlannedFault(float(n), "pause") for n in range(4))
    >>> shrink([one, two, three, four], lambda part: two in part and four in part) == (two, four)
    True
    """
    left, parts = tuple(faults), 2
    while len(left) > 1:
        size = -(-len(left) // parts)
        without = [left[:start] + left[start + size :] for start in range(0, len(left), size)]
        smaller = next((rest for rest in without if rest and fails(rest)), None)
        if smaller is not None:
            left, parts = smaller, max(2, parts - 1)
        elif size == 1:
            break
        else:
            parts = min(len(left), 2 * parts)
    return left
