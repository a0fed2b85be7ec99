from fractions import Fraction

import numpy as np
import pyarrow as pa
import pytest

from streamgauge.arrivals import Arrivals
from streamgauge.events.points import EVENTS, UNIT, PointsEvents, start_points, true_centres
from streamgauge.workloads.streambench.kmeans import WORKLOAD, KMeans, mean_distance, reference

BASE_US = 1_436_918_400_000_000


def events_table(count, p, seed=1):
    return EVENTS.table(p, seed=seed, arrivals=Arrivals.spaced(np.arange(count), load_us=BASE_US, period_us=1000))


def centroids_of(answer):
    return np.stack([answer["x"].to_numpy(), answer["y"].to_numpy()], axis=1)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_centroids_come_nearer_than_the_spread_of_a_cluster_after_2000_points_per_core(seed):
    p = PointsEvents()
    answer = reference(events_table(4_000, p, seed), p, seed, range(500, 4_001, 500))
    start, end = (mean_distance(c, true_centres(p, seed)) for c in (start_points(p, seed), centroids_of(answer)))
    # The standard deviation of a cluster is 2 along each axis.
    assert start > 2
    assert end < 1
    assert sum(answer["points"].to_pylist()) == 4_000


def brute_force(points, start, borders):
    """Point by point, with fractions."""
    members = [[point] for point in start]
    for first, last in zip([0, *borders], borders, strict=False):
        centroids = [tuple(Fraction(sum(axis), len(m)).__floor__() for axis in zip(*m, strict=True)) for m in members]
        for x, y in points[first:last]:
            distances = [(x - a) ** 2 + (y - b) ** 2 for a, b in centroids]
            members[distances.index(min(distances))].append((x, y))
    return [(*(Fraction(sum(axis), len(m)).__floor__() for axis in zip(*m, strict=True)), len(m) - 1) for m in members]


def test_the_reference_agrees_with_a_count_point_by_point():
    p = PointsEvents(centroids=7, distance=2.0)
    table, borders = events_table(300, p), [1, 90, 91, 300]
    points = list(zip(table["x"].to_pylist(), table["y"].to_pylist(), strict=True))
    expected = brute_force(points, [tuple(row) for row in start_points(p, 1).tolist()], borders)
    rows = reference(table, p, 1, borders).to_pylist()
    assert [(row["x"], row["y"], row["points"]) for row in rows] == expected
    assert [row["cluster"] for row in rows] == list(range(7))


def test_the_answer_depends_on_where_micro_batches_end():
    p = PointsEvents()
    table = events_table(2_000, p)
    assert not reference(table, p, 1, [2_000]).equals(reference(table, p, 1, [1_000, 2_000]))


def test_a_tie_goes_to_the_smaller_cluster():
    p = PointsEvents(centroids=2)
    # A seed whose two starts have a point with whole coordinates in their middle.
    seed = next(seed for seed in range(100) if np.all(start_points(p, seed).sum(axis=0) % 2 == 0))
    x, y = (start_points(p, seed).sum(axis=0) // 2).tolist()
    assert reference(pa.table({"x": [x], "y": [y]}), p, seed, [1])["points"].to_pylist() == [1, 0]


def test_what_is_compared_fits_into_64_bits():
    assert 256 * 3 * ((58 * UNIT) ** 2 + (61 * UNIT) ** 2) < 2**63


def test_the_distance_is_that_to_the_nearest_centre():
    centres = np.array([[0, 0], [10, 0]]) * UNIT
    assert mean_distance(np.array([[1, 0], [10, 3]]) * UNIT, centres) == pytest.approx(2.0)


def test_a_query_starts_at_the_start_points_with_an_empty_series():
    p = PointsEvents()
    step = WORKLOAD.sink.each_batch(p, 5)
    assert isinstance(step, KMeans)
    assert step.centroids.tolist() == start_points(p, 5).tolist()
    assert step.series == []


def test_describe_shows_what_the_reference_computes():
    assert WORKLOAD.answer.sql is None
    assert WORKLOAD.answer.is_known
    assert WORKLOAD.answer.text.startswith("Centroids after the last micro-batch")
