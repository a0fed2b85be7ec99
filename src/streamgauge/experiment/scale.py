"""How does the capacity of a workload grow with cores, and with partitions?

Every run has a Spark process of its own and processes events that are all there at once; the rate that it reaches is
the capacity of its setting. Repetitions are interleaved, so that a machine that slows down slows all settings alike.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from streamgauge.clock import SystemClock
from streamgauge.errors import UsageError
from streamgauge.experiment.monitor import Monitor, NoMonitor
from streamgauge.experiment.run import prepare
from streamgauge.experiment.suite import run_planned
from streamgauge.measure import Scalability, fit_universal_scalability
from streamgauge.measure.statistics import interval_of_mean
from streamgauge.store import SetWriter, default_root, open_run, open_set
from streamgauge.suite import Configuration, PlannedRun, RunResult
from streamgauge.suite.matrix import code_digest, interleave
from streamgauge.suite.reading import MAX_REPETITIONS
from streamgauge.suite.settings import DEFAULT_RATES, MAX_CORES, MAX_PARTITIONS
from streamgauge.verdict import Verdict

CURVE_POINTS = 50


@dataclass(frozen=True)
class Point:
    """The capacity that one run reached; None when it tells none."""

    cores: int
    shuffle_partitions: int | None
    run_id: str | None
    verdict: Verdict
    rate_per_s: float | None
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class Capacity:
    """The mean of the runs of one setting, with its 95 % interval where there are several."""

    cores: int
    shuffle_partitions: int | None
    runs: int
    rate_per_s: float
    low_per_s: float | None
    high_per_s: float | None
    speed_up: float
    efficiency: float


@dataclass(frozen=True)
class Scale:
    """What was measured, and the law fitted to it; None where core counts are too few."""

    set_id: str
    workload: str
    points: tuple[Point, ...]
    capacities: tuple[Capacity, ...]
    law: Scalability | None
    warnings: tuple[str, ...] = ()

    @property
    def verdict(self) -> Verdict:
        """Pass when every run told its capacity; a wrong answer fails."""
        return Verdict.combine(point.verdict for point in self.points)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the verdict is not pass."""
        return tuple(dict.fromkeys(reason for point in self.points for reason in point.reasons))

    def document(self) -> dict[str, Any]:
        """Return the answer; the keys are those of `scale --json`."""
        return {
            "set_id": self.set_id,
            "workload": self.workload,
            "verdict": self.verdict.value,
            "reason": "; ".join(self.reasons),
            "warnings": list(self.warnings),
            "points": [
                {
                    "cores": point.cores,
                    "shuffle_partitions": point.shuffle_partitions,
                    "rate_per_s": point.rate_per_s,
                    "run_id": point.run_id,
                    "verdict": point.verdict.value,
                }
                for point in self.points
            ],
            "capacity": [vars(capacity) for capacity in self.capacities],
            "law": _law_document(self.law),
        }


def _law_document(law: Scalability | None) -> dict[str, Any] | None:
    if law is None:
        return None
    curve = []
    if law.contention is not None:
        cores = np.linspace(1, 2 * law.most_cores, CURVE_POINTS)
        curve = [[float(n), law.throughput_at(float(n))] for n in cores]
    return {**vars(law), "curve": curve}


def parse_counts(text: str, *, where: str, most: int) -> list[int]:
    """Read a list of whole numbers, e.g. 1,2,4.

    >>> parse_counts("4,1,2", where="--cores", most=1024)
    [1, 2, 4]
    """
    try:
        found = sorted({int(part) for part in str(text).split(",")})
    except ValueError:
        raise UsageError(f'"{text}" is no list of numbers', where=where, remedy="write e.g. 1,2,4") from None
    if found[0] < 1 or found[-1] > most:
        wrong = found[0] if found[0] < 1 else found[-1]
        raise UsageError(f"{wrong} cannot be used", where=where, remedy=f"use numbers from 1 to {most}")
    return found


def usual_cores(available: int) -> list[int]:
    """Return the powers of two up to the cores there are, and all of them.

    >>> usual_cores(6)
    [1, 2, 4, 6]
    """
    return sorted({2**k for k in range(available.bit_length()) if 2**k <= available} | {available})


def scale(
    workload: str,
    *,
    cores: str | None = None,
    shuffle_partitions: str | None = None,
    repeat: int = 3,
    resume: str | None = None,
    events: str | None = None,
    parameters: Mapping[str, Any] | None = None,
    runs: str | Path | None = None,
    monitor: Monitor | None = None,
    **settings: Any,
) -> Scale:
    """Measure the capacity of a workload for every number of cores, and of partitions; `settings` are those of `run`.

    >>> import streamgauge as sg
    >>> sg.scale("ysb", cores="1,2").law.contention  # doctest: +SKIP
    """
    available = os.cpu_count() or 1
    counts = usual_cores(available) if cores is None else parse_counts(cores, where="--cores", most=MAX_CORES)
    partitions: Sequence[int | None] = [None]
    if shuffle_partitions is not None:
        partitions = parse_counts(shuffle_partitions, where="--shuffle-partitions", most=MAX_PARTITIONS)
    if not 1 <= repeat <= MAX_REPETITIONS:
        raise UsageError(f"{repeat} repetitions cannot be made", where="--repeat", remedy=f"use 1 to {MAX_REPETITIONS}")
    # Capacity does not depend on the load that a prototype file describes.
    usual = {"rate": DEFAULT_RATES["offline"], "arrivals": "constant"}
    given = {name: value for name, value in settings.items() if value is not None}
    settings = usual | given | {"load": "offline", "events": events}
    configurations = _configurations(workload, counts, partitions, repeat, parameters or {}, settings)
    planned = list(interleave(configurations))
    root = Path(runs) if runs is not None else default_root(os.environ)
    writer = _writer(root, workload, planned, resume)
    results = run_planned(planned, writer, root=root, monitor=monitor or NoMonitor())
    found = conclude(writer.set_id, workload, planned, results, root, available)
    writer.update(status="finished", result=found.document())
    return found


