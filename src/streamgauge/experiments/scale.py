"""How does the capacity of a workload grow with cores, and with partitions?

Every run has a Spark process of its own and processes events that are all there at once; the rate that it reaches is
the capacity of its setting. Repetitions are interleaved, so that a machine that slows down slows all settings alike.
"""

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any, Unpack

import numpy as np

from streamgauge.engine.engine import find_engine
from streamgauge.errors import UsageError
from streamgauge.experiments.planned_runs import check_repetitions, run_planned
from streamgauge.experiments.probes import Parts, reached_per_s
from streamgauge.experiments.resumable import open_resumable
from streamgauge.measure import Scalability, fit_universal_scalability
from streamgauge.measure.statistics import interval_of_mean
from streamgauge.running.lifecycle import prepare
from streamgauge.running.monitor import Monitor, NoMonitor
from streamgauge.settings.keywords import ScaleKeywords
from streamgauge.settings.signature import takes_settings
from streamgauge.settings.table import usual_rate
from streamgauge.store import open_member, open_set, runs_root
from streamgauge.suite import Configuration, PlannedRun, RunResult
from streamgauge.suite.matrix import code_digest, interleave
from streamgauge.summary import Summary
from streamgauge.units import MAX_CORES, MAX_PARTITIONS, parse_rate
from streamgauge.verdict import Verdict

CURVE_POINTS = 50
# Micro-batches of a slow query become short only after some long ones.
MIN_LOAD_PER_S = 30_000.0


@dataclass(frozen=True)
class Point:
    """The rate that one run reached; None when it has none."""

    cores: int
    shuffle_partitions: int | None
    run_id: str | None
    verdict: Verdict
    rate_per_s: float | None
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True)
class CapacityPoint:
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
    capacities: tuple[CapacityPoint, ...]
    law: Scalability | None
    warnings: tuple[str, ...] = ()
    # On a cluster, where the number of its workers is varied.
    cores_per_worker: int | None = None

    @property
    def verdict(self) -> Verdict:
        """Pass when every run has a capacity; a wrong answer fails."""
        return Verdict.combine(point.verdict for point in self.points)

    @property
    def reasons(self) -> tuple[str, ...]:
        """Why the verdict is not pass."""
        return tuple(dict.fromkeys(reason for point in self.points for reason in point.reasons))

    def _workers(self, cores: int) -> int | None:
        return None if self.cores_per_worker is None else cores // self.cores_per_worker

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
                    "workers": self._workers(point.cores),
                    "cores": point.cores,
                    "shuffle_partitions": point.shuffle_partitions,
                    "rate_per_s": point.rate_per_s,
                    "run_id": point.run_id,
                    "verdict": point.verdict.value,
                }
                for point in self.points
            ],
            "capacity": [{"workers": self._workers(capacity.cores), **vars(capacity)} for capacity in self.capacities],
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
        raise UsageError(f'"{text}" is not a list of numbers', where=where, remedy="write e.g. 1,2,4") from None
    if found[0] < 1 or found[-1] > most:
        wrong = found[0] if found[0] < 1 else found[-1]
        raise UsageError(f"cannot use {wrong}", where=where, remedy=f"use numbers from 1 to {most}")
    return found


def usual_cores(available: int) -> list[int]:
    """Return the powers of two up to the cores there are, and all of them.

    >>> usual_cores(6)
    [1, 2, 4, 6]
    """
    return sorted({2**k for k in range(available.bit_length()) if 2**k <= available} | {available})


@takes_settings("scale")
def scale(
    workload: str,
    *,
    cores: str | None = None,
    workers: str | None = None,
    shuffle_partitions: str | None = None,
    repeat: int = 3,
    resume: str | None = None,
    runs: str | Path | None = None,
    monitor: Monitor | None = None,
    **settings: Unpack[ScaleKeywords],
) -> Scale:
    """Measure the capacity of a workload for every number of cores, and of partitions; `settings` are those of `run`.

    On a cluster, the number of workers is varied: each gives one executor, of `spark.executor.cores` cores or one.

    >>> import streamgauge as sg
    >>> sg.scale("ysb", cores="1,2").law.contention  # doctest: +SKIP
    """
    check_repetitions(repeat)
    conf = dict(settings.get("conf") or {})
    sizes = _sizes(cores, workers, settings.get("master"), conf)
    partitions: Sequence[int | None] = [None]
    if shuffle_partitions is not None:
        partitions = parse_counts(shuffle_partitions, where="--shuffle-partitions", most=MAX_PARTITIONS)
    # Capacity does not depend on the load that a prototype file describes.
    given: dict[str, Any] = {name: value for name, value in settings.items() if value is not None}
    parameters = given.pop("parameters", {})
    asked = {"rate": usual_rate("offline"), "arrivals": "constant", **given, "load": "offline"}
    unfold = partial(_configurations, workload, sizes, partitions, repeat, parameters)
    # Refuse what cannot run before anything is started.
    unfold(asked)
    root, monitor = runs_root(runs), monitor or NoMonitor()
    if "rate" not in given:
        known = None if resume is None else open_set(root, resume).document.get("load_rate_per_s")
        first = {**asked, "parameters": parameters}
        asked["rate"] = known or _load_rate_per_s(workload, sizes, first, root, monitor)
    planned = list(interleave(unfold(asked)))
    document = {"workload": workload, "keys": [run.key for run in planned], "load_rate_per_s": asked["rate"]}
    writer = open_resumable(root, resume, kind="scale", title=workload, document=document, same=("keys",))
    results = run_planned(planned, writer, root=root, monitor=monitor)
    available = MAX_CORES if workers else os.cpu_count() or 1
    found = conclude(writer.set_id, workload, planned, results, root, available)
    found = replace(found, cores_per_worker=_cores_per_worker(conf) if workers else None)
    writer.update(status="finished", result=found.document())
    return found


