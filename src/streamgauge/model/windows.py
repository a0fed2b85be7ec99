"""Event-time windows: when the watermark closes them, and how long their results wait."""

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


def append_delay_s(*, length_s: float, delay_s: float, period_s: float) -> float:
    """Return how long a record waits on average, before its batch latency, for the result of its tumbling window.

    Half a window until its end, the watermark delay, half a period until a micro-batch holds an event that late, and
    one more micro-batch, because a watermark takes effect in the micro-batch after the one that moves it.

    >>> append_delay_s(length_s=10.0, delay_s=0.0, period_s=1.0)
    6.5
    """
    return length_s / 2 + delay_s + period_s / 2 + period_s


def count_window_delay_s(*, count: int, rate_per_s: float) -> float:
    """Return how long a record waits on average until its count window is full; `rate_per_s` is that of its key.

    >>> count_window_delay_s(count=11, rate_per_s=2.0)
    2.5
    """
    return (count - 1) / (2 * rate_per_s)


def windows_alive(*, length_s: float, slide_s: float, delay_s: float, period_s: float) -> float:
    """Return how many windows hold state at a time, on average.

    A window is alive from its start until the watermark has passed its end, which is seen half a period and one
    micro-batch later.

    >>> windows_alive(length_s=10.0, slide_s=10.0, delay_s=0.0, period_s=2.0)
    1.3
    """
    return (length_s + delay_s + 1.5 * period_s) / slide_s
