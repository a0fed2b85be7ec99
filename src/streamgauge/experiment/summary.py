"""From evidence to numbers and a verdict. Plain functions: the same evidence always gives the same summary."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from typing import Any, Literal, cast

import numpy as np

from streamgauge.engine.eventlog import Stage, Task, missing_tasks
from streamgauge.engine.resources import ROLES, clock_jump_s
from streamgauge.experiment.evidence import Evidence, External, Maximum, Observed
from streamgauge.kafka.delivery import LATE_S, MAX_LATE_SHARE, Delivery
from streamgauge.measure import (
    Accounting,
    BacklogTrend,
    Batch,
    Histogram,
    SteadyState,
    account,
    batch_latency,
    capacity,
    find_pressure,
    find_steady_state,
    ingested_rate,
    is_level,
    judge_backlog,
    judge_following,
    negative_events,
    offered_rate,
    processed_rate,
    window_latency,
)
from streamgauge.units import format_count, format_duration, format_rate
from streamgauge.verdict import Verdict

GENERATOR_BOUND_SHARE = 0.5
MAX_CLOCK_JUMP_S = 0.05
MAX_UNSETTLED_CHANGE = 0.25
MAX_UNPROCESSED_SHARE = 0.1
MIN_EVENTS = 100
MIN_OFFLINE_BATCHES = 3
STEAL_SHARE = 0.05
# Why a query that ran by itself has no such numbers.
NO_LAW = "nobody knows when the rows were created: the load is not ours"
NO_BACKLOG = "the sources do not tell what they still hold"
# Driver, executors and what they start; not streamgauge itself.
SPARK_ROLES = ("java", "python_workers")
CLOCK_OFFSET_S = 0.05


@dataclass(frozen=True)
class Finding:
    """One question about the run, its verdict, and why."""

    question: str
    verdict: Verdict
    reason: str


@dataclass(frozen=True)
class Measured:
    """The part of a run that counts: the time under load after the warm-up and after the steady-state cut.

    `batches` are those emitted in that time; `first_event` is the first event created in it. `level` tells whether
    the load has one rate, so that there is a steady state to look for.
    """

    batches: list[Batch]
    steady: SteadyState
    first_event: int
    from_us: int
    until_us: int
    level: bool = True


def emitted_latency(evidence: Evidence, batch: Batch) -> Histogram:
    """Return the latencies of a micro-batch or, where there is none, of the results in a slice of time."""
    if evidence.is_unbatched and evidence.emissions is not None:
        return evidence.emissions.in_slice(batch)
    return batch_latency(evidence.schedule, evidence.origin_us, batch)


def _mean_latency_s(evidence: Evidence, batch: Batch) -> float:
    return emitted_latency(evidence, batch).mean_s


def measured_part(evidence: Evidence, from_s: float | None = None) -> Measured:
    """Drop the warm-up, then what the steady-state detection drops; or all before `from_s` seconds of the load."""
    if evidence.is_offline:
        return _measured_offline(evidence)
    until_us = evidence.closed_us
    from_us = evidence.measured_from_us if from_s is None else evidence.origin_us + round(from_s * 1e6)
    level = is_level(evidence.schedule, evidence.origin_us, from_us, until_us)
    inside = [b for b in evidence.batches if b.events and from_us <= b.emitted_us <= until_us]
    if not level:
        steady = SteadyState(0, False, "not asked: the load varies")
    elif from_s is not None:
        steady = SteadyState(0, False, "not asked: the beginning was given")
    else:
        steady = find_steady_state([_mean_latency_s(evidence, b) for b in inside])
    if steady.cut:
        from_us = inside[steady.cut].started_us
    first_event = int(evidence.schedule.created(from_us - evidence.origin_us - 1))
    return Measured(inside[steady.cut :], steady, first_event, from_us, until_us, level)


def _measured_offline(evidence: Evidence) -> Measured:
    """Drop the micro-batches that hold events of the warm-up; time counts from the last emission of those."""
    first_event = int(evidence.schedule.created(evidence.measured_from_us - evidence.origin_us - 1))
    busy = [b for b in evidence.batches if b.events]
    before = [b.emitted_us for b in busy if b.first < first_event]
    inside = [b for b in busy if b.first >= first_event]
    from_us = max(before, default=evidence.closed_us)
    # Rates are those of from_us <= t < until_us, and the last emission counts.
    until_us = inside[-1].emitted_us + 1 if inside else from_us
    steady = SteadyState(0, False, "not asked: an offline load has no latency")
    return Measured(inside, steady, first_event, from_us, until_us)


def latency_histogram(evidence: Evidence, measured: Measured) -> Histogram:
    """Merge the latencies of all events created in the measured time, whenever they were emitted.

    Where results are timed one by one, these are the latencies of the results from these events. Empty for an offline
    load: when its events were created says nothing about how long they waited.
    """
    total = Histogram.empty()
    if evidence.is_offline:
        return total
    if evidence.emissions is not None:
        return evidence.emissions.histogram(measured.from_us, evidence.closed_us)
    for batch in evidence.batches:
        total += batch_latency(evidence.schedule, evidence.origin_us, batch, first=measured.first_event)
    return total


def backlog_series(evidence: Evidence, measured: Measured) -> tuple[list[float], list[int]]:
    """Return the backlog right after each emission of the measured time."""
    times_s = [(b.emitted_us - evidence.origin_us) / 1e6 for b in measured.batches]
    created = evidence.schedule.created([b.emitted_us - evidence.origin_us for b in measured.batches])
    return times_s, [int(n) - b.last for n, b in zip(created, measured.batches, strict=True)]


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


def _generator_share(evidence: Evidence, rate_per_s: float | None) -> float | None:
    if evidence.generator is None or rate_per_s is None:
        return None
    return rate_per_s * evidence.generator.core_s_per_event / evidence.cores


def _achieved_rate(evidence: Evidence, measured: Measured) -> float | None:
    """Return the processed rate of the measured part or, when too little of it finished, of the whole run."""
    rate = processed_rate(evidence.batches, measured.from_us, measured.until_us, level=measured.level)
    busy = [b for b in evidence.batches if b.events]
    if rate is not None or not busy:
        return rate
    start_us = evidence.closed_us if evidence.is_offline else evidence.origin_us
    return busy[-1].last / max(1e-3, (busy[-1].emitted_us - start_us) / 1e6)


def _judge_load(evidence: Evidence, measured: Measured, trend: BacklogTrend, in_flight: int) -> Finding:
    """Judge whether the load was sustained, and whether it was the query or the generator that failed."""
    verdict, reason = trend.verdict, trend.reason
    # Where nothing was processed at all there is no evidence of an overload, or of anything.
    is_overloaded = evidence.offered > in_flight > MAX_UNPROCESSED_SHARE * evidence.offered
    if is_overloaded and not evidence.is_interrupted:
        verdict = Verdict.FAIL
        processed = (evidence.offered - in_flight) / evidence.offered
        reason = f"overloaded: only {processed:.2%} of the offered events were processed, drain included"
    share = _generator_share(evidence, _achieved_rate(evidence, measured))
    if verdict is Verdict.FAIL and share is not None and share >= GENERATOR_BOUND_SHARE:
        verdict = Verdict.UNKNOWN
        reason = (
            f"generator-bound: {reason}, and making the events took {share:.0%} of the {evidence.cores} cores, "
            "so this says little about the query"
        )
    return Finding("sustained", verdict, reason)


def _judge_drain(evidence: Evidence, in_flight: int) -> Finding:
    if in_flight == 0:
        return Finding("drained", Verdict.PASS, "every offered event was processed")
    if evidence.is_unbatched:
        return Finding("drained", Verdict.UNKNOWN, _not_shown(evidence, in_flight))
    deadline = f"within {format_duration(evidence.settings.drain_s)} after the load ended"
    when = "when the run ended" if evidence.is_interrupted else deadline
    counts = f"{format_count(in_flight)} of {format_count(evidence.offered)} events"
    reason = f"{counts} were not processed {when}; latencies are those of the others"
    return Finding("drained", Verdict.UNKNOWN, reason)


def _not_shown(evidence: Evidence, in_flight: int) -> str:
    """Say how far the results reach, where no recount tells that the rest was processed too."""
    latest = int(evidence.schedule.times_us(max(0, evidence.offered - in_flight - 1)))
    before_s = (evidence.closed_us - evidence.origin_us - latest) / 1e6
    return (
        f"nothing shows that every event was processed: the last result is from {format_duration(max(0.0, before_s))} "
        f"before the end of the load, {evidence.settings.mode} mode does not tell how far it got, and no recount did"
    )


def _judge_volume(evidence: Evidence, accounting: Accounting) -> Finding:
    """Judge whether every event of an offline load was processed; those in a report that is lost are not missing."""
    missing = accounting.offered - accounting.processed
    if not missing:
        return Finding("processed", Verdict.PASS, f"all {format_count(accounting.offered)} events were processed")
    is_report_lost = evidence.reported_batches not in (None, len(evidence.batches))
    verdict = Verdict.UNKNOWN if evidence.is_interrupted or is_report_lost else Verdict.FAIL
    counts = f"{format_count(missing)} of {format_count(accounting.offered)} events"
    within = "" if evidence.is_interrupted else f" within {format_duration(evidence.settings.deadline_s)}"
    remedy = "; lower --rate or raise --drain" if accounting.in_flight and verdict is Verdict.FAIL else ""
    return Finding("processed", verdict, f"{counts} were not processed{within}{remedy}")


def _judge_batches(measured: Measured) -> Finding:
    count = len(measured.batches)
    if count >= MIN_OFFLINE_BATCHES:
        return Finding("maximum", Verdict.PASS, f"the rate rests on {count} micro-batches")
    reason = (
        f"the rate rests on {count} micro-batches after the warm-up, and needs {MIN_OFFLINE_BATCHES}; "
        "raise --rate or --duration, or lower --max-rows-per-batch"
    )
    return Finding("maximum", Verdict.UNKNOWN, reason)


def _judge_maximum(maximum: Maximum) -> Finding:
    """Judge the offline part of an online run: any doubt about it is a doubt about the rate of this one."""
    if maximum.verdict is Verdict.PASS:
        reason = f"the offline load reached {format_rate(maximum.rate_per_s)}"
        return Finding("maximum", Verdict.PASS, reason)
    return Finding("maximum", Verdict.UNKNOWN, f"the offline load is in doubt: {'; '.join(maximum.reasons)}")


def _judge_steady(steady: SteadyState) -> Finding:
    small = steady.change is not None and abs(steady.change) <= MAX_UNSETTLED_CHANGE
    verdict = Verdict.PASS if steady.settled or small else Verdict.UNKNOWN
    return Finding("steady", verdict, steady.reason)


def _judge_clock(evidence: Evidence) -> Finding:
    negative = sum(negative_events(evidence.schedule, evidence.origin_us, b) for b in evidence.batches)
    negative += evidence.emissions.negative if evidence.emissions is not None else 0
    # Over all samples: a large jump moves those that follow it out of the measured time.
    jump_s = clock_jump_s(evidence.resources)
    if negative:
        reason = f"{negative} events were emitted before they were created: the clock jumped"
        return Finding("clock", Verdict.UNKNOWN, reason)
    if jump_s > MAX_CLOCK_JUMP_S:
        return Finding("clock", Verdict.UNKNOWN, f"the wall clock jumped by {format_duration(jump_s)}")
    return Finding("clock", Verdict.PASS, "the clock did not jump")


def _judge_observed_load(observed: Observed, trend: BacklogTrend) -> Finding:
    """Judge a load that is not ours: what its sources keep back without telling cannot be seen."""
    # Who reads about a query of their own has no options of ours to change.
    reason = trend.reason.partition("; a longer --")[0]
    if observed.tells_backlog or trend.verdict is Verdict.FAIL:
        return Finding("sustained", trend.verdict, reason)
    seen = "; in what was seen nothing grew" if trend.verdict is Verdict.PASS else f"; {reason}"
    return Finding("sustained", Verdict.UNKNOWN, f"{NO_BACKLOG}, so rows that a limit keeps back are not seen{seen}")


def _judge_end(failure: str) -> Finding:
    return Finding("complete", Verdict.UNKNOWN, f"the query failed: {failure}")


def _judge_evidence(evidence: Evidence, holes: Sequence[str], measured: Measured) -> Finding:
    count = len(evidence.batches)
    if evidence.reported_batches is not None and evidence.reported_batches != count:
        holes = [*holes, f"Spark ran {evidence.reported_batches} micro-batches, but {count} were reported"]
    if holes:
        return Finding("evidence", Verdict.UNKNOWN, f"progress has holes: {'; '.join(holes[:3])}")
    if evidence.offered < MIN_EVENTS:
        reason = f"starved: only {evidence.offered} events were offered in all; raise --rate or --duration"
        if evidence.is_observed:
            reason = f"starved: only {evidence.offered} rows were seen in all"
        return Finding("evidence", Verdict.UNKNOWN, reason)
    if not measured.batches:
        what = "no result appeared" if evidence.is_unbatched else "no micro-batch finished"
        return Finding("evidence", Verdict.UNKNOWN, f"{what} in the measured time")
    if evidence.is_unbatched:
        return Finding("evidence", Verdict.PASS, "every result was read, with its time and that of its event")
    return Finding("evidence", Verdict.PASS, "every micro-batch was reported")


def _judge_external(evidence: Evidence, external: External) -> list[Finding]:
    """Judge what a broker's generator and an external sink did: a load that was not kept proves nothing."""
    found = [_judge_delivery(evidence, external.delivery)] if external.has_generator else []
    if external.holes:
        reason = f"records and events do not match: {'; '.join(external.holes[:3])}"
        found.append(Finding("records", Verdict.UNKNOWN, reason))
    if external.recount is not None:
        right = f"a recount of {format_count(external.recount.events)} events gives what the sink holds"
        reason = "; ".join(external.recount.reasons) or right
        found.append(Finding("recount", external.recount.verdict, reason))
    return found


