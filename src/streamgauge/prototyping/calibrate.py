"""Measuring what a cycle of CPU work costs on this machine, in every form that it can have.

Small batch jobs with one task each spend from 500 to 500,000 cycles on every tuple. Counted is the CPU time of the
task, and of its Python worker, less that of the same job with a single tuple; what the tuples cost without work is
taken off as well. Repetitions are short and go through all forms and amounts in turns, so that a slow moment meets all
of them; where they do not agree, there are more.
"""

import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from statistics import median
from typing import TYPE_CHECKING

import numpy as np

from streamgauge.clock import Clock, SystemClock
from streamgauge.errors import RunFailedError
from streamgauge.measure.trend import theil_sen
from streamgauge.prototype import calibration
from streamgauge.prototype.calibration import FORMS, CostLine, CostPoint, CycleCalibration, Platform, WorkForm
from streamgauge.verdict import Verdict

if TYPE_CHECKING:
    import psutil

    from streamgauge.engine.spark.session import Session

# Cycles per tuple: `processing` from 0.5 to 500.
AMOUNTS = (500, 5_000, 50_000, 500_000)
REPETITIONS = 12
# Where these do not agree, there are as many more, up to this number of rounds.
MAX_ROUNDS = 4
# This share of the repetitions counts as quiet.
QUIET_SHARE = 0.25
# The repetitions are also split into this many parts, to see whether these agree.
PARTS = 3
# What a Python worker does for a job besides its tuples takes 10 to 30 ms, so its jobs are longer.
JOB_S: Mapping[WorkForm, float] = {"native": 0.1, "arrow": 0.5}
# Enough for Java to compile the loops, and to see how many tuples fill a job.
PILOT_CYCLES = 20_000_000
PILOTS = 4
BARE_TUPLES = 500_000
MAX_TUPLES = 2_000_000
EXTRAS = 9
MAX_ERROR = 0.05
# No processor hashes a word in less.
MIN_NS_PER_CYCLE = 0.01
MAX_SPREAD = 0.05

# CPU time of a job in nanoseconds, by its tuples and the cycles of each; with 0 cycles it has no work at all.
Measure = Callable[[int, int], float]


def this_machine() -> Platform:
    """Return what the cost of a cycle depends on, with the Java that Spark would run on; None where there is none."""
    from streamgauge.machine.environment import describe_environment

    return replace(calibration.this_machine(), java=describe_environment()["java"])


def calibrate(
    *,
    repetitions: int = REPETITIONS,
    report_progress: Callable[[str], None] = lambda _: None,
    clock: Clock | None = None,
) -> CycleCalibration:
    """Start Spark on one core and measure the cost of a cycle in every form; `report_progress` gets a line per step."""
    from streamgauge.engine.spark.session import SessionSettings, temporary_session

    machine = this_machine()
    report_progress("starting Spark")
    with temporary_session(SessionSettings("local[1]", {}, event_log=False)) as session:
        measures: dict[WorkForm, Measure] = {form: _measure(session, form) for form in FORMS}
        samples = sample(measures, repetitions=repetitions, report_progress=report_progress)
    lines = lines_of(samples)
    verdict, reasons = judge(lines)
    measured = datetime.fromtimestamp((clock or SystemClock()).wall_s(), UTC).isoformat(timespec="seconds")
    return CycleCalibration(measured, machine, lines, verdict, reasons)


def _measure(session: "Session", form: WorkForm) -> Measure:
    """Return a function that runs a job with one task and returns its CPU time."""
    from streamgauge.engine.spark.jobs import cpu_ns_of
    from streamgauge.prototype import cpu_work

    def measure(tuples: int, cycles: int) -> float:
        rows = session.spark.range(0, tuples, 1, 1)
        work = cpu_work.FORMS[form](rows["id"], "calibration", cycles) if cycles else rows["id"]
        job = rows.select(work.alias("work")).write.format("noop").mode("overwrite")
        before_ns = _python_cpu_ns(session)
        java_ns = cpu_ns_of(session, job.save)
        # Workers that were idle may have ended; what they used before must not be taken off.
        return java_ns + sum(used - before_ns.get(pid, 0.0) for pid, used in _python_cpu_ns(session).items())

    return measure


def _python_cpu_ns(session: "Session") -> dict[int, float]:
    """Return the CPU time that each of Spark's Python workers has used so far; Spark does not count it."""
    import psutil

    used_ns = {}
    for process in psutil.Process(session.process.pid).children(recursive=True):
        with suppress(psutil.Error, OSError):
            if "java" not in process.name():
                used_ns[process.pid] = _process_cpu_ns(process)
    return used_ns


def _process_cpu_ns(process: "psutil.Process") -> float:
    if sys.platform == "linux":
        # The clock that clock_getcpuclockid(3) names; counters of processes know hundredths of a second only.
        return time.clock_gettime_ns((~process.pid << 3) | 2)
    times = process.cpu_times()
    return float(times.user + times.system) * 1e9


@dataclass
class Samples:
    """CPU time per tuple over that of a tuple without work, by cycles: one value per repetition."""

    tuples: dict[int, int]
    empty_ns: float
    ns_per_tuple: dict[int, list[float]] = field(default_factory=lambda: {cycles: [] for cycles in AMOUNTS})

    def add(self, measure: Measure, bare_ns: float) -> None:
        """Measure every amount once."""
        for cycles, tuples in self.tuples.items():
            self.ns_per_tuple[cycles].append((measure(tuples, cycles) - self.empty_ns) / tuples - bare_ns)


