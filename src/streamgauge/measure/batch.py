"""One micro-batch, read from the progress that Spark reports for it."""

from array import array
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

# Spark's names for the phases of a trigger, in the order in which they happen, and ours.
PHASES = {
    "latestOffset": "source_offsets",
    "walCommit": "offset_log",
    "getBatch": "source_plan",
    "queryPlanning": "query_planning",
    "addBatch": "execution",
    "commitOffsets": "commit_log",
}


class Phases(Mapping[str, float]):
    """Seconds by phase, in the order of `PHASES` and then `other`: a day has some hundred thousand of these."""

    __slots__ = ("_seconds",)
    names = (*PHASES.values(), "other")

    def __init__(self, seconds: Iterable[float]) -> None:
        self._seconds = array("d", seconds)

    def __getitem__(self, name: str) -> float:
        try:
            return self._seconds[self.names.index(name)]
        except ValueError:
            raise KeyError(name) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self.names)

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"Phases({dict(self)})"


@dataclass(frozen=True, slots=True)
class Batch:
    """A micro-batch of the event numbers first <= n < last; times are microseconds since the epoch.

    `emitted_us` is when its results became visible: the sink's commit, which Spark makes before it
    writes its own commit log. `left` is how many events existed when the batch was planned and were not admitted.
    """

    batch_id: int
    started_us: int
    emitted_us: int
    finished_us: int
    first: int
    last: int
    left: int
    phases_s: Mapping[str, float]
    watermark_us: int | None = None
    output_rows: int | None = None
    state_rows: int = 0
    state_bytes: int = 0
    state_commit_s: float = 0.0
    late_rows: int = 0

    @property
    def events(self) -> int:
        """How many events the batch held."""
        return self.last - self.first

    @property
    def duration_s(self) -> float:
        """How long the trigger took, commit log included."""
        return (self.finished_us - self.started_us) / 1e6


def _instant_us(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1e6)


def _offset(source: Mapping[str, Any], key: str, part: str = "n") -> int | None:
    value = source.get(key)
    return int(value[part]) if isinstance(value, Mapping) and part in value else None


def batch_from_progress(progress: Mapping[str, Any]) -> Batch | None:
    """Read one progress document of our source; triggers that ran no batch (idle ones) give None."""
    source = progress["sources"][0]
    last = _offset(source, "endOffset")
    if "addBatch" not in progress["durationMs"] or last is None:
        return None
    return _batch(progress, _offset(source, "startOffset") or 0, last, _offset(source, "endOffset", "left") or 0)


def counted_batch(progress: Mapping[str, Any], first: int, events: int) -> Batch | None:
    """Read one progress document of a broker's source, of which the query itself has counted the events.

    `left` counts the records that the source still held.
    """
    if "addBatch" not in progress["durationMs"]:
        return None
    return _batch(progress, first, first + events, _rows_and_left(progress["sources"][0])[1] or 0)


def _batch(progress: Mapping[str, Any], first: int, last: int, left: int) -> Batch:
    duration_ms = progress["durationMs"]
    started_us = _instant_us(progress["timestamp"])
    total_ms = int(duration_ms["triggerExecution"])
    phases_s = [int(duration_ms.get(theirs, 0)) / 1e3 for theirs in PHASES]
    phases_s.append(max(0.0, total_ms / 1e3 - sum(phases_s)))
    watermark = (progress.get("eventTime") or {}).get("watermark")
    operators = progress.get("stateOperators") or []
    output_rows = int((progress.get("sink") or {}).get("numOutputRows", -1))
    return Batch(
        batch_id=int(progress["batchId"]),
        started_us=started_us,
        emitted_us=started_us + 1000 * (total_ms - int(duration_ms.get("commitOffsets", 0))),
        finished_us=started_us + 1000 * total_ms,
        first=first,
        last=last,
        left=left,
        phases_s=Phases(phases_s),
        watermark_us=_instant_us(watermark) if watermark else None,
        output_rows=output_rows if output_rows >= 0 else None,
        state_rows=sum(int(o["numRowsTotal"]) for o in operators),
        state_bytes=sum(int(o["memoryUsedBytes"]) for o in operators),
        state_commit_s=sum(int(o["commitTimeMs"]) for o in operators) / 1e3,
        late_rows=sum(int(o["numRowsDroppedByWatermark"]) for o in operators),
    )


