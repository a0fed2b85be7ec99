"""What the driver does in every micro-batch takes less time the more often it has done it.

Java counts how often something is done, and compiles what is done often ever better. So these times fall with a power
of the number of the micro-batch, as those of practised tasks do in general (Newell and Rosenbloom 1981).
"""

import numpy as np
import numpy.typing as npt

from streamgauge.arrivals.law import Floats
from streamgauge.model.regression import combined, persistent_slope

# The usual power, and how far it scatters: medians of twelve runs were 0.19 to 0.26 from each doubling to the next.
USUAL_POWER = (0.20, 0.10)
MOST_POWER = 0.4
# It was seen from the 8th micro-batch to the 256th; long after that Java has nothing left to compile.
PRACTISED = (10.0, 500.0)


def practice(number: npt.ArrayLike, power: float) -> Floats:
    """Return the time of a micro-batch of this number by that of the hundredth.

    >>> practice([50, 100, 200], 0.2).round(3).tolist()
    [1.149, 1.0, 0.871]
    """
    return np.asarray((np.clip(number, *PRACTISED) / 100.0) ** -power)


def find_power(numbers: Floats, driver_s: Floats, is_new: Floats) -> float:
    """Return the power by which the driver's times fall; where they do not show it, the usual one.

    `is_new` marks the micro-batches that do not follow the one before them.
    """
    used = driver_s > 0
    known = np.log(np.clip(numbers[used], *PRACTISED)), np.log(driver_s[used])
    slope, error = persistent_slope(*known, is_new[used]) if used.any() else (0.0, np.inf)
    power, _ = combined([USUAL_POWER, (-slope, error)])
    return float(np.clip(power, 0.0, MOST_POWER))
