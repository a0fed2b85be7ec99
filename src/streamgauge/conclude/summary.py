"""From evidence to numbers and a verdict. Plain functions: the same evidence always gives the same summary."""

from array import array
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Literal, cast

import numpy as np

from streamgauge.conclude.evidence import Evidence, External, Observed
from streamgauge.conclude.findings import NO_BACKLOG, machine_notes, warnings
from streamgauge.conclude.judgement import judge_run
from streamgauge.conclude.window import (
    MeasuredPart,
    backlog_series,
    contention_in,
    generator_share,
    latency_histogram,
    measured_part,
)
from streamgauge.machine.process import ROLES, SPARK_ROLES
from streamgauge.measure import (
    Batch,
    Histogram,
    Pressure,
    ingested_rate,
    offered_rate,
    processed_rate,
    window_latency,
)
from streamgauge.measure.contention import Contention, motion_of_clock, slowdown
from streamgauge.measure.records import MAX_STAGES, MissingTasks, StageRecord, TaskRecord
from streamgauge.summary import (
    AnswerNumbers,
    BacklogNumbers,
    ConvergenceStep,
    CoreNumbers,
    DistributionNumbers,
    EpisodeNumbers,
    LatencyNumbers,
    MachineNumbers,
    PressureNumbers,
    ResourceNumbers,
    SkewNumbers,
    SpreadNumbers,
    StageNumbers,
    StateNumbers,
    Summary,
)
from streamgauge.verdict import Verdict

# Why a query that ran by itself has no such numbers.
NO_LAW = "it is unknown when the rows were created: the load is not ours"


def _distribution(values_s: Sequence[float]) -> DistributionNumbers:
    if not values_s:
        return {"mean": None, "p50": None, "p95": None, "max": None}
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


def busy_by_batch(tasks: Iterable[TaskRecord]) -> dict[int, float]:
    """Return for how many seconds at least one task of each micro-batch was running."""
    busy_s: dict[int, float] = {}
    spans: dict[int, list[tuple[int, int]]] = {}
    for task in tasks:
        spans.setdefault(task.batch_id, []).append((task.launched_us, task.finished_us))
        # Tasks of stages before that many others are not logged any more: a micro-batch has one at least.
        if len(spans) > MAX_STAGES:
            oldest = next(iter(spans))
            busy_s[oldest] = _busy_s(spans.pop(oldest))
    return busy_s | {batch_id: _busy_s(left) for batch_id, left in spans.items()}


def phases(batches: Sequence[Batch], tasks: Iterable[TaskRecord]) -> tuple[dict[str, float], float | None]:
    """Return the mean seconds per phase of a batch, and the share of time in which no task ran.

    `tasks` is the part of the execution in which at least one task was running; `scheduling` is the rest of it.
    """
    return split_phases(batches, busy_by_batch(tasks)) if batches else ({}, None)


def split_phases(batches: Sequence[Batch], busy_s: Mapping[int, float]) -> tuple[dict[str, float], float | None]:
    """Return the same of one micro-batch at least, by the time in which its tasks were running."""
    mean = {name: float(np.mean([b.phases_s[name] for b in batches])) for name in batches[0].phases_s}
    if not all(b.batch_id in busy_s for b in batches if b.events):
        return mean, None
    execution = mean.pop("execution")
    running = float(np.mean([busy_s.get(b.batch_id, 0.0) for b in batches]))
    mean |= {"tasks": min(running, execution), "scheduling": max(0.0, execution - running)}
    whole = sum(b.duration_s for b in batches) / len(batches)
    return mean, 1 - min(running, execution) / whole if whole else None


class _Skews:
    """The slowest task against the mean of its stage, for each attempt of a stage with more than one task."""

    def __init__(self) -> None:
        self._open: dict[tuple[int, int], list[float]] = {}
        self._found = array("d")

    def take(self, task: TaskRecord) -> None:
        self._open.setdefault((task.stage_id, task.stage_attempt), []).append(task.run_s)
        if len(self._open) > MAX_STAGES:
            self._close(self._open.pop(next(iter(self._open))))

    def _close(self, runs_s: Sequence[float]) -> None:
        if len(runs_s) > 1 and np.mean(runs_s) > 0:
            self._found.append(float(max(runs_s) / np.mean(runs_s)))

    def summary(self) -> SkewNumbers | None:
        for runs_s in self._open.values():
            self._close(runs_s)
        self._open = {}
        return {"median": float(np.median(self._found)), "max": max(self._found)} if self._found else None


