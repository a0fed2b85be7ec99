"""Everything that can go wrong, as one tree.

StreamgaugeError                 exit code
├── UsageError                   2   the command line or a call is wrong
├── InvalidExperimentError       3   a file, parameter or user function describes no valid experiment
├── EnvironmentNotReadyError     4   Java, a port, a disk or a service is missing
├── RunFailedError               5   the run started and broke
└── UnknownVerdictError          7   the evidence is missing

A message has three parts: what is wrong (with the value), where, and what to do.
Anything outside this tree is a bug of ours: it keeps its traceback and ends with exit code 1.
"""

from collections.abc import Iterable
from difflib import get_close_matches
from typing import ClassVar

EXIT_OK = 0
EXIT_BUG = 1
EXIT_FAIL = 6
EXIT_UNKNOWN = 7
# As the shell reports a program that a signal ends: 128 and the number of SIGINT or SIGPIPE.
EXIT_INTERRUPTED = 130
EXIT_BROKEN_PIPE = 141


class StreamgaugeError(Exception):
    """Base of all errors meant for users."""

    exit_code: ClassVar[int] = EXIT_BUG
    # The run that broke, where there is one.
    run_id: str | None = None

    def __init__(self, what: str, *, where: str | None = None, remedy: str | None = None) -> None:
        self.what = what
        self.where = where
        self.remedy = remedy
        super().__init__(str(self))

    def __str__(self) -> str:
        head = f"{self.where}: {self.what}" if self.where else self.what
        return f"{head}\n  {self.remedy}" if self.remedy else head


class UsageError(StreamgaugeError):
    """The command line or a call is wrong."""

    exit_code = 2


class InvalidExperimentError(StreamgaugeError):
    """A file, a parameter or a user's function describes no valid experiment."""

    exit_code = 3


class EnvironmentNotReadyError(StreamgaugeError):
    """Something that the machine must provide is missing."""

    exit_code = 4


class RunFailedError(StreamgaugeError):
    """The run started and broke; what was measured until then is stored."""

    exit_code = 5


class UnknownVerdictError(StreamgaugeError):
    """The evidence for a verdict is missing."""

    exit_code = EXIT_UNKNOWN


def closest(name: str, known: Iterable[str]) -> str:
    """Return a remedy that names the closest known name, or all of them when none is close.

    >>> closest("ybs", ["ysb", "hibench-identity"])
    'did you mean `ysb`?'
    >>> closest("zzz", ["b", "a"])
    'known names: a, b'
    """
    names = sorted(known)
    if not names:
        return "there are none to choose from"
    near = get_close_matches(name, names, n=1, cutoff=0.6)
    return f"did you mean `{near[0]}`?" if near else f"known names: {', '.join(names)}"
