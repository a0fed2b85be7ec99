"""Event-time windows: when the watermark closes them."""

import numpy as np
import numpy.typing as npt

from streamgauge.arrivals.law import Floats


def closings(watermark_s: npt.ArrayLike, before_s: npt.ArrayLike, slide_s: float) -> Floats:
    """Return how many window ends a watermark has passed since it was `before_s`.

    >>> closings([9.9, 10.0, 24.0], [8.0, 9.9, 10.0], slide_s=5.0).tolist()
    [0.0, 1.0, 2.0]
    """
    passed = np.floor(np.asarray(watermark_s) / slide_s) - np.floor(np.asarray(before_s) / slide_s)
    return np.asarray(np.maximum(passed, 0.0))