def _judge_delivery(evidence: Evidence, delivery: Delivery | None) -> Finding:
    if delivery is None:
        return Finding("generator", Verdict.UNKNOWN, "the load generator did not tell how well the load was kept")
    if delivery.failed:
        reason = f"the brokers did not take {format_count(delivery.failed)} events: {delivery.failure}"
        return Finding("generator", Verdict.UNKNOWN, reason)
    # While Java compiles the query, it takes the cores from the generator as well; what counts is the time after it.
    warmup_s = evidence.settings.warmup_s
    due = evidence.offered - int(evidence.schedule.created(round(int(warmup_s) * 1e6)))
    share = delivery.late_since(warmup_s) / max(1, due)
    late = f"{share:.2%} of the events due after the warm-up were sent more than {format_duration(LATE_S)} late"
    if share > MAX_LATE_SHARE:
        latest = f"the latest of the whole load by {format_duration(delivery.max_late_s)}"
        reason = f"the load generator fell behind: {late}, {latest}"
        return Finding("generator", Verdict.UNKNOWN, reason)
    return Finding("generator", Verdict.PASS, late)


def findings(evidence: Evidence, measured: Measured, trend: BacklogTrend, accounting: Accounting) -> list[Finding]:
    """Ask every question that decides the verdict."""
    found = [_judge_evidence(evidence, accounting.reasons, measured)]
    if evidence.is_offline:
        found += [_judge_volume(evidence, accounting), _judge_batches(measured)]
    elif evidence.observed is not None:
        found += [
            _judge_observed_load(evidence.observed, trend),
            *([_judge_steady(measured.steady)] if measured.level else []),
            *([_judge_end(evidence.observed.failure)] if evidence.observed.failure else []),
        ]
    else:
        found += [
            _judge_load(evidence, measured, trend, accounting.in_flight),
            _judge_drain(evidence, accounting.in_flight),
            *([_judge_steady(measured.steady)] if measured.level else []),
        ]
    if evidence.external is not None:
        found += _judge_external(evidence, evidence.external)
    found.append(_judge_clock(evidence))
    if evidence.maximum is not None:
        found.append(_judge_maximum(evidence.maximum))
    if evidence.is_interrupted:
        found.append(Finding("complete", Verdict.UNKNOWN, "the run was interrupted before its time"))
    if evidence.answer is not None:
        reason = "; ".join(evidence.answer.reasons) or "the answer equals the reference"
        prefix = {Verdict.PASS: "", Verdict.FAIL: "wrong answer: ", Verdict.UNKNOWN: "answer not compared: "}
        found.append(Finding("answer", evidence.answer.verdict, prefix[evidence.answer.verdict] + reason))
    return found


