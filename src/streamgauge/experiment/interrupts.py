"""Ctrl-C once: stop offering, drain, store. Ctrl-C twice: stop now, store what there is.

Before the load there is nothing to drain, so the first one stops at once.
"""

import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass
class Interrupts:
    """How often the user has asked to stop; from `patience` times on, whatever goes on is broken off."""

    count: int = 0
    patience: int = 1

    def note(self, _signal: int, _frame: Any) -> None:
        """Count one more; the signature is that of a signal handler."""
        self.count += 1
        if self.count >= self.patience:
            raise KeyboardInterrupt

    def be_patient(self) -> None:
        """From now on, leave the first two requests to whoever reads the count."""
        self.patience = 3


@contextmanager
def counted_interrupts() -> Iterator[Interrupts]:
    """Count SIGINT and SIGTERM; threads other than the main one get none."""
    interrupts = Interrupts()
    if threading.current_thread() is not threading.main_thread():
        yield interrupts
        return
    before = {number: signal.signal(number, interrupts.note) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield interrupts
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
