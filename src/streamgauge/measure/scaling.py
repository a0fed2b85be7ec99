"""How does throughput grow with cores? Gunther's universal scalability law, and plain speed-up and efficiency.

X(n) = per_core n / (1 + contention (n - 1) + coherence n (n - 1)): contention is the share of work that waits for
something shared, coherence the cost of each pair of cores that must agree (Gunther, Guerrilla Capacity Planning,
2007). Without coherence it is Amdahl's law.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from streamgauge.measure.trend import Floats

Numbers = Sequence[float] | Floats
Range = tuple[float, float]

# A coefficient that changes the throughput by less than about this share at the most cores is none.
NEGLIGIBLE = 1e-6


@dataclass(frozen=True)
class Scalability:
    """The fitted law; a coefficient is None when the measured core counts do not determine it.

    Intervals are at the confidence of the fit, None when there are no more results than coefficients. A coherence
    of None counts as 0 in `throughput_at`. `peak_cores` is where throughput is highest, None when no peak is shown:
    coherence is unknown, 0, or has an interval that holds 0. A peak above `most_cores`, the largest count measured,
    is a forecast. `reason` says what stays unknown or does not fit, and is empty when nothing does.
    """

    per_core: float | None
    contention: float | None
    coherence: float | None
    per_core_interval: Range | None
    contention_interval: Range | None
    coherence_interval: Range | None
    peak_cores: float | None
    r_squared: float | None
    most_cores: float
    reason: str = ""

    def throughput_at(self, cores: float) -> float:
        """Return the throughput by the fitted law; for more than `most_cores` it is a forecast."""
        if self.per_core is None or self.contention is None:
            raise ValueError(f"the law is not known: {self.reason}")
        parameters = np.array([self.per_core, self.contention, self.coherence or 0.0])
        return float(_law(np.array(cores, dtype=float), parameters))


def _law(cores: Floats, parameters: Floats) -> Floats:
    per_core, contention = parameters[:2]
    coherence = parameters[2] if len(parameters) > 2 else 0.0
    throughput: Floats = per_core * cores / (1 + contention * (cores - 1) + coherence * cores * (cores - 1))
    return throughput


def _gradient(cores: Floats, parameters: Floats) -> Floats:
    throughput = _law(cores, parameters)
    relative = throughput / (cores * parameters[0])
    columns = [throughput / parameters[0], -throughput * relative * (cores - 1)]
    if len(parameters) > 2:
        columns.append(-throughput * relative * cores * (cores - 1))
    return np.stack(columns, axis=1)


def _start(cores: Floats, throughput: Floats, coefficients: int) -> Floats:
    """Return a first guess: the law is linear in n / X(n)."""
    from scipy.optimize import nnls

    terms = np.stack([np.ones_like(cores), cores - 1, cores * (cores - 1)], axis=1)[:, :coefficients]
    # Weighted by X / n, all points err by about the same share.
    solution, _ = nnls(terms * (throughput / cores)[:, np.newaxis], np.ones_like(cores))
    # Without a constant the guess has no throughput on one core; any positive one leads the fit back.
    constant = max(float(solution[0]), 1e-3 * float(np.min(cores / throughput)))
    return np.array([1 / constant, *(solution[1:] / constant)])


def _fit(cores: Floats, throughput: Floats, coefficients: int) -> Floats:
    """Return the parameters with the least squared error, none negative and contention at most 1."""
    from scipy.optimize import least_squares

    start = _start(cores, throughput, coefficients)
    start[1] = min(start[1], 1.0)
    most = float(cores.max())
    scale = np.array([start[0], 1 / most, 1 / most**2])[:coefficients]
    upper = np.array([np.inf, 1.0, np.inf])[:coefficients]
    fitted: Floats = least_squares(
        lambda parameters: _law(cores, parameters) - throughput,
        np.clip(start, 1e-6 * scale, np.maximum(upper - 1e-6 * scale, 0)),
        jac=lambda parameters: _gradient(cores, parameters),
        bounds=(np.zeros(coefficients), upper),
        x_scale=scale,
        xtol=1e-12,
        ftol=1e-12,
        gtol=1e-12,
        max_nfev=2000,
    ).x
    fitted[1:][fitted[1:] < NEGLIGIBLE * scale[1:]] = 0.0
    return fitted


def _intervals(cores: Floats, errors: Floats, parameters: Floats, confidence: float) -> list[Range | None]:
    """Return intervals from the law's gradient (Bates and Watts 1988), cut to what is possible."""
    from scipy.special import stdtrit

    degrees = len(cores) - len(parameters)
    if degrees < 1:
        return [None] * 3
    gradient = _gradient(cores, parameters)
    scale = np.sqrt(np.sum(gradient**2, axis=0))
    covariance = np.linalg.pinv((gradient / scale).T @ (gradient / scale)) * float(errors @ errors) / degrees
    reach = float(stdtrit(degrees, (1 + confidence) / 2)) * np.sqrt(np.diag(covariance)) / scale
    limits = (math.inf, 1.0, math.inf)
    found: list[Range | None] = [
        (max(0.0, float(value - r)), min(limit, float(value + r)))
        for value, r, limit in zip(parameters, reach, limits, strict=False)
    ]
    return found + [None] * (3 - len(found))