def warnings(
    evidence: Evidence,
    measured: Measured,
    used: dict[str, Any] | None,
    latency: Histogram,
    work: dict[str, Any],
) -> list[str]:
    """Say what a careful reader would want to know, with the option that would help."""
    said = _offline_notes(evidence, measured) if evidence.is_offline else []
    said += evidence.observed.notes if evidence.observed is not None else _setting_notes(evidence, measured)
    said += _cluster_notes(evidence)
    if evidence.external is not None and evidence.external.malformed:
        counts = f"{evidence.external.malformed:,} of {evidence.external.records:,} records"
        said.append(
            f"{counts} were malformed and are left out of the stream; see malformed.parquet in the run directory"
        )
    late = sum(b.late_rows for b in evidence.batches)
    if late:
        said.append(f"{format_count(late)} rows were dropped as late (counted after partial aggregation)")
    if used and used["stolen_share"] > STEAL_SHARE:
        said.append(f"other tenants of this machine took {used['stolen_share']:.0%} of its time")
    if used and not evidence.is_offline and sum(used["cores_used"].values()) > 0.95 * evidence.cores:
        said.append(f"the processes used {sum(used['cores_used'].values()):.2g} of {evidence.cores} cores: no headroom")
    if work["failed_tasks"]:
        said.append(f"{work['failed_tasks']} tasks failed and were retried")
    if work["missing_tasks"]:
        said.append(f"{work['missing_tasks']} tasks are missing in Spark's event log: stage numbers are incomplete")
    behind = (
        None
        if evidence.is_observed or evidence.emissions is not None
        else batches_behind_p99(evidence, measured, latency)
    )
    if behind is not None and behind < 3:
        many = "one micro-batch" if behind == 1 else f"{behind} micro-batches"
        said.append(f"p99 rests on {many}; a longer --duration would make it firmer")
    return said


