"""Schedules and micro-batches made by hand or drawn at random."""

import numpy as np
from hypothesis import strategies as st

from streamgauge.arrivals import Schedule
from streamgauge.measure import Batch

ORIGIN_US = 1_700_000_000_000_000


def make_batch(batch_id, first, last, *, started_s=None, emitted_s=None, watermark_s=None):
    """Return a batch of first <= n < last; times count from ORIGIN_US, one second per batch by default."""
    started = batch_id if started_s is None else started_s
    emitted = started + 0.5 if emitted_s is None else emitted_s
    return Batch(
        batch_id=batch_id,
        started_us=ORIGIN_US + round(started * 1e6),
        emitted_us=ORIGIN_US + round(emitted * 1e6),
        finished_us=ORIGIN_US + round(emitted * 1e6) + 10_000,
        first=first,
        last=last,
        left=0,
        phases_s={},
        watermark_us=None if watermark_s is None else ORIGIN_US + round(watermark_s * 1e6),
    )


@st.composite
def schedules(draw, max_span_us=3_000_000, max_events=400):
    """Several segments, some empty, some denser than one event per microsecond."""
    segments = draw(st.integers(1, 5))
    spans = draw(st.lists(st.integers(1, max_span_us), min_size=segments, max_size=segments))
    events = draw(st.lists(st.integers(0, max_events), min_size=segments, max_size=segments))
    if not sum(events):
        events[0] = 1
    start = draw(st.sampled_from([0, 0, 17]))
    return Schedule(start + np.cumsum([0, *spans]), np.cumsum([0, *events]))
