"""Runs that are parts of one larger experiment: the same workload, in one Spark session or each in its own."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from streamgauge.clock import Clock
from streamgauge.engine.engine import Session
from streamgauge.errors import RunFailedError, UsageError
from streamgauge.events import Parameters
from streamgauge.measure.rates import rate_of
from streamgauge.running.lifecycle import Run, execute, new_run
from streamgauge.running.monitor import Monitor, Prefixed
from streamgauge.settings.run_settings import RunSettings
from streamgauge.settings.table import usual_rate
from streamgauge.units import parse_rate
from streamgauge.verdict import Verdict
from streamgauge.workloads import Workload

# How many events an offline load holds at first: enough for several micro-batches of most queries.
OFFLINE_RATE_PER_S = parse_rate(usual_rate("offline"))
OFFLINE_WARMUP_S = 2.0
OFFLINE_S = 10.0
# A query that is through with them sooner gets as many as it can process in that time, which grows as Java compiles it.
MIN_OFFLINE_S = 5.0
MAX_OFFLINE_RUNS = 3


@dataclass
class Parts:
    """Makes runs one after the other; the answer is verified in the first of them, because it does not change."""

    workload: Workload
    parameters: Parameters
    root: Path
    monitor: Monitor
    clock: Clock
    session: Session | None
    verify: bool

    def run(self, settings: RunSettings, prefix: str) -> Run:
        """Make a run, with `prefix` before every line of its progress."""
        made = new_run(
            self.workload,
            self.workload.at_rate(self.parameters, settings.law.mean_rate_per_s(settings.load_s)),
            replace(settings, verify=self.verify, explore=False),
            self.root,
            Prefixed(self.monitor, prefix),
            clock=self.clock,
            session=self.session,
        )
        found = execute(made)
        if found.stored().status == "interrupted":
            raise KeyboardInterrupt
        refuse_wrong_answer(found)
        self.verify = False
        return found

    def run_offline(self, settings: RunSettings, prefix: str) -> Run:
        """Find out about how fast the query is when all events are there at once."""
        if settings.source != "embedded":
            what = f"how fast the query can be is found with all events at once, which {settings.source} cannot give"
            raise UsageError(what, where="--source", remedy="use --source embedded")
        offline = replace(
            settings,
            load="offline",
            arrivals="constant",
            rate_per_s=OFFLINE_RATE_PER_S,
            warmup_s=OFFLINE_WARMUP_S,
            duration_s=OFFLINE_S,
        )
        for _ in range(MAX_OFFLINE_RUNS):
            found = self.run(offline, prefix)
            rate_per_s, measured = found.summary["processed_rate_per_s"], found.summary["steady_state"]
            if rate_per_s is None or measured["until_s"] - measured["from_s"] >= MIN_OFFLINE_S:
                break
            offline = replace(offline, rate_per_s=rate_per_s)
        return found


def combine_reasons(found: Sequence[tuple[Verdict, str]]) -> tuple[Verdict, tuple[str, ...]]:
    """Return the verdict over several questions, and the reasons of those that do not pass."""
    reasons = tuple(reason for verdict, reason in found if verdict is not Verdict.PASS)
    return Verdict.combine(verdict for verdict, _ in found), reasons


def reached_per_s(found: Run) -> float | None:
    """Return how many events per second an offline run processed, also where its time was over in the warm-up."""
    known: float | None = found.summary["processed_rate_per_s"]
    if known is not None:
        return known
    batches = found.stored().table("batches")
    if batches is None:
        return None
    rows = batches.select(["emitted_us", "last", "events"]).to_pylist()
    return rate_of([(row["emitted_us"], row["last"]) for row in rows if row["events"]], level=False)


def refuse_wrong_answer(found: Run) -> None:
    """End the experiment when the first of its runs has a wrong answer: how fast that comes does not matter."""
    answer = found.summary["answer"]
    if answer is not None and answer["verdict"] == "fail":
        raise RunFailedError(
            f"wrong answer: {answer['rows_missing']} rows missing and {answer['rows_extra']} extra",
            where=found.run_id,
            remedy=f"see `streamgauge verify {found.summary['workload']}`",
        )
