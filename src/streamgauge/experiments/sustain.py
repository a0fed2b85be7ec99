"""The highest rate that a workload sustains, as an interval between a rate that passes and a rate that fails.

Every probe has a Java process of its own, as a run by itself would have: Java that has run the query before, in other
probes, has compiled it better, and would promise rates that no new process reaches. The answer is verified once, and
an offline load shows about where to begin.
"""

import math
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Unpack

from streamgauge.clock import Clock
from streamgauge.engine.engine import find_engine, temporary_session
from streamgauge.errors import UsageError, closest
from streamgauge.events import Parameters
from streamgauge.experiments.probes import Parts, combine_reasons, reached_per_s
from streamgauge.experiments.resumable import interruptible, open_resumable
from streamgauge.measure.search import Outcome, Probe, Search, SearchSettings
from streamgauge.metrics import METRIC, PERCENTILES
from streamgauge.running.lifecycle import prepare
from streamgauge.running.monitor import Monitor, NoMonitor
from streamgauge.settings.keywords import SustainKeywords
from streamgauge.settings.run_settings import RunSettings
from streamgauge.settings.signature import takes_settings
from streamgauge.settings.table import with_defaults
from streamgauge.store import SetWriter, runs_root
from streamgauge.summary import Summary
from streamgauge.units import format_rate, parse_duration, parse_share
from streamgauge.verdict import Verdict
from streamgauge.workloads import Workload

LATENCY_LIMIT = re.compile(rf"\s*({'|'.join(PERCENTILES)})\s*<=?\s*(\S.*)")
MIN_RAMP_S = 1.0
# A rate that is sustained is drained after a few micro-batches of the longest kind.
DRAIN_BATCHES = 4.0


@dataclass(frozen=True)
class LatencyLimit:
    """A statistic of the end-to-end latency that must stay below a number of seconds."""

    statistic: str
    below_s: float

    def judge(self, summary: Summary) -> tuple[Verdict, str]:
        """Judge a run; a statistic that it does not have is unknown."""
        value = METRIC[f"end_to_end_latency_s.{self.statistic}"].value(summary)
        if value is None:
            return Verdict.UNKNOWN, f"too few events for {self.statistic} of the end-to-end latency"
        verdict = Verdict.PASS if value < self.below_s else Verdict.FAIL
        return verdict, f"{self.statistic} of the end-to-end latency is {value:.3g} s, the limit {self.below_s:g} s"


def parse_latency_limit(text: str) -> LatencyLimit:
    """Read a limit as people write it.

    >>> parse_latency_limit("p95<2s")
    LatencyLimit(statistic='p95', below_s=2.0)
    """
    match = LATENCY_LIMIT.fullmatch(text)
    if not match:
        name = re.split(r"[<\s]", text.strip())[0]
        remedy = closest(name, ["mean", "p50", "p90", "p95", "p99", "max"]) if "<" in text else "write e.g. p95<2s"
        raise UsageError(f'"{text}" is not a limit of a latency', where="--limit", remedy=remedy)
    return LatencyLimit(match[1], parse_duration(match[2], where="--limit"))


@dataclass(frozen=True)
class Sustained:
    """What a search found, and where its runs are."""

    set_id: str
    workload: str
    search: Search
    root: Path

    @property
    def verdict(self) -> Verdict:
        """Pass when both ends of the interval are known as precisely as asked for."""
        return Verdict.PASS if self.search.outcome is Outcome.PRECISE else Verdict.UNKNOWN

    def document(self) -> dict[str, Any]:
        """Return the answer; the keys are those of `sustain --json`."""
        bracket = self.search.bracket
        return {
            "set_id": self.set_id,
            "workload": self.workload,
            "verdict": self.verdict.value,
            "reason": self.search.reason,
            "sustainable_rate_per_s": {"low": bracket.low_per_s, "high": bracket.high_per_s},
            "interval_probability": self.search.interval_probability,
            "capacity_scatter": self.search.scatter,
            "probes": [
                {
                    "rate_per_s": probe.rate_per_s,
                    "verdict": probe.verdict.value,
                    "run_id": probe.run_id,
                    "duration_s": probe.duration_s,
                    "capacity_per_s": probe.capacity_per_s,
                    "reasons": list(probe.reasons),
                }
                for probe in self.search.probes
            ],
        }


def rising(warmup: str | float) -> str:
    """Return the law of a probe: the rate is reached at the end of the warm-up, and stays.

    >>> rising("15s")
    'ramp(over=15s)'
    >>> rising(0)
    'constant'
    """
    over_s = parse_duration(warmup, where="--warmup")
    return f"ramp(over={over_s:g}s)" if over_s >= MIN_RAMP_S else "constant"


@takes_settings("sustain")
def sustain(
    workload: str,
    *,
    within: str | float = "5%",
    budget: str | float | None = None,
    limit: str | None = None,
    resume: str | None = None,
    runs: str | Path | None = None,
    monitor: Monitor | None = None,
    **settings: Unpack[SustainKeywords],
) -> Sustained:
    """Search for the highest rate that a workload sustains; `settings` are those of `run`, for every probe.

    >>> import streamgauge as sg
    >>> sg.sustain("ysb", within="10%", budget="8min").search.bracket  # doctest: +SKIP
    """
    # A search is over constant rates, whatever load a prototype file describes.
    law = rising(with_defaults(settings, {}, "sustain")["warmup"])
    chosen, checked, parsed = prepare(workload, {**settings, "load": "open", "arrivals": law}, command="sustain")
    root = runs_root(runs)
    searching = _Searching(
        workload=chosen,
        parameters=checked,
        settings=parsed,
        root=root,
        monitor=monitor or NoMonitor(),
        clock=find_engine(parsed.engine).clock(),
        limit=parse_latency_limit(limit) if limit else None,
        within=parse_share(within, where="--within", below=math.inf),
        budget_s=None if budget is None else parse_duration(budget, where="--budget"),
        first_per_s=None if settings.get("rate") is None else parsed.rate_per_s,
    )
    return searching.execute(resume)