def _cluster_notes(evidence: Evidence) -> list[str]:
    """Say which clocks are wrong for sure, and which executors went."""
    said = [
        f"the clock of executor {clock.executor} on {clock.host} is {format_duration(abs(clock.offset_s))} "
        f"{'ahead of' if clock.offset_s > 0 else 'behind'} the driver's, give or take "
        f"{format_duration(clock.uncertainty_s)}: times of its tasks are wrong by that; synchronise the hosts"
        for clock in evidence.clocks
        if abs(clock.offset_s) - clock.uncertainty_s > CLOCK_OFFSET_S
    ]
    said += [f"executor {lost.executor} was lost during the run: {lost.reason}" for lost in evidence.lost]
    return said


def _executors(evidence: Evidence) -> list[dict[str, Any]]:
    """Return for each executor of a cluster what it used, and its share of the tasks."""
    found = []
    for use in evidence.executors:
        own = [task for task in evidence.tasks if task.executor == use.executor]
        found.append({**asdict(use), "tasks": len(own), "task_cpu_s": sum(task.cpu_s for task in own)})
    return found


def _setting_notes(evidence: Evidence, measured: Measured) -> list[str]:
    """Say which settings of a run of ours would give better numbers."""
    said, settings = [], evidence.settings
    sustained = not any(b.left for b in measured.batches)
    if sustained and not measured.steady.settled and measured.steady.change is not None:
        said.append(f"{measured.steady.reason}; a longer --warmup would give steadier numbers")
    durations = [b.duration_s for b in measured.batches]
    if settings.trigger_s and durations and float(np.median(durations)) > settings.trigger_s:
        said.append(
            f"micro-batches take {format_duration(float(np.median(durations)))}, longer than the trigger of "
            f"{format_duration(settings.trigger_s)}; --trigger 0s would say so openly"
        )
    return said


def _offline_notes(evidence: Evidence, measured: Measured) -> list[str]:
    said = ["all events were there from the start: latency and backlog mean nothing then and are not reported"]
    share = _generator_share(evidence, _achieved_rate(evidence, measured))
    if share is not None and share >= GENERATOR_BOUND_SHARE:
        said.append(f"making the events took {share:.0%} of the cores; the query alone would be faster")
    return said


def batches_behind_p99(evidence: Evidence, measured: Measured, latency: Histogram) -> int | None:
    """Count the micro-batches that hold a measured event beyond the 99th percentile."""
    p99_s = latency.summary()["p99"]
    if p99_s is None:
        return None
    oldest = [(b, max(b.first, measured.first_event)) for b in evidence.batches if b.last > measured.first_event]
    ages_us = [b.emitted_us - evidence.origin_us - int(evidence.schedule.times_us(n)) for b, n in oldest if n < b.last]
    return sum(1 for age_us in ages_us if age_us >= p99_s * 1e6)


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
        latencies_s=[_mean_latency_s(evidence, b) for b in batches],
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
            "share_of_cores": _generator_share(evidence, _achieved_rate(evidence, measured)),
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
