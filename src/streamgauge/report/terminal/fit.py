"""How close a fitted prototype is, on the terminal."""

from streamgauge.printable import echo
from streamgauge.prototyping.fit import Fitted


def print_fit(found: Fitted) -> None:
    """Print how close it is and what it leaves out, on standard error: the file itself is on standard output."""
    errors = [f"{error.metric}: {error}" for error in found.errors]
    cheaper = [f"the query is cheaper than the prototype can be: {text}" for text in found.cheaper]
    for line in (*errors, *cheaper, *found.notes):
        echo(f"fit: {line}", err=True)