def stages(batches: Sequence[Batch], tasks: Iterable[TaskRecord], ran: Iterable[StageRecord] = ()) -> StageNumbers:
    """Sum up the tasks of the measured batches; skew is the slowest task against the mean of its stage."""
    ids = {b.batch_id for b in batches}
    counts: Counter[str] = Counter()
    sums = dict.fromkeys(("run_s", "cpu_s", "gc_s"), 0.0)
    skews, missing, executors = _Skews(), MissingTasks(), set()
    for task in tasks:
        if task.batch_id not in ids:
            continue
        missing.take(task)
        if not task.is_ok:
            counts["failed"] += 1
            continue
        skews.take(task)
        executors.add(task.executor)
        for name in sums:
            sums[name] += getattr(task, name)
        counts["tasks"] += 1
        counts["shuffle"] += task.shuffle_write_bytes
        counts["spilled"] += task.spilled_bytes
    events = sum(b.events for b in batches)
    return {
        "tasks": counts["tasks"],
        "failed_tasks": counts["failed"],
        # Not those of a batch that was interrupted when the query stopped: its tasks were never run.
        "missing_tasks": missing.count(stage for stage in ran if stage.batch_id in ids),
        "run_s": sums["run_s"],
        "cpu_s": sums["cpu_s"],
        "gc_s": sums["gc_s"],
        "shuffle_bytes": counts["shuffle"],
        "spilled_bytes": counts["spilled"],
        "cpu_s_per_event": sums["cpu_s"] / events if events and counts["tasks"] else None,
        "skew": skews.summary(),
        "executors": len(executors),
    }


def resources(evidence: Evidence, measured: MeasuredPart) -> ResourceNumbers | None:
    """Return cores in use and peak memory per role over the measured time."""
    inside = [s for s in evidence.resources if measured.from_us <= s.at_us <= measured.until_us]
    if len(inside) < 2:
        return None
    elapsed_s = inside[-1].monotonic_s - inside[0].monotonic_s
    motion = motion_of_clock(evidence.resources)
    return {
        "cores_used": {role: (inside[-1].cpu_s[role] - inside[0].cpu_s[role]) / elapsed_s for role in ROLES},
        "peak_memory_bytes": {role: max(s.memory_bytes[role] for s in inside) for role in ROLES},
        "stolen_share": (inside[-1].stolen_s - inside[0].stolen_s) / elapsed_s / max(1, evidence.cores),
        "slowdown": slowdown(inside),
        "clock_jump_s": abs(motion.step_s),
        "clock_drift_s": motion.drift_s,
    }


def _machine(found: Contention | None) -> MachineNumbers | None:
    """Return what others took of this machine; `level` is that of the worst witness by its limit."""
    if found is None:
        return None
    judged = {"contended": found.is_contended, "level": found.level, "reasons": list(found.reasons)}
    return cast(MachineNumbers, {**judged, **asdict(found), "not_visible": list(found.not_visible)})


def core_use(
    evidence: Evidence, measured: MeasuredPart, used: ResourceNumbers | None, rate_per_s: float | None
) -> CoreNumbers | None:
    """Return the cores that Spark used and what each of them processed, as NEXMark reports them.

    None without samples, and on a cluster with executors on other machines, whose processes are not seen.
    """
    seen_everywhere = evidence.settings.master.startswith("local") or evidence.executors_are_here
    by_role = used["cores_used"] if used else None
    if not by_role or not seen_everywhere:
        return None
    cores = sum(by_role[role] for role in SPARK_ROLES)
    return {
        "used": cores,
        "events_per_s_per_core": rate_per_s / cores if rate_per_s is not None and cores > 0 else None,
        "core_seconds": cores * (measured.until_us - measured.from_us) / 1e6,
    }


def _executors(evidence: Evidence) -> list[dict[str, Any]]:
    """Return for each executor of a cluster what it used, and its share of the tasks."""
    counts: Counter[str] = Counter()
    cpu_s: dict[str, float] = {}
    for task in evidence.tasks if evidence.executors else ():
        counts[task.executor] += 1
        cpu_s[task.executor] = cpu_s.get(task.executor, 0) + task.cpu_s
    return [
        {**asdict(use), "tasks": counts[use.executor], "task_cpu_s": cpu_s.get(use.executor, 0)}
        for use in evidence.executors
    ]


def _windows(evidence: Evidence, measured: MeasuredPart) -> LatencyNumbers | None:
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


def _back_pressure(evidence: Evidence, found: Pressure | None) -> PressureNumbers | None:
    """Return the state of the run and its episodes; None where it was not asked for."""
    if found is None:
        return None
    is_guess = evidence.observed is not None and not evidence.observed.tells_backlog and found.state is not None
    return {
        "state": found.state.value if found.state else None,
        "reason": f"as far as micro-batches show, {found.reason}" if is_guess else found.reason,
        "episodes": [cast(EpisodeNumbers, asdict(episode)) for episode in found.episodes],
        "total_s": found.total_s,
        "longest_s": found.longest_s,
        "share": found.share,
        "overruns": found.overruns,
        "spread": cast(SpreadNumbers, asdict(found.whole)),
        "spread_in_episodes": cast(SpreadNumbers, asdict(found.inside)),
        "spread_between_episodes": cast(SpreadNumbers, asdict(found.outside)),
    }


@dataclass(frozen=True)
class Conclusion:
    """What follows from the evidence of a run: its summary, and the histogram behind the latency in it."""

    summary: Summary
    latency: Histogram


def summarise(evidence: Evidence) -> Summary:
    """Return everything that a run says about itself; the keys are those of `run --json`."""
    return conclusion_of(evidence).summary