def _writer(root: Path, workload: str, planned: Sequence[PlannedRun], resume: str | None) -> SetWriter:
    keys = [run.key for run in planned]
    if resume is None:
        asked = {"workload": workload, "keys": keys}
        return SetWriter.create(root, kind="scale", title=workload, document=asked, clock=SystemClock())
    stored = open_set(root, resume)
    if stored.document.get("keys") != keys:
        raise UsageError(
            f"{stored.set_id} was made with other settings",
            where="--resume",
            remedy="repeat the options of the experiment that is to go on",
        )
    return SetWriter.resume(stored)


def _configurations(
    workload: str,
    cores: Iterable[int],
    partitions: Sequence[int | None],
    repeat: int,
    parameters: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> list[Configuration]:
    found: list[Configuration] = []
    code = None
    for count in cores:
        for number in partitions:
            own = {**settings, "cores": count} | ({} if number is None else {"shuffle_partitions": number})
            name = f"{workload}[cores={count}" + ("]" if number is None else f",shuffle_partitions={number}]")
            events = own.pop("events", None)
            # Refuse what cannot run before anything is started.
            prepare(workload, events, parameters, own)
            code = code or code_digest(workload, Path())
            given = own if events is None else own | {"events": events}
            found.append(Configuration(name, workload, given, parameters, (), repeat, code))
    return found


def conclude(
    set_id: str,
    workload: str,
    planned: Sequence[PlannedRun],
    results: Sequence[RunResult],
    root: Path,
    available: int,
) -> Scale:
    """Draw the conclusions from the runs."""
    points = [_point(run, result, root) for run, result in zip(planned, results, strict=True)]
    capacities = _capacities(points)
    best = _best(capacities)
    chosen = {(capacity.cores, capacity.shuffle_partitions) for capacity in best}
    known = [p for p in points if p.rate_per_s and (p.cores, p.shuffle_partitions) in chosen]
    law = fit_universal_scalability([p.cores for p in known], [p.rate_per_s or 0.0 for p in known]) if known else None
    most = max((p.cores for p in points), default=0)
    warnings = []
    if most > available:
        warnings.append(
            f"{most} threads share {available} cores: beyond {available} the numbers say little about scaling"
        )
    if law is not None and law.reason:
        warnings.append(law.reason)
    return Scale(set_id, workload, tuple(points), tuple(capacities), law, tuple(warnings))


def _point(run: PlannedRun, result: RunResult, root: Path) -> Point:
    settings = run.configuration.settings
    rate_per_s = None
    if result.run_id is not None:
        rate_per_s = (open_run(root, result.run_id).document.get("summary") or {}).get("processed_rate_per_s")
    verdict = result.verdict or Verdict.UNKNOWN
    return Point(
        settings["cores"], settings.get("shuffle_partitions"), result.run_id, verdict, rate_per_s, result.reasons
    )


def _capacities(points: Sequence[Point]) -> list[Capacity]:
    """Return the capacity of every setting that has one; speed-up is against the fewest cores, at their best."""
    rates: dict[tuple[int, int | None], list[float]] = {}
    for point in points:
        if point.rate_per_s:
            rates.setdefault((point.cores, point.shuffle_partitions), []).append(point.rate_per_s)
    if not rates:
        return []
    fewest = min(cores for cores, _ in rates)
    base_per_s = max(float(np.mean(found)) for (cores, _), found in rates.items() if cores == fewest)
    capacities = []
    for (cores, partitions), found in sorted(rates.items(), key=lambda item: (item[0][0], item[0][1] or 0)):
        mean = float(np.mean(found))
        interval = interval_of_mean(found) if len(found) > 1 else None
        low, high = (interval.low, interval.high) if interval else (None, None)
        gain = mean / base_per_s
        capacities.append(Capacity(cores, partitions, len(found), mean, low, high, gain, gain * fewest / cores))
    return capacities


def _best(capacities: Sequence[Capacity]) -> list[Capacity]:
    """Return for every number of cores the partitions with the highest capacity."""
    best: dict[int, Capacity] = {}
    for capacity in capacities:
        if capacity.cores not in best or capacity.rate_per_s > best[capacity.cores].rate_per_s:
            best[capacity.cores] = capacity
    return list(best.values())
