"""From evidence to numbers and a verdict. Plain functions: the same evidence always gives the same summary."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict
from itertools import pairwise
from typing import Any, Literal, cast

import numpy as np

from streamgauge.engine.eventlog import Stage, Task, missing_tasks
from streamgauge.engine.resources import ROLES, clock_jump_s, slowdown
from streamgauge.experiment.evidence import Evidence, External, Observed
from streamgauge.experiment.findings import NO_BACKLOG, findings, warnings
from streamgauge.experiment.measured import (
    Measured,
    backlog_series,
    generator_share,
    latency_histogram,
    mean_latency_s,
    measured_part,
)
from streamgauge.measure import (
    BacklogTrend,
    Batch,
    Histogram,
    account,
    capacity,
    find_pressure,
    ingested_rate,
    judge_backlog,
    judge_following,
    offered_rate,
    processed_rate,
    window_latency,
)
from streamgauge.verdict import Verdict

# Why a query that ran by itself has no such numbers.
NO_LAW = "nobody knows when the rows were created: the load is not ours"
# Driver, executors and what they start; not streamgauge itself.
SPARK_ROLES = ("java", "python_workers")


def _distribution(values_s: Sequence[float]) -> dict[str, float | None]:
    if not values_s:
        return dict.fromkeys(("mean", "p50", "p95", "max"))
    p50, p95 = np.quantile(values_s, [0.5, 0.95])
    return {
        "mean": float(np.mean(values_s)),
        "p50": float(p50),
        "p95": float(p95),
        "max": float(max(values_s)),
    }


def _busy_s(spans: Iterable[tuple[int, int]]) -> float:
    """Return the length of the union of time spans in microseconds, in seconds."""
    total, end = 0, 0
    for start, stop in sorted(spans):
        total += max(0, stop - max(start, end))
        end = max(end, stop)
    return total / 1e6


def phases(batches: Sequence[Batch], tasks: Sequence[Task]) -> tuple[dict[str, float], float | None]:
    """Return the mean seconds per phase of a batch, and the share of time in which no task ran.

    `tasks` is the part of the execution in which at least one task was running; `scheduling` is the rest of it.
    """
    if not batches:
        return {}, None
    mean = {name: float(np.mean([b.phases_s[name] for b in batches])) for name in batches[0].phases_s}
    spans: dict[int, list[tuple[int, int]]] = {}
    for task in tasks:
        spans.setdefault(task.batch_id, []).append((task.launched_us, task.finished_us))
    if not all(b.batch_id in spans for b in batches if b.events):
        return mean, None
    execution = mean.pop("execution")
    running = float(np.mean([_busy_s(spans.get(b.batch_id, ())) for b in batches]))
    mean |= {"tasks": min(running, execution), "scheduling": max(0.0, execution - running)}
    whole = sum(b.duration_s for b in batches) / len(batches)
    return mean, 1 - min(running, execution) / whole if whole else None


def stages(batches: Sequence[Batch], tasks: Sequence[Task], ran: Sequence[Stage] = ()) -> dict[str, Any]:
    """Sum up the tasks of the measured batches; skew is the slowest task against the mean of its stage."""
    ids = {b.batch_id for b in batches}
    chosen = [t for t in tasks if t.batch_id in ids and t.is_ok]
    by_stage: dict[tuple[int, int], list[float]] = {}
    for task in chosen:
        by_stage.setdefault((task.stage_id, task.stage_attempt), []).append(task.run_s)
    skews = [max(runs) / np.mean(runs) for runs in by_stage.values() if len(runs) > 1 and np.mean(runs) > 0]
    events = sum(b.events for b in batches)
    return {
        "tasks": len(chosen),
        "failed_tasks": sum(1 for t in tasks if t.batch_id in ids and not t.is_ok),
        # Not those of a batch that was broken off when the query stopped: its tasks were never run.
        "missing_tasks": missing_tasks(
            (t for t in tasks if t.batch_id in ids), (stage for stage in ran if stage.batch_id in ids)
        ),
        "run_s": sum(t.run_s for t in chosen),
        "cpu_s": sum(t.cpu_s for t in chosen),
        "gc_s": sum(t.gc_s for t in chosen),
        "shuffle_bytes": sum(t.shuffle_write_bytes for t in chosen),
        "spilled_bytes": sum(t.spilled_bytes for t in chosen),
        "cpu_s_per_event": sum(t.cpu_s for t in chosen) / events if events and chosen else None,
        "skew": {"median": float(np.median(skews)), "max": float(max(skews))} if skews else None,
        "executors": len({t.executor for t in chosen}),
    }


def resources(evidence: Evidence, measured: Measured) -> dict[str, Any] | None:
    """Return cores in use and peak memory per role over the measured time."""
    inside = [s for s in evidence.resources if measured.from_us <= s.at_us <= measured.until_us]
    if len(inside) < 2:
        return None
    elapsed_s = inside[-1].monotonic_s - inside[0].monotonic_s
    return {
        "cores_used": {role: (inside[-1].cpu_s[role] - inside[0].cpu_s[role]) / elapsed_s for role in ROLES},
        "peak_memory_bytes": {role: max(s.memory_bytes[role] for s in inside) for role in ROLES},
        "stolen_share": (inside[-1].stolen_s - inside[0].stolen_s) / elapsed_s / max(1, evidence.cores),
        "slowdown": slowdown(inside),
        "clock_jump_s": clock_jump_s(evidence.resources),
    }


def core_use(evidence: Evidence, measured: Measured, rate_per_s: float | None) -> dict[str, float | None] | None:
    """Return the cores that Spark used and what each of them processed, as NEXMark reports them.

    None without samples, and on a cluster with executors on other machines, whose processes are not seen.
    """
    used = resources(evidence, measured)
    seen_everywhere = evidence.settings.master.startswith("local") or evidence.executors_are_here
    if used is None or not seen_everywhere:
        return None
    cores = sum(used["cores_used"][role] for role in SPARK_ROLES)
    return {
        "used": cores,
        "events_per_s_per_core": rate_per_s / cores if rate_per_s is not None and cores > 0 else None,
        "core_seconds": cores * (measured.until_us - measured.from_us) / 1e6,
    }


def _executors(evidence: Evidence) -> list[dict[str, Any]]:
    """Return for each executor of a cluster what it used, and its share of the tasks."""
    found = []
    for use in evidence.executors:
        own = [task for task in evidence.tasks if task.executor == use.executor]
        found.append({**asdict(use), "tasks": len(own), "task_cpu_s": sum(task.cpu_s for task in own)})
    return found


def _windows(evidence: Evidence, measured: Measured) -> dict[str, Any] | None:
    if (
        evidence.is_offline
        or evidence.is_unbatched
        or evidence.window is None
        or evidence.output_mode not in ("append", "update")
        or not measured.batches
    ):
        return None
    start = evidence.batches.index(measured.batches[0])
    return window_latency(
        evidence.batches[max(0, start - 1) :],
        window_s=evidence.window.length_s,
        slide_s=evidence.window.slide_s,
        schedule=evidence.schedule,
        origin_us=evidence.origin_us,
        mode=cast(Literal["append", "update"], evidence.output_mode),
        delay_s=evidence.watermark_delay_s,
    ).summary()


def _capacity(evidence: Evidence, measured: Measured, tasks_s: float | None) -> float | None:
    """Return what micro-batches tell of the highest rate; an offline load measures it."""
    if evidence.is_offline or evidence.is_unbatched or evidence.observed is not None or tasks_s is None:
        return None
    settings = evidence.settings
    return capacity(
        measured.batches,
        tasks_s,
        longest_s=settings.admission_target_s,
        trigger_s=settings.trigger_s,
        most_events=settings.max_rows_per_batch,
    )


def _backlog_trend(
    evidence: Evidence, measured: Measured, rate_per_s: float | None, capacity_per_s: float | None
) -> BacklogTrend:
    """Judge the backlog: its slope under a load of one rate, else whether it was worked off."""
    if evidence.is_offline:
        return BacklogTrend(None, None, None, Verdict.UNKNOWN, "not asked: all events were there at once")
    left = [b.left for b in measured.batches]
    if not measured.level:
        starts_s = [(b.started_us - evidence.origin_us) / 1e6 for b in measured.batches]
        return judge_following(starts_s, left, until_s=(measured.until_us - evidence.origin_us) / 1e6)
    times_s, backlog = backlog_series(evidence, measured)
    offered_per_s = rate_per_s or evidence.settings.rate_per_s
    return judge_backlog(times_s, backlog, rate_per_s=offered_per_s, left=left, capacity_per_s=capacity_per_s)


def _back_pressure(evidence: Evidence, measured: Measured) -> dict[str, Any] | None:
    """Classify the run; None for an offline load, which is all backlog, and where there are no micro-batches."""
    if evidence.is_offline or evidence.is_unbatched:
        return None
    batches = [b for b in evidence.batches if b.events and b.started_us >= measured.from_us]
    found = find_pressure(
        batches,
        origin_us=evidence.origin_us,
        load_end_us=evidence.closed_us,
        trigger_s=evidence.settings.trigger_s,
        latencies_s=[mean_latency_s(evidence, b) for b in batches],
    )
    is_guess = evidence.observed is not None and not evidence.observed.tells_backlog and found.state is not None
    return {
        "state": found.state.value if found.state else None,
        "reason": f"as far as micro-batches tell, {found.reason}" if is_guess else found.reason,
        "episodes": [asdict(episode) for episode in found.episodes],
        "total_s": found.total_s,
        "longest_s": found.longest_s,
        "share": found.share,
        "overruns": found.overruns,
        "spread": asdict(found.whole),
        "spread_in_episodes": asdict(found.inside),
        "spread_between_episodes": asdict(found.outside),
    }


def summarise(evidence: Evidence) -> dict[str, Any]:
    """Return everything that a run says about itself; the keys are those of `run --json`."""
    measured = measured_part(evidence)
    latency = latency_histogram(evidence, measured)
    backlog = [] if evidence.is_offline else backlog_series(evidence, measured)[1]
    rate = None
    if not evidence.is_offline:
        rate = offered_rate(evidence.schedule, evidence.origin_us, measured.from_us, measured.until_us)
    phases_s, idle_share = phases(measured.batches, evidence.tasks)
    most_per_s = _capacity(evidence, measured, phases_s.get("tasks"))
    trend = _backlog_trend(evidence, measured, rate, most_per_s)
    used = resources(evidence, measured)
    accounting = account(evidence.offered, evidence.batches)
    found = findings(evidence, measured, trend, accounting)
    work = stages(measured.batches, evidence.tasks, evidence.stages)
    processed = processed_rate(evidence.batches, measured.from_us, measured.until_us, level=measured.level)
    start_us = evidence.closed_us if evidence.is_offline else evidence.origin_us
    summary = {
        "verdict": Verdict.combine(f.verdict for f in found).value,
        "reasons": [f.reason for f in found if f.verdict is not Verdict.PASS],
        "findings": [{"question": f.question, "verdict": f.verdict.value, "reason": f.reason} for f in found],
        "warnings": warnings(evidence, measured, used, latency, work),
        "load": evidence.settings.load,
        "mode": evidence.settings.mode,
        "latency_until": evidence.settings.latency,
        "offered_rate_per_s": rate,
        "ingested_rate_per_s": ingested_rate(
            evidence.batches, measured.from_us, measured.until_us, level=measured.level
        ),
        "processed_rate_per_s": processed,
        "offline_rate_per_s": _offline_rate(evidence, processed),
        "capacity_per_s": most_per_s,
        "offline_run_id": evidence.maximum.run_id if evidence.maximum else None,
        "end_to_end_latency_s": latency.summary(),
        "window_latency_s": _windows(evidence, measured),
        "backlog_events": {
            "mean": float(np.mean(backlog)) if backlog else None,
            "max": max(backlog, default=None),
            "slope_per_s": trend.slope_per_s,
            "slope_low_per_s": trend.low_per_s,
            "slope_high_per_s": trend.high_per_s,
        },
        "back_pressure": _back_pressure(evidence, measured),
        "batches": len(measured.batches),
        "batch_duration_s": _distribution([b.duration_s for b in measured.batches]),
        "batch_interval_s": _distribution([(b.started_us - a.started_us) / 1e6 for a, b in pairwise(measured.batches)]),
        "phases_s": phases_s,
        "non_functional_share": idle_share,
        "events": accounting.offered,
        "events_processed": accounting.processed,
        "events_unprocessed": accounting.in_flight,
        "steady_state": {
            "settled": None if evidence.is_offline or not measured.level else measured.steady.settled,
            "reason": measured.steady.reason,
            "change": measured.steady.change,
            "cut_batches": measured.steady.cut,
            "from_s": (measured.from_us - start_us) / 1e6,
            "until_s": (measured.until_us - start_us) / 1e6,
        },
        "state": {
            "rows_max": max((b.state_rows for b in measured.batches), default=0),
            "bytes_max": max((b.state_bytes for b in measured.batches), default=0),
            "late_rows": sum(b.late_rows for b in evidence.batches),
        },
        "stages": work,
        "resources": used,
        "core_use": core_use(evidence, measured, processed),
        "generator": {
            "core_s_per_event": evidence.generator.core_s_per_event,
            "columns": list(evidence.generator.columns),
            "share_of_cores": generator_share(evidence, measured),
        }
        if evidence.generator
        else None,
        "answer": _answer(evidence),
        "executors": _executors(evidence),
        "clocks": [asdict(clock) for clock in evidence.clocks],
        "faults": [
            {
                "name": f"executor {lost.executor} lost",
                "at_s": (lost.at_us - start_us) / 1e6,
                "detail": lost.reason,
            }
            for lost in evidence.lost
        ],
        "convergence": evidence.convergence,
        "cores": evidence.cores,
        "output_mode": evidence.output_mode,
    }
    if evidence.external is not None:
        summary |= _external(evidence.external)
    if evidence.emissions is not None:
        summary["results"] = len(evidence.emissions.appeared_us)
    if evidence.is_unbatched:
        summary |= _unbatched(evidence.settings.mode, summary)
    return {**summary, **_unknown(evidence.observed, latency)} if evidence.observed is not None else summary


def _unbatched(mode: str, summary: Mapping[str, Any]) -> dict[str, Any]:
    """Return what differs in the summary where there are no micro-batches; `unknown` has a reason for each null."""
    nothing = dict.fromkeys(("mean", "p50", "p95", "max"))
    found: dict[str, Any] = {
        "batches": None,
        "batch_duration_s": nothing,
        "batch_interval_s": nothing,
        "phases_s": {},
        "non_functional_share": None,
        "ingested_rate_per_s": None,
        "stages": dict.fromkeys(summary["stages"]),
        "state": dict.fromkeys(summary["state"]),
    }
    reason = f"{mode} mode has no micro-batches"
    names = (*found, "window_latency_s", "back_pressure")
    return {**found, "unknown": dict.fromkeys(names, reason)}


def _external(external: External) -> dict[str, Any]:
    """Return what a run with a broker or another server has besides."""
    recount = external.recount
    found: dict[str, Any] = {
        "recount": {**asdict(recount), "verdict": recount.verdict.value} if recount else None,
        **external.details,
    }
    if not external.has_generator:
        return found
    return {
        "delivery": external.delivery.document() if external.delivery else None,
        "records": external.records,
        "malformed_records": external.malformed,
        "partitions_apart_s": external.apart_s,
        **found,
    }


def _unknown(observed: Observed, latency: Histogram) -> dict[str, Any]:
    """Return what differs in the summary of a query that ran by itself; `unknown` has a reason for each null.

    Its latency is known only from the looks at its sources on, between which rows are taken to have come evenly.
    """
    nothing: Mapping[str, Any] = Histogram.empty().summary()
    found: dict[str, Any] = {
        "offered_rate_per_s": None,
        "end_to_end_latency_s": nothing,
        "source_to_sink_latency_s": latency.summary(),
        "events": None,
    }
    reasons = dict.fromkeys(("offered_rate_per_s", "end_to_end_latency_s", "events"), NO_LAW)
    if not observed.tells_backlog:
        keys = ("mean", "max", "slope_per_s", "slope_low_per_s", "slope_high_per_s")
        found |= {"backlog_events": dict.fromkeys(keys), "events_unprocessed": None}
        reasons |= dict.fromkeys(("backlog_events", "events_unprocessed"), NO_BACKLOG)
    return {**found, "unknown": reasons}


def _offline_rate(evidence: Evidence, processed_per_s: float | None) -> float | None:
    if evidence.is_offline:
        return processed_per_s
    return evidence.maximum.rate_per_s if evidence.maximum else None


def _answer(evidence: Evidence) -> dict[str, Any] | None:
    if evidence.answer is None:
        return None
    return {
        "verdict": evidence.answer.verdict.value,
        "rows_expected": evidence.answer.rows_expected,
        "rows_got": evidence.answer.rows_got,
        "rows_missing": evidence.answer.rows_missing,
        "rows_extra": evidence.answer.rows_extra,
        "events": evidence.answer.stream.events,
    }
