"""The evidence of runs that never happened, built from a law by hand."""

from dataclasses import replace

from streamgauge.arrivals import Constant
from streamgauge.conclude.evidence import Evidence
from streamgauge.conclude.verification import FiniteStream, Verification
from streamgauge.machine.process import ROLES
from streamgauge.measure import Batch
from streamgauge.measure.records import ResourceSample, TaskRecord
from streamgauge.settings.run_settings import RunSettings
from streamgauge.verdict import Verdict

ORIGIN_US = 1_700_000_000_000_000
RATE_PER_S = 1000.0
WARMUP_S, DURATION_S = 5.0, 20.0
PERIOD_S = 0.5
EMITTED_AFTER_S = 0.2
PHASES_S = {
    "source_offsets": 0.01,
    "offset_log": 0.02,
    "source_plan": 0.0,
    "query_planning": 0.03,
    "execution": 0.14,
    "commit_log": 0.03,
    "other": 0.02,
}


def at_us(seconds: float) -> int:
    return ORIGIN_US + round(seconds * 1e6)


def batch(batch_id: int, start_s: float, first: int, last: int, *, left: int = 0) -> Batch:
    """One micro-batch that emits 0.2 s and ends 0.25 s after its start."""
    return Batch(
        batch_id=batch_id,
        started_us=at_us(start_s),
        emitted_us=at_us(start_s + EMITTED_AFTER_S),
        finished_us=at_us(start_s + 0.25),
        first=first,
        last=last,
        left=left,
        phases_s=PHASES_S,
        state_rows=100,
        state_bytes=50_000,
    )


def evidence(
    *,
    rate_per_s: float = RATE_PER_S,
    warmup_s: float = WARMUP_S,
    duration_s: float = DURATION_S,
    period_s: float = PERIOD_S,
    limit: int | None = None,
    drain_s: float = 30.0,
    **changes,
) -> Evidence:
    """A run whose micro-batches start every `period_s` and take all there is, or at most `limit` events."""
    settings = RunSettings(
        rate_per_s,
        duration_s,
        warmup_s=warmup_s,
        drain_s=drain_s,
        master="local[2]",
        max_rows_per_batch=limit,
    )
    schedule = Constant(rate_per_s).schedule(settings.load_s)
    batches = [batch(0, -1.0, 0, 0)]
    while batches[-1].last < schedule.total and len(batches) * period_s <= settings.load_s + drain_s:
        start_s, first = len(batches) * period_s, batches[-1].last
        created = int(schedule.created(round(start_s * 1e6)))
        last = created if limit is None else min(created, first + limit)
        batches.append(batch(len(batches), start_s, first, last, left=created - last))
    whole = Evidence(
        settings=settings,
        schedule=schedule,
        origin_us=ORIGIN_US,
        closed_us=at_us(settings.load_s),
        batches=batches,
        cores=2,
        output_mode="append",
    )
    return replace(whole, **changes)


def tasks(batches: list[Batch]) -> list[TaskRecord]:
    """Two tasks per micro-batch with events: 100 ms in all, one of them three times as long as the other."""
    return [
        TaskRecord(
            batch_id=b.batch_id,
            stage_id=b.batch_id,
            stage_attempt=0,
            stage_tasks=2,
            task_id=2 * b.batch_id + partition,
            partition=partition,
            attempt=0,
            executor="driver",
            host="localhost",
            launched_us=b.started_us + 60_000,
            finished_us=b.started_us + (160_000 if partition else 90_000),
            is_ok=True,
            run_s=0.09 if partition else 0.03,
            cpu_s=0.06 if partition else 0.02,
            deserialize_s=0.001,
            gc_s=0.001,
            input_rows=b.events // 2,
            shuffle_read_rows=0,
            shuffle_read_bytes=0,
            shuffle_wait_s=0.0,
            shuffle_write_rows=10,
            shuffle_write_bytes=1_000,
            spilled_bytes=0,
            peak_memory_bytes=1_000_000,
        )
        for b in batches
        if b.events
        for partition in (0, 1)
    ]


def resources(until_s: float = WARMUP_S + DURATION_S, *, jump_s: float = 0.0, jump_at_s: float = 0.0):
    """A sample per second; the wall clock jumps once."""
    return [
        ResourceSample(
            at_us=at_us(second + (jump_s if second >= jump_at_s else 0.0)),
            monotonic_s=50.0 + second,
            cpu_s={"tool": 0.02 * second, "java": 1.2 * second, "python_workers": 0.1 * second},
            memory_bytes=dict(zip(ROLES, (100 * 2**20, 900 * 2**20, 200 * 2**20), strict=True)),
            stolen_s=0.0,
        )
        for second in range(int(until_s) + 1)
    ]


def answer(verdict: Verdict = Verdict.PASS, *, missing: int = 0, extra: int = 0, reasons=()) -> Verification:
    return Verification(
        name="ysb",
        verdict=verdict,
        reasons=tuple(reasons),
        rows_expected=600,
        rows_got=600 - missing + extra,
        rows_missing=missing,
        rows_extra=extra,
        batches=6,
        sha256="0" * 64,
        stream=FiniteStream(60_000, 1000.0),
    )


def offline(*, per_batch: int = 1000, **changes) -> Evidence:
    """25,000 events that are there at once, and from then on a micro-batch of `per_batch` every 0.5 s."""
    run = evidence()
    settings = replace(run.settings, load="offline", max_rows_per_batch=per_batch)
    total, open_s = run.offered, settings.load_s
    batches = [batch(0, open_s - 1.0, 0, 0)]
    for first in range(0, total, per_batch):
        last = min(first + per_batch, total)
        batches.append(batch(len(batches), open_s + PERIOD_S * (len(batches) - 1), first, last, left=total - last))
    return replace(run, settings=settings, batches=batches, **changes)
