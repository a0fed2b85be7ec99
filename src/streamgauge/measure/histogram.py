"""A mergeable histogram of durations with a bounded relative error.

The buckets follow HdrHistogram (Gil Tene): every power of two is cut into 128 equal sub-buckets,
so a bucket is never wider than 1/128 of the durations in it. Below 256 µs a bucket is one microsecond.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from streamgauge.summary import LatencyNumbers

Longs = npt.NDArray[np.int64]

SUB_BUCKETS = 128
MAX_TRACKED_US = 2**42

# A quantile is reported as the middle of its bucket.
RELATIVE_ERROR = 1 / (2 * SUB_BUCKETS)

MIN_SAMPLES_BEYOND = 10


def _bucket_edges_us() -> Longs:
    octaves = range((MAX_TRACKED_US // SUB_BUCKETS).bit_length() - 1)
    upper_halves = [np.arange(SUB_BUCKETS, 2 * SUB_BUCKETS, dtype=np.int64) << k for k in octaves]
    edges = np.concatenate([np.arange(SUB_BUCKETS, dtype=np.int64), *upper_halves, [MAX_TRACKED_US]])
    edges.setflags(write=False)
    return edges


EDGES_US = _bucket_edges_us()
BUCKETS = len(EDGES_US) - 1


def bucket_index(values_us: npt.ArrayLike) -> Longs:
    """Return the bucket of each duration; what is out of range goes to the first or the last one.

    >>> [int(i) for i in bucket_index([-5, 0, 255, 256, 257, 258])]
    [0, 0, 255, 256, 256, 257]
    """
    return np.clip(np.searchsorted(EDGES_US, np.asarray(values_us), side="right") - 1, 0, BUCKETS - 1)


def _whole_us(values_us: npt.ArrayLike) -> Longs:
    values = np.asarray(values_us)
    if not np.all(np.isfinite(values)):
        raise ValueError("durations must be finite")
    whole: Longs = np.maximum(np.rint(values).astype(np.int64), 0)
    return whole


@dataclass(frozen=True, eq=False)
class Histogram:
    """Counts per bucket of `EDGES_US`; smallest, largest and sum are kept apart and are exact.

    Negative durations count as 0. Durations of `MAX_TRACKED_US` (50 days) and more share the last bucket.
    The smallest and the largest are None when there is nothing to count.
    """

    counts: Longs
    min_us: int | None
    max_us: int | None
    sum_us: float

    @classmethod
    def empty(cls) -> Self:
        """Return a histogram of nothing, the neutral element of `merge`."""
        return cls(np.zeros(BUCKETS, dtype=np.int64), None, None, 0.0)

    @classmethod
    def from_values_us(cls, values_us: npt.ArrayLike, counts: npt.ArrayLike | None = None) -> Self:
        """Count durations in microseconds, each `counts` times (once by default).

        >>> Histogram.from_values_us([100, 300], counts=[3, 1]).to_rows()
        [(100, 101, 3), (300, 302, 1)]
        """
        values = _whole_us(values_us)
        weights = np.ones(values.shape, np.int64) if counts is None else np.asarray(counts, np.int64)
        if values.shape != weights.shape or np.any(weights < 0):
            raise ValueError("every duration needs one count of 0 or more")
        values, weights = values[weights > 0], weights[weights > 0]
        if not values.size:
            return cls.empty()
        in_bucket = np.zeros(BUCKETS, dtype=np.int64)
        np.add.at(in_bucket, bucket_index(values), weights)
        total_us = float(np.dot(values.astype(float), weights.astype(float)))
        return cls(in_bucket, int(values.min()), int(values.max()), total_us)

    @property
    def count(self) -> int:
        """How many durations were counted."""
        return int(self.counts.sum())

    @property
    def mean_s(self) -> float:
        """The mean, not rounded to buckets; ValueError when empty."""
        if not self.count:
            raise ValueError("an empty histogram has no mean")
        return self.sum_us / self.count / 1e6

    def merge(self, other: "Histogram") -> "Histogram":
        """Return the histogram of both sets of durations."""
        lows = [h.min_us for h in (self, other) if h.min_us is not None]
        highs = [h.max_us for h in (self, other) if h.max_us is not None]
        return Histogram(
            self.counts + other.counts,
            min(lows, default=None),
            max(highs, default=None),
            self.sum_us + other.sum_us,
        )

    __add__ = merge

    def quantile_s(self, q: float) -> float:
        """Return the nearest-rank quantile, off by at most `RELATIVE_ERROR`; ValueError when empty.

        The first and the last rank are exact.

        >>> Histogram.from_values_us([1_000_000, 2_000_000, 9_000_000]).quantile_s(1.0)
        9.0
        """
        if not 0 <= q <= 1:
            raise ValueError(f"a quantile lies between 0 and 1, not at {q}")
        if self.min_us is None or self.max_us is None:
            raise ValueError("an empty histogram has no quantiles")
        # The factor keeps 0.07 * 100, which is 7.000000000000001, at rank 7.
        rank = max(1, math.ceil(q * self.count * (1 - 1e-12)))
        if rank in (1, self.count):
            return (self.min_us if rank == 1 else self.max_us) / 1e6
        bucket = int(np.searchsorted(np.cumsum(self.counts), rank))
        middle_us = (int(EDGES_US[bucket]) + int(EDGES_US[bucket + 1]) - 1) / 2
        return min(max(middle_us, self.min_us), self.max_us) / 1e6

    def summary(self, samples: int | None = None) -> LatencyNumbers:
        """Return count, mean, percentiles and maximum in seconds; what the sample cannot support is None.

        A percentile needs ten independent samples beyond it. `samples` is their number when the
        counted durations depend on each other, as those of one micro-batch do.

        >>> Histogram.from_values_us([1_000_000] * 100).summary()["p95"] is None
        True
        """
        usable = self.count if samples is None else min(samples, self.count)

        def quantile(percent: int) -> float | None:
            is_supported = usable * (100 - percent) >= 100 * MIN_SAMPLES_BEYOND
            return self.quantile_s(percent / 100) if is_supported else None

        return {
            "count": self.count,
            "mean": self.mean_s if self.count else None,
            "p50": quantile(50),
            "p90": quantile(90),
            "p95": quantile(95),
            "p99": quantile(99),
            "max": self.max_us / 1e6 if self.max_us is not None else None,
        }

    def to_rows(self) -> list[tuple[int, int, int]]:
        """Return (low_us, high_us, count) of every non-empty bucket low_us <= duration < high_us."""
        return [(int(EDGES_US[i]), int(EDGES_US[i + 1]), int(self.counts[i])) for i in np.flatnonzero(self.counts)]

    def to_json(self) -> dict[str, Any]:
        """Return a document ready for `json.dumps`, with the buckets that are not empty."""
        return {
            "sub_buckets": SUB_BUCKETS,
            "min_us": self.min_us,
            "max_us": self.max_us,
            "sum_us": self.sum_us,
            "buckets": [[low_us, count] for low_us, _, count in self.to_rows()],
        }

    @classmethod
    def from_json(cls, document: Mapping[str, Any]) -> Self:
        """Read what `to_json` wrote."""
        if document["sub_buckets"] != SUB_BUCKETS:
            raise ValueError(f"a histogram needs {SUB_BUCKETS} sub-buckets, not {document['sub_buckets']}")
        counts = np.zeros(BUCKETS, dtype=np.int64)
        for low_us, count in document["buckets"]:
            counts[bucket_index(low_us)] = count
        return cls(counts, document["min_us"], document["max_us"], document["sum_us"])

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Histogram)
            and np.array_equal(self.counts, other.counts)
            and (self.min_us, self.max_us, self.sum_us) == (other.min_us, other.max_us, other.sum_us)
        )

    __hash__ = None  # type: ignore[assignment]
