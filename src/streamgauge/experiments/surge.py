"""A spike above capacity: the peaks of latency and backlog, and the time to recover.

The load has one rate, then for some seconds a much higher one, then the first again. The query has recovered when
backlog and latency are as before the spike.
"""

from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Unpack

from streamgauge.clock import Clock
from streamgauge.conclude.stored_run import evidence_of
from streamgauge.engine.engine import Session, find_engine, temporary_session
from streamgauge.errors import RunFailedError, UsageError
from streamgauge.events import Parameters
from streamgauge.experiments.probes import Parts, combine_reasons, reached_per_s
from streamgauge.experiments.resumable import interruptible, open_resumable
from streamgauge.measure import Recovery, recovery_of_batches
from streamgauge.running.lifecycle import Run, prepare
from streamgauge.running.monitor import Monitor, NoMonitor
from streamgauge.settings.keywords import SurgeKeywords
from streamgauge.settings.run_settings import RunSettings
from streamgauge.settings.signature import takes_settings
from streamgauge.store import SetWriter, runs_root
from streamgauge.summary import Summary
from streamgauge.units import format_rate, parse_duration, parse_rate
from streamgauge.verdict import Verdict
from streamgauge.workloads import Workload

BASE_SHARE = 0.3
SPIKE_SHARE = 1.5
# The spike begins after this share of the measured time.
SPIKE_AT = 0.25


@dataclass(frozen=True)
class Surge:
    """What a spike did; `capacity_per_s` is the offline maximum, None when both rates were given."""

    set_id: str
    workload: str
    run_id: str
    verdict: Verdict
    reasons: tuple[str, ...]
    base_rate_per_s: float
    spike_rate_per_s: float
    spike_start_s: float
    spike_end_s: float
    capacity_per_s: float | None
    peak_latency_s: float | None
    recovery: Recovery

    def document(self) -> dict[str, Any]:
        """Return the answer; the keys are those of `surge --json`."""
        return {
            "set_id": self.set_id,
            "workload": self.workload,
            "run_id": self.run_id,
            "verdict": self.verdict.value,
            "reasons": list(self.reasons),
            "base_rate_per_s": self.base_rate_per_s,
            "spike_rate_per_s": self.spike_rate_per_s,
            "spike_start_s": self.spike_start_s,
            "spike_end_s": self.spike_end_s,
            "capacity_per_s": self.capacity_per_s,
            "peak_latency_s": self.peak_latency_s,
            "peak_backlog_events": self.recovery.backlog.peak,
            "time_to_recover_s": self.recovery.time_to_recover_s,
            "reason": self.recovery.reason,
            "recovery": asdict(self.recovery),
        }


@takes_settings("surge")
def surge(
    workload: str,
    *,
    spike: str | float | None = None,
    spike_duration: str | float = "5s",
    runs: str | Path | None = None,
    monitor: Monitor | None = None,
    **settings: Unpack[SurgeKeywords],
) -> Surge:
    """Offer a spike of `spike` events per second on top of a load of `rate`; other settings are those of `run`.

    Rates that are not given follow from the maximum of an offline load: 30 % of it before and after, 150 % in the
    spike.

    >>> import streamgauge as sg
    >>> sg.surge("nexmark-q1").recovery.time_to_recover_s  # doctest: +SKIP
    """
    asked = {**settings, "load": "open", "arrivals": "constant"}
    chosen, checked, parsed = prepare(workload, asked, command="surge")
    spike_s = parse_duration(spike_duration, where="--spike-duration", minimum_s=0.1)
    if spike_s > parsed.duration_s / 2:
        raise UsageError(
            "the spike takes more than half of the measured time",
            where="--spike-duration",
            remedy="raise --duration, so that there is time to recover",
        )
    surging = _Surging(
        workload=chosen,
        parameters=checked,
        settings=parsed,
        base_per_s=None if settings.get("rate") is None else parsed.rate_per_s,
        spike_per_s=None if spike is None else parse_rate(spike, where="--spike"),
        spike_s=spike_s,
        root=runs_root(runs),
        monitor=monitor or NoMonitor(),
        clock=find_engine(parsed.engine).clock(),
    )
    return surging.execute()


