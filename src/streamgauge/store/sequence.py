"""In which sequence were two groups of runs made? A machine that gets slower slows the later group."""

from collections.abc import Iterable
from typing import Literal

from streamgauge.store.run_data import StoredRun

Succession = Literal["interleaved", "sequential", "unknown"]

REMEDY = (
    "run both in turns: two entries or a matrix in a suite file with `repetitions: 5`, `streamgauge run SUITE.yaml`, "
    "then `streamgauge compare SET:NAME SET:NAME`"
)


def started_us(run: StoredRun) -> int | None:
    """Return when the load of a run began, by the wall clock; None where the run does not say."""
    load = run.document.get("load")
    found = load.get("origin_us") if isinstance(load, dict) else None
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def sequence_of(a: Iterable[StoredRun], b: Iterable[StoredRun]) -> Succession:
    """Return whether all runs of one group began before all of the other."""
    starts = [[started_us(run) for run in runs] for runs in (a, b)]
    known = [[start for start in side if start is not None] for side in starts]
    if known != starts or not all(known):
        return "unknown"
    first, second = known
    return "sequential" if max(first) < min(second) or max(second) < min(first) else "interleaved"
