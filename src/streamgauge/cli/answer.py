"""How every command ends: it prints its answer, as JSON or as text, and exits by the verdict."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn, Protocol, TypeVar

import typer

from streamgauge.cli.options import EXIT_BY_VERDICT, print_json
from streamgauge.errors import EXIT_INTERRUPTED, StreamgaugeError
from streamgauge.printable import echo
from streamgauge.store import REHEARSAL, open_set, runs_root
from streamgauge.verdict import Verdict


class Answer(Protocol):
    """What a measurement or a judgement returns."""

    @property
    def verdict(self) -> Verdict:
        """The verdict, which decides the exit code."""

    def document(self) -> Any:
        """Return the answer as JSON."""


T = TypeVar("T")
AnAnswer = TypeVar("AnAnswer", bound=Answer)


def print_answer(found: T, print_text: Callable[[T], object], document: Callable[[T], Any], *, as_json: bool) -> None:
    """Print what was found: its document, or as text."""
    if as_json:
        print_json(document(found))
    else:
        print_text(found)


def conclude(
    found: AnAnswer,
    print_text: Callable[[AnAnswer], object],
    *,
    as_json: bool,
    is_interrupted: bool = False,
    runs: Path | None = None,
) -> NoReturn:
    """Print an answer, and exit with the code of its verdict, or with that of an interrupt.

    The answer of a set of rehearsals is marked; `runs` is where the set is stored.
    """
    document = found.document()
    if _is_rehearsal(document, runs):
        document["rehearsal"] = True
        if not as_json:
            echo(f"note: {REHEARSAL}")
    print_answer(found, print_text, lambda _: document, as_json=as_json)
    raise typer.Exit(EXIT_INTERRUPTED if is_interrupted else EXIT_BY_VERDICT[found.verdict])


def measure_and_conclude(
    measure: Callable[..., AnAnswer],
    print_text: Callable[[AnAnswer], object],
    workload: str,
    *,
    quiet: bool,
    as_json: bool,
    **options: Any,
) -> NoReturn:
    """Measure a workload with its progress shown, print the answer, and exit by its verdict."""
    from streamgauge.report.terminal.progress import progress_display

    with progress_display(quiet=quiet) as monitor:
        found = measure(workload, monitor=monitor, **options)
    conclude(found, print_text, as_json=as_json, runs=options.get("runs"))


def _is_rehearsal(document: Any, runs: Path | None) -> bool:
    if not isinstance(document, dict) or "set_id" not in document:
        return False
    try:
        return bool(open_set(runs_root(runs), document["set_id"]).document.get("rehearsal"))
    except StreamgaugeError:
        return False


@contextmanager
def interrupts_shown() -> Iterator[None]:
    """Show the notes of an interrupt before the exit: the parser turns it into an exit code and drops its notes."""
    try:
        yield
    except KeyboardInterrupt as interrupt:
        for note in getattr(interrupt, "__notes__", ()):
            echo(f"interrupted: {note}", err=True)
        raise typer.Exit(EXIT_INTERRUPTED) from None