@dataclass
class _Searching:
    """Searches for the highest rate."""

    workload: Workload
    parameters: Parameters
    settings: RunSettings
    root: Path
    monitor: Monitor
    clock: Clock
    limit: LatencyLimit | None
    within: float
    budget_s: float | None
    first_per_s: float | None

    def execute(self, resume: str | None) -> Sustained:
        """Search until the interval is narrow enough or the budget is spent; every probe is stored at once."""
        self.started_s = self.clock.monotonic_s()
        name = self.workload.name
        asked = {"workload": name, "configuration": self._asked()}
        writer = open_resumable(
            self.root, resume, kind="sustain", title=name, document=asked, same=("configuration",), clock=self.clock
        )
        with interruptible(writer, lambda: f"{_probes_in(writer)} probes are done"):
            search = self._search(writer)
        found = Sustained(writer.set_id, self.workload.name, search, self.root)
        writer.update(status="finished", result=found.document())
        return found

    def _asked(self) -> dict[str, Any]:
        """Return what the probes have in common; a search is resumed only with the same."""
        limit = None if self.limit is None else f"{self.limit.statistic}<{self.limit.below_s:g}s"
        document = self.settings.document() | {"parameters": self.parameters.model_dump(), "limit": limit}
        return {key: value for key, value in document.items() if key not in ("rate_per_s", "verify")}

    def _search(self, writer: SetWriter) -> Search:
        verify = self.settings.verify
        parts = Parts(self.workload, self.parameters, self.root, self.monitor, self.clock, None, verify)
        if "search" in writer.document:
            search = Search.from_dict(writer.document["search"])
            search.settings = replace(search.settings, within=self.within, budget_s=self._left_s(search.spent_s))
        else:
            expected = None if self.first_per_s else self._guess(parts, writer)
            search = Search(
                SearchSettings(
                    self.first_per_s or self.settings.rate_per_s,
                    within=self.within,
                    budget_s=self._left_s(0.0),
                    probe_s=self.settings.load_s,
                    confirm=True,
                    expected_per_s=expected,
                )
            )
        while (rate_per_s := search.next_rate()) is not None:
            search.add(self._probe(parts, rate_per_s, search, writer))
            writer.update(search=search.to_dict())
        return search

    def _left_s(self, spent_s: float) -> float | None:
        """Return the budget for all probes: what is left after the start, and what earlier ones have spent."""
        if self.budget_s is None:
            return None
        return max(1.0, self.budget_s - (self.clock.monotonic_s() - self.started_s)) + spent_s

    def _guess(self, parts: Parts, writer: SetWriter) -> float | None:
        """Return about where the border is: what the query reaches when all events are there at once.

        Six searches ended between 65 % and 125 % of it: a query that waits for events is compiled later, and this
        one has not run for long.
        """
        engine = find_engine(self.settings.engine)
        with temporary_session(engine, self.settings, self.clock) as session:
            guessing = replace(parts, session=session)
            found = guessing.run_offline(self.settings, "first guess: ")
        parts.verify = guessing.verify
        writer.add(found.run_id, role="first guess", verdict=found.verdict)
        return reached_per_s(found)

    def _settings_of_probe(self, rate_per_s: float) -> RunSettings:
        """Return the settings of the next probe; it does not wait for all that too high a load has left over."""
        drain_s = min(self.settings.drain_s, DRAIN_BATCHES * self.settings.admission_target_s)
        return replace(self.settings, rate_per_s=rate_per_s, drain_s=drain_s)

    def _probe(self, parts: Parts, rate_per_s: float, search: Search, writer: SetWriter) -> Probe:
        began_s = self.clock.monotonic_s()
        bracket = search.bracket
        low = "?" if bracket.low_per_s is None else format_rate(bracket.low_per_s)
        high = "?" if bracket.high_per_s is None else format_rate(bracket.high_per_s)
        number = len(search.probes) + 1
        prefix = f"probe {number} at {format_rate(rate_per_s)}, between {low} and {high}: "
        found = parts.run(self._settings_of_probe(rate_per_s), prefix)
        verdict, reasons = judge_probe(found.summary, self.limit)
        writer.add(found.run_id, role="probe", rate_per_s=rate_per_s, verdict=verdict.value)
        # Under a limit of the latency the border is below what the query could process.
        capacity_per_s = None if self.limit else found.summary["capacity_per_s"]
        return Probe(rate_per_s, verdict, self.clock.monotonic_s() - began_s, found.run_id, reasons, capacity_per_s)


def _probes_in(writer: SetWriter) -> int:
    return sum(member.get("role") == "probe" for member in writer.document["members"])


def judge_probe(summary: Summary, limit: LatencyLimit | None) -> tuple[Verdict, tuple[str, ...]]:
    """Judge whether a rate is sustained.

    A run with too few micro-batches for a steady state can still show that its queue stays empty.
    """
    steady = summary["steady_state"]
    found = [
        (Verdict(f["verdict"]), str(f["reason"]))
        for f in summary["findings"]
        if f["question"] != "steady" or steady["change"] is not None
    ]
    if limit is not None:
        found.append(limit.judge(summary))
    return combine_reasons(found)
