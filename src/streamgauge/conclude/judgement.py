"""Whether a run kept up with its load: the capacity that its micro-batches show, back-pressure, backlog, findings."""

from collections.abc import Sequence
from dataclasses import dataclass

from streamgauge.conclude.evidence import Evidence
from streamgauge.conclude.findings import Finding, findings
from streamgauge.conclude.window import MeasuredPart, backlog_series, mean_latency_s
from streamgauge.measure import (
    Accounting,
    BacklogTrend,
    Batch,
    Capacity,
    LoadSigns,
    Pressure,
    PressureState,
    account,
    find_pressure,
    fit_capacity,
    judge_backlog,
    judge_following,
    level_capacity,
    offered_rate,
)
from streamgauge.verdict import Verdict


@dataclass(frozen=True)
class Judged:
    """The conclusions about a run.

    `pressure` is None for an offline load, which is all backlog, and where there are no micro-batches.
    """

    capacity_per_s: float | None
    pressure: Pressure | None
    trend: BacklogTrend
    accounting: Accounting
    findings: list[Finding]

    @property
    def verdict(self) -> Verdict:
        """The verdict of the run."""
        return Verdict.combine(finding.verdict for finding in self.findings)


def judge_run(evidence: Evidence, measured: MeasuredPart, tasks_s: float | None) -> Judged:
    """Judge a run; `tasks_s` is the mean time of its micro-batches in which tasks run, None where unknown."""
    most = _capacity(evidence, measured, tasks_s)
    if measured.level:
        pressure = _pressure(evidence, measured)
        trend = _judge_level(evidence, measured, most)
    else:
        offered_per_s, longest_s = _offered_at_the_end(evidence, measured), evidence.settings.admission_target_s
        is_clear = most is not None and most.is_above(offered_per_s)
        pressure = _pressure(evidence, measured, excused_s=longest_s if is_clear else 0.0)
        is_persistent = pressure.state is PressureState.PERSISTENT if pressure and pressure.state else None
        signs = LoadSigns(*_ages(evidence, measured), offered_per_s, most, is_persistent, longest_s)
        trend = _judge_varying(evidence, measured, signs)
    accounting = account(evidence.offered, evidence.batches)
    found = findings(evidence, measured, trend, accounting)
    return Judged(most.per_s if most else None, pressure, trend, accounting, found)


def _capacity(evidence: Evidence, measured: MeasuredPart, tasks_s: float | None) -> Capacity | None:
    """Return the capacity that micro-batches show; an offline load measures it, and queries that ran by themselves have
    sources of their own.
    """
    if evidence.is_offline or evidence.is_unbatched or evidence.is_observed:
        return None
    settings = evidence.settings
    longest_s, trigger_s, most = settings.admission_target_s, settings.trigger_s, settings.max_rows_per_batch
    if not measured.level:
        return fit_capacity(measured.batches, longest_s=longest_s, trigger_s=trigger_s, most_events=most)
    if tasks_s is None:
        return None
    return level_capacity(measured.batches, tasks_s, longest_s=longest_s, trigger_s=trigger_s, most_events=most)


def _offered_at_the_end(evidence: Evidence, measured: MeasuredPart) -> float:
    """Return the mean rate that the last third of the measured time offers."""
    from_us = measured.until_us - (measured.until_us - measured.from_us) // 3
    return offered_rate(evidence.schedule, evidence.origin_us, from_us, measured.until_us) or 0.0


def _loaded(evidence: Evidence, measured: MeasuredPart) -> list[Batch]:
    return [b for b in evidence.batches if b.events and measured.from_us <= b.started_us]


def _pressure(evidence: Evidence, measured: MeasuredPart, excused_s: float = 0.0) -> Pressure | None:
    if evidence.is_offline or evidence.is_unbatched:
        return None
    batches = _loaded(evidence, measured)
    return find_pressure(
        batches,
        origin_us=evidence.origin_us,
        load_end_us=evidence.closed_us,
        trigger_s=evidence.settings.trigger_s,
        latencies_s=[mean_latency_s(evidence, b) for b in batches],
        excused_s=excused_s,
    )


def _judge_level(evidence: Evidence, measured: MeasuredPart, most: Capacity | None) -> BacklogTrend:
    if evidence.is_offline:
        return BacklogTrend(None, None, None, Verdict.UNKNOWN, "not asked: all events were there at once")
    times_s, backlog = backlog_series(evidence, measured)
    seen_per_s = offered_rate(evidence.schedule, evidence.origin_us, measured.from_us, measured.until_us)
    rate_per_s = seen_per_s or evidence.settings.rate_per_s
    left = [b.left for b in measured.batches]
    return judge_backlog(times_s, backlog, rate_per_s=rate_per_s, left=left, capacity=most)


def _judge_varying(evidence: Evidence, measured: MeasuredPart, signs: LoadSigns) -> BacklogTrend:
    starts_s = _since_start_s(evidence, [b.started_us for b in measured.batches])
    until_s = _since_start_s(evidence, [measured.until_us])[0]
    return judge_following(starts_s, [b.left for b in measured.batches], until_s=until_s, signs=signs)


def _since_start_s(evidence: Evidence, times_us: Sequence[int]) -> list[float]:
    return [(time_us - evidence.origin_us) / 1e6 for time_us in times_us]


def _ages(evidence: Evidence, measured: MeasuredPart) -> tuple[list[float], list[float]]:
    """Return the age of the oldest waiting event when micro-batches start, and when the load ends, with the times."""
    started = [b for b in _loaded(evidence, measured) if b.started_us < measured.until_us]
    moments = [(b.started_us, b.first) for b in started]
    taken = started[-1].last if started else measured.first_event
    moments.append((measured.until_us, min(taken, evidence.offered - 1)))
    times_us = [time_us for time_us, _ in moments]
    due_us = evidence.schedule.times_us([n for _, n in moments])
    ages_s = [
        max(0.0, time_us - evidence.origin_us - int(due)) / 1e6 for time_us, due in zip(times_us, due_us, strict=True)
    ]
    return _since_start_s(evidence, times_us), ages_s
