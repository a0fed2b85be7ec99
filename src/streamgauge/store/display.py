"""What a notebook shows of runs: the report registers how, because nothing here knows HTML."""

from functools import singledispatch
from html import escape


@singledispatch
def html_of(value: object) -> str:
    """Return a value as HTML; one of an unregistered kind is shown as in a terminal."""
    return f"<pre>{escape(repr(value))}</pre>"


class Displayed:
    """A value that notebooks show with `html_of`."""

    def _repr_html_(self) -> str:
        return html_of(self)
