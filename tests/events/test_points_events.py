import numpy as np
import pytest

from streamgauge.arrivals import Arrivals
from streamgauge.errors import InvalidExperimentError
from streamgauge.events.points import EVENTS, UNIT, PointsEvents, start_points, true_centres

BASE_US = 1_436_918_400_000_000


def make(count, *, seed=1, first=0, **parameters):
    n = np.arange(first, first + count)
    return EVENTS.arrays(PointsEvents(**parameters), seed, Arrivals.spaced(n, load_us=BASE_US, period_us=777))


@pytest.mark.parametrize("seed", range(1, 21))
def test_centres_lie_in_the_square_and_apart(seed):
    centres = true_centres(PointsEvents(), seed) / UNIT
    assert centres.shape == (96, 2)
    assert np.abs(centres).max() <= 50
    distances = np.linalg.norm(centres[:, None] - centres, axis=2)
    assert distances[~np.eye(96, dtype=bool)].min() >= 8.5


def test_centres_depend_on_the_seed():
    assert true_centres(PointsEvents(), 1).tolist() != true_centres(PointsEvents(), 2).tolist()


def test_l5_points_of_one_centre_have_the_mean_and_the_covariance():
    events = make(100_000, centroids=1)
    points = np.stack([events["x"], events["y"]]) / UNIT
    # Standard errors: 2 / sqrt(100,000) = 0.006 of a mean, 4 * sqrt(2 / 100,000) = 0.018 of a variance.
    assert points.mean(axis=1) == pytest.approx(true_centres(PointsEvents(centroids=1), 1)[0] / UNIT, abs=0.03)
    assert np.cov(points) == pytest.approx(np.array([[4, 2], [2, 4]]), abs=0.08)


def test_every_centre_gets_its_share_of_the_points():
    p = PointsEvents(centroids=4, distance=40)
    events = make(20_000, centroids=4, distance=40)
    points = np.stack([events["x"], events["y"]], axis=1)
    nearest = np.linalg.norm(points[:, None] - true_centres(p, 1), axis=2).argmin(axis=1)
    # 16.27 is the 99.9 % quantile of chi-square with 3 degrees of freedom.
    assert np.sum((np.bincount(nearest, minlength=4) - 5_000) ** 2 / 5_000) < 16.27


def test_no_coordinate_exceeds_what_the_distances_are_packed_for():
    events = make(200_000)
    assert np.abs(events["x"]).max() <= 58 * UNIT
    assert np.abs(events["y"]).max() <= 61 * UNIT


def test_points_depend_on_the_seed_and_repeat_with_it():
    one, again, other = (make(200, seed=seed)["x"].tolist() for seed in (1, 1, 2))
    assert one == again
    assert one != other


def test_points_do_not_depend_on_where_a_partition_begins():
    assert make(100)["y"][60:].tolist() == make(40, first=60)["y"].tolist()


def test_clustering_starts_near_the_centres():
    away = np.linalg.norm(start_points(PointsEvents(), 1) - true_centres(PointsEvents(), 1), axis=1) / UNIT
    assert 0 < away.min() < away.max() < np.hypot(8, 11)
    assert np.mean(away**2) == pytest.approx(8, abs=3)


def test_more_centres_than_fit_are_refused():
    EVENTS.check(PointsEvents(), 1000.0)
    with pytest.raises(InvalidExperimentError, match="do not fit"):
        EVENTS.check(PointsEvents(centroids=128, distance=10), 1000.0)
    with pytest.raises(InvalidExperimentError, match="with this seed"):
        true_centres(PointsEvents(centroids=128, distance=50), 1)
