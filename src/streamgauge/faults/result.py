"""What faults did to the results of a run, and how long it took to get over them."""

from dataclasses import dataclass
from typing import Any

from streamgauge.conclude.findings import Finding
from streamgauge.faults.kinds import Strike
from streamgauge.faults.plan import BETWEEN_SINK_AND_COMMIT, PlannedFault
from streamgauge.running.sinks.counted import Guarantee
from streamgauge.running.verify import Differences
from streamgauge.verdict import Verdict


@dataclass(frozen=True)
class Outage:
    """How long it took; times in seconds of the load, durations since the fault, None for what was not seen."""

    restarted_at_s: float | None
    ready_s: float | None
    recovery_s: float | None
    caught_up_s: float | None
    caught_up_reason: str | None
    peak_latency_s: float | None
    peak_backlog_events: int | None


@dataclass(frozen=True)
class Fault:
    """What faults did to the results; None for what is not known.

    `recovered` counts the results of events created before the first fault that came out, or out again, after it.
    `smallest` is the smallest part of a drawn sequence that still fails, if it was looked for. `doubles_hidden` says
    why a row that was written twice could not be seen, None where it could.
    """

    set_id: str
    run_id: str
    workload: str
    findings: tuple[Finding, ...]
    origin_us: int
    events: int
    strikes: tuple[Strike, ...] = ()
    outages: tuple[Outage, ...] = ()
    differences: Differences | None = None
    recovered: int | None = None
    events_replayed: int | None = None
    sink: str = "foreach-batch"
    guarantee: Guarantee = "exactly-once"
    planned: tuple[PlannedFault, ...] = ()
    smallest: tuple[PlannedFault, ...] | None = None
    doubles_hidden: str | None = None

    @property
    def verdict(self) -> Verdict:
        """Pass when every fault fired and the sink's promise is kept, as far as it can be seen."""
        return Verdict.combine(f.verdict for f in self.findings)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why it is not a pass."""
        return tuple(f.reason for f in self.findings if f.verdict is not Verdict.PASS)

    @property
    def warnings(self) -> tuple[str, ...]:
        """What the verdict does not cover."""
        if self.doubles_hidden is None:
            return ()
        note = (
            f"doubled results are not visible: {self.doubles_hidden}; a pass means that nothing is lost and nothing is "
            "wrong. To see doubles, use a workload in append mode and a sink that keeps every row"
        )
        return (note,)

    @property
    def rows_doubled(self) -> int | None:
        """How many results came too often, None where that is not known."""
        return None if self.differences is None or self.doubles_hidden else self.differences.rows_doubled

    @property
    def first(self) -> Strike | None:
        """The first fault that was made."""
        return self.strikes[0] if self.strikes else None

    @property
    def killed_at_s(self) -> float | None:
        """When the first fault was made, in seconds of the load."""
        return None if self.first is None else self.at_s(self.first.at_us)

    def at_s(self, at_us: int) -> float:
        """Return a time in seconds of the load."""
        return (at_us - self.origin_us) / 1e6

    def document(self) -> dict[str, Any]:
        """Return the answer; the keys are those of `fault --json`."""
        found, first = self.differences, self.first
        outage = self.outages[0] if self.outages else None
        return {
            "set_id": self.set_id,
            "run_id": self.run_id,
            "workload": self.workload,
            "sink": self.sink,
            "guarantee": self.guarantee,
            "verdict": self.verdict.value,
            "reason": "; ".join(self.reasons) or None,
            "warnings": list(self.warnings),
            "planned": [str(fault) for fault in self.planned],
            "smallest": None if self.smallest is None else [str(fault) for fault in self.smallest],
            "faults": self._faults(),
            "killed_at_s": self.killed_at_s,
            "batch_in_flight": first and first.in_flight and first.in_flight.batch_id,
            "batches_committed": first and first.batches_committed,
            "driver_return_code": first and first.return_code,
            "processes_killed": first and list(first.processes),
            "restarted_at_s": outage and outage.restarted_at_s,
            "ready_s": outage and outage.ready_s,
            "recovery_s": outage and outage.recovery_s,
            "caught_up_s": outage and outage.caught_up_s,
            "caught_up_reason": outage and outage.caught_up_reason,
            "peak_latency_s": outage and outage.peak_latency_s,
            "peak_backlog_events": outage and outage.peak_backlog_events,
            "rows_expected": found and found.rows_expected,
            "rows_lost": found and found.rows_missing,
            "rows_doubled": self.rows_doubled,
            "rows_foreign": found and found.rows_foreign,
            "rows_recovered": self.recovered,
            "events": self.events,
            "events_replayed": self.events_replayed,
            "examples": found.examples if found else {},
        }

    def _faults(self) -> list[dict[str, Any]]:
        """Return each fault with its proof and what it did to the latency."""
        outages = [*self.outages, *[None] * (len(self.strikes) - len(self.outages))]
        return [
            {
                "name": strike.kind,
                "at_s": self.at_s(strike.at_us),
                "ended_at_s": self.at_s(strike.ended_us),
                "point": strike.point,
                "point_is_proven": strike.point_proof is not None if strike.point == BETWEEN_SINK_AND_COMMIT else None,
                "point_detail": strike.point_proof or strike.point_doubt,
                "rows_in_sink": strike.rows_in_sink,
                "is_proven": strike.doubt is None,
                "detail": strike.proof if strike.doubt is None else strike.doubt,
                "batch_in_flight": strike.in_flight and strike.in_flight.batch_id,
                "batches_committed": strike.batches_committed,
                "restarted_at_s": outage and outage.restarted_at_s,
                "recovery_s": outage and outage.recovery_s,
                "peak_latency_s": outage and outage.peak_latency_s,
                "peak_backlog_events": outage and outage.peak_backlog_events,
            }
            for strike, outage in zip(self.strikes, outages, strict=True)
        ]
