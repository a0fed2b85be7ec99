"""Micro-batches of other sizes, after the load: they show a model what rows cost, state costs and micro-batches cost.

Under a constant load with a trigger all micro-batches are alike, and so is the state that they find: nothing in them
separates these costs. So when all events are processed, the same query, in the same warm process, gets a few batches
that are larger and smaller. Then event time jumps ahead, all windows close, and a few more come with hardly any state.
They are stored beside the run and are no part of what it measures.
"""

from collections.abc import Iterator, Sequence
from itertools import pairwise
from statistics import median
from typing import TYPE_CHECKING

from streamgauge.arrivals import Constant
from streamgauge.errors import StreamgaugeError
from streamgauge.measure import Batch
from streamgauge.running import phases
from streamgauge.settings.run_settings import RunSettings

if TYPE_CHECKING:
    from streamgauge.running.state import RunState
    from streamgauge.workloads import Workload

# Sizes by that of the usual micro-batch, large and small ones in turns, because the machine has slow moments.
WITH_STATE = (4.0, 0.25)
# Events of the first of these are a day ahead, and the next one closes the windows of the load.
WITHOUT_STATE = (0.25, 0.25, 1.0, 0.25, 2.0, 0.5, 4.0, 0.25)
AHEAD_US = 86_400_000_000
# It takes no more than this share of the measurement, and is left out where there would be room for hardly any.
SHARE = 1 / 6
LEAST_DURATION_S = 30.0


def explores(settings: RunSettings, workload: "Workload") -> bool:
    """Return whether a run can have micro-batches that are not counted, because no sink keeps their results."""
    chosen = (settings.load, settings.source, settings.sink, settings.mode)
    is_plain = chosen == ("open", "embedded", "noop", "micro-batch") and isinstance(settings.law, Constant)
    is_kept = workload.sink.each_batch is not None or bool(workload.sink.folders)
    return settings.explore and is_plain and not is_kept and settings.duration_s >= LEAST_DURATION_S


def sizes(batches: Sequence[Batch], *, after_us: int) -> Iterator[tuple[int, int]]:
    """Yield how many events each micro-batch is to hold, and how far ahead in microseconds they are.

    What is usual follows from the micro-batches that were emitted after the warm-up; without any, nothing is yielded.
    """
    held = [batch.events for batch in batches if batch.events and batch.emitted_us >= after_us]
    if held:
        for factors, ahead_us in ((WITH_STATE, 0), (WITHOUT_STATE, AHEAD_US)):
            for factor in factors:
                yield max(1, round(factor * median(held))), ahead_us


def explore(state: "RunState") -> None:
    """Let micro-batches of other sizes run for a while; what goes wrong with them does not spoil the run."""
    if not explores(state.settings, state.workload) or state.interrupts.count:
        return
    if not state.timing.has_processed(state, state.offered):
        return
    state.enter(phases.EXPLORE)
    state.is_exploring = True
    try:
        _let_in(state)
    except StreamgaugeError as error:
        state.note(f"micro-batches of other sizes, after the load, were aborted: {error.what}")


def _let_in(state: "RunState") -> None:
    from streamgauge.running.feeds.embedded import EmbeddedFeed

    assert isinstance(state.feed, EmbeddedFeed)
    created = state.offered
    end_s = state.clock.monotonic_s() + SHARE * state.settings.duration_s
    deadline_s = end_s + state.settings.drain_s
    warm_us = state.origin_us + round(state.settings.warmup_s * 1e6)
    for events, ahead_us in sizes(state.batches, after_us=warm_us):
        if state.clock.monotonic_s() >= end_s:
            return
        created += events
        state.feed.offered.open(state.origin_us + ahead_us, state.closed_us, created)
        while not state.explored or state.explored[-1].last < created:
            if state.interrupts.count or state.clock.monotonic_s() > deadline_s:
                return
            state.tick()


def informative(load: Sequence[Batch], explored: Sequence[Batch]) -> list[Batch]:
    """Return the explored micro-batches without the one that closed all windows of the load: it is like no other.

    It is the one whose watermark is a day ahead of that of the one before.
    """
    followed = pairwise([*load[-1:], *explored])
    return [
        batch
        for before, batch in followed
        if batch.events and (batch.watermark_us or 0) - (before.watermark_us or 0) < AHEAD_US / 2
    ]