def batches_from_progress(documents: Iterable[Mapping[str, Any]]) -> list[Batch]:
    """Read a stream of progress documents in the order of their batches."""
    found = [batch for batch in map(batch_from_progress, documents) if batch is not None]
    found.sort(key=lambda batch: batch.batch_id)
    return found


# Later than the year 2255 in microseconds, and more than anybody counts.
_MOST = 2**53


def refuse_impossible(batches: Iterable[Batch]) -> None:
    """Refuse numbers in micro-batches of others that cannot have been measured; Spark itself reports none."""
    for batch in batches:
        numbers = (batch.batch_id, batch.started_us, batch.first, batch.left, batch.state_rows, batch.state_bytes)
        if not all(0 <= number <= _MOST for number in (*numbers, batch.last, batch.finished_us)):
            raise ValueError(f"micro-batch {str(batch.batch_id)[:20]} has a number that cannot be measured")
        if not (batch.started_us <= batch.emitted_us <= batch.finished_us and batch.first <= batch.last):
            raise ValueError(f"micro-batch {batch.batch_id} ends before it begins")
        if not all(0 <= seconds <= _MOST for seconds in batch.phases_s.values()):
            raise ValueError(f"micro-batch {batch.batch_id} has a phase that takes less than no time")


def _rows_by_partition(offset: Any) -> dict[tuple[str, str], int] | None:
    """Read an offset of Kafka, rows so far per topic and partition; None for other sources."""
    if not isinstance(offset, Mapping) or not all(isinstance(rows, Mapping) for rows in offset.values()):
        return None
    found = {(topic, partition): n for topic, rows in offset.items() for partition, n in rows.items()}
    return found if found and all(type(n) is int for n in found.values()) else None


def _is_ours(source: Mapping[str, Any]) -> bool:
    """Return whether it is our source, whose offsets count events: the rows that Spark counts are chunks of them."""
    end = source.get("endOffset")
    return isinstance(end, Mapping) and set(end) == {"n", "left"}


def _rows_and_left(source: Mapping[str, Any]) -> tuple[int, int | None]:
    """Return the rows that a micro-batch read from a source, and those that it left there if the source reports it."""
    if _is_ours(source):
        numbers = [_offset(source, key) or 0 for key in ("startOffset", "endOffset")]
        return numbers[1] - numbers[0], _offset(source, "endOffset", "left")
    rows = int(source["numInputRows"])
    end, latest = (_rows_by_partition(source.get(key)) for key in ("endOffset", "latestOffset"))
    if end is None or latest is None:
        return rows, None
    return rows, sum(max(0, n - end.get(place, n)) for place, n in latest.items())


def observed_batches(documents: Iterable[Mapping[str, Any]]) -> list[Batch]:
    """Read the progress of a query whose sources are not ours; its rows, over all sources, count as events from 0 on.

    `left` is 0 where a source does not report it; see `tells_backlog`.
    """
    ran = [_uncounted(document) for document in documents if "addBatch" in document["durationMs"]]
    ran.sort(key=lambda batch: batch.batch_id)
    first = 0
    for k, batch in enumerate(ran):
        ran[k] = replace(batch, first=first, last=first + batch.events)
        first += batch.events
    return ran


def _uncounted(progress: Mapping[str, Any]) -> Batch:
    """Read a micro-batch before it is known how many rows came before it."""
    sources = [_rows_and_left(source) for source in progress["sources"]]
    rows, left = sum(rows for rows, _ in sources), sum(left or 0 for _, left in sources)
    return _batch(progress, 0, rows, left)


def tells_backlog(documents: Iterable[Mapping[str, Any]]) -> bool:
    """Return whether all sources say how many rows each micro-batch left behind; no source says nothing."""
    is_told = False
    for document in documents:
        if "addBatch" in document["durationMs"]:
            for _, left in map(_rows_and_left, document["sources"]):
                if left is None:
                    return False
                is_told = True
    return is_told
