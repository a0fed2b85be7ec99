"""The part of a run that counts, and what is read from it alone."""

import os
from dataclasses import dataclass

from streamgauge.conclude.evidence import Evidence
from streamgauge.measure import (
    Batch,
    Histogram,
    SteadyState,
    batch_latency,
    find_steady_state,
    is_level,
    processed_rate,
)
from streamgauge.measure.contention import Contention, contention_of


@dataclass(frozen=True)
class MeasuredPart:
    """The part of a run that counts: the time under load after the warm-up and after the steady-state cut.

    `batches` are those emitted in that time; `first_event` is the first event created in it. `level` says whether
    the load has one rate, so that there is a steady state to look for.
    """

    batches: list[Batch]
    steady: SteadyState
    first_event: int
    from_us: int
    until_us: int
    level: bool = True


def contention_in(evidence: Evidence, measured: MeasuredPart) -> Contention | None:
    """Return what others took of this machine in the measured time, or in all of it if that was too short to see."""
    inside = [s for s in evidence.resources if measured.from_us <= s.at_us <= measured.until_us]
    return contention_of(inside if len(inside) > 1 else evidence.resources, os.cpu_count())


def measured_part(evidence: Evidence, from_s: float | None = None) -> MeasuredPart:
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
        steady = find_steady_state([mean_latency_s(evidence, b) for b in inside])
    if steady.cut:
        from_us = inside[steady.cut].started_us
    first_event = int(evidence.schedule.created(from_us - evidence.origin_us - 1))
    return MeasuredPart(inside[steady.cut :], steady, first_event, from_us, until_us, level)


def _measured_offline(evidence: Evidence) -> MeasuredPart:
    """Drop the micro-batches that hold events of the warm-up; time counts from the last emission of those."""
    first_event = int(evidence.schedule.created(evidence.measured_from_us - evidence.origin_us - 1))
    busy = [b for b in evidence.batches if b.events]
    before = [b.emitted_us for b in busy if b.first < first_event]
    inside = [b for b in busy if b.first >= first_event]
    from_us = max(before, default=evidence.closed_us)
    # Rates are those of from_us <= t < until_us, and the last emission counts.
    until_us = inside[-1].emitted_us + 1 if inside else from_us
    steady = SteadyState(0, False, "not asked: an offline load has no latency")
    return MeasuredPart(inside, steady, first_event, from_us, until_us)


def emitted_latency(evidence: Evidence, batch: Batch) -> Histogram:
    """Return the latencies of a micro-batch or, where there is none, of the results in a slice of time."""
    if evidence.is_unbatched and evidence.emissions is not None:
        return evidence.emissions.in_slice(batch)
    return batch_latency(evidence.schedule, evidence.origin_us, batch)


def mean_latency_s(evidence: Evidence, batch: Batch) -> float:
    """Return the mean latency of a micro-batch, or of a slice of time."""
    return emitted_latency(evidence, batch).mean_s


def latency_histogram(evidence: Evidence, measured: MeasuredPart) -> Histogram:
    """Merge the latencies of all events created in the measured time, whenever they were emitted.

    Where results are timed one by one, these are the latencies of the results from these events; a stored run does not
    hold their times. Empty for an offline load: when its events were created says nothing about how long they waited.
    """
    total = Histogram.empty()
    if evidence.emissions is not None and not evidence.is_offline:
        return evidence.emissions.histogram(measured.from_us, evidence.closed_us)
    if evidence.is_offline or evidence.settings.timing == "record":
        return total
    for batch in evidence.batches:
        total += batch_latency(evidence.schedule, evidence.origin_us, batch, first=measured.first_event)
    return total


def backlog_series(evidence: Evidence, measured: MeasuredPart) -> tuple[list[float], list[int]]:
    """Return the backlog right after each emission of the measured time."""
    times_s = [(b.emitted_us - evidence.origin_us) / 1e6 for b in measured.batches]
    created = evidence.schedule.created([b.emitted_us - evidence.origin_us for b in measured.batches])
    return times_s, [int(n) - b.last for n, b in zip(created, measured.batches, strict=True)]


def _achieved_rate(evidence: Evidence, measured: MeasuredPart) -> float | None:
    """Return the processed rate of the measured part or, when too little of it finished, of the whole run."""
    rate = processed_rate(evidence.batches, measured.from_us, measured.until_us, level=measured.level)
    busy = [b for b in evidence.batches if b.events]
    if rate is not None or not busy:
        return rate
    start_us = evidence.closed_us if evidence.is_offline else evidence.origin_us
    return busy[-1].last / max(1e-3, (busy[-1].emitted_us - start_us) / 1e6)


def generator_share(evidence: Evidence, measured: MeasuredPart) -> float | None:
    """Return the share of all cores that making the events took, as far as that was measured."""
    rate_per_s = _achieved_rate(evidence, measured)
    if evidence.generator is None or rate_per_s is None:
        return None
    return rate_per_s * evidence.generator.core_s_per_event / evidence.cores
