"""A server of known capacity: it makes the micro-batches of a run in no time, for the real verdict to judge."""

from dataclasses import dataclass

import numpy as np

from streamgauge.arrivals import Constant, Schedule
from streamgauge.conclude.evidence import Evidence
from streamgauge.conclude.judgement import judge_run
from streamgauge.conclude.window import measured_part
from streamgauge.measure import Batch
from streamgauge.measure.search import Probe
from streamgauge.settings.run_settings import RunSettings
from streamgauge.verdict import Verdict

from .samples import ORIGIN_US, PHASES_S, at_us

COMMIT_LOG_S = 0.01


@dataclass(frozen=True)
class Server:
    """A micro-batch takes a fixed time and the work of its events, which the cores share evenly.

    Events have independent, exponential service times, so the work of n of them has the gamma distribution; each core
    takes its share of a batch, and the slowest core ends it. Every batch is disturbed as a whole, too, by
    `noise` of its time.
    """

    cores: int = 2
    service_s: float = 2e-4
    overhead_s: float = 0.1
    noise: float = 0.05
    limit: int | None = None
    trigger_s: float = 0.0

    @property
    def capacity_per_s(self) -> float:
        """The rate at which the queue stops being stable: that of endless batches, or of those at the limit."""
        if self.limit is None:
            return self.cores / self.service_s
        return self.limit / (self.overhead_s + self.limit * self.service_s / self.cores)

    def _duration_s(self, events: int, rng: np.random.Generator) -> float:
        shares = np.full(self.cores, events // self.cores) + (np.arange(self.cores) < events % self.cores)
        work_s = self.service_s * float(rng.gamma(np.maximum(shares, 1e-9)).max())
        # Log-normal with mean 1, so that noise does not change the capacity.
        return (self.overhead_s + work_s) * float(rng.lognormal(-(self.noise**2) / 2, self.noise))

    def batches(
        self, schedule: Schedule, rng: np.random.Generator, *, until_s: float, stalls: dict[float, float] | None = None
    ) -> list[Batch]:
        """Process a load until it is done or `until_s` has come.

        `stalls` are extra seconds for the first batch that starts at or after each of the times.
        """
        found, start_s, waiting = [_batch(0, -1.0, 0.2, 0, 0, 0)], 0.0, sorted((stalls or {}).items())
        while found[-1].last < schedule.total and start_s < until_s:
            first, created = found[-1].last, int(schedule.created(round(start_s * 1e6)))
            if created == first:
                start_s += 0.01
                continue
            last = created if self.limit is None else min(created, first + self.limit)
            duration_s = self._duration_s(last - first, rng)
            if waiting and start_s >= waiting[0][0]:
                duration_s += waiting.pop(0)[1]
            found.append(_batch(len(found), start_s, duration_s, first, last, created - last))
            start_s = self._next_start_s(start_s, start_s + duration_s)
        return found

    def _next_start_s(self, start_s: float, free_s: float) -> float:
        if not self.trigger_s:
            return free_s
        due_s = (np.floor(start_s / self.trigger_s + 1e-9) + 1) * self.trigger_s
        return max(float(due_s), free_s)

    def run(self, rate_per_s: float, *, warmup_s: float, duration_s: float, rng: np.random.Generator) -> Evidence:
        """Offer a constant rate and return all that a run would leave behind."""
        settings = RunSettings(
            rate_per_s, duration_s, warmup_s=warmup_s, drain_s=30.0, master="local[2]", max_rows_per_batch=self.limit
        )
        schedule = Constant(rate_per_s).schedule(settings.load_s)
        return Evidence(
            settings=settings,
            schedule=schedule,
            origin_us=ORIGIN_US,
            closed_us=at_us(settings.load_s),
            batches=self.batches(schedule, rng, until_s=settings.load_s + settings.drain_s),
            cores=self.cores,
            output_mode="append",
        )

    def probe(self, rate_per_s: float, *, warmup_s: float, duration_s: float, rng: np.random.Generator) -> Probe:
        """Run and judge."""
        verdict, reasons = judge(self.run(rate_per_s, warmup_s=warmup_s, duration_s=duration_s, rng=rng))
        return Probe(rate_per_s, verdict, warmup_s + duration_s, reasons=reasons)


def judge(evidence: Evidence) -> tuple[Verdict, tuple[str, ...]]:
    """Return the verdict of a run as its summary has it, without the other numbers of the summary."""
    found = judge_run(evidence, measured_part(evidence), None)
    return found.verdict, tuple(f.reason for f in found.findings if f.verdict is not Verdict.PASS)


def _batch(batch_id: int, start_s: float, duration_s: float, first: int, last: int, left: int) -> Batch:
    emitted_us, finished_us = at_us(start_s + duration_s - COMMIT_LOG_S), at_us(start_s + duration_s)
    return Batch(batch_id, at_us(start_s), emitted_us, finished_us, first, last, left, PHASES_S)