def _peak(contention: float, coherence: float | None, interval: Range | None) -> float | None:
    if not coherence or (interval is not None and interval[0] <= 0):
        return None
    return max(1.0, math.sqrt((1 - contention) / coherence))


def _checked(cores: Numbers, throughput: Numbers) -> tuple[Floats, Floats]:
    n, x = np.asarray(cores, dtype=float), np.asarray(throughput, dtype=float)
    if n.shape != x.shape or n.ndim != 1 or not len(n):
        raise ValueError("every core count needs one throughput, and there must be one at least")
    if not (np.all(np.isfinite(n)) and np.all(np.isfinite(x)) and np.all(n >= 1) and np.all(x > 0)):
        raise ValueError("core counts must be 1 or more and throughputs above 0; leave failed runs out")
    return n, x


def _undetermined(n: Floats, x: Floats, reason: str) -> Scalability:
    """Keep only what was measured itself: the throughput of one core."""
    on_one = x[n == 1]
    per_core = float(on_one.mean()) if len(on_one) else None
    return Scalability(per_core, None, None, None, None, None, None, None, float(n.max()), reason)


def _caveat(n: Floats, x: Floats, contention: float, coherence: float | None) -> str:
    grown = x[n == n.max()].mean() / x[n == n.min()].mean()
    if not contention and not coherence and grown > (1 + NEGLIGIBLE) * n.max() / n.min():
        return "throughput grows faster than the cores, which the law does not describe"
    return "" if coherence is not None else "two core counts cannot separate coherence from contention"


def fit_universal_scalability(cores: Numbers, throughput: Numbers, *, confidence: float = 0.95) -> Scalability:
    """Fit the universal scalability law to results, of which several may share a core count.

    Three different core counts determine it. With two, coherence cannot be separated from contention: it is None and
    contention, fitted without it, is an upper bound. With one, or when throughput falls between two, which
    contention alone cannot explain, neither is known. The fit is by least squares of the throughput, so the intervals
    suppose that all results scatter by about the same amount.

    >>> law = fit_universal_scalability([1, 2, 4, 8], [100, 180, 300, 420])
    >>> round(law.throughput_at(16))
    457
    """
    n, x = _checked(cores, throughput)
    counts = np.unique(n)
    if len(counts) < 2:
        return _undetermined(n, x, f"all results have the core count {counts[0]:g}; others are needed")
    if len(counts) == 2 and x[n == counts[1]].mean() < x[n == counts[0]].mean():
        return _undetermined(n, x, "throughput falls between the only two core counts; a third is needed")
    parameters = _fit(n, x, min(3, len(counts)))
    errors = x - _law(n, parameters)
    intervals = _intervals(n, errors, parameters, confidence)
    contention, coherence = float(parameters[1]), float(parameters[2]) if len(parameters) > 2 else None
    variation = float(np.sum((x - x.mean()) ** 2))
    return Scalability(
        per_core=float(parameters[0]),
        contention=contention,
        coherence=coherence,
        per_core_interval=intervals[0],
        contention_interval=intervals[1],
        coherence_interval=intervals[2],
        peak_cores=_peak(contention, coherence, intervals[2]),
        r_squared=1 - float(errors @ errors) / variation if variation > 0 else None,
        most_cores=float(counts[-1]),
        reason=_caveat(n, x, contention, coherence),
    )


def speed_up(cores: Numbers, throughput: Numbers) -> list[float]:
    """Return how many times the mean throughput of the fewest cores each result is.

    >>> speed_up([1, 2, 4], [100, 190, 300])
    [1.0, 1.9, 3.0]
    """
    n, x = _checked(cores, throughput)
    return [float(ratio) for ratio in x / x[n == n.min()].mean()]


def efficiency(cores: Numbers, throughput: Numbers) -> list[float]:
    """Return the speed-up per added core: throughput per core, relative to that of the fewest cores.

    >>> efficiency([2, 4, 8], [190, 380, 570])
    [1.0, 1.0, 0.75]
    """
    n, _ = _checked(cores, throughput)
    return [float(ratio * n.min() / count) for ratio, count in zip(speed_up(cores, throughput), n, strict=True)]
