"""The questions that decide the verdict of a run, and what a careful reader should know besides."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from streamgauge.clock import ClockMotion
from streamgauge.conclude.evidence import Evidence, External, Maximum, Observed
from streamgauge.conclude.window import MeasuredPart, contention_in, generator_share
from streamgauge.connectors.kafka.delivery import LATE_S, MAX_LATE_SHARE, Delivery
from streamgauge.measure import Accounting, BacklogTrend, Histogram, SteadyState, negative_events
from streamgauge.measure.contention import Contention, motion_of_clock
from streamgauge.summary import ResourceNumbers, StageNumbers
from streamgauge.units import format_count, format_duration, format_rate
from streamgauge.verdict import Verdict

GENERATOR_BOUND_SHARE = 0.5
MAX_UNSETTLED_CHANGE = 0.25
MAX_UNPROCESSED_SHARE = 0.1
MIN_EVENTS = 100
MIN_OFFLINE_BATCHES = 3
CLOCK_OFFSET_S = 0.05
# Why a query that ran by itself has no such number.
NO_BACKLOG = "the sources do not report what they still hold"


@dataclass(frozen=True)
class Finding:
    """One question about the run, its verdict, and why.

    `is_timed` says that the verdict rests on how long something took: a wrong clock or a busy machine changes it.
    """

    question: str
    verdict: Verdict
    reason: str
    is_timed: bool = False


def findings(evidence: Evidence, measured: MeasuredPart, trend: BacklogTrend, accounting: Accounting) -> list[Finding]:
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
    clock = _judge_clock(evidence)
    if clock.verdict is not Verdict.PASS:
        found = [excused(finding, "by a clock that cannot be trusted") for finding in found]
    found.append(clock)
    contention = contention_in(evidence, measured)
    if contention is not None:
        found = _with_machine(found, contention)
    if evidence.maximum is not None:
        found.append(_judge_maximum(evidence.maximum))
    if evidence.is_interrupted:
        found.append(Finding("complete", Verdict.UNKNOWN, "the run was interrupted before its time"))
    if evidence.answer is not None:
        reason = "; ".join(evidence.answer.reasons) or "the answer equals the reference"
        prefix = {Verdict.PASS: "", Verdict.FAIL: "wrong answer: ", Verdict.UNKNOWN: "answer not compared: "}
        found.append(Finding("answer", evidence.answer.verdict, prefix[evidence.answer.verdict] + reason))
    return found


def _judge_load(evidence: Evidence, measured: MeasuredPart, trend: BacklogTrend, in_flight: int) -> Finding:
    """Judge whether the load was sustained, and whether it was the query or the generator that failed."""
    verdict, reason = trend.verdict, trend.reason
    # Where nothing was processed at all there is no evidence of an overload, or of anything.
    is_overloaded = evidence.offered > in_flight > MAX_UNPROCESSED_SHARE * evidence.offered
    if is_overloaded and not evidence.is_interrupted:
        verdict = Verdict.FAIL
        processed = (evidence.offered - in_flight) / evidence.offered
        reason = f"overloaded: only {processed:.2%} of the offered events were processed, drain included"
    share = generator_share(evidence, measured)
    if verdict is Verdict.FAIL and share is not None and share >= GENERATOR_BOUND_SHARE:
        verdict = Verdict.UNKNOWN
        reason = (
            f"generator-bound: {reason}, and making the events took {share:.0%} of the {evidence.cores} cores, "
            "so this says little about the query"
        )
    return Finding("sustained", verdict, reason, is_timed=True)


def _with_machine(found: Sequence[Finding], contention: Contention) -> list[Finding]:
    """Add whether the machine was quiet.

    On one that was not, a failure that rests on times is inconclusive; under heavy contention, so is a pass.
    """
    unseen = f"; not visible here: {', '.join(contention.not_visible)}" if contention.not_visible else ""
    if not contention.is_contended:
        used = contention.foreign_cores
        busy = "" if used is None else f": other processes used {used:.2g} of {contention.cores} cores"
        return [*found, Finding("machine", Verdict.PASS, f"no contention was seen{busy}{unseen}")]
    excuses = [excused(finding, "on a busy machine") for finding in found]
    has_failed = any(finding.verdict is Verdict.FAIL and finding.is_timed for finding in found)
    verdict = Verdict.UNKNOWN if has_failed or contention.is_heavy else Verdict.PASS
    doubt = "; times measured here are not those of a quiet machine" if verdict is Verdict.UNKNOWN else ""
    return [*excuses, Finding("machine", verdict, f"{'; '.join(contention.reasons)}{doubt}{unseen}")]


def excused(finding: Finding, doubt: str) -> Finding:
    """Return a finding whose failure, if it rests on times, is inconclusive."""
    if finding.verdict is not Verdict.FAIL or not finding.is_timed:
        return finding
    return replace(finding, verdict=Verdict.UNKNOWN, reason=f"inconclusive, {doubt}: {finding.reason}")


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
    """Say how far the results reach, where no recount shows that the rest was processed too."""
    latest = int(evidence.schedule.times_us(max(0, evidence.offered - in_flight - 1)))
    before_s = (evidence.closed_us - evidence.origin_us - latest) / 1e6
    return (
        f"nothing shows that every event was processed: the last result is from {format_duration(max(0.0, before_s))} "
        f"before the end of the load, {evidence.settings.mode} mode does not report progress, and there was no recount"
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
    reason = f"{counts} were not processed{within}{remedy}"
    return Finding("processed", verdict, reason, is_timed=accounting.in_flight > 0)


def _judge_batches(measured: MeasuredPart) -> Finding:
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
    # Over all samples: a large step moves those that follow it out of the measured time.
    finding = judge_clock(motion_of_clock(evidence.resources))
    if negative and finding.verdict is Verdict.PASS:
        reason = f"{negative} events were emitted before they were created: the clock jumped"
        return Finding("clock", Verdict.UNKNOWN, reason)
    return finding


def judge_clock(motion: ClockMotion) -> Finding:
    """Judge whether times of the wall clock can be compared with one another."""
    if motion.has_stepped:
        way = "forward" if motion.step_s > 0 else "back"
        reason = f"the wall clock stepped {way} by {format_duration(abs(motion.step_s))}"
        return Finding("clock", Verdict.UNKNOWN, reason)
    if not motion.is_steady:
        way = "gained" if motion.drift_s > 0 else "lost"
        rate = f"{abs(motion.drift_s) / motion.elapsed_s * 1e6:,.0f} ppm"
        reason = (
            f"the wall clock {way} {format_duration(abs(motion.drift_s))} against the monotonic clock in "
            f"{format_duration(motion.elapsed_s)} ({rate}): durations and latencies are wrong by that share"
        )
        return Finding("clock", Verdict.UNKNOWN, reason)
    return Finding("clock", Verdict.PASS, "the clock did not jump")


def _judge_observed_load(observed: Observed, trend: BacklogTrend) -> Finding:
    """Judge a load that is not ours: what its sources keep back without reporting it cannot be seen."""
    # Who reads about a query of their own has no options of ours to change.
    reason = trend.reason.partition("; a longer --")[0]
    if observed.tells_backlog or trend.verdict is Verdict.FAIL:
        return Finding("sustained", trend.verdict, reason, is_timed=True)
    seen = "; in what was seen nothing grew" if trend.verdict is Verdict.PASS else f"; {reason}"
    return Finding("sustained", Verdict.UNKNOWN, f"{NO_BACKLOG}, so rows that a limit keeps back are not seen{seen}")


def _judge_end(failure: str) -> Finding:
    return Finding("complete", Verdict.UNKNOWN, f"the query failed: {failure}")


def _judge_evidence(evidence: Evidence, holes: Sequence[str], measured: MeasuredPart) -> Finding:
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
        return Finding("generator", Verdict.UNKNOWN, "the load generator did not report how well it kept the load")
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


def warnings(
    evidence: Evidence,
    measured: MeasuredPart,
    used: ResourceNumbers | None,
    latency: Histogram,
    work: StageNumbers,
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
    cores = sum((used["cores_used"] or {}).values()) if used else 0.0
    if not evidence.is_offline and cores > 0.95 * evidence.cores:
        said.append(f"the processes used {cores:.2g} of {evidence.cores} cores: no headroom")
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


def machine_notes(contention: Contention | None, found: Sequence[Finding]) -> list[str]:
    """Say what others took of the machine, unless it is a reason for the verdict already."""
    if contention is None:
        return []
    is_told = any(finding.question == "machine" and finding.verdict is not Verdict.PASS for finding in found)
    reasons = [] if is_told else [f"{reason}; a quiet run may be faster" for reason in contention.reasons]
    return [*reasons, *contention.notes]


def _offline_notes(evidence: Evidence, measured: MeasuredPart) -> list[str]:
    said = ["all events were there from the start: latency and backlog mean nothing then and are not reported"]
    share = generator_share(evidence, measured)
    if share is not None and share >= GENERATOR_BOUND_SHARE:
        said.append(f"making the events took {share:.0%} of the cores; the query alone would be faster")
    return said


def _setting_notes(evidence: Evidence, measured: MeasuredPart) -> list[str]:
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


def batches_behind_p99(evidence: Evidence, measured: MeasuredPart, latency: Histogram) -> int | None:
    """Count the micro-batches that hold a measured event beyond the 99th percentile."""
    p99_s = latency.summary()["p99"]
    if p99_s is None:
        return None
    oldest = [(b, max(b.first, measured.first_event)) for b in evidence.batches if b.last > measured.first_event]
    ages_us = [b.emitted_us - evidence.origin_us - int(evidence.schedule.times_us(n)) for b, n in oldest if n < b.last]
    return sum(1 for age_us in ages_us if age_us >= p99_s * 1e6)
