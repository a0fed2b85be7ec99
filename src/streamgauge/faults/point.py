"""Where a micro-batch is: planned, in the sink, committed; by Spark's logs and by the rows that the sink holds.

*Between sink and commit* counts only when it is shown: the sink holds the rows of the micro-batch in flight, all of
them, and the commit log has no entry of it. What the sink holds is read from the sink, not from Spark.
"""

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Protocol

from streamgauge.clock import Clock
from streamgauge.faults.driver import (
    Driver,
    DriverPlace,
    InFlight,
    batches_committed,
    batches_planned,
    find_in_flight,
)
from streamgauge.faults.plan import BETWEEN_SINK_AND_COMMIT
from streamgauge.measure import Batch
from streamgauge.running.sinks.counted import CountedSink, SinkPlace, topic_reader, windows_updated_since

# A micro-batch is in flight for tens of milliseconds at least.
WATCH_S = 0.002
# Tasks write one after the other where there are more of them than cores; a sink that waits gives them time.
SETTLED_S = 0.5


class RowsHeld(Protocol):
    """What a sink holds of micro-batches."""

    def rows(self, batch_id: int) -> int | None:
        """Return how many rows of the micro-batch in flight the sink holds, None where that is not known."""
        ...

    def close(self) -> None:
        """End the reading."""
        ...


class FileRows:
    """Files whose names, or whose log, say to which micro-batch their rows belong."""

    def __init__(self, sink: CountedSink, place: SinkPlace) -> None:
        assert sink.count is not None
        self._count, self._place = sink.count, place

    def rows(self, batch_id: int) -> int | None:
        """Return how many rows of a micro-batch are there."""
        return self._count(self._place, batch_id)

    def close(self) -> None:
        """Nothing is open."""


class TopicRows:
    """A topic: its records do not name their micro-batch, so how many came before the micro-batch must be known."""

    def __init__(self, place: SinkPlace, rows_before: Callable[[int], int | None]) -> None:
        self._reader, self._rows_before = topic_reader(place), rows_before

    def rows(self, batch_id: int) -> int | None:
        """Return the records beyond those of earlier micro-batches, None where these are not known."""
        before = self._rows_before(batch_id)
        return None if before is None else self._reader.records() - before

    def close(self) -> None:
        """Close the connection."""
        self._reader.close()


class WindowRows:
    """Counts in Redis, each with the time of its last update."""

    def __init__(self, place: SinkPlace, checkpoint: Path) -> None:
        self._place, self._checkpoint = place, checkpoint

    def rows(self, batch_id: int) -> int | None:
        """Return how many counts were written since the micro-batch was planned: only it writes then."""
        planned_s = (self._checkpoint / "offsets" / str(batch_id)).stat().st_mtime
        return windows_updated_since(self._place, int(planned_s * 1000))

    def close(self) -> None:
        """Nothing is open."""


def rows_before(first: int, records: int, batches: Iterable[Batch], batch_id: int) -> int | None:
    """Return how many records a topic had before a micro-batch, by what Spark reports of those before it.

    `records` is how many there were when a driver started with the micro-batch `first`. None where a report is missing.
    """
    rows = {batch.batch_id: batch.output_rows for batch in batches}
    between = [rows.get(before) for before in range(first, batch_id)]
    known = [count for count in between if count is not None]
    return records + sum(known) if len(known) == len(between) else None


class WatchedScene(Protocol):
    """What a watch looks at."""

    place: DriverPlace
    clock: Clock
    sink: CountedSink

    @property
    def driver(self) -> Driver:
        """The driver that runs."""
        ...

    def sink_place(self) -> SinkPlace:
        """Return where the sink of the running driver writes."""
        ...

    def rows_before(self, batch_id: int) -> int | None:
        """Return how many records the sink's topic had before a micro-batch, None where that is not known."""
        ...

    def rows_due(self, hit: InFlight) -> int | None:
        """Return how many rows a micro-batch must give, None where that does not follow from its events alone."""
        ...

    def is_over(self) -> bool:
        """Return whether the load has ended and all of it is processed, or should be."""
        ...

    def tick(self, sleep_s: float = ...) -> None:
        """Let a little time pass, and take in what the driver reports; raises when it has failed."""
        ...


def rows_held(scene: WatchedScene) -> RowsHeld:
    """Return what reads the rows of micro-batches from a sink."""
    if scene.sink.server == "kafka":
        return TopicRows(scene.sink_place(), scene.rows_before)
    if scene.sink.server == "redis":
        return WindowRows(scene.sink_place(), scene.place.checkpoint)
    return FileRows(scene.sink, scene.sink_place())


class Watch:
    """Waits for a point of a micro-batch."""

    def __init__(self, scene: WatchedScene, point: str | None) -> None:
        self.scene, self.point = scene, point
        self.checkpoint = scene.place.checkpoint
        self.committed = batches_committed(self.checkpoint)
        self.was_between = False
        self.held: RowsHeld | None = None
        if point in ("in-batch", BETWEEN_SINK_AND_COMMIT):
            self.held = rows_held(scene)
        self._seen: tuple[int, int, float] = (-1, 0, 0.0)

    def is_there(self) -> bool:
        """Return whether the point is reached now."""
        if self.point in ("before-batch", "after-batch"):
            return self._is_between()
        hit = find_in_flight(self.checkpoint)
        if hit is None or self.held is None:
            return hit is not None
        if self.point == "in-batch":
            return self.held.rows(hit.batch_id) == 0
        # First, because it takes a while in which the micro-batch may be committed.
        due = None if self.scene.sink.shows_whole else self.scene.rows_due(hit)
        return self._is_whole(hit, self.held.rows(hit.batch_id) or 0, due)

    def rows(self, hit: InFlight) -> int | None:
        """Return how many rows of a micro-batch the sink holds, None where that is not known or does not matter."""
        return None if self.held is None else self.held.rows(hit.batch_id)

    def _is_whole(self, hit: InFlight, rows: int, due: int | None) -> bool:
        if not rows or self.scene.sink.shows_whole:
            return rows > 0
        return self._is_settled(hit, rows) if due is None else rows == due

    def _is_settled(self, hit: InFlight, rows: int) -> bool:
        """Return whether the number of rows has stopped growing, which is no proof that all are there."""
        now_s = self.scene.clock.monotonic_s()
        batch_id, seen, since_s = self._seen
        if (batch_id, seen) != (hit.batch_id, rows):
            self._seen = hit.batch_id, rows, now_s
            return False
        return now_s - since_s >= (SETTLED_S if self.scene.sink.can_linger else 0.0)

    def _is_between(self) -> bool:
        """Just after a commit, or some time after it: then the next micro-batch is about to be planned."""
        committed = batches_committed(self.checkpoint)
        is_between = batches_planned(self.checkpoint) == committed > 0
        is_new, self.committed = committed > self.committed, committed
        is_there = is_between and (is_new if self.point == "after-batch" else self.was_between and not is_new)
        self.was_between = is_between
        return is_there

    def is_still_there(self) -> bool:
        """Return whether the point that was just reached still holds, now that nothing moves."""
        if self.point in ("before-batch", "after-batch"):
            return batches_planned(self.checkpoint) == batches_committed(self.checkpoint) == self.committed
        return self.is_there()

    def wait(self) -> bool:
        """Return True at the point, and False when the load ends, and is processed, without it."""
        while not self.is_there():
            if self.scene.is_over():
                return False
            self.scene.tick(WATCH_S)
        return True

    def close(self) -> None:
        """End the reading of the sink."""
        if self.held is not None:
            self.held.close()
