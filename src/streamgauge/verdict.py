"""Pass, fail or unknown: unknown beats pass, fail beats both."""

from collections.abc import Iterable
from enum import StrEnum


class Verdict(StrEnum):
    """The answer to a question that evidence may or may not decide."""

    PASS = "pass"
    FAIL = "fail"
    UNKNOWN = "unknown"

    @classmethod
    def combine(cls, verdicts: Iterable["Verdict"]) -> "Verdict":
        """Return the verdict over several; no verdicts at all are unknown.

        >>> Verdict.combine([Verdict.PASS, Verdict.UNKNOWN])
        <Verdict.UNKNOWN: 'unknown'>
        >>> Verdict.combine([])
        <Verdict.UNKNOWN: 'unknown'>
        """
        found = set(verdicts)
        if cls.FAIL in found:
            return cls.FAIL
        return cls.UNKNOWN if cls.UNKNOWN in found or not found else cls.PASS
