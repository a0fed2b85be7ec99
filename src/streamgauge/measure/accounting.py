"""Is every event accounted for, and is the evidence without holes?"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import pairwise

from streamgauge.measure.batch import Batch


def _are(singular: str, plural: str, first: int, last: int) -> str:
    """Name the numbers first <= n < last.

    >>> _are("event", "events", 3, 4), _are("event", "events", 3, 6)
    ('event 3 is', 'events 3 to 5 are')
    """
    return f"{singular} {first} is" if last - first == 1 else f"{plural} {first} to {last - 1} are"


def _id_holes(before: Batch, after: Batch) -> Iterable[str]:
    if after.batch_id < before.batch_id:
        yield f"micro-batch {after.batch_id} came after micro-batch {before.batch_id}"
    elif after.batch_id > before.batch_id + 1:
        yield f"{_are('micro-batch', 'micro-batches', before.batch_id + 1, after.batch_id)} missing"


def _range_holes(before: Batch, after: Batch) -> Iterable[str]:
    if after.batch_id == before.batch_id:
        if (after.first, after.last) != (before.first, before.last):
            ranges = f"[{after.first}, {after.last}) instead of [{before.first}, {before.last})"
            yield f"micro-batch {after.batch_id} was repeated with events {ranges}"
    elif after.first > before.last:
        where = f"between micro-batches {before.batch_id} and {after.batch_id}"
        yield f"{_are('event', 'events', before.last, after.first)} missing {where}"
    elif after.first < before.last:
        doubled = _are("event", "events", after.first, before.last)
        yield f"{doubled} in micro-batch {after.batch_id} but micro-batch {before.batch_id} ends after them"


def _time_holes(before: Batch, after: Batch) -> Iterable[str]:
    if after.finished_us < before.finished_us:
        yield f"micro-batch {after.batch_id} finished before micro-batch {before.batch_id}"


def check_batches(batches: Sequence[Batch]) -> list[str]:
    """Return what is wrong with batches in the order of their reports; nothing when there are no holes.

    Batch ids and event ranges must follow each other without a gap. After a restart Spark repeats
    the batch that it had not committed: the same id is fine when it holds the same events.
    """
    if not batches:
        return ["no micro-batch was reported"]
    reasons = [
        f"micro-batch {b.batch_id} ends at event {b.last}, before its first, {b.first}"
        for b in batches
        if b.last < b.first
    ]
    for before, after in pairwise(batches):
        reasons += [*_id_holes(before, after), *_range_holes(before, after), *_time_holes(before, after)]
    return reasons


@dataclass(frozen=True)
class Accounting:
    """Where the offered events are; `reasons` says why the evidence cannot be trusted, if so."""

    offered: int
    processed: int
    in_flight: int
    reasons: tuple[str, ...]

    @property
    def lost(self) -> int:
        """Events that no batch holds although a later one was processed."""
        return self.offered - self.processed - self.in_flight


def _covered(batches: Sequence[Batch], total: int) -> tuple[int, int]:
    """Return how many of the events 0 <= n < total the batches hold, each once, and where they end."""
    covered = end = 0
    for first, last in sorted((max(0, b.first), min(b.last, total)) for b in batches):
        covered += max(0, last - max(first, end))
        end = max(end, last)
    return covered, end


def _unoffered(batches: Sequence[Batch], total: int) -> Iterable[str]:
    for b in batches:
        if b.last > total or b.first < 0:
            held = f"events [{b.first}, {b.last})"
            yield f"micro-batch {b.batch_id} holds {held}, but only [0, {total}) were offered"


def account(total_offered: int, batches: Sequence[Batch]) -> Accounting:
    """Account for the events 0 <= n < total_offered: offered = processed + in flight + lost.

    In flight are the events after the last processed one. An event in several batches counts once.
    """
    reasons = check_batches(batches)
    if batches and batches[0].first > 0:
        missing = _are("event", "events", 0, batches[0].first)
        reasons.append(f"{missing} missing before micro-batch {batches[0].batch_id}")
    reasons += _unoffered(batches, total_offered)
    processed, end = _covered(batches, total_offered)
    return Accounting(total_offered, processed, total_offered - end, tuple(reasons))
