"""Joins of whole streams: unbounded as the queries define them, or bounded by an expiry."""

from pydantic import Field as Parameter

from streamgauge.events.dataframe import Column, F
from streamgauge.workloads.nexmark.query import QueryParameters


class Expiring(QueryParameters):
    """Parameters of a join whose state grows for ever unless it is bounded."""

    expiry_s: int = Parameter(
        0,
        ge=0,
        le=86_400,
        description="longest time between the events of a pair, in seconds; 0: any, state never ends",
    )


def within(condition: str, one: str, other: str, expiry_s: int) -> Column:
    """Return the join condition, with both times at most `expiry_s` apart if that is set."""
    if not expiry_s:
        return F.expr(condition)
    apart = f"{one} BETWEEN {other} - INTERVAL {expiry_s} SECONDS AND {other} + INTERVAL {expiry_s} SECONDS"
    return F.expr(f"{condition} AND {apart}")
