"""Arrival laws to try out."""

import numpy as np
from hypothesis import strategies as st

from streamgauge.arrivals import (
    Burst,
    Constant,
    Poisson,
    Ramp,
    ReverseSawtooth,
    Sawtooth,
    Scaled,
    Sine,
    Square,
    Steps,
    Sum,
    Then,
    Trace,
)
from streamgauge.arrivals.recording import Recording

rates = st.one_of(st.sampled_from([0.0, 0.5, 1.0, 1.5, 1_000.0]), st.floats(0.0, 20_000.0))
positive_rates = st.one_of(st.sampled_from([0.5, 1.0, 1.5, 1_000.0]), st.floats(0.1, 20_000.0))
# Whole milliseconds, so that rates jump at whole microseconds and a second method can integrate from jump to jump.
times = st.one_of(st.sampled_from([0.1, 0.3, 1.0, 1.7]), st.integers(50, 10_000).map(lambda ms: ms / 1000))
offsets = st.one_of(st.just(0.0), st.integers(0, 30_000).map(lambda ms: ms / 1000))
factors = st.floats(0.1, 3.0)


@st.composite
def traces(draw):
    rows = draw(st.integers(2, 6))
    gaps = draw(st.lists(st.integers(50, 2000), min_size=rows - 1, max_size=rows - 1))
    rate_per_s = np.array(draw(st.lists(rates, min_size=rows, max_size=rows)))
    recording = Recording(np.concatenate(([0.0], np.cumsum(gaps) / 1000)), rate_per_s)
    return Trace(
        "load.csv", draw(factors), draw(st.sampled_from([0.5, 1.0, 2.0])), draw(st.booleans()), recording=recording
    )


@st.composite
def squares(draw):
    low_per_s, high_per_s = sorted([draw(rates), draw(rates)])
    return Square(low_per_s, high_per_s, draw(times), draw(offsets))


certain_laws = st.one_of(
    st.builds(Constant, rates),
    st.builds(Steps, st.lists(rates, min_size=1, max_size=4).map(tuple), times),
    st.builds(Ramp, rates, rates, times),
    squares(),
    st.builds(Burst, rates, rates, times, times, offsets),
    st.builds(Sine, positive_rates, times, offsets),
    st.builds(Sawtooth, positive_rates, times, offsets),
    st.builds(ReverseSawtooth, positive_rates, times, offsets),
    traces(),
)
poissons = st.builds(Poisson, positive_rates, st.integers(-(2**63) + 1, 2**63 - 1))


def composed(laws):
    return st.recursive(
        laws,
        lambda inner: st.one_of(
            st.builds(Sum, st.lists(inner, min_size=2, max_size=3).map(tuple)),
            st.builds(Scaled, inner, factors),
            st.builds(Then, inner, times, inner),
        ),
        max_leaves=4,
    )
