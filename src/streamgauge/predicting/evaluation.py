"""The errors of predictions: one pair of configurations at a time, and the table over all of them."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from streamgauge.model.baselines import ABLATIONS, BASELINES
from streamgauge.verdict import Verdict

METRICS = ("latency_mean_s", "latency_p95_s", "batch_duration_s")
BASELINE_NAMES = ("constant", *BASELINES)
NO_SLOWDOWN = "without slowdown"
Case = Literal["itself", "rate or trigger", "adjacent", "other"]


@dataclass(frozen=True)
class Pair:
    """A step predicted from a run of another: signed relative errors, by metric, by simpler model, by ablation.

    `covered` are the runs of the target whose mean latency the interval holds, `rows` the median absolute error of
    rows per partition, None where the partitions do not fold.
    """

    workload: str
    source: str
    target: str
    run_id: str
    case: Case
    measured: Mapping[str, float]
    predicted: Mapping[str, float]
    baselines: Mapping[str, float]
    ablations: Mapping[str, float]
    covered: tuple[bool, ...]
    rows: float | None = None

    def error(self, metric: str) -> float:
        """Return the signed relative error of a metric."""
        return self.predicted[metric] / self.measured[metric] - 1

    def document(self) -> dict[str, Any]:
        """Return the pair as JSON."""
        return {
            "workload": self.workload, "source": self.source, "target": self.target, "run_id": self.run_id,
            "case": self.case, "measured": dict(self.measured),
            "predicted": {name: _finite(value) for name, value in self.predicted.items()},
            "errors": {name: _finite(self.error(name)) for name in METRICS},
            "baselines": {name: _finite(value) for name, value in self.baselines.items()},
            "ablations": {name: _finite(value) for name, value in self.ablations.items()},
            "covered": list(self.covered), "rows_per_partition": self.rows,
        }  # fmt: skip


def _finite(value: float) -> float | None:
    return float(value) if np.isfinite(value) else None


@dataclass(frozen=True)
class ErrorLine:
    """One line of the table of errors: absolute ones unless it says otherwise; `limit` is what was aimed at."""

    name: str
    pairs: int
    median: float | None
    p90: float | None = None
    most: float | None = None
    limit: float | None = None
    p90_limit: float | None = None
    text: str = ""

    @property
    def verdict(self) -> Verdict | None:
        """Whether the aim is met; None where there is none."""
        if self.limit is None:
            return None
        if self.median is None:
            return Verdict.UNKNOWN
        is_met = self.median <= self.limit and (self.p90_limit is None or (self.p90 or 0.0) <= self.p90_limit)
        return Verdict.PASS if is_met else Verdict.FAIL

    def document(self) -> dict[str, Any]:
        """Return the line as JSON."""
        verdict = None if self.verdict is None else self.verdict.value
        return {**{k: _finite(v) if isinstance(v, float) else v for k, v in vars(self).items()}, "verdict": verdict}


@dataclass(frozen=True)
class Evaluation:
    """All pairs, and what they add up to."""

    set_id: str
    workloads: tuple[str, ...]
    pairs: tuple[Pair, ...]
    limits: tuple[tuple[str, float, float], ...]
    noise: Mapping[str, float | None]
    notes: tuple[str, ...] = ()

    @property
    def lines(self) -> tuple[ErrorLine, ...]:
        """The table of errors."""
        return tuple(_lines(self.pairs, self.limits, self.noise.get("latency_mean_s")))

    @property
    def baselines(self) -> tuple[ErrorLine, ...]:
        """Mean latency over all pairs, by this model and by simpler ones."""
        return tuple(_compared(self.others, "baselines", BASELINE_NAMES))

    @property
    def ablations(self) -> tuple[ErrorLine, ...]:
        """Mean latency over all pairs, by this model and without its parts."""
        return tuple(_compared(self.others, "ablations", (*ABLATIONS, NO_SLOWDOWN)))

    @property
    def others(self) -> tuple[Pair, ...]:
        """The pairs of different steps."""
        return tuple(pair for pair in self.pairs if pair.case != "itself")

    @property
    def verdict(self) -> Verdict:
        """Whether all aims are met."""
        return Verdict.combine(line.verdict for line in self.lines if line.verdict is not None)

    def document(self) -> dict[str, Any]:
        """Return the answer; the keys are those of `model evaluate --json`."""
        missed = [line.name for line in self.lines if line.verdict is Verdict.FAIL]
        return {
            "set_id": self.set_id,
            "workloads": list(self.workloads),
            "verdict": self.verdict.value,
            "reasons": [f"missed: {', '.join(missed)}"] if missed else [],
            "warnings": list(self.notes),
            "noise": dict(self.noise),
            "errors": [line.document() for line in self.lines],
            "baselines": [line.document() for line in self.baselines],
            "ablations": [line.document() for line in self.ablations],
            "pairs": [pair.document() for pair in self.pairs],
            "limits": [{"run_id": r, "predicted": p, "measured": m} for r, p, m in self.limits],
        }


def _line(name: str, errors: Iterable[float], **more: Any) -> ErrorLine:
    size = np.abs([error for error in errors if not np.isnan(error)])
    if not len(size):
        return ErrorLine(name, 0, None, **more)
    # Errors without end, as of a queue that overflows, count as the largest.
    p90 = float(np.quantile(size, 0.9, method="higher"))
    return ErrorLine(name, len(size), float(np.median(size)), p90, float(size.max()), **more)


def _lines(
    pairs: Sequence[Pair], limits: Sequence[tuple[str, float, float]], noise: float | None
) -> Iterator[ErrorLine]:
    def latencies(cases: Sequence[str], metric: str = "latency_mean_s") -> list[float]:
        return [pair.error(metric) for pair in pairs if pair.case in cases]

    others = ("rate or trigger", "adjacent", "other")
    # Where repetitions differ by more than 4 %, errors are related to that.
    is_noisy = noise is not None and noise > 0.04
    related = max(0.05, 1.5 * (noise or 0.0)) if is_noisy else 0.05
    said = f"1.5 times the {noise:.1%} between repetitions" if is_noisy and related > 0.05 else ""
    yield _line("mean latency, from itself", latencies(["itself"]))
    yield _line("mean latency, other rate or trigger", latencies(["rate or trigger"]), limit=related, text=said)
    yield _line("mean latency, cores or partitions doubled or halved", latencies(["adjacent"]), limit=0.08)
    yield _line("mean latency, all pairs", latencies(others), limit=0.10, p90_limit=0.20)
    yield _line("p95 latency, all pairs", latencies(others, "latency_p95_s"), limit=0.15)
    yield _line("batch duration, all pairs", latencies(others, "batch_duration_s"))
    rows = [pair.rows for pair in pairs if pair.case != "itself" and pair.rows is not None]
    yield _line("rows per partition, by folding or keys", rows, limit=0.01)
    yield _line("sustainable rate against the offline maximum", [p / m - 1 for _, p, m in limits], limit=0.10)
    covered = [hit for pair in pairs if pair.case != "itself" for hit in pair.covered]
    share = float(np.mean(covered)) if covered else None
    miss = None if share is None else max(0.0, 0.80 - share, share - 0.95)
    text = "" if share is None else f"{share:.1%} of the runs lie in the 90 % interval; 80 to 95 % should"
    yield ErrorLine("coverage outside of 80 to 95 %", len(covered), miss, limit=0.0, text=text)


def _compared(
    pairs: Sequence[Pair], kind: Literal["baselines", "ablations"], names: Sequence[str]
) -> Iterator[ErrorLine]:
    yield _line("this model", [pair.error("latency_mean_s") for pair in pairs])
    for name in names:
        yield _line(name, [getattr(pair, kind)[name] for pair in pairs])
