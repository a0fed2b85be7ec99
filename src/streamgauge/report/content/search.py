"""A search for the sustainable rate in words: its interval, the scatter of its probes, and how sure it is."""

from collections.abc import Sequence

from streamgauge.measure import scatter
from streamgauge.measure.search import Bracket, Search
from streamgauge.units import format_duration, format_rate


def in_words(bracket: Bracket) -> str:
    """Say what is known about the sustainable rate.

    >>> in_words(Bracket(80_000.0, 84_000.0))
    'between 80k/s, which is sustained, and 84k/s, which is not'
    >>> in_words(Bracket(80_000.0, None))
    'at least 80k/s; no rate failed'
    """
    low, high = bracket.low_per_s, bracket.high_per_s
    if low is not None and high is not None:
        return f"between {format_rate(low)}, which is sustained, and {format_rate(high)}, which is not"
    if low is not None:
        return f"at least {format_rate(low)}; no rate failed"
    if high is not None:
        return f"below {format_rate(high)}; no rate passed"
    return "unknown: no probe passed or failed"


def scatter_in_words(capacities_per_s: Sequence[float]) -> str:
    """Say what single probes show of the capacity, and how far they differ; nothing if fewer than two show it.

    >>> scatter_in_words([8e6, 9e6, 10e6])
    '8M/s to 10M/s by the micro-batches of 3 probes, which scatter by 11 %'
    """
    if len(capacities_per_s) < 2:
        return ""
    low, high = (format_rate(end) for end in (min(capacities_per_s), max(capacities_per_s)))
    count, share = len(capacities_per_s), 100 * (scatter(capacities_per_s) or 0.0)
    return f"{low} to {high} by the micro-batches of {count} probes, which scatter by {share:.2g} %"


def probability_in_words(search: Search) -> str:
    """Say how likely the interval holds the true capacity; nothing where it has only one end."""
    if search.bracket.low_per_s is None or search.bracket.high_per_s is None:
        return ""
    probability, deviation = search.interval_probability, search.scatter
    if probability is None or deviation is None:
        return "unknown: fewer than two probes show a capacity, so its scatter cannot be measured"
    percent = min(99, max(1, round(100 * probability)))
    return f"the true capacity is in this interval with about {percent} %, from a scatter of {100 * deviation:.2g} %"


def search_facts(bracket: Bracket, search: Search | None, probes: int, spent_s: float) -> list[tuple[str, str]]:
    """Return what a search found, as names and texts; without `search` its scatter is not known."""
    facts = [
        ("sustained", in_words(bracket)),
        ("capacity", scatter_in_words(search.capacities_per_s) if search else ""),
        ("confidence", probability_in_words(search) if search else ""),
        ("took", f"{probes} probes, {format_duration(spent_s)}"),
    ]
    return [(name, text) for name, text in facts if text]
