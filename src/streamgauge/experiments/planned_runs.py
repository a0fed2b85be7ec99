"""Runs that are planned, one after the other, as members of a set; what the set holds is not re-run.

Every run starts a Spark of its own, so that runs of one configuration are replicates.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from streamgauge.clock import Clock, SystemClock
from streamgauge.conclude.stored_run import summary_of
from streamgauge.errors import EnvironmentNotReadyError, StreamgaugeError, UsageError
from streamgauge.experiments.quiet_runs import contention_reasons, is_contended
from streamgauge.experiments.resumable import interruptible
from streamgauge.metrics import METRIC
from streamgauge.running.interrupts import counted_interrupts
from streamgauge.running.lifecycle import Run, run
from streamgauge.running.monitor import Monitor, Prefixed
from streamgauge.store import SetWriter, StoredRun, open_member
from streamgauge.suite import Judgement, PlannedRun, RunResult, Threshold
from streamgauge.suite.reading import MAX_REPETITIONS
from streamgauge.summary import Summary
from streamgauge.verdict import Verdict

Measure = Callable[..., Run]


def check_repetitions(times: int, *, most: int = MAX_REPETITIONS) -> int:
    """Return a number of repetitions; refuse one that cannot be run."""
    if not 1 <= times <= most:
        raise UsageError(f"cannot repeat a run {times} times", where="--repeat", remedy=f"use 1 to {most}")
    return times


def run_planned(
    planned: Sequence[PlannedRun],
    writer: SetWriter,
    *,
    root: Path,
    monitor: Monitor,
    run: Measure = run,
    clock: Clock | None = None,
) -> list[RunResult]:
    """Run, in the given order, what the set does not hold yet; return the results of all, judged by their thresholds.

    A run that fails has the verdict unknown, and the others follow. When the machine is not ready or the user
    interrupts, the error says how to resume the set.
    """
    running = _Running(len(planned), writer, root, monitor, run, clock or SystemClock())
    results: list[RunResult] = []
    with interruptible(writer, lambda: f"{len(results)} of {len(planned)} runs are done"), counted_interrupts():
        for number, one in enumerate(planned, 1):
            results.append(running.result(number, one))
    return results


@dataclass(frozen=True)
class _Running:
    """Makes the runs of one set."""

    total: int
    writer: SetWriter
    root: Path
    monitor: Monitor
    run: Measure
    clock: Clock

    def result(self, number: int, planned: PlannedRun) -> RunResult:
        """Return what the set knows about a run, or run it."""
        known = known_result(planned, self.writer, self.root)
        if known is not None:
            return known
        began_s = self.clock.monotonic_s()
        run_id, reason = self._measure(planned, f"{number} of {self.total}, {planned.name}: ")
        took_s = self.clock.monotonic_s() - began_s
        if run_id is None:
            return _without_numbers(planned, reason, took_s=took_s)
        found = stored_result(planned, run_id, self.root, took_s=took_s)
        self.writer.add(
            run_id,
            key=planned.key,
            name=planned.configuration.name,
            repetition=planned.repetition,
            verdict=None if found.verdict is None else found.verdict.value,
            took_s=took_s,
        )
        return found

    def _measure(self, planned: PlannedRun, prefix: str) -> tuple[str | None, str]:
        """Run it; return the id of what was stored, if anything was, and why it failed."""
        # Sets compare runs; those of the model ask for more than that.
        arguments = {"explore": False} | planned.configuration.arguments()
        try:
            found = self.run(**arguments, runs=self.root, monitor=Prefixed(self.monitor, prefix))
        except EnvironmentNotReadyError:
            raise
        except StreamgaugeError as error:
            return error.run_id, str(error)
        # Incomplete: it is re-run when the set is resumed.
        if found.stored().status == "interrupted":
            raise KeyboardInterrupt
        return found.run_id, ""


def known_result(planned: PlannedRun, writer: SetWriter, root: Path) -> RunResult | None:
    """Return the result of a run that the set holds; None if it does not."""
    member = members_by_key(writer).get(planned.key)
    if member is None:
        return None
    return stored_result(planned, member["run_id"], root, took_s=float(member.get("took_s", 0.0)))


def stored_result(planned: PlannedRun, run_id: str, root: Path, *, took_s: float = 0.0) -> RunResult:
    """Judge a stored run by its thresholds; those of a run that did not finish are unknown."""
    try:
        stored = open_member(root, run_id)
        summary = summary_of(stored)
        verdict, reasons = _own_verdict(stored, summary, planned.configuration.ignored)
    except (StreamgaugeError, ValueError) as error:
        return _without_numbers(planned, str(error), run_id=run_id, took_s=took_s)
    numbers = summary if stored.status == "finished" else {}
    return RunResult(
        planned.name,
        planned.configuration.workload,
        verdict,
        tuple(one_line(reason) for reason in reasons),
        tuple((threshold, _judge(threshold, numbers)) for threshold in planned.configuration.thresholds),
        took_s,
        run_id,
    )


def _judge(threshold: Threshold, summary: Summary) -> Judgement:
    """Judge a run by a threshold; on a busy machine, what rests on times and misses it is inconclusive."""
    found = threshold.evaluate(summary)
    is_timed = METRIC[threshold.metric].is_timed
    if found.verdict is not Verdict.FAIL or not is_timed or not is_contended(summary):
        return found
    reasons = "; ".join(contention_reasons(summary))
    return replace(found, verdict=Verdict.UNKNOWN, text=f"inconclusive, on a busy machine: {found.text} ({reasons})")


def _own_verdict(stored: StoredRun, summary: Summary, ignored: Sequence[str]) -> tuple[Verdict, list[str]]:
    """Return the verdict of a run and its reasons; of a run that finished, only the questions that count here."""
    if not ignored or stored.status != "finished" or not summary.get("findings"):
        return Verdict(summary["verdict"]), list(summary["reasons"])
    counted = [finding for finding in summary["findings"] if finding["question"] not in ignored]
    verdicts = [Verdict(finding["verdict"]) for finding in counted]
    reasons = [f["reason"] for f, verdict in zip(counted, verdicts, strict=True) if verdict is not Verdict.PASS]
    return Verdict.combine(verdicts), reasons


def _without_numbers(planned: PlannedRun, reason: str, *, run_id: str | None = None, took_s: float) -> RunResult:
    judgements = tuple((threshold, threshold.evaluate({})) for threshold in planned.configuration.thresholds)
    workload = planned.configuration.workload
    return RunResult(planned.name, workload, Verdict.UNKNOWN, (one_line(reason),), judgements, took_s, run_id)


def one_line(text: str) -> str:
    """Return a text of several lines as one line."""
    return " ".join(text.split())


def members_by_key(writer: SetWriter) -> dict[str, dict[str, Any]]:
    """Return what the set holds by the keys of the runs."""
    return {member["key"]: member for member in writer.document["members"] if "key" in member}