def fit_line(amounts: Mapping[int, Sequence[float]], tuples: Mapping[int, int]) -> CostLine:
    """Fit a line to nanoseconds per tuple, by cycles and in the order of repetitions.

    Every amount counts with the lower quartile of its repetitions: whatever else runs makes them slower, never faster.
    The slope is the median of those between amounts. The intercept makes the sum of relative distances smallest: in
    nanoseconds, the largest alone would decide it. Intervals are where the same numbers lie when only a part of
    the repetitions is known.
    """
    whole = _Fit.through(amounts)
    parts = [_Fit.through({cycles: amounts[cycles][part::PARTS] for cycles in amounts}) for part in range(PARTS)]
    points = []
    for cycles in sorted(amounts):
        errors = [fit.error(cycles) for fit in parts]
        points.append(
            CostPoint(cycles, tuples[cycles], whole.taken[cycles], whole.error(cycles), min(errors), max(errors)),
        )
    slopes = [whole.slope, *(part.slope for part in parts)]
    return CostLine(whole.slope, min(slopes), max(slopes), whole.intercept, tuple(points))


@dataclass(frozen=True)
class _Fit:
    """A line through the times of amounts on a quiet machine."""

    taken: Mapping[int, float]
    slope: float
    intercept: float

    @classmethod
    def through(cls, amounts: Mapping[int, Sequence[float]]) -> "_Fit":
        taken = {cycles: float(np.quantile(amounts[cycles], QUIET_SHARE)) for cycles in sorted(amounts)}
        slope = theil_sen(list(taken), list(taken.values()))
        rests = [ns - slope * cycles for cycles, ns in taken.items()]
        return cls(taken, slope, _weighted_median(rests, [1 / cycles for cycles in taken]))

    def error(self, cycles: int) -> float:
        """Return how far an amount is from the line, as a share of it."""
        return self.taken[cycles] / (self.intercept + self.slope * cycles) - 1


def _weighted_median(values: Sequence[float], weights: Sequence[float]) -> float:
    order = np.argsort(values)
    reached = np.cumsum(np.asarray(weights)[order])
    return float(np.asarray(values)[order][np.searchsorted(reached, reached[-1] / 2)])


def lines_of(samples: Mapping[WorkForm, Samples]) -> dict[WorkForm, CostLine]:
    """Fit a line for every form; work that takes no time is refused: something removed it, or nothing was counted."""
    lines = {form: fit_line(found.ns_per_tuple, found.tuples) for form, found in samples.items()}
    for form, line in lines.items():
        if line.ns_per_cycle < MIN_NS_PER_CYCLE:
            what = f"CPU work in {form} form costs {line.ns_per_cycle:.3g} ns per cycle, which cannot be"
            raise RunFailedError(what, remedy="let nothing else run on this machine and calibrate again")
    return lines


def judge(lines: Mapping[WorkForm, CostLine]) -> tuple[Verdict, tuple[str, ...]]:
    """Say whether cost is linear in cycles, and whether repetitions agree well enough to say so.

    It is not where all parts of the repetitions are too far from the line on the same side.
    """
    bent, unclear = [], []
    for form, line in lines.items():
        far = f"the {form} form is up to {line.largest_error:.1%} away from a line, more than {MAX_ERROR:.0%}"
        if any(point.error_low > MAX_ERROR or point.error_high < -MAX_ERROR for point in line.points):
            bent.append(far)
        elif line.largest_error > MAX_ERROR:
            unclear.append(f"{far}, but not in all parts of the repetitions")
        if line.spread > MAX_SPREAD:
            unclear.append(f"parts of the repetitions of the {form} form differ by ±{line.spread:.1%}")
    verdict = Verdict.FAIL if bent else Verdict.UNKNOWN if unclear else Verdict.PASS
    remedy = ["let nothing else run on this machine and calibrate again"] if bent or unclear else []
    return verdict, (*bent, *unclear, *remedy)


def sample(
    measures: Mapping[WorkForm, Measure],
    *,
    repetitions: int = REPETITIONS,
    report_progress: Callable[[str], None] = lambda _: None,
) -> dict[WorkForm, Samples]:
    """Measure every form and amount in turns, after pilots that are not counted, until repetitions agree."""
    found = {}
    for form, measure in measures.items():
        report_progress(f"warming up the {form} form")
        empty_ns = _empty_ns(measure)
        tuples = {cycles: _tuples_for(measure, cycles, JOB_S[form], empty_ns) for cycles in AMOUNTS}
        found[form] = Samples(tuples, empty_ns)
    bare_ns = _bare_ns(next(iter(measures.values())))
    for turn in range(MAX_ROUNDS * repetitions):
        if turn and turn % repetitions == 0 and judge(lines_of(found))[0] is not Verdict.UNKNOWN:
            break
        of = f"of {repetitions}" if turn < repetitions else f"of up to {MAX_ROUNDS * repetitions}, as parts differ"
        report_progress(f"repetition {turn + 1} {of}")
        for form, measure in measures.items():
            found[form].add(measure, bare_ns)
    return found


def _empty_ns(measure: Measure) -> float:
    """Return what a job with work and one tuple costs: without any, Spark would not ask a Python worker."""
    return median(measure(1, AMOUNTS[0]) for _ in range(EXTRAS))


def _bare_ns(measure: Measure) -> float:
    """Return what a tuple costs without work; no form makes a difference to it."""
    return median((measure(BARE_TUPLES, 0) - measure(0, 0)) / BARE_TUPLES for _ in range(EXTRAS))


def _tuples_for(measure: Measure, cycles: int, job_s: float, empty_ns: float) -> int:
    """Return how many tuples fill a job."""
    tuples = PILOT_CYCLES // cycles
    cost_ns = [measure(tuples, cycles) for _ in range(PILOTS)][-1] - empty_ns
    # Where next to nothing is left, something is wrong, which the repetitions show.
    return max(1, min(MAX_TUPLES, round(tuples * job_s * 1e9 / max(cost_ns, 1.0))))
