"""Event streams: what event n contains, as a pure function of (seed, n) and its creation time."""

from functools import cache

from streamgauge.errors import UsageError, closest
from streamgauge.events.stream import EventStream, Field, Parameters

__all__ = ["EventStream", "Field", "Parameters", "event_stream", "event_streams"]


@cache
def event_streams() -> dict[str, EventStream]:
    """Return all event streams by name."""
    from streamgauge.events import ads, hibench, keyed, nexmark, points, words, ysb

    modules = (ysb, hibench, nexmark, words, ads, points, keyed)
    return {module.EVENTS.name: module.EVENTS for module in modules}


def event_stream(name: str, *, where: str = "--events") -> EventStream:
    """Find an event stream."""
    try:
        return event_streams()[name]
    except KeyError:
        remedy = closest(name, event_streams())
        raise UsageError(f'unknown event stream "{name}"', where=where, remedy=remedy) from None
