"""The adaptive admission limit of the embedded source, by default and as the model repeats it."""

# Under overload a micro-batch is held to about this long, or to this many triggers, whichever is longer.
ADMIT_S = 3.0
ADMIT_TRIGGERS = 2.0
# Events that the first micro-batch may take, and that every one may.
FIRST_ADMITTED = 500_000
MIN_ADMITTED = 1_000


def admission_target_s(trigger_s: float) -> float:
    """Return how long a micro-batch may take, about, when more events wait than it can take.

    >>> admission_target_s(0.0), admission_target_s(5.0)
    (3.0, 10.0)
    """
    return max(ADMIT_S, ADMIT_TRIGGERS * trigger_s)
