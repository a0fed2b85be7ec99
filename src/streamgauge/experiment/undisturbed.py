"""Runs in which something else slowed the processor: made again, and not counted where others of their kind are."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from streamgauge.experiment.findings import MOST_SLOWDOWN
from streamgauge.experiment.run import Run
from streamgauge.model.query import UNDISTURBED
from streamgauge.store import open_run
from streamgauge.suite import PlannedRun, RunResult

# How often what was slowed down is made again.
AGAIN = 2

Made = Sequence[tuple[PlannedRun, RunResult]]


def slowdown_in(summary: Mapping[str, Any]) -> float:
    """Return by how much something else slowed the processor in a run; where nobody looked, as if nothing had."""
    return float((summary.get("resources") or {}).get("slowdown") or UNDISTURBED)


def least_slowed(make: Callable[[], Run]) -> Run:
    """Make a run, and make it again while something else slows the processor; return the one that it slowed least."""
    made = [make()]
    while slowdown_in(made[-1].summary) > MOST_SLOWDOWN and len(made) <= AGAIN:
        made.append(make())
    return min(made, key=lambda run: slowdown_in(run.summary))


def slowdown_of(result: RunResult, root: Path) -> float:
    """Return that of a stored run."""
    return slowdown_in(open_run(root, result.run_id).document.get("summary") or {} if result.run_id else {})


def runs_again(made: Made, root: Path) -> Iterator[PlannedRun]:
    """Yield as many more runs of each configuration as it lacks of runs that nothing slowed down."""
    for runs in _by_configuration(made):
        configuration = runs[0][0].configuration
        undisturbed = sum(slowdown_of(result, root) <= MOST_SLOWDOWN for _, result in runs)
        for number in range(configuration.repetitions - undisturbed):
            yield PlannedRun(configuration, len(runs) + 1 + number)


def counted_runs(made: Made, root: Path) -> Iterator[tuple[PlannedRun, RunResult]]:
    """Yield as many runs of each configuration as are asked for: those that were slowed down least."""
    for runs in _by_configuration(made):
        least = sorted(runs, key=lambda run: slowdown_of(run[1], root))
        yield from least[: runs[0][0].configuration.repetitions]


def _by_configuration(made: Made) -> list[list[tuple[PlannedRun, RunResult]]]:
    found: dict[str, list[tuple[PlannedRun, RunResult]]] = {}
    for planned, result in made:
        found.setdefault(planned.configuration.name, []).append((planned, result))
    return list(found.values())
