"""One micro-batch, read from the progress that Spark reports for it."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
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


@dataclass(frozen=True)
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
    """Read one progress document; triggers that ran no batch (idle ones) give None."""
    duration_ms = progress["durationMs"]
    source = progress["sources"][0]
    last = _offset(source, "endOffset")
    if "addBatch" not in duration_ms or last is None:
        return None
    started_us = _instant_us(progress["timestamp"])
    total_ms = int(duration_ms["triggerExecution"])
    phases_s = {ours: int(duration_ms.get(theirs, 0)) / 1e3 for theirs, ours in PHASES.items()}
    phases_s["other"] = max(0.0, total_ms / 1e3 - sum(phases_s.values()))
    watermark = progress.get("eventTime", {}).get("watermark")
    operators = progress.get("stateOperators", [])
    output_rows = int(progress.get("sink", {}).get("numOutputRows", -1))
    return Batch(
        batch_id=int(progress["batchId"]),
        started_us=started_us,
        emitted_us=started_us + 1000 * (total_ms - int(duration_ms.get("commitOffsets", 0))),
        finished_us=started_us + 1000 * total_ms,
        first=_offset(source, "startOffset") or 0,
        last=last,
        left=_offset(source, "endOffset", "left") or 0,
        phases_s=phases_s,
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
    return sorted(found, key=lambda batch: batch.batch_id)