def conclusion_of(evidence: Evidence) -> Conclusion:
    """Return the summary of a run and its latencies."""
    measured = measured_part(evidence)
    latency = latency_histogram(evidence, measured)
    backlog = [] if evidence.is_offline else backlog_series(evidence, measured)[1]
    rate = None
    if not evidence.is_offline:
        rate = offered_rate(evidence.schedule, evidence.origin_us, measured.from_us, measured.until_us)
    phases_s, idle_share = phases(measured.batches, evidence.tasks)
    judged = judge_run(evidence, measured, phases_s.get("tasks"))
    trend, accounting, found = judged.trend, judged.accounting, judged.findings
    used = resources(evidence, measured)
    contention = contention_in(evidence, measured)
    work = stages(measured.batches, evidence.tasks, evidence.stages)
    processed = processed_rate(evidence.batches, measured.from_us, measured.until_us, level=measured.level)
    start_us = evidence.closed_us if evidence.is_offline else evidence.origin_us
    summary: Summary = {
        "verdict": judged.verdict.value,
        "reasons": [f.reason for f in found if f.verdict is not Verdict.PASS],
        "findings": [{"question": f.question, "verdict": f.verdict.value, "reason": f.reason} for f in found],
        "warnings": [*warnings(evidence, measured, used, latency, work), *machine_notes(contention, found)],
        "load": evidence.settings.load,
        "mode": evidence.settings.mode,
        "latency_until": evidence.settings.timing,
        "offered_rate_per_s": rate,
        "ingested_rate_per_s": ingested_rate(
            evidence.batches, measured.from_us, measured.until_us, level=measured.level
        ),
        "processed_rate_per_s": processed,
        "offline_rate_per_s": _offline_rate(evidence, processed),
        "capacity_per_s": judged.capacity_per_s,
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
        "back_pressure": _back_pressure(evidence, judged.pressure),
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
        "machine": _machine(contention),
        "core_use": core_use(evidence, measured, used, processed),
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
        "convergence": cast(list[ConvergenceStep] | None, evidence.convergence),
        "cores": evidence.cores,
        "output_mode": evidence.output_mode,
    }
    if evidence.external is not None:
        summary |= _external(evidence.external)
    if evidence.emissions is not None:
        summary["results"] = len(evidence.emissions.appeared_us)
    if evidence.is_unbatched:
        summary |= _unbatched(evidence.settings.mode, summary)
    if evidence.observed is not None:
        summary |= _unknown(evidence.observed, latency)
    return Conclusion(summary, latency)


def _unbatched(mode: str, summary: Summary) -> Summary:
    """Return what differs in the summary where there are no micro-batches; `unknown` has a reason for each null."""
    found: Summary = {
        "batches": None,
        "batch_duration_s": _distribution([]),
        "batch_interval_s": _distribution([]),
        "phases_s": {},
        "non_functional_share": None,
        "ingested_rate_per_s": None,
        "stages": cast(StageNumbers, dict.fromkeys(summary["stages"] or ())),
        "state": cast(StateNumbers, dict.fromkeys(summary["state"])),
    }
    reason = f"{mode} mode has no micro-batches"
    names = (*found, "window_latency_s", "back_pressure")
    return {**found, "unknown": dict.fromkeys(names, reason)}


def _external(external: External) -> Summary:
    """Return what a run with a broker or another server has besides."""
    recount = external.recount
    found = {"recount": {**asdict(recount), "verdict": recount.verdict.value} if recount else None, **external.details}
    if external.has_generator:
        found = {
            "delivery": external.delivery.document() if external.delivery else None,
            "records": external.records,
            "malformed_records": external.malformed,
            "partitions_apart_s": external.apart_s,
            **found,
        }
    return cast(Summary, found)


def _unknown(observed: Observed, latency: Histogram) -> Summary:
    """Return what differs in the summary of a query that ran by itself; `unknown` has a reason for each null.

    Its latency is known only from the looks at its sources on, between which rows are taken to have come evenly.
    """
    found: Summary = {
        "offered_rate_per_s": None,
        "end_to_end_latency_s": Histogram.empty().summary(),
        "source_to_sink_latency_s": latency.summary(),
        "events": None,
    }
    reasons = dict.fromkeys(("offered_rate_per_s", "end_to_end_latency_s", "events"), NO_LAW)
    if not observed.tells_backlog:
        nothing = dict.fromkeys(("mean", "max", "slope_per_s", "slope_low_per_s", "slope_high_per_s"))
        found |= {"backlog_events": cast(BacklogNumbers, nothing), "events_unprocessed": None}
        reasons |= dict.fromkeys(("backlog_events", "events_unprocessed"), NO_BACKLOG)
    return {**found, "unknown": reasons}


def _offline_rate(evidence: Evidence, processed_per_s: float | None) -> float | None:
    if evidence.is_offline:
        return processed_per_s
    return evidence.maximum.rate_per_s if evidence.maximum else None


def _answer(evidence: Evidence) -> AnswerNumbers | None:
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
