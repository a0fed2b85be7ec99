"""What a report says about a set, and how it reads the set's document: as other people's data."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from streamgauge.report.content.series import Mark
from streamgauge.store import StoredRun, StoredSet
from streamgauge.verdict import Verdict

VERDICTS = tuple(verdict.value for verdict in Verdict)


@dataclass(frozen=True)
class Cell:
    """A cell of a table: a text that is a verdict, the name of a run, or neither."""

    text: str
    is_verdict: bool = False
    run_id: str | None = None


@dataclass(frozen=True)
class SetTable:
    """A table with a line of explanation; the first `words` columns, and the last `words_at_end`, hold words."""

    title: str
    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    explanation: str = ""
    words: int = 1
    words_at_end: int = 0

    def is_number(self, column: int) -> bool:
        """Return whether a column is aligned to the right."""
        return self.words <= column < len(self.head) - self.words_at_end


@dataclass(frozen=True)
class ReportedSet:
    """Everything that a report says about a set.

    `sections` are the runs to show in full, `overlaid` those to draw together, by group; `spans` are what to shade in
    the charts of a run; `missing` are the runs that cannot be read, with the reason.
    """

    stored: StoredSet
    title: str
    verdict: str
    reason: str = ""
    notes: tuple[str, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    tables: tuple[SetTable, ...] = ()
    sections: tuple[StoredRun, ...] = ()
    overlaid: tuple[tuple[str, StoredRun], ...] = ()
    spans: Mapping[str, tuple[Mark, ...]] = field(default_factory=dict)
    missing: tuple[tuple[str, str], ...] = ()

    @property
    def result(self) -> Mapping[str, Any]:
        """What came out; empty while the set goes on, and when it was interrupted."""
        return mapping(self.stored.document.get("result"))


def mapping(value: Any) -> Mapping[str, Any]:
    """Return a JSON object, an empty one for anything else."""
    return value if isinstance(value, Mapping) else {}


def items(value: Any) -> list[Mapping[str, Any]]:
    """Return the objects of a JSON list; anything else has none."""
    return [entry for entry in value if isinstance(entry, Mapping)] if isinstance(value, list | tuple) else []


def number(value: Any) -> float | None:
    """Return a finite number, else None."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    return float(value) if is_number else None


def verdict_of(value: Any) -> str:
    """Return pass, fail or unknown."""
    return value if value in VERDICTS else "unknown"


def strings(value: Any) -> list[str]:
    """Return the entries of a JSON list as texts; anything else has none."""
    return [str(entry) for entry in value] if isinstance(value, list | tuple) else []
