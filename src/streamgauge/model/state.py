"""Rows that a query keeps between micro-batches."""

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from streamgauge.arrivals.law import Floats
from streamgauge.model.rows import OutputCurve


@dataclass(frozen=True)
class StateGrowth:
    """Rows in state: those of the events of the last `retention_s` seconds.

    `rows` says how many different rows a number of events leaves. State that is never evicted has no
    end of retention, and is level only when all keys have come.
    """

    rows: OutputCurve
    retention_s: float = float("inf")

    def held(self, t_s: npt.ArrayLike, rate_per_s: npt.ArrayLike) -> Floats:
        """Return the rows held after a time at a rate.

        >>> StateGrowth(OutputCurve(0.1), retention_s=10.0).held([5, 20], 1000.0).tolist()
        [500.0, 1000.0]
        """
        return self.rows(np.minimum(t_s, self.retention_s) * np.asarray(rate_per_s))