def _cores_per_worker(conf: Mapping[str, str]) -> int:
    (count,) = parse_counts(conf.get("spark.executor.cores", "1"), where="spark.executor.cores", most=MAX_CORES)
    return count


def _sizes(
    cores: str | None, workers: str | None, master: str | None, conf: Mapping[str, str]
) -> list[tuple[int, Mapping[str, Any]]]:
    """Return each number of cores with the settings that give it."""
    if (workers is None) != (master is None):
        raise UsageError(
            "--workers and --master go together",
            where="--workers",
            remedy="use --master spark://host:port --workers 1,2, or --cores 1,2 on this machine",
        )
    if workers is None:
        counts = usual_cores(os.cpu_count() or 1)
        counts = counts if cores is None else parse_counts(cores, where="--cores", most=MAX_CORES)
        return [(count, {"cores": count}) for count in counts]
    if cores is not None:
        raise UsageError("--cores and --workers exclude each other", remedy="use --conf spark.executor.cores=N")
    each = _cores_per_worker(conf)
    return [
        (count * each, {"conf": {**conf, **executor_settings(count, each)}})
        for count in parse_counts(workers, where="--workers", most=MAX_CORES)
    ]


def executor_settings(workers: int, cores_each: int) -> dict[str, str]:
    """Return the settings that make Spark ask for just these executors, on every kind of cluster."""
    return {
        "spark.executor.instances": str(workers),
        "spark.executor.cores": str(cores_each),
        # A standalone cluster counts cores instead of executors.
        "spark.cores.max": str(workers * cores_each),
        "spark.dynamicAllocation.enabled": "false",
    }


def _load_rate_per_s(
    workload: str,
    sizes: Iterable[tuple[int, Mapping[str, Any]]],
    settings: Mapping[str, Any],
    root: Path,
    monitor: Monitor,
) -> float:
    """Return how many events per second of the load keep a run busy for as long as they span, by a first run."""
    _, chosen = max(sizes, key=lambda size: size[0])
    kind, checked, parsed = prepare(workload, {**settings, **chosen})
    parts = Parts(kind, checked, root, monitor, find_engine(parsed.engine).clock(), None, parsed.verify)
    return load_rate_for(reached_per_s(parts.run_offline(parsed, "first guess: ")))


def load_rate_for(most_per_s: float | None) -> float:
    """Return the rate of a load that keeps a query busy which processes at most that many events per second.

    >>> load_rate_for(7_312_000.0), load_rate_for(2_000.0), load_rate_for(None)
    (7300000.0, 30000.0, 500000.0)
    """
    if most_per_s is None:
        return parse_rate(usual_rate("offline"))
    return max(MIN_LOAD_PER_S, float(f"{most_per_s:.2g}"))


def _configurations(
    workload: str,
    sizes: Iterable[tuple[int, Mapping[str, Any]]],
    partitions: Sequence[int | None],
    repeat: int,
    parameters: Mapping[str, Any],
    settings: Mapping[str, Any],
) -> list[Configuration]:
    found: list[Configuration] = []
    code = None
    for count, chosen in sizes:
        for number in partitions:
            own = {**settings, **chosen} | ({} if number is None else {"shuffle_partitions": number})
            name = f"{workload}[cores={count}" + ("]" if number is None else f",shuffle_partitions={number}]")
            prepare(workload, {**own, "parameters": parameters})
            code = code or code_digest(workload, Path())
            found.append(Configuration(name, workload, own, parameters, (), repeat, code))
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
    cores = settings.get("cores") or int(settings["conf"]["spark.cores.max"])
    summary = open_member(root, result.run_id).summary if result.run_id is not None else Summary()
    partitions, verdict = settings.get("shuffle_partitions"), result.verdict or Verdict.UNKNOWN
    if summary.get("cores", cores) != cores:
        reason = f"the cluster gave {summary['cores']} cores instead of {cores}"
        return Point(cores, partitions, result.run_id, Verdict.UNKNOWN, None, (*result.reasons, reason))
    return Point(cores, partitions, result.run_id, verdict, summary.get("processed_rate_per_s"), result.reasons)


def _capacities(points: Sequence[Point]) -> list[CapacityPoint]:
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
        capacities.append(CapacityPoint(cores, partitions, len(found), mean, low, high, gain, gain * fewest / cores))
    return capacities


def _best(capacities: Sequence[CapacityPoint]) -> list[CapacityPoint]:
    """Return for every number of cores the partitions with the highest capacity."""
    best: dict[int, CapacityPoint] = {}
    for capacity in capacities:
        if capacity.cores not in best or capacity.rate_per_s > best[capacity.cores].rate_per_s:
            best[capacity.cores] = capacity
    return list(best.values())
