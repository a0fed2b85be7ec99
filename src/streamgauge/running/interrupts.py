"""Ctrl-C once: stop offering, drain, store. Ctrl-C twice: stop now, store what there is, within seconds.

Before the load there is nothing to drain, so the first one stops at once.
"""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

# How long an orderly end may take after the second request.
GRACE_S = 8.0


def _arm(delay_s: float) -> None:
    signal.setitimer(signal.ITIMER_REAL, delay_s)


@dataclass
class Interrupts:
    """How often the user has asked to stop; from `patience` times on, whatever goes on is aborted.

    The request before that calls `hurry`, and `arm` with the time after which everything is aborted too.
    """

    count: int = 0
    patience: int = 1
    hurry: Callable[[], None] = lambda: None
    arm: Callable[[float], None] = _arm

    def note(self, _signal: int, _frame: Any) -> None:
        """Count one more; the signature is that of a signal handler."""
        self.count += 1
        if self.count >= self.patience:
            self.arm(0.0)
            raise KeyboardInterrupt
        if self.count == self.patience - 1:
            self.hurry()
            self.arm(GRACE_S)

    def expire(self, _signal: int, _frame: Any) -> None:
        """Abort what has not ended in time; the signature is that of a signal handler."""
        raise KeyboardInterrupt

    def allow_drain(self) -> None:
        """From now on, leave the first two requests to whoever reads the count."""
        self.patience = 3


@contextmanager
def counted_interrupts() -> Iterator[Interrupts]:
    """Count SIGINT and SIGTERM; threads other than the main one get none."""
    interrupts = Interrupts()
    if threading.current_thread() is not threading.main_thread():
        yield interrupts
        return
    handlers = {
        signal.SIGINT: interrupts.note,
        signal.SIGTERM: interrupts.note,
        signal.SIGALRM: interrupts.expire,
    }
    before = {number: signal.signal(number, handler) for number, handler in handlers.items()}
    try:
        yield interrupts
    finally:
        if interrupts.count:
            _arm(0.0)
        for number, handler in before.items():
            signal.signal(number, handler)