@dataclass
class _Surging:
    """Runs a surge and judges it."""

    workload: Workload
    parameters: Parameters
    settings: RunSettings
    base_per_s: float | None
    spike_per_s: float | None
    spike_s: float
    root: Path
    monitor: Monitor
    clock: Clock
    capacity_per_s: float | None = None

    def execute(self) -> Surge:
        """Find the capacity if it is needed, make the run, and judge it."""
        self._refuse_no_spike()
        name = self.workload.name
        writer = open_resumable(self.root, None, kind="surge", title=name, document={"workload": name})
        engine = find_engine(self.settings.engine)
        with interruptible(writer), temporary_session(engine, self.settings, self.clock) as session:
            found = self._surge(session, writer)
        writer.update(status="finished", result=found.document())
        return found

    def _refuse_no_spike(self) -> None:
        if self.base_per_s is not None and self.spike_per_s is not None and self.spike_per_s <= self.base_per_s:
            raise UsageError(
                f"a spike of {format_rate(self.spike_per_s)} does not rise above {format_rate(self.base_per_s)}",
                where="--spike",
                remedy="use a higher rate than --rate",
            )

    def _surge(self, session: Session, writer: SetWriter) -> Surge:
        verify = self.settings.verify
        parts = Parts(self.workload, self.parameters, self.root, self.monitor, self.clock, session, verify)
        if self.base_per_s is None or self.spike_per_s is None:
            offline = parts.run_offline(self.settings, "capacity: ")
            writer.add(offline.run_id, role="capacity", verdict=offline.verdict)
            self.capacity_per_s = reached_per_s(offline)
            if self.capacity_per_s is None:
                raise RunFailedError(
                    "the offline load shows no capacity",
                    remedy="give both rates, with --rate and --spike",
                )
        base_per_s = self.base_per_s or BASE_SHARE * (self.capacity_per_s or 0)
        spike_per_s = self.spike_per_s or SPIKE_SHARE * (self.capacity_per_s or 0)
        self.base_per_s, self.spike_per_s = float(round(base_per_s)), float(round(spike_per_s))
        self._refuse_no_spike()
        start_s = self.settings.warmup_s + SPIKE_AT * self.settings.duration_s
        arrivals = (
            f"constant(rate={self.base_per_s:.0f}) for {start_s:g}s "
            f"then constant(rate={self.spike_per_s:.0f}) for {self.spike_s:g}s "
            f"then constant(rate={self.base_per_s:.0f})"
        )
        settings = replace(self.settings, arrivals=arrivals, rate_per_s=self.base_per_s)
        found = parts.run(settings, "surge: ")
        writer.add(found.run_id, role="surge", verdict=found.verdict)
        return self._judge(found, writer.set_id, start_s)

    def _judge(self, found: Run, set_id: str, start_s: float) -> Surge:
        recovery = recovery_of(found, start_s, start_s + self.spike_s)
        verdict, reasons = judge_surge(found.summary, recovery)
        spike_per_s = self.spike_per_s or 0.0
        if self.capacity_per_s is not None and spike_per_s <= self.capacity_per_s:
            capacity = format_rate(self.capacity_per_s)
            reasons = (*reasons, f"the spike of {format_rate(spike_per_s)} stays below the capacity of {capacity}")
        return Surge(
            set_id=set_id,
            workload=self.workload.name,
            run_id=found.run_id,
            verdict=verdict,
            reasons=reasons,
            base_rate_per_s=self.base_per_s or 0.0,
            spike_rate_per_s=spike_per_s,
            spike_start_s=start_s,
            spike_end_s=start_s + self.spike_s,
            capacity_per_s=self.capacity_per_s,
            peak_latency_s=found.summary["end_to_end_latency_s"]["max"],
            recovery=recovery,
        )


def recovery_of(found: Run, spike_start_s: float, spike_end_s: float) -> Recovery:
    """Return when backlog and latency were back at their levels before the spike, by the micro-batches of a run."""
    evidence = evidence_of(found.stored())
    return recovery_of_batches(
        evidence.batches,
        evidence.schedule,
        origin_us=evidence.origin_us,
        closed_us=evidence.closed_us,
        spike_start_s=spike_start_s,
        spike_end_s=spike_end_s,
        settled_from_s=evidence.settings.warmup_s,
    )


def judge_surge(summary: Summary, recovery: Recovery) -> tuple[Verdict, tuple[str, ...]]:
    """Pass when the query recovered, fail when it was seen not to; what spoils a run spoils this answer too."""
    found = [
        (Verdict(f["verdict"]), str(f["reason"]))
        for f in summary["findings"]
        if f["question"] in ("evidence", "clock", "answer", "complete")
    ]
    if recovery.time_to_recover_s is not None:
        found.append((Verdict.PASS, recovery.reason))
    else:
        parts = (recovery.backlog, recovery.latency)
        seen = all(part.band is not None and part.peak is not None for part in parts)
        found.append((Verdict.FAIL if seen else Verdict.UNKNOWN, recovery.reason))
    return combine_reasons(found)
