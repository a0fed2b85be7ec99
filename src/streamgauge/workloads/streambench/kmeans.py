"""StreamBench k-means: points assigned to the nearest centroid, which moves with its points.

Each micro-batch is assigned to the centroids as the one before left them. Coordinates are whole numbers and ties go to
the smaller cluster, so the centroids do not depend on how Spark divides the work, only on the micro-batches.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from streamgauge.events import Field
from streamgauge.events.dataframe import Column, DataFrame, F
from streamgauge.events.points import EVENTS, UNIT, PointsEvents, start_points, true_centres
from streamgauge.workloads.entry import entry
from streamgauge.workloads.traits import Operator, endless
from streamgauge.workloads.workload import ExpectedAnswer, SinkBehaviour

if TYPE_CHECKING:
    import pyarrow as pa

    from streamgauge.events.draw import Longs

# A distance and the number of its cluster share one BIGINT. With coordinates below 61 units in millionths, what is
# compared stays below 256 * 3 * (58e6 ** 2 + 61e6 ** 2) = 5.5e18.
PACKED = 256


def dataflow(df: DataFrame, _: PointsEvents) -> DataFrame:
    """Read the points; what is done with them depends on the micro-batches before."""
    return df.select("x", "y")


def nearest(centroids: "Longs") -> Column:
    """Return the number of the centroid that is nearest to the point (x, y).

    Of the squared distance only `c * c - 2 * c * p` is compared: the square of the point is the same for all.
    The centroids are data to one loop, not a term each: code that changed with every micro-batch would be compiled
    anew every time, and a method of 96 terms is so large that Java never compiles it at all.
    """
    squares = (centroids**2).sum(axis=1) * PACKED + range(len(centroids))
    columns = [squares, *(centroids.T * (2 * PACKED))]
    lists = (f"cast(split('{','.join(map(str, values.tolist()))}', ',') as array<bigint>)" for values in columns)
    terms = f"transform(arrays_zip({', '.join(lists)}), c -> c['0'] - x * c['1'] - y * c['2'])"
    return F.expr(f"array_min({terms}) & {PACKED - 1}L")


class KMeans:
    """The centroids of one query, and how near they have come to the true centres after each micro-batch."""

    def __init__(self, p: PointsEvents, seed: int) -> None:
        import numpy as np

        self._centres = true_centres(p, seed)
        self._sums = start_points(p, seed)
        self._counts = np.zeros(p.centroids, dtype=np.int64)
        self.series: list[dict[str, float]] = []

    @property
    def centroids(self) -> "Longs":
        """The mean of the start and all points of each cluster so far, rounded down to millionths."""
        return self._sums // (1 + self._counts[:, None])

    def __call__(self, batch: DataFrame, _: int) -> "pa.Table":
        """Assign the points of a micro-batch, move the centroids, and return all of them."""
        clusters = batch.select(nearest(self.centroids).alias("cluster"), "x", "y").groupBy("cluster")
        for row in clusters.agg(F.sum("x").alias("x"), F.sum("y").alias("y"), F.count("*").alias("points")).collect():
            self._sums[row.cluster] += (row.x, row.y)
            self._counts[row.cluster] += row.points
        events = int(self._counts.sum())
        if events > (self.series[-1]["events"] if self.series else 0):
            distance = mean_distance(self.centroids, self._centres)
            self.series.append({"events": events, "mean_distance": distance})
        return _table(self.centroids, self._counts)


def mean_distance(centroids: "Longs", centres: "Longs") -> float:
    """Return the mean distance between each centroid and its nearest true centre, in units."""
    import numpy as np

    apart = centroids[:, None, :] - centres[None, :, :]
    return float(np.sqrt((apart**2).sum(axis=2).min(axis=1)).mean() / UNIT)


def _table(centroids: "Longs", counts: "Longs") -> "pa.Table":
    import pyarrow as pa

    x, y = centroids.T
    columns = {"cluster": range(len(counts)), "x": x, "y": y, "points": counts}
    return pa.table({name: pa.array(values, pa.int64()) for name, values in columns.items()})


def reference(events: "pa.Table", p: PointsEvents, seed: int, borders: Sequence[int]) -> "pa.Table":
    """Centroids after the last micro-batch, computed with NumPy.

    A centroid is (its start + the sum of its points so far) / (1 + their number), rounded down to millionths. The
    points of a micro-batch go to the nearest centroid of before it, by squared distance in whole numbers; ties go to
    the smaller cluster. The micro-batches end at the borders that the stream had.
    """
    import numpy as np

    points = np.stack([events["x"].to_numpy(), events["y"].to_numpy()], axis=1)
    start = start_points(p, seed)
    sums, counts = np.zeros_like(start), np.zeros(len(start), dtype=np.int64)
    for batch in np.split(points, list(borders)):
        centroids = (start + sums) // (1 + counts)[:, None]
        # One centroid at a time, to keep the memory at one number per point.
        best, cluster = np.full(len(batch), np.iinfo(np.int64).max), np.zeros(len(batch), dtype=np.int64)
        for number, centroid in enumerate(centroids):
            distance = ((batch - centroid) ** 2).sum(axis=1)
            cluster[distance < best] = number
            best = np.minimum(best, distance)
        np.add.at(sums, cluster, batch)
        np.add.at(counts, cluster, 1)
    return _table((start + sums) // (1 + counts)[:, None], counts)


WORKLOAD = entry(
    __file__,
    question="Where are the centres of the clusters?",
    events=EVENTS,
    dataflow=dataflow,
    steps=(
        Operator.MAP.step("nearest of 96 centroids"),
        Operator.AGGREGATE.step("sums within tasks"),
        Operator.SHUFFLE.step("shuffle by cluster"),
        Operator.FEEDBACK.step("sums; centroids fed back by the driver"),
    ),
    state=endless("one sum and one count per cluster, kept by the driver; no state in Spark"),
    output=(
        Field("cluster", "bigint", "number of the cluster, from 0"),
        Field("x", "bigint", "first coordinate of its centroid, in millionths"),
        Field("y", "bigint", "second coordinate of its centroid, in millionths"),
        Field("points", "bigint", "points assigned to it so far"),
    ),
    differences=(
        "The original feeds centroids back record by record where the engine can, and uses a library's mini-batch "
        "k-means on Spark; here the centroids move once per micro-batch and every point weighs the same. Two "
        "dimensions only. Centres and points come from the seed of the run, not from the original's fixed seeds, and "
        "coordinates are whole millionths, so that the answer is exact."
    ),
    answer=ExpectedAnswer(keys=("cluster",), function=reference),
    sink=SinkBehaviour(each_batch=KMeans),
)
