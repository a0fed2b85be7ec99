"""A run as tables: its micro-batches with what was computed for them, and its latency histogram."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from streamgauge.conclude.evidence import Evidence
from streamgauge.conclude.window import emitted_latency
from streamgauge.measure import Batch, Histogram

if TYPE_CHECKING:
    import pyarrow as pa


def batches_table(evidence: Evidence) -> "pa.Table":
    """Return batch times, events, backlog, mean latency, phases and state."""
    import pyarrow as pa

    batches, schedule, origin_us = evidence.batches, evidence.schedule, evidence.origin_us
    # The events of an offline load were created in the past, all at once for the query: no latency follows. When those
    # of an observed query were created is unknown.
    has_latency = not evidence.is_offline and not evidence.is_observed
    columns = _facts(batches)
    columns["backlog_events"] = [
        int(schedule.created(min(b.emitted_us, evidence.closed_us) - origin_us)) - b.last for b in batches
    ]
    if evidence.observed is not None and not evidence.observed.tells_backlog:
        columns["left"] = columns["backlog_events"] = [None] * len(batches)
    # One histogram at a time: that of a micro-batch takes some kilobytes.
    latencies = [_mean_and_max_s(emitted_latency(evidence, b) if has_latency else Histogram.empty()) for b in batches]
    columns["end_to_end_latency_mean_s"] = [mean_s for mean_s, _ in latencies]
    columns["end_to_end_latency_max_s"] = [max_s for _, max_s in latencies]
    return pa.table(columns | _phases(batches))


def _mean_and_max_s(latency: Histogram) -> tuple[float | None, float | None]:
    longest_s = latency.max_us / 1e6 if latency.max_us is not None else None
    return latency.mean_s if latency.count else None, longest_s


def explored_table(batches: Sequence[Batch]) -> "pa.Table":
    """Return what is known of micro-batches that belong to no load: no backlog and no latency."""
    import pyarrow as pa

    return pa.table(_facts(batches) | _phases(batches))


def _facts(batches: Sequence[Batch]) -> dict[str, list[object]]:
    return {
        name: [getattr(b, name) for b in batches]
        for name in (
            "batch_id", "started_us", "emitted_us", "finished_us", "first", "last", "left", "events", "duration_s",
            "watermark_us", "output_rows", "state_rows", "state_bytes", "state_commit_s", "late_rows",
        )
    }  # fmt: skip


def _phases(batches: Sequence[Batch]) -> dict[str, list[object]]:
    return {f"{phase}_s": [b.phases_s[phase] for b in batches] for phase in (batches[0].phases_s if batches else ())}


def latency_table(evidence: Evidence, latency: Histogram) -> "pa.Table":
    """Return the end-to-end latencies of the measured events, one row per bucket that is not empty.

    Those of a query that ran by itself are estimates, and not stored.
    """
    import pyarrow as pa

    rows = [] if evidence.is_observed else latency.to_rows()
    names = ("low_us", "high_us", "count")
    return pa.table({name: pa.array([row[i] for row in rows], pa.int64()) for i, name in enumerate(names)})
