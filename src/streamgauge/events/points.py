"""Points in the plane around fixed centres, as StreamBench's k-means has them. Two dimensions only.

Coordinates are whole millionths of a unit, so that sums over points are exact in any order. Centres are uniform in a
square, those too near to an earlier one rejected. A point is a centre, drawn uniformly, plus a normal deviation with
covariance (4, 2; 2, 4): both its parts come from a table of the normal law, so Spark needs no floating-point number.
"""

from collections.abc import Mapping, Sequence
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

from pydantic import Field as Parameter

from streamgauge.errors import InvalidExperimentError
from streamgauge.events.columns import SLOTS, divide, pick
from streamgauge.events.dataframe import DataFrame, F
from streamgauge.events.stream import EventStream, Field, Parameters

if TYPE_CHECKING:
    from streamgauge.arrivals import Arrivals
    from streamgauge.events.draw import Longs, SlottedLaw

UNIT = 1_000_000
HALF_SIDE = 50 * UNIT
# The normal law ends here, in standard deviations; less than one draw in 10,000 would lie beyond.
MAX_DEVIATION = 4.0
# The square root of 3 by 2 ** 20: shifting back by 20 bits rounds down, in Spark as in NumPy.
ROOT_3, ROOT_BITS = 1_816_187, 20
# Centres as discs fill at most 0.547 of the plane when placed at random, and ever more of them are rejected before.
MAX_FILLED = 0.5
TRIALS = 4096
MAX_TRIALS = 1000 * TRIALS

_CENTRE_X, _CENTRE_Y, _CENTRE, _FIRST, _SECOND, _START_FIRST, _START_SECOND = range(1, 8)


class PointsEvents(Parameters):
    """Parameters of the points."""

    centroids: int = Parameter(96, ge=1, le=128, description="number of centres, and of clusters")
    distance: float = Parameter(8.5, ge=0.0, le=50.0, description="least distance between two centres")


def _check(p: PointsEvents, _: float) -> None:
    """Refuse more centres than random placing can bring into the square."""
    filled = p.centroids * 0.7854 * p.distance**2 / (2 * HALF_SIDE / UNIT + p.distance) ** 2
    if p.centroids > 1 and filled > MAX_FILLED:
        raise InvalidExperimentError(
            f"{p.centroids} centres do not fit into the square at a distance of {p.distance:g}",
            where="--set",
            remedy="use fewer centroids or a smaller distance",
        )


@lru_cache(maxsize=4)
def true_centres(p: PointsEvents, seed: int) -> "Longs":
    """Return the centres, one row of x and y each; not to be changed."""
    import numpy as np

    from streamgauge.events.draw import draw

    chosen: list[Longs] = []
    for first in range(0, MAX_TRIALS, TRIALS):
        n = np.arange(first, first + TRIALS)
        drawn = [draw(n, seed=seed, field=field, below=2 * HALF_SIDE + 1) for field in (_CENTRE_X, _CENTRE_Y)]
        trials = np.stack(drawn, axis=1) - HALF_SIDE
        for earlier in chosen:
            trials = trials[_apart(trials, earlier, p.distance)]
        while len(trials) and len(chosen) < p.centroids:
            chosen.append(trials[0])
            trials = trials[1:][_apart(trials[1:], trials[0], p.distance)]
        if len(chosen) == p.centroids:
            return np.array(chosen)
    raise InvalidExperimentError(
        f"only {len(chosen)} of {p.centroids} centres fit into the square with this seed",
        where="--set",
        remedy="use fewer centroids, a smaller distance or another seed",
    )


def _apart(points: "Longs", other: "Longs", distance: float) -> Any:
    import numpy as np

    return np.sum((points - other) ** 2, axis=1) >= (distance * UNIT) ** 2


@lru_cache(maxsize=1)
def _normal() -> "SlottedLaw":
    """Return the standard normal law in millionths, uniform inside each of its slots."""
    from streamgauge.events.draw import SlottedLaw

    inner = [NormalDist().inv_cdf(k / SLOTS) for k in range(1, SLOTS)]
    return SlottedLaw([round(value * UNIT) for value in (-MAX_DEVIATION, *inner, MAX_DEVIATION)])


def start_points(p: PointsEvents, seed: int) -> "Longs":
    """Return one point drawn around each centre, that is not an event: where clustering starts."""
    import numpy as np

    k = np.arange(p.centroids)
    z1, z2 = (_normal().draw(k, seed=seed, field=field) for field in (_START_FIRST, _START_SECOND))
    return np.asarray(true_centres(p, seed) + np.stack([2 * z1, z1 + (z2 * ROOT_3 >> ROOT_BITS)], axis=1))


def _frame(rows: DataFrame, p: PointsEvents, seed: int, wanted: Sequence[str]) -> DataFrame:
    from streamgauge.events.draw import draw_column

    n, centres = F.col("n"), true_centres(p, seed)
    # Columns of their own, because both coordinates use them.
    drawn = rows.select(
        "time_us",
        draw_column(n, seed=seed, field=_CENTRE, below=p.centroids).alias("centre"),
        _normal().draw_column(n, seed=seed, field=_FIRST).alias("z1"),
        _normal().draw_column(n, seed=seed, field=_SECOND).alias("z2"),
    )
    x, y = (pick(F.col("centre"), centres[:, axis].tolist()) for axis in (0, 1))
    fields = {
        "x": x + F.col("z1") * 2,
        "y": y + F.col("z1") + F.shiftright(F.col("z2") * ROOT_3, ROOT_BITS),
        "created": F.timestamp_millis(divide(F.col("time_us"), 1000)),
    }
    return drawn.select(*(fields[name].alias(name) for name in wanted))


def _arrays(p: PointsEvents, seed: int, arrivals: "Arrivals") -> Mapping[str, Any]:
    from streamgauge.events.draw import draw

    n = arrivals.n
    centres = true_centres(p, seed)[draw(n, seed=seed, field=_CENTRE, below=p.centroids)]
    z1, z2 = (_normal().draw(n, seed=seed, field=field) for field in (_FIRST, _SECOND))
    return {
        "x": centres[:, 0] + 2 * z1,
        "y": centres[:, 1] + z1 + (z2 * ROOT_3 >> ROOT_BITS),
        "created": arrivals.time_us // 1000 * 1000,
    }


EVENTS = EventStream(
    name="points",
    summary="points in the plane, normally scattered around 96 centres",
    fields=(
        Field("x", "bigint", "first coordinate, in millionths"),
        Field("y", "bigint", "second coordinate, in millionths"),
        Field("created", "timestamp", "when the point was created, in whole milliseconds"),
    ),
    parameters=PointsEvents,
    frame=_frame,
    arrays=_arrays,
    check=_check,
)
