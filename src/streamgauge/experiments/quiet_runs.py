"""Contended runs, in which others took part of the machine: re-run, and not counted where quiet ones are."""

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from streamgauge.measure.contention import MAX_SLOWDOWN, Contention
from streamgauge.model.query import QUIET_SLOWDOWN
from streamgauge.running.lifecycle import Run
from streamgauge.store import open_member
from streamgauge.suite import PlannedRun, RunResult
from streamgauge.summary import Summary

# How often a contended run is re-run.
MAX_RERUNS = 2

Made = Sequence[tuple[PlannedRun, RunResult]]


def slowdown_in(summary: Summary) -> float:
    """Return by how much the reference loop was slower in a run; where it did not run, as in a quiet one."""
    return float((summary.get("resources") or {}).get("slowdown") or QUIET_SLOWDOWN)


def contention_level(summary: Summary) -> float:
    """Return how contended a run was: above 1 is contended. Runs of earlier versions have only the slowdown."""
    found = (summary.get("machine") or {}).get("level") or 0.0
    return max(float(found), slowdown_in(summary) / MAX_SLOWDOWN)


def is_contended(summary: Summary) -> bool:
    """Whether others took so much of the machine that a run should be re-run."""
    return contention_level(summary) > 1.0


def contention_reasons(summary: Summary) -> tuple[str, ...]:
    """Say why a run is contended."""
    found = (summary.get("machine") or {}).get("reasons")
    return tuple(found or Contention(slowdown=slowdown_in(summary)).reasons)


def least_contended(make: Callable[[], Run]) -> Run:
    """Make a run, and re-run it while it is contended; return the least contended one."""
    made = [make()]
    while is_contended(made[-1].summary) and len(made) <= MAX_RERUNS:
        made.append(make())
    return min(made, key=lambda run: contention_level(run.summary))


def _summary_of(result: RunResult, root: Path) -> Summary:
    return open_member(root, result.run_id).summary if result.run_id else Summary()


def slowdown_of(result: RunResult, root: Path) -> float:
    """Return the slowdown of a stored run."""
    return slowdown_in(_summary_of(result, root))


def rerun_contended(
    planned: list[PlannedRun], run_all: Callable[[Sequence[PlannedRun]], list[RunResult]], root: Path
) -> list[RunResult]:
    """Make the planned runs, and re-run those that were contended; `planned` grows by the re-runs."""
    results = run_all(planned)
    for _ in range(MAX_RERUNS):
        if more := list(_reruns(list(zip(planned, results, strict=True)), root)):
            planned += more
            results = run_all(planned)
    return results


def _reruns(made: Made, root: Path) -> Iterator[PlannedRun]:
    """Yield as many more runs of each configuration as it lacks quiet ones."""
    for runs in _by_configuration(made):
        configuration = runs[0][0].configuration
        quiet = sum(not is_contended(_summary_of(result, root)) for _, result in runs)
        for number in range(configuration.repetitions - quiet):
            yield PlannedRun(configuration, len(runs) + 1 + number)


def counted_runs(made: Made, root: Path) -> Iterator[tuple[PlannedRun, RunResult]]:
    """Yield as many runs of each configuration as are asked for: the least contended ones."""
    for runs in _by_configuration(made):
        least = sorted(runs, key=lambda run: contention_level(_summary_of(run[1], root)))
        yield from least[: runs[0][0].configuration.repetitions]


def _by_configuration(made: Made) -> list[list[tuple[PlannedRun, RunResult]]]:
    found: dict[str, list[tuple[PlannedRun, RunResult]]] = {}
    for planned, result in made:
        found.setdefault(planned.configuration.name, []).append((planned, result))
    return list(found.values())
