"""How close a fitted prototype is, on the terminal."""

from collections.abc import Iterator

from streamgauge.printable import echo
from streamgauge.prototyping.fit import Fitted


def fit_lines(found: Fitted) -> Iterator[str]:
    """Write how close it is and what it leaves out."""
    for error in found.errors:
        yield f"{error.metric}: {error}"
    for text in found.cheaper:
        yield f"the query is cheaper than the prototype can be: {text}"
    yield from found.notes


def print_fit(found: Fitted) -> None:
    """Print it on standard error: the file itself is on standard output."""
    for line in fit_lines(found):
        echo(f"fit: {line}", err=True)
