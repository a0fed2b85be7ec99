"""The questions that decide the verdict of a run, and what a careful reader should know besides."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamgauge.engine.resources import clock_jump_s
from streamgauge.experiment.evidence import Evidence, External, Maximum, Observed
from streamgauge.experiment.measured import Measured, generator_share
from streamgauge.kafka.delivery import LATE_S, MAX_LATE_SHARE, Delivery
from streamgauge.measure import Accounting, BacklogTrend, Histogram, SteadyState, negative_events
from streamgauge.units import format_count, format_duration, format_rate
from streamgauge.verdict import Verdict

GENERATOR_BOUND_SHARE = 0.5
MAX_CLOCK_JUMP_S = 0.05
MAX_UNSETTLED_CHANGE = 0.25
MAX_UNPROCESSED_SHARE = 0.1
MIN_EVENTS = 100
MIN_OFFLINE_BATCHES = 3
STEAL_SHARE = 0.05
# Undisturbed, looks at the processor's speed take 1.05 to 1.15 times their least on average: caches are cold.
MOST_SLOWDOWN = 1.2
CLOCK_OFFSET_S = 0.05
# Why a query that ran by itself has no such number.
NO_BACKLOG = "the sources do not tell what they still hold"


@dataclass(frozen=True)
class Finding:
    """One question about the run, its verdict, and why."""

    question: str
    verdict: Verdict
    reason: str


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


def _judge_load(evidence: Evidence, measured: Measured, trend: BacklogTrend, in_flight: int) -> Finding:
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
    if used and (used["slowdown"] or 0.0) > MOST_SLOWDOWN:
        said.append(
            f"something else slowed the processor: work that is always the same took "
            f"{used['slowdown']:.3g} times as long as undisturbed; a repetition may be faster"
        )
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


def _offline_notes(evidence: Evidence, measured: Measured) -> list[str]:
    said = ["all events were there from the start: latency and backlog mean nothing then and are not reported"]
    share = generator_share(evidence, measured)
    if share is not None and share >= GENERATOR_BOUND_SHARE:
        said.append(f"making the events took {share:.0%} of the cores; the query alone would be faster")
    return said


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


def batches_behind_p99(evidence: Evidence, measured: Measured, latency: Histogram) -> int | None:
    """Count the micro-batches that hold a measured event beyond the 99th percentile."""
    p99_s = latency.summary()["p99"]
    if p99_s is None:
        return None
    oldest = [(b, max(b.first, measured.first_event)) for b in evidence.batches if b.last > measured.first_event]
    ages_us = [b.emitted_us - evidence.origin_us - int(evidence.schedule.times_us(n)) for b, n in oldest if n < b.last]
    return sum(1 for age_us in ages_us if age_us >= p99_s * 1e6)
